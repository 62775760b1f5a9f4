"""What every door calls to follow, cancel and ask; a foreign owner sees nothing of it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from polystream.core.errors import NotFound, PositionLost
from polystream.core.events import Finished, Text
from polystream.core.generations import Generations
from polystream.core.record import State
from polystream.core.request import OnDisconnect
from polystream.stores.memory import MemoryStore
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, HeldSink, digest, generations, request, stored

CONTINUE = OnDisconnect.CONTINUE


async def run_of(replica: Generations, engine: HeldEngine, *pieces: str, ended: bool = True) -> str:
    """The id of a generation that has said these pieces and, if wanted, ended."""
    made = await replica.start(request(), OWNER, CONTINUE)
    await settle()
    for piece in pieces:
        engine.run.say(piece)
    if ended:
        engine.run.end()
    await settle()
    return made.id


@pytest.mark.parametrize("after", [None, -1, 0, 1, 2])
@jumping
async def test_a_running_generation_is_followed_from_any_position_to_its_end(after: int | None):
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", "b", ended=False)
    sink = HeldSink()
    await replica.attach(id, after, OWNER, sink)
    engine.run.say("c")
    engine.run.end()
    await settle()
    assert sink.seqs == list(range((-1 if after is None else after) + 1, 5))
    assert sink.events[-1][1] == await last(replica, id)


async def last(replica: Generations, id: str) -> Any:
    """The last event stored."""
    return (await stored(replica.store, id))[-1][1]


@pytest.mark.parametrize("after", [None, 0, 2])
@jumping
async def test_a_generation_that_has_ended_is_followed_alike(after: int | None):
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", "b")
    sink = HeldSink()
    assert await replica.attach(id, after, OWNER, sink) is not None
    assert sink.seqs == list(range(0 if after is None else after + 1, 4))
    assert sink.events[-1][1] == Finished("stop", (await last(replica, id)).usage, None, 4, digest("ab"))


@jumping
async def test_there_is_nothing_to_follow_behind_the_last_event():
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a")
    assert await replica.attach(id, 2, OWNER, HeldSink()) is None
    assert [batch async for batch in await replica.follow(id, 2, OWNER)] == []


@pytest.mark.parametrize("ended", [False, True])
@jumping
async def test_a_position_past_the_end_is_lost(ended: bool):
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", ended=ended)
    sink = HeldSink()
    with pytest.raises(PositionLost):
        await replica.attach(id, 3, OWNER, sink)
    with pytest.raises(PositionLost):
        await replica.follow(id, 3, OWNER)
    assert (sink.events, sink.trouble) == ([], [])


@jumping
async def test_an_iterator_gives_what_is_stored_then_what_comes():
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", ended=False)
    events = await replica.follow(id, 0, OWNER)

    async def read() -> list[int]:
        async with aclosing(events):
            return [batch.last_seq async for batch in events]

    reading = asyncio.ensure_future(read())
    await settle()
    engine.run.say("b")
    await settle()
    engine.run.end()
    assert await reading == [1, 2, 3]


@jumping
async def test_a_slow_iterator_gets_everything_once():
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, ended=False)
    events = await replica.follow(id, None, OWNER)
    for number in range(300):
        engine.run.say(f"{number} ")
    engine.run.end()
    async with aclosing(events):
        said = [event async for batch in events for event in batch.events]
    assert [event.text for event in said if isinstance(event, Text)] == [f"{n} " for n in range(300)]
    assert len(said) == 302


@jumping
async def test_a_cancel_stops_the_engine_and_the_readers_see_the_end():
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", ended=False)
    sink = HeldSink()
    await replica.attach(id, None, OWNER, sink)
    told = await replica.cancel(id, OWNER)
    assert (told.cancel, told.state) == (True, State.RUNNING)
    await settle()
    assert engine.run.stopped
    assert [event.type for _, event in sink.events] == ["started", "text", "finished"]
    told = await replica.cancel(id, OWNER)
    assert (told.state, told.reason, told.events) == (State.FINISHED, "cancelled", 3)


@jumping
async def test_a_cancel_after_the_end_gives_the_final_state():
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a")
    told = await replica.cancel(id, OWNER)
    assert (told.cancel, told.state, told.reason) == (False, State.FINISHED, "stop")


@jumping
async def test_a_cancel_on_another_replica_arrives_with_the_next_event():
    engine, store = HeldEngine(), MemoryStore(3600)
    here, there = generations(engine, store), generations(HeldEngine(), store)
    id = await run_of(here, engine, "a", ended=False)
    await there.cancel(id, OWNER)
    await settle()
    assert not engine.run.stopped
    engine.run.say("b")
    await settle()
    assert (await there.status(id, OWNER)).reason == "cancelled"


@jumping
async def test_a_status_tells_how_things_stand():
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", "b", ended=False)
    told = await replica.status(id, OWNER)
    assert (told.state, told.events, told.last_seq) == (State.RUNNING, 3, 2)
    assert replica.open == 1
    engine.run.end("length")
    await settle()
    told = await replica.status(id, OWNER)
    assert (told.state, told.reason, told.events, told.last_seq) == (State.FINISHED, "length", 4, 3)
    assert replica.open == 0


CALLS: list[Callable[[Generations, str, str], Awaitable[object]]] = [
    lambda replica, id, owner: replica.attach(id, None, owner, HeldSink()),
    lambda replica, id, owner: replica.follow(id, None, owner),
    lambda replica, id, owner: replica.cancel(id, owner),
    lambda replica, id, owner: replica.status(id, owner),
]


@pytest.mark.parametrize("call", CALLS, ids=["attach", "follow", "cancel", "status"])
@pytest.mark.parametrize("ended", [False, True])
@jumping
async def test_a_foreign_owner_sees_nothing_and_harms_nothing(call: Any, ended: bool):
    engine = HeldEngine()
    replica = generations(engine)
    id = await run_of(replica, engine, "a", ended=ended)
    with pytest.raises(NotFound):
        await call(replica, id, "somebody")
    await settle()
    told = await replica.status(id, OWNER)
    assert (told.cancel, told.reason) == (False, "stop" if ended else None)


@pytest.mark.parametrize("call", CALLS, ids=["attach", "follow", "cancel", "status"])
@jumping
async def test_an_unknown_id_is_not_found(call: Any):
    with pytest.raises(NotFound):
        await call(generations(HeldEngine()), "gen_never", OWNER)


@jumping
async def test_a_store_that_is_closed_forgets_nothing_more():
    engine, store = HeldEngine(), MemoryStore(3600)
    replica = generations(engine, store)
    id = await run_of(replica, engine, "a")
    await store.close()
    await asyncio.sleep(3601)
    assert (await replica.status(id, OWNER)).reason == "stop"


@jumping
async def test_a_generation_is_kept_for_its_retention_after_its_end_and_no_longer():
    engine = HeldEngine()
    replica = generations(engine, MemoryStore(3600))
    id = await run_of(replica, engine, "a")
    await asyncio.sleep(3599)
    assert (await replica.status(id, OWNER)).reason == "stop"
    await asyncio.sleep(2)
    with pytest.raises(NotFound):
        await replica.status(id, OWNER)
