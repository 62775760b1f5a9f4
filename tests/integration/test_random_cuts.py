"""Connections cut at random, answers taken up elsewhere: nothing is lost, doubled or started twice.

`CUTS_SEED` repeats a run's choices; what fails prints it, with the history of its generation.
"""

import asyncio
import json
import os
import random
from collections.abc import Awaitable
from contextlib import aclosing
from typing import Any

import pytest

from tests.clients import Events
from tests.clients.answer import Answer, collect
from tests.integration.cases import DOORS, FRONT_DOORS
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream, says
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEED = int(os.environ.get("CUTS_SEED", "20261130"))
#: Where the doors are -> how many generations are cut there.
GENERATIONS = {"direct": 100, "front": 100}
CUTS_EACH = 6
#: Events read at most before a cut; a generation has more than CUTS_EACH times as many.
MOST_EVENTS = 6
#: Longest life of a connection that is cut while it is being opened.
OPENING_S = 0.005
NATIVE = {
    "direct": tuple(door for door in DOORS if door != "chat"),
    "front": tuple(door for door in FRONT_DOORS if door != "chat"),
}
WORDS = (
    "log ",
    "日本語",
    "🌍",
    "👩‍💻 ",
    "\n",
    "\r\n",
    "\u2028",
    " ",
    "é",
    "tail",
    "\t",
    "data: x\n\n",
    '"',
    "\\",
)


async def cut_while_opening(events: Events, moment: Awaitable[Any], answer: Answer) -> None:
    """Open a stream and drop it at that moment; an event that came all the same is taken."""
    opening = asyncio.ensure_future(anext(events))
    try:
        await moment
    finally:
        opening.cancel()
    (outcome,) = await asyncio.gather(opening, return_exceptions=True)
    await events.aclose()
    if isinstance(outcome, dict):
        answer.take(outcome)
    elif not isinstance(outcome, asyncio.CancelledError | StopAsyncIteration):
        raise outcome


async def cut_after(events: Events, number: int, answer: Answer) -> None:
    """Read so many events, then drop the connection; what it still carried is lost with it."""
    async with aclosing(events) as stream:
        async for event in stream:
            answer.take(event)
            number -= 1
            if number == 0:
                return


class Generation:
    """One generation and its restless reader."""

    def __init__(self, server: Any, doors: tuple[str, ...], number: int):
        self.history: list[Any] = []
        self.answer = Answer()
        self.cuts = 0
        self._server = server
        self._doors = doors
        self._rng = random.Random(f"{SEED}-{number}")
        self._key = f"cuts-{SEED}-{len(doors)}-{number}"
        self._door = self._rng.choice(self._doors)
        size = self._rng.randint(CUTS_EACH * MOST_EVENTS + 1, 70)
        self.pieces = [self._rng.choice(WORDS) for _ in range(size)]
        script = {"pieces": self.pieces, "pace_ms": self._rng.choice((0, 1, 3, 8))}
        self._request = {"prompt": "Hi", "metadata": {"script": json.dumps(script)}}

    async def run(self) -> None:
        """Cut and come back until the cuts are used up, then read to the end."""
        try:
            while self.cuts < CUTS_EACH:
                await self._cut()
            await collect(self._open(), self.answer)
            assert self.answer.cut is None
            assert (self.answer.text, self.answer.reason) == ("".join(self.pieces), "stop")
        except Exception as error:
            error.add_note(f"CUTS_SEED={SEED}, history {self.history}, {self.answer}")
            raise

    def _open(self) -> Events:
        """Follow over any door; before the id is known, start again with the same key over the same one."""
        if self.answer.id is None:
            self.history.append(f"start {self._door}")
            return FRONT_DOORS[self._door].start(self._server, self._request, idempotency_key=self._key)
        door = self._rng.choice(self._doors)
        self.history.append(f"follow {door} after {self.answer.seq}")
        return FRONT_DOORS[door].follow(self._server, self.answer.id, self.answer.seq)

    async def _cut(self) -> None:
        number = self._rng.randint(0, MOST_EVENTS)
        if number:
            await cut_after(self._open(), number, self.answer)
        else:
            moment = asyncio.sleep(self._rng.uniform(0, OPENING_S))
            await cut_while_opening(self._open(), moment, self.answer)
        assert self.answer.last is None, "the answer ended before it was cut"
        self.cuts += 1
        self.history.append(f"cut at {self.answer.seq}")


@pytest.mark.parametrize("path", GENERATIONS)
async def test_text_and_digest_survive_every_cut_and_change_of_protocol(path: str, scripted: Server):
    """To the server itself, and through nginx and Envoy, where a cut has two connections to travel over."""
    server = scripted if path == "direct" else await scripted.front()
    generations = [Generation(server, NATIVE[path], number) for number in range(GENERATIONS[path])]
    await at_once(*(generation.run() for generation in generations))
    assert sum(generation.cuts for generation in generations) >= 5 * GENERATIONS[path]
    assert len({generation.answer.id for generation in generations}) == GENERATIONS[path]


@pytest.mark.parametrize("door", DOORS)
async def test_a_start_that_died_before_its_id_arrived_is_not_started_twice(
    door: str, relay: Server, upstream: Upstream
):
    """The engine counts: one call a key, however often, and whenever, the start was cut and repeated.

    Half of the starts die when the engine has just been asked, the others at random.
    """
    pieces = [f"w{number} " for number in range(8)]
    asked_before_the_last_start = 0

    async def one(number: int) -> None:
        nonlocal asked_before_the_last_start
        rng = random.Random(f"{SEED}-{door}-{number}")
        stage = upstream.stage(Reply(says(*pieces, delay_ms=2)), f"{door}-{number}")

        def start() -> Events:
            return DOORS[door].start(relay, stage.request(), idempotency_key=stage.key)

        for _ in range(rng.randint(1, 3)):
            moment = stage.called() if number % 2 else asyncio.sleep(rng.uniform(0, OPENING_S))
            await cut_while_opening(start(), moment, Answer(numbered=False))
        asked_before_the_last_start += len(stage.calls)
        answer = await collect(start(), Answer(numbered=door != "chat"))
        assert (answer.text, answer.reason) == ("".join(pieces), "stop"), f"CUTS_SEED={SEED}, {answer.last}"
        assert len(stage.calls) == 1, f"CUTS_SEED={SEED}"

    await at_once(*map(one, range(40)))
    assert asked_before_the_last_start >= 20
