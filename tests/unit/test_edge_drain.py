"""What SIGTERM does, in order: unready, ears closed, readers sent away, the rest waited for, then the end."""

import asyncio
import os
import signal
from typing import Any

import pytest

from polystream.core.errors import Draining
from polystream.core.generations import Generations
from polystream.core.request import OnDisconnect
from polystream.edge import drain as edge
from polystream.edge import health
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, HeldSink, generations, request, until
from tests.stores import OtherStore


class Engine(HeldEngine):
    """Tells when it is closed."""

    def __init__(self, told: list[str]):
        super().__init__()
        self._told = told

    async def close(self) -> None:
        self._told.append("engine closed")


class Store(OtherStore):
    """Tells when it is closed."""

    def __init__(self, told: list[str]):
        super().__init__()
        self._told = told

    async def close(self) -> None:
        self._told.append("store closed")


class Listener:
    """Tells what it is told, and how the replica stands then."""

    def __init__(self, name: str, told: list[str], house: Generations, pause: float = 0):
        self._name, self._told, self._house, self._pause = name, told, house, pause

    async def start(self) -> str:
        return self._name

    async def stop_listening(self) -> None:
        ready = (await health.check(self._house)).ready
        await asyncio.sleep(self._pause)
        self._told.append(f"{self._name} deaf, ready {ready}")

    async def stop(self) -> None:
        self._told.append(f"{self._name} stopped, open {self._house.open}")


class Replica:
    """A replica with two listeners, and what happened in it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.engine = Engine(self.told)
        self.house = generations(self.engine, Store(self.told))
        self.listeners: list[Any] = [
            Listener("a", self.told, self.house, 1),
            Listener("b", self.told, self.house),
        ]

    async def reader(self, resumable: bool = True) -> HeldSink:
        """A reader of a new generation."""
        made = await self.house.start(request(), OWNER, OnDisconnect.CONTINUE)
        sink = HeldSink(resumable=resumable)
        await self.house.attach(made.id, None, OWNER, sink)
        await settle()
        return sink


@jumping
async def test_a_replica_is_unready_then_deaf_and_ends_its_parts_last():
    replica = Replica()
    await edge.drain(replica.listeners, replica.house, 300)
    assert replica.told == [
        "b deaf, ready False",
        "a deaf, ready False",
        "a stopped, open 0",
        "b stopped, open 0",
        "engine closed",
        "store closed",
    ]


@jumping
async def test_nobody_is_sent_away_before_all_ears_are_closed():
    replica = Replica()
    sink = await replica.reader()
    draining = asyncio.ensure_future(edge.drain(replica.listeners, replica.house, 300))
    await asyncio.sleep(0.9)
    assert (sink.trouble, len(replica.told)) == ([], 1)
    await asyncio.sleep(0.2)
    assert sink.trouble == [("drain", 200)]
    replica.engine.run.end()
    await draining


@jumping
async def test_no_start_gets_in_while_the_ears_close():
    replica = Replica()
    draining = asyncio.ensure_future(edge.drain(replica.listeners, replica.house, 300))
    await asyncio.sleep(0.5)
    with pytest.raises(Draining):
        await replica.house.start(request(), OWNER, OnDisconnect.CONTINUE)
    await draining


@jumping
async def test_an_answer_that_cannot_resume_is_waited_for_and_no_longer_than_that():
    replica, loop = Replica(), asyncio.get_running_loop()
    sink = await replica.reader(resumable=False)
    draining = asyncio.ensure_future(edge.drain(replica.listeners, replica.house, 300))
    await asyncio.sleep(100)
    replica.engine.run.say("a")
    replica.engine.run.end()
    await draining
    assert loop.time() == pytest.approx(100, abs=0.1)
    assert (sink.trouble, sink.text) == ([], "a")


@jumping
async def test_what_is_still_open_at_the_deadline_is_cut():
    replica, loop = Replica(), asyncio.get_running_loop()
    sink = await replica.reader(resumable=False)
    await edge.drain(replica.listeners, replica.house, 300)
    assert loop.time() == pytest.approx(301, abs=0.1)
    assert sink.trouble == [("cut", "draining")]
    assert replica.told[-4:] == ["a stopped, open 0", "b stopped, open 0", "engine closed", "store closed"]


# ---- the signal ----


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_is_waited_for_and_the_second_exits_at_once(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
):
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)
    waiting = asyncio.ensure_future(edge.wait_for_signal())
    await asyncio.sleep(0)
    assert not waiting.done()
    try:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await waiting
        assert exits == []
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: exits)
        assert exits == [128 + signal.SIGTERM]
    finally:
        loop = asyncio.get_running_loop()
        for handled in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(handled)
