"""Ready means that a generation can be served now; otherwise what is missing stands in the answer."""

from typing import Any

import pytest

from polystream.core.errors import StoreUnavailable
from polystream.core.ports import Model
from polystream.edge import health
from tests.fakes import HeldEngine, generations
from tests.stores import OtherStore


class Store(OtherStore):
    """A store that can be away."""

    def __init__(self, away: bool):
        super().__init__()
        self.away = away

    async def check(self) -> None:
        if self.away:
            raise StoreUnavailable


async def check(*states: str, away: bool = False, draining: bool = False, default: str = "") -> health.Health:
    """The health of a replica whose models are in these states."""
    engine = HeldEngine()
    engine.offered = [Model(f"m{number}", state) for number, state in enumerate(states)]
    house = generations(engine, Store(away), default_model=default)
    house.draining = draining
    return await health.check(house)


async def test_a_replica_whose_store_and_model_serve_is_ready():
    state = await check("ready")
    assert state.ready
    assert state.fields == {
        "ready": True,
        "store": {"kind": "other", "ok": True},
        "models": [{"id": "m0", "state": "ready"}],
    }
    assert list(state.fields) == ["ready", "store", "models"]


async def test_one_model_that_serves_is_enough():
    assert (await check("unavailable", "ready")).ready


@pytest.mark.parametrize("states", [[], ["unavailable"], ["unavailable", "unavailable"]])
async def test_without_a_model_that_serves_it_is_not_ready(states: list[str]):
    state = await check(*states)
    assert not state.ready
    assert [row["state"] for row in state.fields["models"]] == states
    assert state.fields["ready"] is False


async def test_without_its_store_it_is_not_ready():
    state = await check("ready", away=True)
    assert not state.ready
    assert state.fields["store"] == {"kind": "other", "ok": False}


async def test_a_replica_that_drains_is_not_ready():
    state = await check("ready", draining=True)
    assert not state.ready
    said: dict[str, Any] = state.fields
    assert (said["ready"], said["store"]["ok"]) == (False, True)


async def test_the_default_model_is_named_first():
    state = await check("ready", "ready", default="m1")
    assert [row["id"] for row in state.fields["models"]] == ["m1", "m0"]
