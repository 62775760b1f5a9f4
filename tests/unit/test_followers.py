"""Readers over a store that takes its time or has trouble: what no store in this process can show."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polystream.core.errors import NotFound, PositionLost, StoreUnavailable
from polystream.core.events import ATTEMPT_SPAN, Batch, Finished, Notice, Text
from polystream.core.follower import COME_BACK_MS, Follower
from polystream.core.ports import Store
from polystream.core.record import Record
from polystream.stores.memory import MemoryStore
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldSink, append, record, started, texts
from tests.stores import OtherStore, RemoteStore

MAX_LAG = 1_000_000


async def opened(store: Store, *pieces: str) -> Record:
    """A log that holds `started` and these texts."""
    made = record()
    await store.create(made, started(made))
    await append(store, made.id, 1, texts(*pieces))
    return made


def reader(store: Store, made: Record, sink: HeldSink, after: int = -1) -> Follower:
    """A follower that has not begun."""
    return Follower(store, made.id, OWNER, after, sink, MAX_LAG)


@settings(max_examples=100)
@given(
    pauses=st.lists(st.integers(0, 5), max_size=20),
    readers=st.lists(
        st.tuples(st.integers(0, 50), st.one_of(st.none(), st.integers(1, 4))), min_size=1, max_size=4
    ),
)
@jumping
async def test_over_a_distant_store_too_a_reader_gets_every_event_once(
    pauses: list[int], readers: list[tuple[int, int | None]]
):
    store = RemoteStore(way=1)
    made = await opened(store)

    async def write() -> None:
        for seq, pause in enumerate(pauses, 1):
            store.append(made.id, 0, seq, texts("x"), lambda *_: None)
            await asyncio.sleep(pause / 2)
        await append(store, made.id, len(pauses) + 1, [Finished("stop")])

    async def read(delay: int, high_water: int | None) -> HeldSink:
        await asyncio.sleep(delay / 2)
        sink = HeldSink(high_water)
        follower = reader(store, made, sink)
        await follower.start()
        while not isinstance(sink.events[-1][1], Finished):
            assert sink.trouble == []
            sink.take(follower)
            await asyncio.sleep(0.5)
        return sink

    async with asyncio.timeout(1000), asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        reading = [tasks.create_task(read(*one)) for one in readers]
    for sink in [task.result() for task in reading]:
        assert sink.seqs == list(range(len(pauses) + 2))


@jumping
async def test_an_event_stored_just_after_a_read_found_nothing_is_no_hole():
    store = RemoteStore(way=1)
    made = await opened(store)
    sink = HeldSink()
    starting = asyncio.ensure_future(reader(store, made, sink).start())
    await asyncio.sleep(5.5)  # watched at 2, read to the end at 5, of which the follower hears at 6
    store.inner.append(made.id, 0, 1, texts("a"), lambda *_: None)
    await starting
    assert (sink.seqs, sink.trouble) == ([0, 1], [])


@jumping
async def test_an_event_that_was_announced_and_is_not_there_is_a_lost_position():
    store = OtherStore()
    made = await opened(store)
    sink = HeldSink()
    follower = reader(store, made, sink)
    await follower.start()
    follower._receive(Batch(2, [Text("b")]))
    await settle()
    assert (sink.seqs, sink.trouble) == ([0], [("lost", 0)])


@jumping
async def test_a_store_that_gives_events_behind_a_hole_has_lost_the_position():
    class Holed(OtherStore):
        async def read(self, id: str, owner: str, after: int) -> list[Batch]:
            return [Batch(after + 2, [Text("b")])] if after == 0 else await super().read(id, owner, after)

    store = Holed()
    made = await opened(store)
    sink = HeldSink()
    with pytest.raises(PositionLost):
        await reader(store, made, sink).start()
    assert sink.seqs == [0]


@jumping
async def test_an_event_that_comes_twice_is_taken_once():
    store = OtherStore()
    made = await opened(store, "a", "b")
    sink = HeldSink()
    follower = reader(store, made, sink)
    await follower.start()
    follower._receive(Batch(1, texts("a", "b")))
    follower._receive(Batch(2, texts("b", "c")))
    assert [event for _, event in sink.events[1:]] == texts("a", "b", "c")
    assert sink.seqs == [0, 1, 2, 3]


@jumping
async def test_an_event_that_got_lost_on_the_way_is_fetched_from_the_log():
    store = OtherStore()
    made = await opened(store)
    sink = HeldSink()
    follower = reader(store, made, sink)
    await follower.start()
    follower._unwatch()
    await append(store, made.id, 1, texts("a"))
    await append(store, made.id, 2, texts("b"))
    follower._receive(Batch(2, texts("b")))
    follower._receive(Batch(3, texts("c")))
    await append(store, made.id, 3, texts("c"))
    await settle()
    assert (sink.seqs, sink.trouble) == ([0, 1, 2, 3], [])


@jumping
async def test_a_takeover_whose_beginning_got_lost_on_the_way_is_fetched_too():
    store = OtherStore()
    made = record(attempt=1)
    await store.create(made, started(made))
    sink = HeldSink()
    follower = reader(store, made, sink)
    await follower.start()
    follower._unwatch()
    await append(store, made.id, ATTEMPT_SPAN, [Notice("takeover", {"from": 0}), Text("a")], attempt=1)
    follower._receive(Batch(ATTEMPT_SPAN + 1, [Text("a")]))
    await settle()
    assert sink.seqs == [0, ATTEMPT_SPAN, ATTEMPT_SPAN + 1]


@jumping
async def test_a_reader_that_catches_up_while_the_store_cannot_be_reached_is_told_to_come_back():
    store = RemoteStore()
    made = await opened(store)
    sink = HeldSink(high_water=1)
    follower = reader(store, made, sink)
    await follower.start()
    for seq in (1, 2):
        await append(store, made.id, seq, texts("a"))
    store.fault = StoreUnavailable()
    sink.take(follower)
    await asyncio.sleep(1)
    assert sink.trouble == [("store", COME_BACK_MS)]
    assert follower.invited


@pytest.mark.parametrize("error", [StoreUnavailable, NotFound, RuntimeError])
@jumping
async def test_a_reader_that_cannot_begin_is_closed(error: type[Exception]):
    class Broken(OtherStore):
        async def read(self, id: str, owner: str, after: int) -> list[Batch]:
            raise error

    store = Broken()
    made = await opened(store)
    sink, closed = HeldSink(), list[Follower]()
    follower = reader(store, made, sink)
    follower.on_close = closed.append
    with pytest.raises(error):
        await follower.start()
    assert closed == [follower]
    await append(store, made.id, 1, texts("a"))
    assert (sink.events, sink.trouble) == ([], [])


@pytest.mark.parametrize("moment", [1, 2.5, 3.5])
@jumping
async def test_a_reader_that_leaves_while_it_begins_is_fed_nothing_and_forgotten(moment: float):
    store = RemoteStore(way=1)
    made = await opened(store)
    sink = HeldSink()
    follower = reader(store, made, sink)
    starting = asyncio.ensure_future(follower.start())
    await asyncio.sleep(moment)
    follower.close()
    await starting
    await append(store, made.id, 1, texts("a"))
    assert (sink.events, sink.trouble) == ([], [])
    assert isinstance(store.inner, MemoryStore)
    assert store.inner._entries[made.id].watchers == ()


@jumping
async def test_a_reader_that_leaves_while_it_catches_up_is_fed_nothing_more():
    store = RemoteStore(way=1)
    made = await opened(store, "a")
    sink = HeldSink(high_water=1)
    follower = reader(store, made, sink)
    await follower.start()
    for seq in (2, 3):
        await append(store, made.id, seq, texts("b"))
    sink.take(follower)
    await asyncio.sleep(1)
    follower.close()
    await asyncio.sleep(10)
    assert (sink.seqs, sink.trouble) == ([0, 1], [])


@jumping
async def test_a_reader_closed_by_anothers_event_does_not_get_that_event():
    class Closing(HeldSink):
        def write(self, batch: Batch) -> None:
            super().write(batch)
            other.close()

    store = OtherStore()
    made = await opened(store)
    sink = HeldSink()
    other = reader(store, made, sink)
    await reader(store, made, Closing(), after=0).start()
    await other.start()
    await append(store, made.id, 1, texts("a"))
    assert sink.seqs == [0]


@jumping
async def test_a_reader_is_told_to_come_back_once():
    store = OtherStore()
    made = await opened(store)
    sink = HeldSink()
    follower = reader(store, made, sink)
    await follower.start()
    for _ in range(2):
        follower.come_back("drain")
    assert sink.trouble == [("drain", COME_BACK_MS)]
    assert follower.invited


@jumping
async def test_a_sink_that_has_room_when_nothing_was_held_back_changes_nothing():
    store = OtherStore()
    made = await opened(store)
    sink = HeldSink()
    follower = reader(store, made, sink)
    await follower.start()
    reads = store.reads
    for _ in range(3):
        sink.take(follower)
    await settle()
    assert store.reads == reads
