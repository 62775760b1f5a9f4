"""What every store guarantees about records, reading, cancelling and keys (`core.ports.Store`)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from polystream.core.errors import ContextLengthExceeded, NotFound, PositionLost
from polystream.core.events import (
    ATTEMPT_SPAN,
    Attempt,
    Error,
    Event,
    Failed,
    Finished,
    Notice,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    Usage,
)
from polystream.core.ports import Store
from polystream.core.record import Record, State
from polystream.core.request import Message, OnDisconnect, Request
from tests.fakes import OWNER, append, numbered, record, started, stored, texts

#: A record and a log with something in every field.
FULL = Request(
    messages=(
        Message("system", "Grüße \u2028 🦜"),
        Message("user", [{"type": "text", "text": "what is this?"}], name="ann", extra={"x": [1, None, 2.5]}),
        Message("assistant", None, tool_calls=[{"id": "call_1", "function": {"name": "f"}}]),
        Message("tool", "42", tool_call_id="call_1"),
    ),
    model="m", max_tokens=0, temperature=0.5, top_p=1.0, top_k=3, stop=("\n", "end"), seed=2**40,
    presence_penalty=0.0, frequency_penalty=-2.0, repetition_penalty=1.1, logprobs=2,
    tools=[{"type": "function", "function": {"name": "f"}}], tool_choice={"type": "function"},
    response_format={"type": "json_object"}, metadata={"k": "v"}, extra={"n": 1},
)  # fmt: skip
USAGE = Usage(12, 5, cached_tokens=3, reasoning_tokens=0, estimated=True, attempts=[Attempt("a", 12, 2)])
EVENTS: list[Event] = [
    Text("Hel", logprobs=[{"token": "Hel", "logprob": -0.25, "bytes": None, "top_logprobs": []}]),
    Text("lo \u2028 \x85 \x00 🦜", tokens=3),
    Reasoning("because"),
    Refusal("no"),
    ToolCall(0, "call_1", "weather", '{"ci'),
    ToolCall(0, arguments='ty": 1}'),
    Notice("seam", {"from": "a", "to": "b", "cause": "upstream_disconnected"}),
]


async def opened(store: Store, events: list[Event], **fields: Any) -> Record:
    """A log that holds `started` and these events."""
    made = record(**fields)
    await store.create(made, started(made))
    if events:
        await append(store, made.id, 1, events)
    return made


async def test_a_new_log_holds_its_first_event_and_its_record(store: Store):
    made = await opened(store, [])
    assert await stored(store, made.id) == [(0, started(made))]
    assert await store.record(made.id, OWNER) == replace(made, events=1, last_seq=0)


async def test_a_record_is_kept_with_everything_in_it(store: Store):
    made = await opened(
        store, [], request=FULL, model="m", engine="e", created=7, dialect="chat", echo={"user": "u"}, fold=2,
        on_disconnect=OnDisconnect.CONTINUE, on_cut="restart", attempt=2, replica="r", watched=1.5,
    )  # fmt: skip
    assert await store.record(made.id, OWNER) == replace(made, events=1, last_seq=0)


@pytest.mark.parametrize(
    "last",
    [
        Finished("tool_calls", USAGE, "m-1", 9, "ab"),
        Failed(Error("context_length_exceeded", "Too long: 9 > 8.", False, "messages"), USAGE, 9, "ab"),
    ],
)
async def test_events_are_kept_as_they_are(store: Store, last: Event):
    made = await opened(store, [*EVENTS, last])
    assert [event for _, event in await stored(store, made.id)] == [started(made), *EVENTS, last]


async def test_a_record_counts_the_events_of_its_log(store: Store):
    made = await opened(store, texts("a", "b"))
    await append(store, made.id, 3, texts("c"))
    kept = await store.record(made.id, OWNER)
    assert (kept.events, kept.last_seq, kept.state) == (4, 3, State.RUNNING)


async def test_a_record_says_how_its_generation_finished(store: Store):
    made = await opened(store, [Text("a"), Finished("length")])
    kept = await store.record(made.id, OWNER)
    assert (kept.state, kept.reason, kept.error) == (State.FINISHED, "length", None)
    assert (kept.events, kept.last_seq) == (3, 2)


async def test_a_record_says_how_its_generation_failed(store: Store):
    error = ContextLengthExceeded().as_event()
    made = await opened(store, [Failed(error)])
    kept = await store.record(made.id, OWNER)
    assert (kept.state, kept.reason, kept.error) == (State.FAILED, None, error)


async def test_a_record_is_a_copy_of_what_the_store_keeps(store: Store):
    made = await opened(store, [])
    for copy in (made, await store.record(made.id, OWNER), await store.cancel(made.id, OWNER)):
        copy.owner, copy.attempt, copy.events, copy.state = "somebody", 9, 9, State.FAILED
    assert (await append(store, made.id, 1, texts("a"))).tail == 1
    kept = await store.record(made.id, OWNER)
    assert (kept.owner, kept.attempt, kept.events, kept.state) == (OWNER, 0, 2, State.RUNNING)


@pytest.mark.parametrize("after", range(-1, 5))
async def test_a_log_is_read_from_any_position(store: Store, after: int):
    made = await opened(store, texts("a", "b", "c", "d"))
    assert [seq for seq, _ in await stored(store, made.id, after)] == list(range(after + 1, 5))


async def test_nothing_is_read_at_the_end_of_a_log(store: Store):
    made = await opened(store, [Text("a"), Finished("stop")])
    assert await store.read(made.id, OWNER, 2) == []


@pytest.mark.parametrize("after", [5, 6, ATTEMPT_SPAN, ATTEMPT_SPAN * 3])
async def test_a_position_past_the_end_is_lost(store: Store, after: int):
    made = await opened(store, texts("a", "b", "c", "d"))
    with pytest.raises(PositionLost):
        await store.read(made.id, OWNER, after)


@pytest.mark.parametrize("after", [-1, 0])
async def test_a_log_is_read_across_a_takeover(store: Store, after: int):
    made = await opened(store, [], attempt=1)
    takeover = Notice("takeover", {"from": 0})
    await append(store, made.id, ATTEMPT_SPAN, [takeover, Text("a")], attempt=1)
    seqs = [seq for seq, _ in await stored(store, made.id, after)]
    assert seqs == [0, ATTEMPT_SPAN, ATTEMPT_SPAN + 1][after + 1 :]


@pytest.mark.parametrize("after", [1, 2, ATTEMPT_SPAN - 1, ATTEMPT_SPAN + 2])
async def test_a_position_between_two_attempts_or_behind_both_is_lost(store: Store, after: int):
    made = await opened(store, [], attempt=1)
    await append(store, made.id, ATTEMPT_SPAN, [Notice("takeover", {"from": 0}), Text("a")], attempt=1)
    with pytest.raises(PositionLost):
        await store.read(made.id, OWNER, after)


async def test_one_read_gives_a_bounded_number_of_bytes(store: Store):
    made = await opened(store, texts(*["x" * 1024] * 1000))
    size = 0
    after = -1
    while batches := await store.read(made.id, OWNER, after):
        given = sum(batch.size for batch in batches)
        assert given <= 128 * 1024
        size += given
        after = batches[-1].last_seq
    assert size == 1000 * 1024


async def test_a_read_gives_an_event_that_is_larger_than_a_piece(store: Store):
    made = await opened(store, texts("x" * 1_000_000, "y"))
    assert [seq for seq, _ in await stored(store, made.id)] == [0, 1, 2]


async def _read(store: Store, id: str, owner: str) -> object:
    return await store.read(id, owner, -1)


async def _watch(store: Store, id: str, owner: str) -> object:
    return await store.watch(id, owner, lambda batch: None)


async def _record(store: Store, id: str, owner: str) -> object:
    return await store.record(id, owner)


async def _cancel(store: Store, id: str, owner: str) -> object:
    return await store.cancel(id, owner)


PORTS = pytest.mark.parametrize("port", [_read, _watch, _record, _cancel])


@PORTS
async def test_an_unknown_id_is_not_found(store: Store, port: Any):
    with pytest.raises(NotFound):
        await port(store, "gen_never", OWNER)


@PORTS
async def test_a_foreign_owner_finds_nothing(store: Store, port: Any):
    made = await opened(store, texts("a"))
    with pytest.raises(NotFound):
        await port(store, made.id, "somebody")
    assert not (await store.record(made.id, OWNER)).cancel


async def test_a_cancel_sets_the_flag_and_gives_the_record(store: Store):
    made = await opened(store, texts("a"))
    for _ in range(2):
        kept = await store.cancel(made.id, OWNER)
        assert (kept.cancel, kept.state, kept.events) == (True, State.RUNNING, 2)
    assert (await store.record(made.id, OWNER)).cancel


async def test_a_cancel_after_the_end_gives_the_final_state_and_has_no_effect(store: Store):
    made = await opened(store, [Finished("stop")])
    kept = await store.cancel(made.id, OWNER)
    assert (kept.cancel, kept.state, kept.reason) == (False, State.FINISHED, "stop")


async def test_each_cancel_of_a_running_generation_is_told(store: Store):
    told: list[str] = []
    store.on_cancel(told.append)
    made, ended = await opened(store, texts("a")), await opened(store, [Finished("stop")])
    await store.cancel(ended.id, OWNER)
    async with asyncio.timeout(5):
        while not told:  # a store elsewhere may begin to listen only now
            await store.cancel(made.id, OWNER)
            await asyncio.sleep(0.005)
    assert set(told) == {made.id}


async def test_a_key_belongs_to_who_claims_it_first(store: Store):
    assert await store.claim("key", "gen_a", "digest a") == ("gen_a", "digest a")
    assert await store.claim("key", "gen_b", "digest b") == ("gen_a", "digest a")
    assert await store.claim("other key", "gen_b", "digest b") == ("gen_b", "digest b")


async def test_a_key_is_taken_over_only_from_the_holder_that_is_named(store: Store):
    await store.claim("key", "gen_a", "digest")
    assert await store.claim("key", "gen_b", "digest", replacing="gen_x") == ("gen_a", "digest")
    assert await store.claim("key", "gen_b", "digest", replacing="gen_a") == ("gen_b", "digest")
    assert await store.claim("key", "gen_c", "digest", replacing="gen_a") == ("gen_b", "digest")


async def test_a_store_that_works_says_so(store: Store):
    await store.check()
    assert store.kind
    assert isinstance(store.durable, bool)


async def test_what_is_read_can_be_changed_without_harm(store: Store):
    made = await opened(store, texts("a", "b"))
    (await store.read(made.id, OWNER, -1))[0].events.clear()
    assert numbered(await store.read(made.id, OWNER, 0)) == [(1, Text("a")), (2, Text("b"))]
