"""The producing side of a log: numbers, limits, count and digest of the last event, estimates."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polystream.core.events import (
    ATTEMPT_SPAN,
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
from polystream.core.log import Log, LogLimits
from polystream.core.record import Record
from polystream.stores.memory import MemoryStore
from tests.clock import jumping
from tests.fakes import digest, record, started, stored, text_of, texts

RESTART = Notice("restart", {"cause": "upstream_disconnected"})
TAKEOVER = Notice("takeover", {"from": 2})


class Producing:
    """A log over a memory store, from the producer's side."""

    def __init__(self, max_events: int = 1000, max_bytes: int = 100_000, **fields: Any):
        self.limits = LogLimits(max_events, max_bytes)
        self.record: Record = record(**fields)
        self.store = MemoryStore(3600)
        self.calls: list[str] = []

    async def open(self, first: Any = None) -> Log:
        """The log, opened with its first event."""
        await self.store.create(self.record, started(self.record))
        told = (lambda name=name: self.calls.append(name) for name in ("cancel", "lost", "full"))
        first = first or started(self.record)
        return Log(self.store, self.record, first, self.limits, *told)

    async def last(self) -> Any:
        """The last event stored."""
        return (await stored(self.store, self.record.id))[-1][1]

    async def seqs(self) -> list[int]:
        """The numbers of everything stored."""
        return [seq for seq, _ in await stored(self.store, self.record.id)]


@jumping
async def test_events_are_numbered_behind_the_first():
    producing = Producing()
    log = await producing.open()
    log.append(texts("a", "b"))
    log.append(texts("c"))
    log.end(Finished("stop"))
    assert await producing.seqs() == [0, 1, 2, 3, 4]


@jumping
async def test_the_last_event_counts_the_log_and_carries_the_digest_of_its_text():
    producing = Producing()
    log = await producing.open()
    log.append(texts("Grüße, ", "🦜"))
    log.append([Reasoning("hm"), Refusal("no"), ToolCall(0, "c", "n", "{}"), Notice("seam", {}), Text("!")])
    log.end(Finished("stop", Usage(1, 2), "m-1"))
    assert await producing.last() == Finished("stop", Usage(1, 2), "m-1", 9, digest("Grüße, 🦜!"))


@jumping
async def test_a_failed_generation_has_count_and_digest_too():
    producing = Producing()
    log = await producing.open()
    log.append(texts("half an"))
    log.end(Failed(error=None))  # type: ignore[arg-type]
    last = await producing.last()
    assert (last.events, last.sha256) == (3, digest("half an"))


@jumping
async def test_a_log_without_text_has_the_digest_of_nothing():
    producing = Producing()
    (await producing.open()).end(Finished("stop"))
    assert await producing.last() == Finished("stop", events=2, sha256=digest(""))


@jumping
async def test_the_digest_covers_only_what_follows_the_last_restart():
    producing = Producing()
    log = await producing.open()
    log.append(texts("void"))
    log.append([Text("void too"), RESTART, Text("also void"), RESTART, Text("kept")])
    log.append(texts(" and kept"))
    log.end(Finished("stop"))
    last = await producing.last()
    assert (last.events, last.sha256) == (9, digest("kept and kept"))


@jumping
async def test_other_notices_leave_the_digest_alone():
    producing = Producing()
    log = await producing.open()
    log.append([Text("a"), Notice("seam", {"cause": "restart"}), Text("b")])
    log.end(Finished("stop"))
    assert (await producing.last()).sha256 == digest("ab")


@jumping
async def test_a_later_attempt_numbers_from_its_own_start_and_counts_what_was_there():
    producing = Producing(attempt=1, events=3)
    log = await producing.open(TAKEOVER)
    producing.store.append(producing.record.id, 1, ATTEMPT_SPAN, [TAKEOVER], lambda *_: None)
    log.append(texts("a"))
    log.end(Finished("stop"))
    assert await producing.seqs() == [0, ATTEMPT_SPAN, ATTEMPT_SPAN + 1, ATTEMPT_SPAN + 2]
    assert (await producing.last()).events == 3 + 3


@jumping
async def test_a_log_holds_as_many_events_as_it_may_the_last_one_among_them():
    producing = Producing(max_events=5)
    log = await producing.open()
    log.append(texts("a", "b"))
    log.append(texts("c"))
    assert producing.calls == []
    log.append(texts("d"))
    assert producing.calls == ["full"]
    log.end(Finished("stop"))
    assert await producing.seqs() == [0, 1, 2, 3, 4]
    assert await producing.last() == Finished("stop", events=5, sha256=digest("abc"))


@jumping
async def test_a_log_holds_as_many_bytes_as_it_may():
    producing = Producing(max_bytes=10)
    log = await producing.open()
    log.append([Text("é" * 3), Reasoning("abcd")])
    assert producing.calls == []
    log.append(texts("x"))
    assert producing.calls == ["full"]
    log.end(Finished("stop"))
    assert await producing.seqs() == [0, 1, 2, 3]


@pytest.mark.parametrize("events", [texts("ok", "xxxxxxxxx"), texts(*"abcdef")])
@jumping
async def test_of_events_that_do_not_fit_nothing_is_stored(events: list[Event]):
    producing = Producing(max_events=6, max_bytes=10)
    log = await producing.open()
    log.append(events)
    log.append(texts("o"))  # would fit, but a log with a hole would look whole
    assert producing.calls == ["full"]
    log.end(Finished("stop"))
    assert await producing.last() == Finished("stop", events=2, sha256=digest(""))


@jumping
async def test_a_log_ends_once():
    producing = Producing()
    log = await producing.open()
    log.end(Finished("stop"))
    log.end(Finished("cancelled"))
    log.append(texts("late"))
    assert await producing.seqs() == [0, 1]
    assert (await producing.last()).reason == "stop"


@jumping
async def test_the_producer_learns_of_a_cancel_with_the_next_append():
    producing = Producing()
    log = await producing.open()
    log.append(texts("a"))
    assert producing.calls == []
    await producing.store.cancel(producing.record.id, producing.record.owner)
    log.append(texts("b"))
    assert producing.calls == ["cancel"]


@jumping
async def test_a_cancel_that_comes_with_the_last_answer_is_too_late():
    producing = Producing()
    log = await producing.open()
    await producing.store.cancel(producing.record.id, producing.record.owner)
    log.end(Finished("stop"))
    assert producing.calls == []


@jumping
async def test_usage_is_estimated_from_what_was_delivered():
    producing = Producing()
    log = await producing.open()
    log.append([Text("a"), Text("bcd", tokens=3), Text("", tokens=0)])
    assert log.estimated_usage(0) == Usage(0, 4, estimated=True)
    assert [log.estimated_usage(size).input_tokens for size in (1, 4, 5)] == [1, 1, 2]


EVENTS = st.one_of(
    st.builds(Text, st.text(st.characters(exclude_categories=["Cs"]), min_size=1)),
    st.builds(Reasoning, st.text("ab", min_size=1)),
    st.builds(ToolCall, st.integers(0, 3), arguments=st.text("{}", max_size=3)),
    st.just(RESTART),
    st.just(Notice("seam", {})),
)


@settings(max_examples=80)
@given(st.lists(st.lists(EVENTS, max_size=5), max_size=12), st.integers(2, 40), st.integers(0, 60))
@jumping
async def test_whatever_is_emitted_count_and_digest_are_those_of_what_is_stored(
    reads: list[list[Event]], max_events: int, max_bytes: int
):
    producing = Producing(max_events, max_bytes)
    log = await producing.open()
    for events in reads:
        log.append(events)
    log.end(Finished("stop"))
    events = [event for _, event in await stored(producing.store, producing.record.id)]
    last = await producing.last()
    assert last.events == len(events) <= max_events
    assert last.sha256 == digest(text_of(events))
