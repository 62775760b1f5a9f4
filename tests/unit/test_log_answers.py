"""Producing over a store that loses replies, a suffix or a log: nothing is missing and nothing doubled."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polystream.core.errors import NotFound, StoreUnavailable
from polystream.core.events import ATTEMPT_SPAN, Event, Finished, Notice, Started
from polystream.core.log import Log
from polystream.core.ports import Done, Verdict
from polystream.core.record import Record
from polystream.stores.memory import MemoryStore
from tests.clock import jumping, settle
from tests.fakes import LIMITS, OWNER, HeldSink, append, digest, record, started, stored, text_of, texts
from tests.stores import OtherStore, RemoteStore


class FaultyStore(OtherStore):
    """Does to the next append what `fault` says.

    `lost`: acknowledges and does not store it. `unanswered`: stores it and answers as if it had not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fault = ""

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        fault, self.fault = self.fault, ""
        if fault == "lost":
            done(Verdict.OK, first_seq + len(events) - 1, False)
            return
        if fault == "unanswered":
            super().append(id, attempt, first_seq, events, lambda *_: None)
            done(Verdict.BEHIND, first_seq - 1, False)
            return
        super().append(id, attempt, first_seq, events, done)


async def opened(store: OtherStore, calls: list[str], **fields: Any) -> tuple[Record, Log]:
    """A log over that store; `calls` gathers what the producer is told."""
    made = record(**fields)
    await store.create(made, started(made))
    told = (lambda name=name: calls.append(name) for name in ("cancel", "lost", "full"))
    return made, Log(store, made, started(made), LIMITS.log, *told)


async def said(store: OtherStore, made: Record) -> str:
    """The text of the log, whose numbers have no hole."""
    events = await stored(store, made.id)
    assert [seq for seq, _ in events] == list(range(len(events)))
    return text_of(event for _, event in events)


@pytest.mark.parametrize("fault", ["lost", "unanswered"])
@jumping
async def test_what_a_store_lost_or_did_not_answer_is_sent_again_and_stands_there_once(fault: str):
    store, calls = FaultyStore(), list[str]()
    made, log = await opened(store, calls)
    log.append(texts("a"))
    store.fault = fault
    log.append(texts("b", "c"))
    log.append(texts("d"))
    assert await said(store, made) == "abcd"
    assert calls == []


@pytest.mark.parametrize("fault", ["lost", "unanswered"])
@jumping
async def test_a_last_event_that_was_not_answered_is_sent_again(fault: str):
    store = FaultyStore()
    made, log = await opened(store, [])
    store.fault = fault
    log.append(texts("a"))
    if fault == "unanswered":
        store.fault = fault
    log.end(Finished("stop"))
    assert await said(store, made) == "a"
    assert (await store.record(made.id, OWNER)).reason == "stop"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "", "lost", "unanswered"]), st.text("aé", min_size=1, max_size=3)),
        max_size=12,
    )
)
@jumping
async def test_whatever_gets_lost_the_log_is_whole_and_readers_see_each_event_once(
    steps: list[tuple[str, str]],
):
    store = FaultyStore()
    made, log = await opened(store, [])
    heard = HeldSink()
    await store.watch(made.id, OWNER, heard.write)
    for fault, text in steps:
        store.fault = fault
        log.append(texts(*text))
    store.fault = ""
    log.end(Finished("stop"))
    text = "".join(text for _, text in steps)
    assert await said(store, made) == text
    assert heard.seqs == list(range(1, len(text) + 2))
    assert heard.events[-1][1] == Finished("stop", events=len(text) + 2, sha256=digest(text))


@jumping
async def test_a_fenced_producer_is_told_once_and_writes_nothing_more():
    store, calls = OtherStore(), list[str]()
    made, log = await opened(store, calls)
    log.append(texts("a"))
    store.inner = MemoryStore(3600)
    await store.create(record(id=made.id, attempt=1), started(made))
    log.append(texts("b"))
    assert calls == ["lost"]
    asked = len(store.appends)
    log.append(texts("c"))
    log.end(Finished("stop"))
    assert len(store.appends) == asked
    assert calls == ["lost"]
    assert await said(store, made) == ""


@jumping
async def test_a_producer_cannot_fill_a_hole_before_its_own_first_event():
    store, calls = OtherStore(), list[str]()
    made, log = await opened(store, calls, attempt=2)
    first = 2 * ATTEMPT_SPAN
    await append(store, made.id, first, [Notice("takeover", {"from": 0})], attempt=2)

    def behind(*answer: object) -> None:
        log._done(Verdict.BEHIND, ATTEMPT_SPAN, False)

    store.inner.append(made.id, 2, first, [], behind)
    assert calls == ["lost"]


@jumping
async def test_a_log_that_vanished_is_created_again_from_the_copy():
    store, calls = OtherStore(), list[str]()
    made, log = await opened(store, calls)
    log.append(texts("a", "b"))
    store.inner = MemoryStore(3600)
    log.append(texts("c"))
    await settle()
    log.append(texts("d"))
    log.end(Finished("stop"))
    assert await said(store, made) == "abcd"
    kept = await store.record(made.id, OWNER)
    assert (kept.request, kept.reason, kept.events) == (made.request, "stop", 6)
    assert calls == []


@jumping
async def test_a_log_that_vanished_before_its_last_event_is_created_again_with_it():
    store = OtherStore()
    made, log = await opened(store, [])
    log.append(texts("a"))
    store.inner = MemoryStore(3600)
    log.end(Finished("stop"))
    await settle()
    assert await said(store, made) == "a"
    assert (await store.record(made.id, OWNER)).reason == "stop"


@jumping
async def test_a_log_that_vanished_twice_is_given_up():
    store, calls = OtherStore(), list[str]()
    made, log = await opened(store, calls)
    for _ in range(2):
        store.inner = MemoryStore(3600)
        log.append(texts("a"))
        await settle()
    assert calls == ["lost"]
    log.end(Finished("stop"))
    with pytest.raises(NotFound):
        await stored(store, made.id)


@pytest.mark.parametrize("error", [NotFound, StoreUnavailable])
@jumping
async def test_a_log_that_cannot_be_created_again_is_given_up(error: type[Exception]):
    class Closed(OtherStore):
        async def create(self, record: Record, started: Started) -> None:
            if self.creates:
                raise error
            await super().create(record, started)

    store, calls = Closed(), list[str]()
    _, log = await opened(store, calls)
    store.inner = MemoryStore(3600)
    log.append(texts("a"))
    await settle()
    assert calls == ["lost"]


@jumping
async def test_a_later_attempt_does_not_create_a_log_again():
    store, calls = OtherStore(), list[str]()
    _, log = await opened(store, calls, attempt=1)
    store.inner = MemoryStore(3600)
    log.append(texts("a"))
    await settle()
    assert (calls, store.creates) == (["lost"], 1)


@jumping
async def test_what_is_emitted_while_a_log_is_created_again_follows_in_order():
    store, calls = RemoteStore(way=1), list[str]()
    made, log = await opened(store, calls)
    store.inner = MemoryStore(3600)
    for piece in "abcdefgh":
        log.append(texts(piece))
        await asyncio.sleep(0.5)
    log.end(Finished("stop"))
    await asyncio.sleep(10)
    assert await said(store, made) == "abcdefgh"
    assert (calls, store.creates) == ([], 2)


@jumping
async def test_appends_on_their_way_when_a_log_vanished_do_not_count_as_a_second_loss():
    store, calls = RemoteStore(), list[str]()
    made, log = await opened(store, calls)
    store.inner = MemoryStore(3600)
    for piece in "abc":
        log.append(texts(piece))
    await asyncio.sleep(1)
    log.end(Finished("stop"))
    await asyncio.sleep(1)
    assert calls == []
    assert await said(store, made) == "abc"
    assert store.creates == 2


@jumping
async def test_appends_on_their_way_when_a_suffix_was_lost_are_stored_once():
    store, calls = RemoteStore(), list[str]()
    made, log = await opened(store, calls)
    log.append(texts("a"))
    await asyncio.sleep(1)
    log._copy += texts("b")  # numbered, but its append never arrived
    for piece in "cde":
        log.append(texts(piece))
    await asyncio.sleep(1)
    assert await said(store, made) == "abcde"
    assert calls == []
