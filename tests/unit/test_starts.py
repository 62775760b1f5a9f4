"""How a generation is started: what is stored when the call returns, and what is refused before any work."""

import pytest

from polystream.core.errors import InvalidRequest, ModelNotFound, StoreUnavailable
from polystream.core.events import Started
from polystream.core.ports import Model
from polystream.core.record import State
from polystream.core.request import OnDisconnect
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, generations, request, stored
from tests.stores import RemoteStore

CONTINUE = OnDisconnect.CONTINUE


@jumping
async def test_what_a_start_promises_is_stored_when_it_returns_and_before_the_engine_is_called():
    engine = HeldEngine()
    replica = generations(engine)
    made = await replica.start(request(), OWNER, OnDisconnect.GRACE, dialect="chat", echo={"user": "u"})
    assert engine.runs == []
    [(seq, first)] = await stored(replica.store, made.id)
    assert (seq, first) == (0, Started(made.id, "m", "held", made.created))
    kept = await replica.status(made.id, OWNER)
    assert (kept.owner, kept.request, kept.on_disconnect) == (OWNER, request(), OnDisconnect.GRACE)
    assert (kept.dialect, kept.echo, kept.replica) == ("chat", {"user": "u"}, "here")
    assert (kept.state, kept.events, kept.last_seq) == (State.RUNNING, 1, 0)


@pytest.mark.parametrize(("asked", "taken"), [(None, CONTINUE), (OnDisconnect.CANCEL, OnDisconnect.CANCEL)])
@jumping
async def test_what_the_client_asked_for_goes_before_the_default_of_the_door(
    asked: OnDisconnect | None, taken: OnDisconnect
):
    made = await generations(HeldEngine()).start(request(), OWNER, asked, default=CONTINUE)
    assert made.on_disconnect is taken


@jumping
async def test_ids_cannot_be_guessed():
    replica = generations(HeldEngine())
    ids = {(await replica.start(request(), OWNER, CONTINUE)).id for _ in range(100)}
    assert len(ids) == 100
    for id in ids:
        assert id.startswith("gen_")
        assert len(id.removeprefix("gen_")) * 6 >= 128


@jumping
async def test_a_store_that_cannot_be_reached_starts_nothing():
    engine, store = HeldEngine(), RemoteStore()
    replica = generations(engine, store)
    store.fault = StoreUnavailable()
    with pytest.raises(StoreUnavailable):
        await replica.start(request(), OWNER, CONTINUE)
    await settle()
    assert (engine.runs, replica.open) == ([], 0)


@jumping
async def test_a_request_that_the_engine_refuses_starts_nothing():
    engine = HeldEngine()
    replica = generations(engine)
    engine.refusal = ModelNotFound(param="model")
    with pytest.raises(ModelNotFound):
        await replica.start(request(), OWNER, CONTINUE)
    assert replica.open == 0


@pytest.mark.parametrize(("asked", "default", "taken"), [("x", "d", "x"), ("", "d", "d"), ("", "", "m")])
@jumping
async def test_a_request_without_a_model_gets_the_default_or_the_engines_first(
    asked: str, default: str, taken: str
):
    engine = HeldEngine()
    replica = generations(engine, default_model=default)
    made = await replica.start(request(model=asked), OWNER, CONTINUE)
    await settle()
    assert made.model == engine.run.request.model == taken


@jumping
async def test_a_request_without_a_model_is_refused_when_there_is_none():
    engine = HeldEngine()
    engine.offered = []
    with pytest.raises(InvalidRequest) as raised:
        await generations(engine).start(request(model=""), OWNER, CONTINUE)
    assert raised.value.param == "model"


@jumping
async def test_models_are_listed_with_the_default_first():
    engine = HeldEngine()
    engine.offered = [Model("a", "ready"), Model("b", "unavailable"), Model("c", "ready")]
    assert [model.id for model in await generations(engine, default_model="b").models()] == ["b", "a", "c"]
