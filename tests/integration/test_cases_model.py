"""Reported faults of models in process: the engine over a stand-in for CTranslate2 that says set tokens, over
every protocol the case names.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.answer import Answer
from tests.integration.cases import Case, ask, load
from tests.integration.conftest import Serve
from tests.integration.server import ROOT, Server
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

STAND_IN = Path(__file__).parent / "stand_in"
Model = Callable[[list[dict[str, Any]]], Any]


@pytest.fixture
def model(serve: Serve, small_model: Path) -> Model:
    """`await model(steps)`: a server whose embedded model says these steps."""

    async def start(steps: list[dict[str, Any]]) -> Server:
        path = os.pathsep.join(map(str, (STAND_IN, ROOT / "services", ROOT)))
        return await serve(
            ENGINE_URL="ctranslate2:", MODEL=small_model, STEPS=json.dumps(steps), PYTHONPATH=path
        )

    return start


async def over_all(case: Case, server: Server, **more: Any) -> list[Answer]:
    """The case's request over each of its protocols at once."""
    request = {"prompt": case.wanted["prompt"], "temperature": 0} | more
    doors = [*case.doors, "chat"]
    return await at_once(*(ask(door, server, request) for door in doors), names=tuple(doors))


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
    threads = count_threads(server)
    for _ in range(2):  # a worker that was lost would be missed
        began = time.monotonic()
        for answer in await over_all(case, server):
            assert answer.text == case.expect["text"]
            assert answer.code == "internal"
        assert time.monotonic() - began < case.expect["done_within_ms_after_last_write"] / 1000
        threads = max(threads, count_threads(server)) if _ == 0 else threads
    assert count_threads(server) - threads == case.expect["threads_leaked"]


def count_threads(server: Server) -> int:
    """Threads of the process."""
    return len(os.listdir(f"/proc/{server.pid}/task"))
