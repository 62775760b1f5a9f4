"""The TypeScript client as it is built, in plain Node, through the front door."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.integration.front import ROOT, Front
from tests.integration.server import Server

pytestmark = pytest.mark.asyncio(loop_scope="session")

BIN = ROOT / ".venv" / "bin"
FRONTEND = ROOT / "frontend"
PROGRAM = Path(__file__).with_name("client_package.mjs")
PROTOCOLS = ["rest", "sse", "websocket", "grpcweb"]
PIECES = [
    "Grüße",
    " an\u2028die",
    " 日本語",
    " 👩‍👩‍👧",
    "\r\n",
    "\n\n",
    " data: x\n\n",
    " \\u",
    ' "',
    "\t.",
] * 3
TEXT = "".join(PIECES)
#: Between two pieces: long enough for a switch to happen in mid-answer.
PACE_MS = 25
DEADLINE_S = 60
Found = dict[str, list[dict[str, Any]]]


async def run(*command: str, folder: Path) -> str:
    """What a command prints; it must succeed, and end by itself."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(ROOT / "build")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{command}:\n{out.decode()}\n{err.decode()}"
    return out.decode()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def package() -> Path:
    """The built package."""
    await run("npm", "run", "--silent", "build:client", folder=FRONTEND)
    return FRONTEND / "build" / "client"


@pytest_asyncio.fixture(loop_scope="session")
async def found(package: Path, front: Front) -> Found:
    """What the program found."""
    script = json.dumps({"pieces": PIECES, "pace_ms": PACE_MS})
    request = {"messages": [{"role": "user", "content": "Hello"}], "metadata": {"script": script}}
    out = await run("node", str(PROGRAM), str(package), front.rest, json.dumps(request), folder=ROOT)
    result: Found = json.loads(out)
    return result


def text_of(answer: dict[str, Any]) -> str:
    """The text events, joined."""
    return "".join(event["text"] for event in answer["events"] if event["type"] == "text")


async def test_the_client_reads_what_was_said_over_any_protocol(found: Found, scripted: Server) -> None:
    for first, travel in zip(PROTOCOLS, found["travels"], strict=True):
        last = travel["events"][-1]
        assert text_of(travel) == TEXT, first
        assert last["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
        assert [event["seq"] for event in travel["events"]] == list(range(last["events"]))
        assert (travel["phase"], travel["verified"], travel["failure"]) == ("finished", "verified", None)
        assert travel["connections"][0]["protocol"] == first
        assert {connection["protocol"] for connection in travel["connections"]} == set(PROTOCOLS)
        ends = [connection["end"] for connection in travel["connections"]]
        assert ends.count("switched") >= 5
        assert ends.count("dropped") >= 5
        assert ends[-1] == "last"
        assert ends.count("broken") == 0, travel["connections"]

    whole = found["travels"][0]["events"]
    for follow in found["follows"]:
        assert follow["events"] == whole[4:]
        assert (follow["phase"], follow["verified"], len(follow["connections"])) == ("finished", "unknown", 1)
    for end in found["ends"]:
        assert (end["phase"], end["events"], len(end["connections"])) == ("finished", [], 1)

    for cancelled in found["cancels"]:
        assert cancelled["events"][-1]["reason"] == "cancelled"
        assert (cancelled["phase"], cancelled["verified"]) == ("finished", "verified")
        assert 0 < len(text_of(cancelled)) < len(TEXT)

    for kind, phase, code in (
        ("wrong", "failed", "invalid_request"),
        ("lost", "lost", "position_lost"),
        ("missing", "failed", "not_found"),
    ):
        for answer in found[kind]:
            assert (answer["phase"], answer["failure"]["code"]) == (phase, code), (kind, answer)
            assert len(answer["connections"]) == 1
    assert {answer["failure"]["param"] for answer in found["wrong"]} == {"top_p"}
