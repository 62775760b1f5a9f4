"""The way to the embedded model: who waits, who is decoded with whom, who is freed when, and what breaks
whom.

The generator is a fake that plays set tokens in the worker's thread, with CTranslate2's own arguments.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from polystream.core.errors import Overloaded, UpstreamIncomplete
from polystream.core.events import Event, Notice, Text
from polystream.engines.ctranslate2_batches import LENGTHS_APART, Batches
from polystream.engines.ctranslate2_job import Job, Sampling

GREEDY = Sampling(0, 0, 1, 1, 0, False)
#: Tokens 1 to 9 are these; 0 ends an answer.
PIECES = [b"", b" so", b" far", b" on", b"\nUs", b"er", b":", b"\xf0\x9f", b"\x90\x8b", b"Answer: 42"]
END = 0


@dataclass
class Step:
    """As CTranslate2 gives it to its callback."""

    batch_id: int
    token_id: int
    is_last: bool = False
    logits: Any = None


@dataclass
class FakeGenerator:
    """Plays `script(prompt)` for each prompt of a batch, a token of each at a time, when `step` lets it."""

    script: Callable[[list[str]], list[int]]
    batches: list[list[list[str]]] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    gate: threading.Semaphore | None = None
    error_at: int | None = None
    threads: set[str] = field(default_factory=set)

    def generate_batch(self, start_tokens: list[list[str]], **options: Any) -> None:
        callback = options.pop("callback")
        self.batches.append(start_tokens)
        self.options.append(options)
        self.threads.add(threading.current_thread().name)
        going = {number: self.script(prompt) for number, prompt in enumerate(start_tokens)}
        for at in range(max(map(len, going.values()))):
            if self.gate is not None:
                assert self.gate.acquire(timeout=10)
            if at == self.error_at:
                raise RuntimeError("the worker broke")
            for number, tokens in list(going.items()):
                self.steps += 1
                logits = np.arange(len(PIECES), dtype=np.float32).reshape(1, -1)
                if at >= len(tokens) or callback(Step(number, tokens[at], False, logits)):
                    del going[number]
            if not going:
                return


def says(*tokens: int) -> Callable[[list[str]], list[int]]:
    """A script that answers every prompt alike."""
    return lambda prompt: list(tokens)


def job(emit: list[Event], prompt: str = "p", **options: Any) -> Job:
    """A request, with little to say about itself."""
    values: dict[str, Any] = {"sampling": GREEDY, "max_tokens": 100, "stops": ()} | options
    return Job(
        [prompt] * values.pop("length", 4),
        values.pop("sampling"), values.pop("max_tokens"), values.pop("stops"),
        frozenset({END}), PIECES, emit.extend, **values,
    )  # fmt: skip


def text(events: list[Event]) -> str:
    """What was said."""
    return "".join(event.text for event in events if isinstance(event, Text))


Make = Callable[..., Batches]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes batches over a generator, and gives their threads back."""
    made: list[Batches] = []

    def making(generator: FakeGenerator, workers: int = 1, size: int = 8, queue: int = 8) -> Batches:
        made.append(Batches(generator, [END], workers, size, queue))
        return made[-1]

    yield making
    for batches in made:
        await batches.close()


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition of the worker's thread."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - it is changed by a thread
            await asyncio.sleep(0.001)


async def test_an_answer_ends_at_its_end_token(make: Make):
    said: list[Event] = []
    assert await make(FakeGenerator(says(1, 2, END, 3))).run(job(said)) == "stop"
    assert said == [Text(" so", None, 1), Text(" far", None, 1)]


async def test_an_answer_ends_at_its_limit(make: Make):
    said: list[Event] = []
    generator = FakeGenerator(says(1, 2, 3, 3, 3, 3))
    assert await make(generator).run(job(said, max_tokens=2)) == "length"
    assert (text(said), generator.steps) == (" so far", 2)


async def test_b112_a_stop_string_over_several_tokens_never_shows(make: Make):
    said: list[Event] = []
    generator = FakeGenerator(says(9, 4, 5, 6, *[1] * 50))
    assert await make(generator).run(job(said, stops=("\nUser:",))) == "stop"
    assert (text(said), generator.steps) == ("Answer: 42", 4)


async def test_what_was_held_back_for_a_stop_string_is_said_at_the_end(make: Make):
    said: list[Event] = []
    await make(FakeGenerator(says(9, 4, 5, END))).run(job(said, stops=("\nUser:",)))
    assert text(said) == "Answer: 42\nUser"
    assert sum(event.tokens or 0 for event in said if isinstance(event, Text)) == 3


async def test_a_character_over_two_tokens_counts_both(make: Make):
    said: list[Event] = []
    await make(FakeGenerator(says(7, 8, END))).run(job(said))
    assert said == [Text("🐋", None, 2)]


async def test_log_probabilities_are_those_of_the_logits(make: Make):
    said: list[Event] = []
    sampling = Sampling(0, 0, 1, 1, 0, True)
    await make(FakeGenerator(says(1, END))).run(job(said, sampling=sampling, alternatives=2))
    (event,) = said
    assert isinstance(event, Text)
    assert event.logprobs is not None
    (entry,) = event.logprobs
    total = np.log(np.exp(np.arange(len(PIECES))).sum())
    assert (entry["token"], entry["bytes"]) == (" so", list(b" so"))
    assert entry["logprob"] == pytest.approx(1 - total, abs=1e-5)
    best = [(row["token"], row["logprob"]) for row in entry["top_logprobs"]]
    assert best == [
        ("Answer: 42", pytest.approx(9 - total, abs=1e-5)),
        ("\ufffd\ufffd", pytest.approx(8 - total, abs=1e-5)),
    ]


async def test_requests_that_wait_together_are_decoded_in_one_batch(make: Make):
    generator = FakeGenerator(says(1, END))
    batches = make(generator)
    said: list[list[Event]] = [[] for _ in range(5)]
    await asyncio.gather(*(batches.run(job(events, f"p{number}")) for number, events in enumerate(said)))
    assert [len(batch) for batch in generator.batches] == [5]
    assert all(text(events) == " so" for events in said)


async def test_a_batch_is_no_larger_than_its_size(make: Make):
    generator = FakeGenerator(says(1, END))
    batches = make(generator, size=2)
    await asyncio.gather(*(batches.run(job([], f"p{number}")) for number in range(5)))
    assert [[prompt[0] for prompt in batch] for batch in generator.batches] == [
        ["p0", "p1"],
        ["p2", "p3"],
        ["p4"],
    ]


@pytest.mark.parametrize(
    "other",
    [{"length": 5 + LENGTHS_APART}, {"sampling": Sampling(0.5, 0, 1, 1, 0, False)}],
    ids=["longer prompt", "other sampling"],
)
async def test_what_cannot_be_decoded_together_is_decoded_apart(make: Make, other: dict[str, Any]):
    generator = FakeGenerator(says(1, END))
    batches = make(generator)
    jobs = [job([], "a"), job([], "b", **other), job([], "c")]
    await asyncio.gather(*map(batches.run, jobs))
    assert [[prompt[0] for prompt in batch] for batch in generator.batches] == [["a", "c"], ["b"]]


async def test_log_probabilities_are_never_asked_of_a_batch(make: Make):
    """CTranslate2 4.8.5 gives those of its first row only; for others the memory is not theirs."""
    generator = FakeGenerator(says(1, END))
    batches, sampling = make(generator), Sampling(0, 0, 1, 1, 0, True)
    jobs = [job([], name, sampling=sampling, alternatives=1) for name in "abc"]
    await asyncio.gather(*map(batches.run, jobs))
    assert [len(batch) for batch in generator.batches] == [1, 1, 1]


async def test_those_of_a_batch_end_each_in_its_time(make: Make):
    gate = threading.Semaphore(0)
    generator = FakeGenerator(lambda prompt: [1, END] if prompt[0] == "a" else [1, 2, 3, END], gate=gate)
    batches = make(generator)
    first, second = (asyncio.ensure_future(batches.run(job([], name))) for name in "ab")
    gate.release(2)
    assert await first == "stop"
    assert not second.done()
    gate.release(2)
    assert await second == "stop"


async def test_workers_compute_at_once_and_in_threads_of_their_own(make: Make):
    gate = threading.Semaphore(0)
    generator = FakeGenerator(says(1, END), gate=gate)
    batches = make(generator, workers=2, size=1)
    running = [asyncio.ensure_future(batches.run(job([]))) for _ in range(2)]
    await until(lambda: len(generator.batches) == 2)
    gate.release(4)
    await asyncio.gather(*running)
    assert len(generator.threads) == 2
    assert threading.current_thread().name not in generator.threads


async def test_those_who_wait_are_told_their_place_as_it_changes(make: Make):
    gate = threading.Semaphore(0)
    batches = make(FakeGenerator(says(1, END), gate=gate), size=1)
    said: list[list[Event]] = [[] for _ in range(3)]
    running = [asyncio.ensure_future(batches.run(job(events))) for events in said]
    await until(lambda: said[2])
    gate.release(6)
    await asyncio.gather(*running)
    places = [[event.detail["position"] for event in events if isinstance(event, Notice)] for events in said]
    assert places == [[], [1], [2, 1]]
    assert all(event.kind == "queued" for events in said for event in events if isinstance(event, Notice))


async def test_a_full_queue_refuses_and_says_when_to_come_again(make: Make):
    gate = threading.Semaphore(0)
    generator = FakeGenerator(says(1, END), gate=gate)
    batches = make(generator, size=1, queue=1)
    running = [asyncio.ensure_future(batches.run(job([]))) for _ in range(2)]
    await until(lambda: generator.batches)
    with pytest.raises(Overloaded, match="1 requests wait already") as refused:
        await batches.run(job([]))
    assert refused.value.retry_after_s == 5
    gate.release(4)
    assert await asyncio.gather(*running) == ["stop", "stop"]
    gate.release(2)
    assert await batches.run(job([])) == "stop"


async def test_without_a_queue_a_free_worker_still_takes_a_request(make: Make):
    assert await make(FakeGenerator(says(END)), queue=0).run(job([])) == "stop"


async def test_a_cancelled_request_is_freed_at_once_and_its_worker_at_the_next_step(make: Make):
    gate = threading.Semaphore(0)
    generator = FakeGenerator(says(*[1] * 1000), gate=gate)
    batches = make(generator)
    said: list[Event] = []
    running = asyncio.ensure_future(batches.run(job(said, max_tokens=1000)))
    gate.release(1)
    await until(lambda: said)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gate.release(1)
    follower = asyncio.ensure_future(batches.run(job([], max_tokens=1)))
    gate.release(1)
    assert await follower == "length"
    assert (generator.steps, len(said)) == (3, 1)


async def test_a_cancelled_request_leaves_the_queue(make: Make):
    gate = threading.Semaphore(0)
    generator = FakeGenerator(says(1, END), gate=gate)
    batches = make(generator, size=1)
    said: list[Event] = []
    first = asyncio.ensure_future(batches.run(job([], "a")))
    second = asyncio.ensure_future(batches.run(job([], "b")))
    third = asyncio.ensure_future(batches.run(job(said, "c")))
    await until(lambda: said and generator.batches)
    second.cancel()
    gate.release(4)
    assert list(await asyncio.gather(first, third)) == ["stop", "stop"]
    assert [batch[0][0] for batch in generator.batches] == ["a", "c"]
    assert [event.detail["position"] for event in said if isinstance(event, Notice)] == [2, 1]


async def test_b116_an_error_in_the_worker_ends_the_answer_behind_what_was_said(make: Make):
    said: list[Event] = []
    with pytest.raises(RuntimeError, match="the worker broke"):
        await make(FakeGenerator(says(1, 2, 3), error_at=2)).run(job(said))
    assert text(said) == " so far"


async def test_b116_a_worker_that_ends_without_saying_so_is_an_error_too(make: Make):
    said: list[Event] = []
    with pytest.raises(UpstreamIncomplete):
        await make(FakeGenerator(says(1, 2))).run(job(said))
    assert text(said) == " so far"


async def test_a_request_that_breaks_does_not_break_the_others_of_its_batch(make: Make):
    generator = FakeGenerator(lambda prompt: [1, 99, 1, END] if prompt[0] == "a" else [1, 2, 3, END])
    batches, said, others = make(generator), list[Event](), list[Event]()
    outcomes = await asyncio.gather(
        batches.run(job(said, "a")), batches.run(job(others, "b")), return_exceptions=True
    )
    assert isinstance(outcomes[0], IndexError)
    assert outcomes[1] == "stop"
    assert (text(said), text(others)) == (" so", " so far on")


async def test_closing_waits_for_the_worker(make: Make):
    generator = FakeGenerator(says(*[1] * 100_000))
    batches = make(generator)
    said: list[Event] = []
    running = asyncio.ensure_future(batches.run(job(said, max_tokens=100_000)))
    await until(lambda: said)
    await batches.close()
    steps = generator.steps
    assert steps < 100_000
    assert not any(thread.name in generator.threads for thread in threading.enumerate())
    running.cancel()
    assert generator.steps == steps


async def test_ctranslate2_is_called_with_what_the_request_asks_for(make: Make):
    generator = FakeGenerator(says(END))
    await make(generator).run(
        job([], sampling=Sampling(0.7, 40, 0.9, 1.1, 2, True), max_tokens=5, alternatives=0)
    )
    assert generator.options == [
        {
            "max_length": 5, "end_token": [END], "include_prompt_in_result": False, "sampling_topk": 40,
            "sampling_topp": 0.9, "sampling_temperature": 0.7, "repetition_penalty": 1.1, "min_length": 2,
            "return_logits_vocab": True,
        }
    ]  # fmt: skip


async def test_an_answer_need_not_be_longer_than_it_may_be(make: Make):
    generator = FakeGenerator(says(1, 1, 1))
    await make(generator).run(job([], sampling=Sampling(0, 0, 1, 1, 50, False), max_tokens=2))
    assert (generator.options[0]["min_length"], generator.options[0]["max_length"]) == (2, 2)


async def test_temperature_0_is_greedy_whatever_else_is_asked_for(make: Make):
    generator = FakeGenerator(says(END))
    await make(generator).run(job([], sampling=Sampling(0, 40, 0.9, 1, 0, False)))
    options = generator.options[0]
    assert (options["sampling_topk"], options["sampling_topp"], options["sampling_temperature"]) == (1, 1, 1)
