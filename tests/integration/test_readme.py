"""Every example of the README does what it says when it is pasted, on a server with other ports."""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE

import pytest

from tests.integration.server import ROOT, Server
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

README = (ROOT / "README.md").read_text()
EXAMPLES = {
    name: (language, code)
    for name, language, code in re.findall(
        r"<!-- example: (\w+) -->\n```(\w+)\n(.*?)```\n", README, re.DOTALL
    )
}
#: What the scripted engine says when nobody sets its text.
TEXT = "Polystream keeps one numbered log per answer, so that you can leave, come back and miss nothing."
#: Above the start of an interpreter that imports grpc or openai on a busy machine.
EXAMPLE_S = 60


async def test_the_examples_are_these():
    assert list(EXAMPLES) == ["ndjson", "sse", "text", "websocket", "grpc", "openai", "resume"]
    assert len(re.findall("^```[a-z]", README, re.MULTILINE)) == len(EXAMPLES), "an example without a test"


async def test_ndjson_gives_an_event_a_line(scripted: Server):
    lines = (await run("ndjson", scripted)).splitlines()
    check_events([json.loads(line) for line in lines])


async def test_sse_gives_the_same_events_with_ids_and_names(scripted: Server):
    blocks = (await run("sse", scripted)).strip().split("\n\n")
    events = []
    for seq, block in enumerate(blocks):
        id, name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert (id, name) == (f"id: {seq}", f"event: {events[-1]['type']}")
    check_events(events)


@pytest.mark.parametrize("name", ["text", "websocket", "grpc", "openai"])
async def test_the_other_protocols_give_the_text(name: str, scripted: Server):
    assert (await run(name, scripted)).strip() == TEXT


async def test_a_reader_that_comes_back_over_another_protocol_has_it_all(scripted: Server):
    assert (await run("resume", scripted)).strip() == f"{TEXT} True"


async def test_a_console_takes_the_python_examples_too(scripted: Server):
    names = [name for name, (language, _) in EXAMPLES.items() if language == "python"]
    for said in await at_once(*(run(name, scripted, "-i", "-q") for name in names), names=tuple(names)):
        assert TEXT in said


def check_events(events: list[dict]) -> None:
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert "".join(event["text"] for event in events if event["type"] == "text") == TEXT
    assert events[0]["type"] == "started"
    assert events[-1]["type"] == "finished"
    assert events[-1]["events"] == len(events)


async def run(name: str, server: Server, *options: str) -> str:
    """What an example prints; with options, what the interpreter prints when it is pasted into that."""
    language, code = EXAMPLES[name]
    # The scheme stays where the example has it.
    for default, address in (("5000", server.rest), ("5001", server.websocket), ("50051", server.grpc)):
        host = address.rpartition("/")[2]
        code = re.sub(rf"\blocalhost:{default}\b", host, code)
    command = ["bash", "-euo", "pipefail", "-s"] if language == "bash" else [sys.executable, *options, "-"]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_environment()
    )
    try:
        said, complaints = await asyncio.wait_for(process.communicate(code.encode() + b"\n"), EXAMPLE_S)
    finally:
        if process.returncode is None:
            process.kill()
    trouble = complaints.decode()
    assert process.returncode == 0, trouble
    assert not re.search("Traceback|SyntaxError", trouble), trouble
    return said.decode()


def _environment() -> dict[str, str]:
    """Ours without proxies: everything is on loopback."""
    paths = [str(ROOT / "services"), os.environ.get("PYTHONPATH", "")]
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return environment | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
