"""`polystream up` with its real parts: it serves, says what happens, and ends without leaving anything."""

import asyncio
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from tests.clients import grpc, grpcweb, http, rest, websocket
from tests.clients.event import body
from tests.integration.server import ROOT
from tests.integration.up import Up

pytestmark = pytest.mark.asyncio(loop_scope="session")

STAND_IN = Path(__file__).parent / "stand_in_model"
ASK = {"prompt": "Hello"}
TEXT = "Polystream keeps one numbered log per answer, so that you can leave, come back and miss nothing."
#: Above what an interpreter takes that imports grpc where other work fills the machine.
EXAMPLE_S = 60
Begin = Callable[..., Up]


@pytest.fixture
def begin(tmp_path: Path) -> Any:
    """`begin(**settings)`: a run of the test's own, of which nothing may be left when the test is over."""
    runs: list[Up] = []
    (tmp_path / "tmp").mkdir()

    def start(**settings: Any) -> Up:
        runs.append(Up(**{"TMPDIR": tmp_path / "tmp"} | settings))
        return runs[-1]

    yield start
    left = [name for run in runs for name in run.left]
    for run in runs:
        run.kill_all()
    assert not left


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running() -> AsyncIterator[Up]:
    """A run that many tests use, beside those of their own."""
    up = Up()
    try:
        yield await asyncio.to_thread(up.wait_until_ready)
        await up.stop()
        await up.all_gone()
    finally:
        up.kill_all()


async def ready(up: Up) -> Up:
    return await asyncio.to_thread(up.wait_until_ready)


async def said(up: Up, pattern: str, within_s: float = 30) -> str:
    return await asyncio.to_thread(up.wait_for_line, lambda line: re.search(pattern, line), within_s)


async def test_what_it_prints_can_be_pasted(running: Up):
    commands = [command for command in running.commands() if not command.startswith("grpcurl")]
    assert len(commands) == 6
    for command in commands:
        answer = await pasted(command)
        assert re.search("finished|chat.completion.chunk", answer) or answer.strip() == TEXT, command


async def pasted(command: str) -> str:
    """What a command prints when it is pasted into a shell."""
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-euc", command), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        answer, complaints = await asyncio.wait_for(shell.communicate(), EXAMPLE_S)
    finally:
        if shell.returncode is None:
            shell.kill()
    assert shell.returncode == 0, complaints.decode()
    return answer.decode()


async def test_the_front_door_and_grpcs_own_port_serve_every_protocol(running: Up):
    behind = SimpleNamespace(grpc=running.rest.partition("://")[2])
    doors = (rest.start(running, ASK), websocket.start(running, ASK), grpcweb.start(running, ASK))
    for events in (*doors, grpc.start(running, ASK), grpc.start(behind, ASK)):
        assert "".join([event.get("text", "") async for event in events]) == TEXT


async def test_two_run_at_once_and_in_other_folders(running: Up, begin: Begin, tmp_path: Path):
    up = await ready(begin(folder=tmp_path))
    assert (up.rest, up.grpc) != (running.rest, running.grpc)
    up.signal(signal.SIGINT)
    assert await up.ended() == 0
    assert (await http.fetch("GET", f"{running.rest}/readyz"))[0].status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_all_and_nothing_is_left(begin: Begin, tmp_path: Path, number: signal.Signals):
    up = await ready(begin())
    assert {"gateway", "envoy", "nginx"} <= up.seen.keys()
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    up.signal(number)
    assert await up.ended() == 0, up.tail()
    assert not up.left
    assert not list((tmp_path / "tmp").iterdir())
    assert f"up      | {number.name}: stopping; once more ends it at once" in up.log
    assert up.log[-1] == "up      | all has stopped"


async def test_an_engine_that_is_this_very_run_is_refused(begin: Begin):
    """It would ask itself, and that one itself, without an end."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    up = begin(PORT=port, ENGINE_URL=f"http://localhost:{port}/v1")
    assert await up.ended() == 1
    assert f"ENGINE_URL: http://localhost:{port}/v1 is the front door of this run" in up.tail()
    assert not up.seen


async def test_what_a_killed_run_left_is_taken_away_by_the_next(begin: Begin, tmp_path: Path):
    up = await ready(begin())
    up.look()
    os.kill(up.pid, signal.SIGKILL)
    await up.all_gone()
    (left,) = (tmp_path / "tmp").iterdir()
    again = await ready(begin())
    assert not left.exists()
    again.signal(signal.SIGINT)
    assert await again.ended() == 0


async def test_a_terminals_ctrl_c_reaches_no_part_by_itself(running: Up):
    sessions = {os.getsid(running.seen[name].pid) for name in ("gateway", "envoy", "nginx")}
    assert len(sessions) == 3
    assert os.getsid(running.pid) not in sessions


async def test_an_answer_under_way_comes_to_its_end(begin: Begin):
    up = await ready(begin(ENGINE_URL="scripted:?pace_ms=60", DRAIN_S=20))
    pieces = []
    async for event in rest.start(up, ASK, form=rest.TEXT):
        pieces.append(event["text"])
        if len(pieces) == 1:
            up.signal(signal.SIGINT)
    assert "".join(pieces) == TEXT
    assert await up.ended() == 0


async def test_a_second_signal_waits_for_nobody(begin: Begin):
    up = await ready(begin(ENGINE_URL="scripted:?pace_ms=60000", DRAIN_S=100))
    answer = await http.request("POST", f"{up.rest}/v1/streams", {"accept": rest.TEXT}, body(ASK))
    up.signal(signal.SIGINT)
    await said(up, "^gateway .* draining: 1 ")
    up.signal(signal.SIGINT)
    assert await up.ended() == 0
    answer.close()
    assert not up.left
    assert "up      | ending all of it now" in up.log


@pytest.mark.parametrize("name", ["gateway", "envoy", "nginx"])
async def test_the_death_of_a_part_ends_all_and_is_told(begin: Begin, tmp_path: Path, name: str):
    up = await ready(begin())
    os.kill(up.seen[name].pid, signal.SIGKILL)
    assert await up.ended() == 1
    assert not up.left
    assert not list((tmp_path / "tmp").iterdir())
    assert f"up      | {name} was killed by SIGKILL" in up.log
    assert up.log[-1] == f"up      | all has stopped, because {name} was killed by SIGKILL"


async def test_a_part_that_does_not_end_is_ended(begin: Begin):
    up = await ready(begin())
    os.kill(up.seen["envoy"].pid, signal.SIGSTOP)
    up.signal(signal.SIGTERM)
    assert await up.ended() == 0
    assert not up.left
    assert "up      | envoy did not end within 3 s and was killed" in up.log


async def test_nothing_outlives_a_kill_9(begin: Begin):
    up = await ready(begin())
    up.signal(signal.SIGKILL)
    await up.all_gone()


@pytest.mark.parametrize("line", ["^up .* starting ", "^gateway .* grpc listening "])
async def test_a_signal_ends_a_start_too(begin: Begin, tmp_path: Path, line: str):
    up = begin()
    await said(up, line)
    up.look()
    up.signal(signal.SIGINT)
    assert await up.ended() == 0, up.tail()
    assert not up.left
    assert not list((tmp_path / "tmp").iterdir())
    assert not any("ready after" in line or "Traceback" in line for line in up.log)


@pytest.fixture
def embedded(begin: Begin, tmp_path: Path) -> Up:
    """A run with a model of its own, a file beside, where other engines' variables are set."""
    (tmp_path / "my.gguf").touch()
    paths = os.pathsep.join(map(str, (STAND_IN, ROOT / "services", ROOT)))
    others = {
        "ENGINE_KEY": "secret",
        "OPENAI_API_KEY": "secret",
        "OPENAI_API_VERSION": "2026-01-01",
        "OPENAI_CHAT_ENGINE": "theirs",
    }
    return begin(folder=tmp_path, ENGINE_URL="", MODEL="my.gguf", PYTHONPATH=paths, **others)


async def test_the_embedded_model_is_a_part_and_gets_no_keys_of_others(embedded: Up):
    up = await ready(embedded)
    assert "model   | reading my.gguf: True" in up.log
    answer = "".join([event.get("text", "") async for event in rest.start(up, ASK)])
    assert answer == "Hello None None"
    up.signal(signal.SIGINT)
    assert await up.ended() == 0, up.tail()
    assert "model" in up.seen
    assert not up.left


async def test_the_death_of_the_model_ends_all_and_is_told(embedded: Up):
    up = await ready(embedded)
    os.kill(up.seen["model"].pid, signal.SIGTERM)
    assert await up.ended() == 1
    assert not up.left
    assert up.log[-1] == "up      | all has stopped, because model was killed by SIGTERM"


async def test_a_part_that_dies_at_the_start_is_told_with_its_words(begin: Begin):
    up = begin(ENGINE_URL="scripted:?nonsense=1")
    assert await up.ended(30) == 1
    assert "up      | gateway exited with status 1" in up.log
    assert any(line.startswith("up      |     ") and "nonsense" in line for line in up.log)
    assert up.log[-1] == "up      | all has stopped, because gateway exited with status 1"


async def test_a_port_that_is_taken_is_told_with_its_holder_before_anything_starts(begin: Begin):
    with socket.create_server(("127.0.0.1", 0)) as holder, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [each.getsockname()[1] for each in (holder, other)]
        up = begin(PORT=ports[0], GRPC_PORT=ports[1])
        assert await up.ended(30) == 1
    mine = f"is taken by pid {os.getpid()} ("
    assert up.log[1].startswith(f"up      | PORT: {ports[0]} {mine}")
    assert up.log[2].startswith(f"up      | GRPC_PORT: {ports[1]} {mine}")
    assert len(up.log) == 3


async def test_one_port_for_two_things_is_told(begin: Begin):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    up = begin(PORT=port, GRPC_PORT=port)
    assert await up.ended(30) == 1
    assert f"up      | PORT and GRPC_PORT are both {port}" in up.log


async def test_colours_stand_where_they_are_asked_for(begin: Begin):
    up = begin(ENGINE_URL="scripted:?nonsense=1", FORCE_COLOR=1)
    assert await up.ended(30) == 1
    assert any(re.match("\x1b\\[3\\dmgateway \\|\x1b\\[0m ", line) for line in up.log)
