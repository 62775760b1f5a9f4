"""What becomes of a generation when its readers leave: `cancel`, `grace` and `continue`."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from polystream.core.errors import PositionLost, StoreUnavailable
from polystream.core.follower import Follower
from polystream.core.request import OnDisconnect
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, HeldSink, generations, request
from tests.stores import RemoteStore

CANCEL, GRACE, CONTINUE = OnDisconnect.CANCEL, OnDisconnect.GRACE, OnDisconnect.CONTINUE
ALL = pytest.mark.parametrize("mode", list(OnDisconnect))


class Room:
    """One generation and its readers."""

    def __init__(self, **fields: Any):
        self.engine = HeldEngine()
        self.replica = generations(self.engine, **fields)

    async def open(self, mode: OnDisconnect) -> None:
        """Start the generation."""
        self.id = (await self.replica.start(request(), OWNER, mode)).id
        await settle()

    async def reader(self, sink: HeldSink | None = None, after: int | None = None) -> Follower:
        """One more reader."""
        follower = await self.replica.attach(self.id, after, OWNER, sink or HeldSink())
        assert follower is not None
        return follower

    async def reason(self) -> str | None:
        """Why it ended; None while it runs."""
        await settle()
        reason = (await self.replica.status(self.id, OWNER)).reason
        assert self.engine.run.stopped is (reason == "cancelled")
        return reason


@jumping
async def test_cancel_ends_the_generation_as_soon_as_its_last_reader_leaves():
    room = Room()
    await room.open(CANCEL)
    one, other = await room.reader(), await room.reader()
    one.close()
    assert await room.reason() is None
    other.close()
    assert await room.reason() == "cancelled"


@jumping
async def test_cancel_leaves_a_generation_alone_while_it_is_read():
    room = Room()
    await room.open(CANCEL)
    await room.reader()
    await asyncio.sleep(600)
    assert await room.reason() is None


@jumping
async def test_a_reader_that_closes_twice_has_left_once():
    room = Room()
    await room.open(CANCEL)
    one, _ = await room.reader(), await room.reader()
    one.close()
    one.close()
    assert await room.reason() is None


@jumping
async def test_grace_ends_a_generation_that_nobody_came_to_read():
    room = Room()
    await room.open(GRACE)
    await asyncio.sleep(59)
    assert await room.reason() is None
    await asyncio.sleep(2)
    assert await room.reason() == "cancelled"


@jumping
async def test_grace_waits_some_time_after_the_last_reader():
    room = Room()
    await room.open(GRACE)
    one, other = await room.reader(), await room.reader()
    await asyncio.sleep(600)
    one.close()
    await asyncio.sleep(600)
    other.close()
    await asyncio.sleep(59)
    assert await room.reason() is None
    await asyncio.sleep(2)
    assert await room.reason() == "cancelled"


@jumping
async def test_grace_begins_anew_when_a_reader_came_back():
    room = Room()
    await room.open(GRACE)
    for _ in range(3):
        await asyncio.sleep(59)
        reader = await room.reader()
        await asyncio.sleep(600)
        reader.close()
    await asyncio.sleep(59)
    assert await room.reason() is None
    await asyncio.sleep(2)
    assert await room.reason() == "cancelled"


@jumping
async def test_continue_runs_to_the_end_whoever_reads():
    room = Room()
    await room.open(CONTINUE)
    await asyncio.sleep(600)
    (await room.reader()).close()
    await asyncio.sleep(600)
    assert await room.reason() is None
    room.engine.run.end()
    assert await room.reason() == "stop"


@pytest.mark.parametrize("mode", [CANCEL, GRACE])
@jumping
async def test_a_reader_told_to_come_back_is_waited_for(mode: OnDisconnect):
    room = Room()
    await room.open(mode)
    (await room.reader()).come_back("slow")
    await asyncio.sleep(59)
    again = await room.reader()
    await asyncio.sleep(600)
    assert await room.reason() is None
    again.close()
    await asyncio.sleep(61)
    assert await room.reason() == "cancelled"


@pytest.mark.parametrize("mode", [CANCEL, GRACE])
@jumping
async def test_a_reader_that_does_not_come_back_is_waited_for_no_longer_than_grace(
    mode: OnDisconnect,
):
    room = Room()
    await room.open(mode)
    (await room.reader()).come_back("slow")
    await asyncio.sleep(59)
    assert await room.reason() is None
    await asyncio.sleep(2)
    assert await room.reason() == "cancelled"


@jumping
async def test_a_reader_too_slow_for_its_generation_has_not_left_it():
    room = Room(max_bytes=200)
    await room.open(CANCEL)
    sink = HeldSink(high_water=10)
    await room.reader(sink)
    for _ in range(15):
        room.engine.run.say("x" * 10)
    assert sink.trouble == [("slow", 200)]
    assert await room.reason() is None


@ALL
@jumping
async def test_a_leave_after_the_end_changes_nothing(mode: OnDisconnect):
    room = Room()
    await room.open(mode)
    frozen = await room.reader(HeldSink(high_water=1))
    for _ in range(3):
        room.engine.run.say("a")
    room.engine.run.end()
    await settle()
    frozen.close()
    await asyncio.sleep(600)
    status = await room.replica.status(room.id, OWNER)
    assert (status.reason, status.cancel) == ("stop", False)


@ALL
@jumping
async def test_the_end_that_sends_readers_away_is_not_their_leaving(mode: OnDisconnect):
    room = Room()
    await room.open(mode)
    await room.reader()
    room.engine.run.end("length")
    assert await room.reason() == "length"


@ALL
@jumping
async def test_a_reader_of_a_lost_position_was_never_there(mode: OnDisconnect):
    room = Room()
    await room.open(mode)
    with pytest.raises(PositionLost):
        await room.reader(after=7)
    assert await room.reason() is None


@jumping
async def test_a_reader_that_met_trouble_in_the_store_is_waited_for():
    store = RemoteStore()
    room = Room(store=store)
    await room.open(CANCEL)
    store.fault = StoreUnavailable()
    with pytest.raises(StoreUnavailable):
        await room.reader()
    await asyncio.sleep(59)
    assert await room.reason() is None
    await asyncio.sleep(2)
    assert await room.reason() == "cancelled"


@jumping
async def test_a_reader_that_left_while_it_was_attached_has_left():
    room = Room(store=RemoteStore(way=1))
    await room.open(CANCEL)
    attaching = asyncio.ensure_future(room.reader())
    await asyncio.sleep(5.5)
    attaching.cancel()
    await asyncio.sleep(10)
    assert await room.reason() == "cancelled"


@jumping
async def test_an_iterator_that_is_closed_has_left():
    room = Room()
    await room.open(CANCEL)
    async with aclosing(await room.replica.follow(room.id, None, OWNER)) as events:
        await anext(events)
        assert await room.reason() is None
    assert await room.reason() == "cancelled"


@jumping
async def test_an_iterator_whose_task_is_cancelled_has_left():
    room = Room()
    await room.open(CANCEL)

    async def read() -> None:
        async with aclosing(await room.replica.follow(room.id, None, OWNER)) as events:
            async for _ in events:
                pass

    reading = asyncio.ensure_future(read())
    assert await room.reason() is None
    reading.cancel()
    assert await room.reason() == "cancelled"
