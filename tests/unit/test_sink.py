"""The sink behind `follow`: batches for an iterator, trouble as an exception, always a closed follower."""

import asyncio
from typing import Any

import pytest

from polystream.core.errors import BY_CODE, Draining, Overloaded, PositionLost, StoreUnavailable, StreamError
from polystream.core.events import Batch, Error, Finished, Text
from polystream.core.follower import Follower
from polystream.core.sink import BatchSink
from tests.clock import jumping, settle


class FakeFollower(Follower):
    """Notes what the sink tells it."""

    def __init__(self) -> None:  # of the real one nothing is wanted
        self.rooms = 0
        self.closed = False

    def drained(self) -> None:
        self.rooms += 1

    def close(self) -> None:
        self.closed = True


async def rest(batches: Any) -> list[int]:
    """The numbers of all batches still to come."""
    return [batch.first_seq async for batch in batches]


@jumping
async def test_batches_are_handed_on_up_to_the_last_event():
    sink, follower = BatchSink(), FakeFollower()
    for batch in (Batch(0, [Text("a")]), Batch(1, [Text("b"), Finished("stop")])):
        sink.write(batch)
    assert await rest(sink.batches(follower)) == [0, 1]
    assert follower.closed


@jumping
async def test_a_reader_without_a_follower_has_nothing_to_wait_for():
    assert await rest(BatchSink().batches(None)) == []


@jumping
async def test_a_reader_waits_for_what_comes():
    sink, follower = BatchSink(), FakeFollower()
    reading = asyncio.ensure_future(rest(sink.batches(follower)))
    for seq in range(3):
        await settle()
        assert not reading.done()
        sink.write(Batch(seq, [Text("a")]))
    sink.write(Batch(3, [Finished("stop")]))
    assert await reading == [0, 1, 2, 3]


@jumping
async def test_the_follower_is_told_when_everything_was_taken():
    sink, follower = BatchSink(), FakeFollower()
    sink.write(Batch(0, [Text("a")]))
    sink.write(Batch(1, [Text("b")]))
    batches = sink.batches(follower)
    await anext(batches)
    await anext(batches)
    assert follower.rooms == 0
    waiting = asyncio.ensure_future(anext(batches))
    await settle()
    assert follower.rooms == 1
    sink.write(Batch(2, [Text("c")]))
    assert (await waiting).first_seq == 2
    await batches.aclose()


@jumping
async def test_a_sink_is_full_after_some_batches_and_empty_after_a_take():
    sink, follower = BatchSink(), FakeFollower()
    for seq in range(63):
        sink.write(Batch(seq, [Text("a")]))
    assert not sink.full
    sink.write(Batch(63, [Text("a")]))
    assert sink.full
    batches = sink.batches(follower)
    await anext(batches)
    assert not sink.full
    await batches.aclose()


@pytest.mark.parametrize(
    ("reason", "error"), [("drain", Draining), ("store", StoreUnavailable), ("slow", Overloaded)]
)
@jumping
async def test_a_reader_told_to_come_back_sees_an_error_that_may_pass(reason: str, error: type[StreamError]):
    sink, follower = BatchSink(), FakeFollower()
    sink.come_back(reason, 200)
    with pytest.raises(error) as raised:
        await rest(sink.batches(follower))
    assert raised.value.retryable
    assert raised.value.retry_after_s == 0.2
    assert follower.closed


@jumping
async def test_a_reader_whose_position_is_lost_sees_that():
    sink = BatchSink()
    sink.lost(3)
    with pytest.raises(PositionLost):
        await rest(sink.batches(FakeFollower()))


@jumping
async def test_a_reader_that_is_cut_sees_the_error():
    sink = BatchSink()
    sink.cut(Error("upstream_error", "It broke.", True))
    with pytest.raises(BY_CODE["upstream_error"], match=r"It broke\."):
        await rest(sink.batches(FakeFollower()))


@jumping
async def test_what_came_before_the_trouble_is_handed_on_first():
    sink = BatchSink()
    sink.write(Batch(0, [Text("a")]))
    batches = sink.batches(FakeFollower())
    sink.lost(0)
    assert (await anext(batches)).first_seq == 0
    with pytest.raises(PositionLost):
        await anext(batches)


@jumping
async def test_trouble_wakes_a_reader_that_waits():
    sink = BatchSink()
    reading = asyncio.ensure_future(rest(sink.batches(FakeFollower())))
    await settle()
    sink.come_back("drain", 200)
    with pytest.raises(Draining):
        await reading


@jumping
async def test_a_reader_that_closes_closes_its_follower():
    sink, follower = BatchSink(), FakeFollower()
    sink.write(Batch(0, [Text("a")]))
    sink.write(Batch(1, [Text("b")]))
    batches = sink.batches(follower)
    await anext(batches)
    await batches.aclose()
    assert follower.closed


def test_readers_of_an_iterator_are_kept_on_drain():
    assert not BatchSink().resumable
