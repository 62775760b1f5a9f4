"""Reported faults of models in process: the engine over a stand-in for CTranslate2 that says set tokens, over
every protocol the case names.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients import Wire, http, websocket
from tests.clients.answer import Answer
from tests.integration.cases import Case, ask, load
from tests.integration.conftest import Serve
from tests.integration.server import Server
from tests.integration.small_model import Steps, stand_in
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

Model = Callable[[Steps], Awaitable[Server]]


@pytest.fixture
def model(serve: Serve, small_model: Path) -> Model:
    """`await model(steps)`: a server whose embedded model says these steps."""

    async def start(steps: Steps) -> Server:
        return await serve(ENGINE_URL="ctranslate2:", **stand_in(small_model, steps))

    return start


async def over_all(case: Case, server: Server, **more: Any) -> list[Answer]:
    """The case's request over each of its protocols at once."""
    request = {"prompt": case.wanted["prompt"], "temperature": 0} | more
    doors = tuple(dict.fromkeys([*case.doors, "chat"]))
    options = {"chat": {"include_usage": True}}
    return await at_once(
        *(ask(door, server, request, **options.get(door, {})) for door in doors), names=doors
    )


async def test_blanks_between_words_stay_B20(model: Model):
    case = load()["B20"]
    for answer in await over_all(case, await model(case.upstream["steps"])):
        assert (answer.text, answer.reason) == (case.expect["text"], case.expect["finish_reason"])


async def test_a_stop_string_that_spans_tokens_never_shows_B112(model: Model):
    case = load()["B112"]
    pieces = ["▁Answer", ":", "▁", "4", "2", "<0x0A>", "U", "s", "er", ":"]
    steps: list[dict[str, Any]] = [{"piece": piece} for piece in pieces]
    steps += [{"piece": "▁more", "repeat": 200}, {"finish": "length"}]
    for answer in await over_all(case, await model(steps), stop=case.params["stop"]):
        assert (answer.text, answer.reason) == (case.expect["text"], case.expect["finish_reason"])
        assert answer.usage
        used = answer.usage.get("output_tokens", answer.usage.get("completion_tokens", 0))
        assert used <= len(pieces) + case.expect["engine_steps_after_stop_max"]


async def test_the_prompt_begins_once_B114(model: Model):
    case = load()["B114"]
    for answer in await over_all(case, await model(case.upstream["steps"])):
        assert answer.text == "!" * case.expect["engine_input_ids_bos_count"]


async def test_an_error_in_the_worker_ends_the_answer_B116(model: Model):
    case = load()["B116"]
    server = await model(case.upstream["steps"])
    request = {"prompt": case.wanted["prompt"], "temperature": 0}
    threads = 0
    for door in [*case.doors, "chat"]:  # one after the other: a batch breaks for all who are in it
        began = time.monotonic()
        answer = await ask(door, server, request)
        assert time.monotonic() - began < case.expect["done_within_ms_after_last_write"] / 1000
        assert (answer.text, answer.code) == (case.expect["text"], "internal")
        threads = threads or count_threads(server)
    assert count_threads(server) - threads == case.expect["threads_leaked"]


async def test_a_model_that_blocks_its_thread_stalls_nobody_else_B69(model: Model):
    case = load()["B69"]
    server = await model([{"piece": "▁so"}, {"block_ms": 1500}, {"piece": "▁far"}, {"finish": "stop"}])
    answering = asyncio.ensure_future(ask("ndjson", server, {"prompt": "hi"}))
    took = []
    while not answering.done():
        began = time.monotonic()
        assert (await http.fetch("GET", f"{server.rest}/healthz"))[0].status == 200
        took.append((time.monotonic() - began) * 1000)
    assert (await answering).text == "so far"
    assert statistics.quantiles(took, n=100)[98] <= case.expect["healthz_p99_ms"]


async def test_pings_are_answered_while_a_model_blocks_its_thread_B92(model: Model):
    case = load()["B92"]
    names = ("ping_interval", "ping_timeout")
    pings = {name: case.params[f"ws_{name}_ms"] / 1000 for name in names}
    server = await model([{"piece": "▁so"}, {"block_ms": 3000}, {"piece": "▁far"}, {"finish": "stop"}])
    answer, wire = Answer(), Wire()
    async for event in websocket.start(server, {"prompt": "hi"}, wire=wire, **pings):
        answer.take(event)
    assert (answer.text, wire["close_code"]) == ("so far", case.expect["close_code"])


def count_threads(server: Server) -> int:
    """Threads of the process."""
    return len(os.listdir(f"/proc/{server.pid}/task"))
