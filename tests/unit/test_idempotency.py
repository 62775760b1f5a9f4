"""Starts under an idempotency key: one generation for the same request, however often it is asked for."""

import asyncio
from typing import Any

import pytest

from polystream.core.errors import Conflict, InvalidRequest, StoreUnavailable, UpstreamStalled
from polystream.core.generations import Generations
from polystream.core.record import Record, State
from polystream.core.request import OnDisconnect
from polystream.stores.memory import MemoryStore
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, HeldSink, generations, request
from tests.stores import RemoteStore


async def start(replica: Generations, prompt: str = "Sing.", owner: str = OWNER, **fields: Any) -> Record:
    """A start under the key `k`; its engine has been called when this returns."""
    how = {"on_disconnect": OnDisconnect.CONTINUE, "key": "k"} | fields
    made = await replica.start(request(prompt), owner, **how)
    await settle()
    return made


@jumping
async def test_the_same_request_under_the_same_key_joins():
    engine = HeldEngine()
    replica = generations(engine)
    one, other = await start(replica), await start(replica)
    assert other.id == one.id
    assert len(engine.runs) == replica.open == 1


@jumping
async def test_who_joins_may_follow_from_the_first_event():
    engine = HeldEngine()
    replica = generations(engine)
    await start(replica)
    engine.run.say("la", "la")
    joined = await start(replica)
    sink = HeldSink()
    await replica.attach(joined.id, None, OWNER, sink)
    assert sink.text == "lala"


@jumping
async def test_a_generation_that_has_finished_is_joined():
    engine = HeldEngine()
    replica = generations(engine)
    one = await start(replica)
    engine.run.end()
    await settle()
    joined = await start(replica)
    assert (joined.id, joined.state, len(engine.runs)) == (one.id, State.FINISHED, 1)


@jumping
async def test_a_generation_that_failed_for_good_is_joined():
    engine = HeldEngine()
    replica = generations(engine)
    one = await start(replica)
    engine.run.fail(InvalidRequest())
    assert (await start(replica)).id == one.id


@pytest.mark.parametrize("prompt", ["Sing!", "Sing. "])
@jumping
async def test_another_request_under_the_same_key_is_a_conflict(prompt: str):
    engine = HeldEngine()
    replica = generations(engine)
    await start(replica)
    with pytest.raises(Conflict):
        await start(replica, prompt)
    assert len(engine.runs) == 1


@jumping
async def test_the_same_request_with_another_fate_at_a_disconnect_is_another_request():
    replica = generations(HeldEngine())
    await start(replica)
    with pytest.raises(Conflict):
        await start(replica, on_disconnect=OnDisconnect.GRACE)


@jumping
async def test_the_default_of_a_door_is_not_part_of_the_request():
    engine = HeldEngine()
    replica = generations(engine)
    one = await start(replica, on_disconnect=None, default=OnDisconnect.GRACE)
    assert (await start(replica, on_disconnect=None, default=OnDisconnect.CONTINUE)).id == one.id


@pytest.mark.parametrize("other", [{"owner": "somebody"}, {"dialect": "chat"}, {"key": "l"}, {"key": None}])
@jumping
async def test_a_key_counts_within_its_owner_and_dialect(other: dict[str, Any]):
    engine = HeldEngine()
    replica = generations(engine)
    one = await start(replica)
    assert (await start(replica, "Another song.", **other)).id != one.id
    assert len(engine.runs) == 2


async def _cancelling(replica: Generations, id: str, engine: HeldEngine) -> None:
    await replica.store.cancel(id, OWNER)


async def _cancelled(replica: Generations, id: str, engine: HeldEngine) -> None:
    await replica.cancel(id, OWNER)
    await settle()


async def _unread(replica: Generations, id: str, engine: HeldEngine) -> None:
    await asyncio.sleep(61)


async def _failed(replica: Generations, id: str, engine: HeldEngine) -> None:
    engine.run.fail(UpstreamStalled())
    await settle()


async def _forgotten(replica: Generations, id: str, engine: HeldEngine) -> None:
    engine.run.end()
    await asyncio.sleep(3601)


@pytest.mark.parametrize("die", [_cancelling, _cancelled, _unread, _failed, _forgotten])
@jumping
async def test_a_generation_that_came_to_nothing_is_started_anew_and_the_new_one_is_joined(die: Any):
    engine = HeldEngine()
    replica = generations(engine, MemoryStore(3600))
    old = await start(replica, on_disconnect=OnDisconnect.GRACE)
    await die(replica, old.id, engine)
    new = await start(replica, on_disconnect=OnDisconnect.GRACE)
    assert new.id != old.id
    assert (await start(replica, on_disconnect=OnDisconnect.GRACE)).id == new.id
    assert len(engine.runs) == 2


@jumping
async def test_a_start_that_could_not_be_stored_leaves_its_key_to_the_next():
    engine, store = HeldEngine(), RemoteStore()
    replica = generations(engine, store)
    store.fault = StoreUnavailable()
    with pytest.raises(StoreUnavailable):
        await start(replica)
    store.fault = None
    made = await start(replica)
    assert (await start(replica)).id == made.id
    assert len(engine.runs) == 1


@jumping
async def test_starts_at_the_same_time_are_one_generation():
    engine = HeldEngine()
    replica = generations(engine)
    made = await asyncio.gather(*(start(replica) for _ in range(10)))
    assert len({record.id for record in made}) == len(engine.runs) == 1


@jumping
async def test_starts_on_several_replicas_are_one_generation():
    engine, store = HeldEngine(), MemoryStore(3600)
    replicas = [generations(engine, store) for _ in range(3)]
    made = await asyncio.gather(*(start(replica) for replica in replicas))
    assert len({record.id for record in made}) == len(engine.runs) == 1


@jumping
async def test_restarts_at_the_same_time_are_one_generation():
    engine = HeldEngine()
    replica = generations(engine)
    await _cancelled(replica, (await start(replica)).id, engine)
    made = await asyncio.gather(*(start(replica) for _ in range(10)))
    assert len({record.id for record in made}) == 1
    assert len(engine.runs) == 2
