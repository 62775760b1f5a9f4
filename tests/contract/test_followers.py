"""Readers over every store: stored then live without a gap, from any position, each event once, in order."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polystream.core.errors import NotFound, PositionLost
from polystream.core.events import ATTEMPT_SPAN, Event, Finished, Notice, Text
from polystream.core.follower import COME_BACK_MS, Follower
from polystream.core.ports import Store
from polystream.core.record import Record
from tests.fakes import OWNER, HeldSink, OpenStore, append, gone, record, started, texts, until
from tests.stores import OtherStore

MAX_LAG = 1_000_000
TAKEOVER = Notice("takeover", {"from": 0})


async def opened(store: Store, *events: Event, **fields: Any) -> Record:
    """A log that holds `started` and these events."""
    made = record(**fields)
    await store.create(made, started(made))
    await append(store, made.id, 1, list(events))
    return made


async def following(
    store: Store, made: Record, sink: HeldSink, after: int = -1, max_lag: int = MAX_LAG
) -> Follower:
    """A follower that has begun."""
    follower = Follower(store, made.id, OWNER, after, sink, max_lag)
    await follower.start()
    return follower


async def taken(sink: HeldSink, follower: Follower, last: int) -> None:
    """Take until the event of that number has come."""
    async with asyncio.timeout(5):
        while sink.seqs[-1] < last:
            sink.take(follower)
            await asyncio.sleep(0)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.lists(st.text("aé🦜", min_size=1, max_size=3), min_size=1, max_size=4), max_size=12),
    turns=st.lists(st.integers(0, 4), min_size=12, max_size=12),
    readers=st.lists(
        st.tuples(st.integers(0, 40), st.one_of(st.none(), st.integers(1, 20))), min_size=1, max_size=4
    ),
)
async def test_a_reader_that_comes_while_appends_go_on_gets_every_event_once(
    store: Store, pieces: list[list[str]], turns: list[int], readers: list[tuple[int, int | None]]
):
    made = await opened(store)

    async def write() -> None:
        seq = 1
        for part, pause in zip(pieces, turns, strict=False):
            await append(store, made.id, seq, texts(*part))
            seq += len(part)
            for _ in range(pause):
                await asyncio.sleep(0)
        await append(store, made.id, seq, [Finished("stop")])

    async def read(delay: int, high_water: int | None) -> HeldSink:
        for _ in range(delay):
            await asyncio.sleep(0)
        sink = HeldSink(high_water)
        follower = await following(store, made, sink)
        while not isinstance(sink.events[-1][1], Finished):
            await asyncio.sleep(0)
            sink.take(follower)
        return sink

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        reading = [tasks.create_task(read(*reader)) for reader in readers]
    written = [Text(piece) for part in pieces for piece in part]
    for sink in [task.result() for task in reading]:
        assert [event for _, event in sink.events] == [started(made), *written, Finished("stop")]
        assert sink.seqs == list(range(len(written) + 2))


@pytest.mark.parametrize("after", range(-1, 4))
async def test_a_reader_gets_what_lies_behind_its_position_then_what_comes(store: Store, after: int):
    made = await opened(store, *texts("a", "b", "c"))
    sink = HeldSink()
    await following(store, made, sink, after)
    await append(store, made.id, 4, [Text("d"), Finished("stop")])
    await until(lambda: sink.seqs == list(range(after + 1, 6)))


async def test_a_log_that_has_ended_is_given_whole(store: Store):
    made = await opened(store, Text("a"), Finished("stop"))
    sink = HeldSink()
    await following(store, made, sink)
    assert sink.seqs == [0, 1, 2]


@pytest.mark.parametrize("after", [4, 1000, ATTEMPT_SPAN])
async def test_a_reader_past_the_end_is_told_so_before_anything_else(store: Store, after: int):
    made = await opened(store, *texts("a", "b", "c"))
    sink = HeldSink()
    with pytest.raises(PositionLost):
        await following(store, made, sink, after)
    await append(store, made.id, 4, texts("d"))
    assert (sink.events, sink.trouble) == ([], [])


@pytest.mark.parametrize("after", [1, ATTEMPT_SPAN - 1])
async def test_a_position_between_two_attempts_is_lost(store: Store, after: int):
    made = await opened(store, attempt=1)
    await append(store, made.id, ATTEMPT_SPAN, [TAKEOVER], attempt=1)
    with pytest.raises(PositionLost):
        await following(store, made, HeldSink(), after)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_takeover_from_the_readers_position_is_followed(store: Store, when: str):
    made = await opened(store, attempt=1)
    sink = HeldSink()
    if when == "after":
        await following(store, made, sink, 0)
    await append(store, made.id, ATTEMPT_SPAN, [TAKEOVER, Text("a")], attempt=1)
    if when == "before":
        await following(store, made, sink, 0)
    await until(lambda: sink.seqs == [ATTEMPT_SPAN, ATTEMPT_SPAN + 1])


@pytest.mark.parametrize("first", [Notice("takeover", {"from": 7}), Notice("seam", {"from": 0}), Text("a")])
async def test_any_other_jump_is_a_lost_position(store: Store, first: Event):
    made = await opened(store, attempt=1)
    sink = HeldSink()
    await following(store, made, sink)
    await append(store, made.id, ATTEMPT_SPAN, [first], attempt=1)
    await until(lambda: sink.trouble)
    assert (sink.seqs, sink.trouble) == ([0], [("lost", 0)])
    with pytest.raises(PositionLost):
        await following(store, made, HeldSink())


@pytest.mark.parametrize(("id", "owner"), [("gen_never", OWNER), (None, "somebody")])
async def test_a_reader_without_a_right_to_the_log_finds_nothing(store: Store, id: str | None, owner: str):
    made = await opened(store, *texts("a"))
    sink = HeldSink()
    with pytest.raises(NotFound):
        await Follower(store, id or made.id, owner, -1, sink, MAX_LAG).start()
    await append(store, made.id, 2, texts("b"))
    assert sink.events == []


async def test_many_readers_each_get_everything(store: Store):
    made = await opened(store, *texts("a"))
    sinks = [HeldSink() for _ in range(100)]
    for seq, sink in enumerate(sinks, 2):
        await following(store, made, sink)
        await append(store, made.id, seq, texts("b"))
    await append(store, made.id, 102, [Finished("stop")])
    await until(lambda: all(sink.seqs == list(range(103)) for sink in sinks))


async def test_a_frozen_reader_costs_the_others_nothing_and_holds_a_bounded_number_of_bytes(store: Store):
    counted = OtherStore(store)
    made = await opened(counted)
    frozen, other = HeldSink(high_water=4096), HeldSink()
    follower = await following(counted, made, frozen)
    await following(counted, made, other)
    reads = counted.reads
    for seq in range(1, 501):
        await append(counted, made.id, seq, texts("x" * 1000))
    await until(lambda: other.seqs == list(range(501)))
    assert counted.reads == reads
    assert frozen.most_held < 4096 + 1000
    assert frozen.trouble == []
    follower.close()


async def test_a_reader_of_a_long_log_is_given_a_bounded_number_of_bytes_at_a_time(store: Store):
    made = await opened(store, *texts(*["x" * 1000] * 500))
    sink = HeldSink(high_water=4096)
    await taken(sink, await following(store, made, sink), 500)
    assert sink.seqs == list(range(501))
    assert sink.most_held < 128 * 1024


async def test_a_reader_that_was_full_catches_up_and_goes_on_live(store: Store):
    made = await opened(store)
    sink = HeldSink(high_water=3)
    follower = await following(store, made, sink)
    for seq in range(1, 10):
        await append(store, made.id, seq, texts("x"))
    assert sink.seqs == [0, 1, 2, 3]
    await taken(sink, follower, 9)
    await append(store, made.id, 10, [Text("y"), Finished("stop")])
    await taken(sink, follower, 11)
    assert (sink.seqs, sink.trouble) == (list(range(12)), [])


async def test_a_full_reader_gets_the_end_when_it_takes_again(store: Store):
    made = await opened(store)
    sink = HeldSink(high_water=1)
    follower = await following(store, made, sink)
    await append(store, made.id, 1, texts("x"))
    await append(store, made.id, 2, [Finished("stop")])
    assert sink.seqs == [0, 1]
    sink.take(follower)
    await until(lambda: sink.seqs == [0, 1, 2])


async def test_a_reader_that_lags_too_much_is_told_to_come_back(store: Store):
    made = await opened(store)
    sink = HeldSink(high_water=10)
    await following(store, made, sink, max_lag=100)
    for seq in range(1, 12):
        await append(store, made.id, seq, texts("x" * 10))
    assert sink.trouble == []
    await append(store, made.id, 12, texts("x" * 10))
    await until(lambda: sink.trouble)
    assert sink.trouble == [("slow", COME_BACK_MS)]
    await append(store, made.id, 13, texts("x" * 10))
    assert (sink.seqs, sink.trouble) == ([0, 1], [("slow", COME_BACK_MS)])


async def test_a_reader_that_lags_and_catches_up_may_lag_again(store: Store):
    made = await opened(store)
    sink = HeldSink(high_water=10)
    follower = await following(store, made, sink, max_lag=100)
    for seq in range(1, 61):
        await append(store, made.id, seq, texts("x" * 10))
        if seq % 10 == 0:
            await taken(sink, follower, seq)
    assert (sink.seqs, sink.trouble) == (list(range(61)), [])


async def test_a_reader_that_left_is_given_nothing_more(store: Store):
    made = await opened(store)
    sink, other = HeldSink(), HeldSink()
    follower = await following(store, made, sink)
    await following(store, made, other)
    follower.close()
    follower.close()
    await append(store, made.id, 1, texts("a"))
    await until(lambda: other.seqs == [0, 1])
    assert sink.seqs == [0]


async def test_a_reader_whose_log_was_forgotten_while_it_was_full_is_told_so(open_store: OpenStore):
    store = await open_store(0.05)
    made = await opened(store)
    sink = HeldSink(high_water=1)
    follower = await following(store, made, sink)
    await append(store, made.id, 1, texts("a"))
    await append(store, made.id, 2, [Finished("stop")])
    await gone(store, made.id)
    sink.take(follower)
    await until(lambda: sink.trouble)
    assert sink.trouble == [("lost", 1)]
