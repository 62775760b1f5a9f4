"""What a replica that shuts down does with starts, readers and producers, and within which time."""

import asyncio
from typing import Any

import pytest

from polystream.core.errors import Draining
from polystream.core.events import Failed, Finished
from polystream.core.follower import COME_BACK_MS
from polystream.core.generations import Generations
from polystream.core.ports import Model
from polystream.core.request import OnDisconnect
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, HeldSink, generations, request, stored
from tests.stores import OtherStore

DRAIN_S = 300
COME_BACK = [("drain", COME_BACK_MS)]
CUT = [("cut", "draining")]


class Replica:
    """A replica, its engine, and the drain that the test begins."""

    def __init__(self, durable: bool = True):
        self.engine = HeldEngine()
        self.generations: Generations = generations(self.engine, OtherStore(durable=durable))
        self.drained_after: float | None = None

    async def open(self, mode: OnDisconnect = OnDisconnect.CONTINUE) -> str:
        """The id of one more generation, whose engine runs."""
        made = await self.generations.start(request(), OWNER, mode)
        await settle()
        return made.id

    async def reader(self, id: str, *, resumable: bool) -> HeldSink:
        """What one more reader is given."""
        sink = HeldSink(resumable=resumable)
        await self.generations.attach(id, None, OWNER, sink)
        return sink

    async def drain(self) -> None:
        """Begin to drain, and see what happens at once."""
        self._draining = asyncio.ensure_future(self._drain())
        await settle()

    async def types(self, id: str) -> list[str]:
        """The types of the log's events."""
        return [event.type for _, event in await stored(self.generations.store, id)]

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self.generations.drain(DRAIN_S)
        self.drained_after = round(loop.time() - began, 3)


@jumping
async def test_a_replica_with_nothing_to_do_is_drained_at_once():
    replica = Replica()
    await replica.drain()
    assert replica.drained_after == 0


@pytest.mark.parametrize("key", [None, "k"])
@jumping
async def test_a_draining_replica_starts_nothing(key: str | None):
    replica = Replica()
    await replica.open()
    await replica.drain()
    with pytest.raises(Draining):
        await replica.generations.start(request(), OWNER, OnDisconnect.GRACE, key=key)
    assert replica.generations.open == 1


@jumping
async def test_a_start_still_being_checked_when_the_drain_begins_is_refused():
    class Slow(HeldEngine):
        async def models(self) -> list[Model]:
            await asyncio.sleep(5)
            return self.offered

    replica = generations(Slow())
    starting = asyncio.ensure_future(replica.start(request(model=""), OWNER, OnDisconnect.GRACE))
    await settle()
    await replica.drain(DRAIN_S)
    with pytest.raises(Draining):
        await starting
    assert replica.open == 0


@jumping
async def test_readers_that_can_resume_are_sent_away_at_once_and_the_others_kept():
    replica = Replica()
    id = await replica.open()
    going, staying = await replica.reader(id, resumable=True), await replica.reader(id, resumable=False)
    await replica.drain()
    replica.engine.run.say("a")
    assert (going.trouble, going.seqs) == (COME_BACK, [0])
    assert (staying.trouble, staying.seqs) == ([], [0, 1])


@jumping
async def test_a_drain_is_over_when_the_last_generation_has_ended():
    replica = Replica()
    id = await replica.open()
    staying = await replica.reader(id, resumable=False)
    await replica.drain()
    await asyncio.sleep(100)
    assert replica.drained_after is None
    replica.engine.run.say("a")
    replica.engine.run.end()
    await settle()
    assert replica.drained_after == 100
    assert (staying.trouble, await replica.types(id)) == ([], ["started", "text", "finished"])
    assert staying.seqs == [0, 1, 2]


@jumping
async def test_at_the_deadline_readers_are_cut_and_logs_left_open_for_a_taker():
    replica = Replica()
    ids = [await replica.open(mode) for mode in (OnDisconnect.CONTINUE, OnDisconnect.CANCEL)]
    sinks = [await replica.reader(id, resumable=False) for id in ids]
    for run in replica.engine.runs:
        run.say("a")
    await replica.drain()
    await asyncio.sleep(DRAIN_S - 1)
    assert [sink.trouble for sink in sinks] == [[], []]
    await asyncio.sleep(2)
    assert replica.drained_after == DRAIN_S
    assert [sink.trouble for sink in sinks] == [CUT, CUT]
    assert all(run.stopped for run in replica.engine.runs)
    for id in ids:
        assert await replica.types(id) == ["started", "text"]
    assert replica.generations.open == 0


@jumping
async def test_a_reader_of_another_replicas_generation_is_cut_at_the_deadline_too():
    replica = Replica()
    elsewhere = generations(HeldEngine(), replica.generations.store)
    far = await elsewhere.start(request(), OWNER, OnDisconnect.CONTINUE)
    await replica.open()
    staying = await replica.reader(far.id, resumable=False)
    await replica.drain()
    await asyncio.sleep(DRAIN_S + 1)
    assert (staying.trouble, elsewhere.open) == (CUT, 1)


@pytest.mark.parametrize("mode", list(OnDisconnect))
@jumping
async def test_being_sent_away_is_not_leaving(mode: OnDisconnect):
    replica = Replica()
    id = await replica.open(mode)
    await replica.reader(id, resumable=True)
    await replica.drain()
    await asyncio.sleep(30)
    assert not replica.engine.run.stopped
    replica.engine.run.end()
    await settle()
    last: Any = (await stored(replica.generations.store, id))[-1][1]
    assert isinstance(last, Finished)
    assert (last.reason, replica.drained_after) == ("stop", 30)


@jumping
async def test_a_durable_generation_that_nobody_reads_goes_on():
    replica = Replica(durable=True)
    id = await replica.open()
    await replica.drain()
    replica.engine.run.end()
    await settle()
    assert await replica.types(id) == ["started", "finished"]


@jumping
async def test_a_generation_that_dies_with_the_process_is_not_produced_for_nobody():
    replica = Replica(durable=False)
    unread, left, kept = [await replica.open() for _ in range(3)]
    going = await replica.reader(left, resumable=True)
    staying = await replica.reader(kept, resumable=False)
    await replica.drain()
    assert [run.stopped for run in replica.engine.runs] == [True, True, False]
    assert (going.trouble, staying.trouble) == (COME_BACK, [])
    for id in (unread, left):
        assert await replica.types(id) == ["started"]
    replica.engine.run.end()
    await settle()
    assert (replica.drained_after, staying.seqs) == (0, [0, 1])


@jumping
async def test_a_drain_writes_no_end_that_the_engine_did_not_reach():
    replica = Replica(durable=False)
    ids = [await replica.open(mode) for mode in OnDisconnect]
    await replica.reader(ids[0], resumable=False)
    await replica.drain()
    await asyncio.sleep(DRAIN_S + 1)
    for id in ids:
        events = [event for _, event in await stored(replica.generations.store, id)]
        assert not any(isinstance(event, Finished | Failed) for event in events)
