"""Every example of the README does what it says when it is pasted, on a run at other ports."""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE

import pytest
import pytest_asyncio

from tests.clients import rest
from tests.integration.server import ROOT
from tests.integration.up import Up
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

README = (ROOT / "README.md").read_text()
EXAMPLES = {
    name: (language, code)
    for name, language, code in re.findall(
        r"<!-- example: (\w+) -->\n```(\w+)\n(.*?)```\n", README, re.DOTALL
    )
}
INTERPRETERS = {
    "bash": ["bash", "-euo", "pipefail", "-s"],
    "javascript": ["node", "--input-type=module", "-"],
}
#: Above the start of an interpreter that imports grpc or openai on a busy machine.
EXAMPLE_S = 60


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def text(real: Up) -> str:
    """What the model says to the examples' prompt at temperature 0."""
    asked = {"prompt": "Hello", "temperature": 0}
    return "".join([event["text"] async for event in rest.start(real, asked, form=rest.TEXT)]).strip()


async def test_the_examples_are_these():
    names = ["ndjson", "sse", "text", "browser", "websocket", "grpc", "openai", "resume"]
    assert list(EXAMPLES) == names
    assert len(re.findall("^```[a-z]", README, re.MULTILINE)) == len(EXAMPLES), "an example without a test"


async def test_ndjson_gives_an_event_a_line(real: Up):
    events = [json.loads(line) for line in (await run("ndjson", real)).splitlines()]
    assert "Paris" in check_events(events)


async def test_sse_gives_the_same_events_with_ids_and_names(real: Up, text: str):
    blocks = (await run("sse", real)).strip().split("\n\n")
    events = []
    for seq, block in enumerate(blocks):
        id, name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert (id, name) == (f"id: {seq}", f"event: {events[-1]['type']}")
    assert check_events(events).strip() == text


@pytest.mark.parametrize("name", ["text", "websocket", "grpc", "openai"])
async def test_the_other_protocols_give_the_text(name: str, real: Up, text: str):
    assert (await run(name, real)).strip() == text


async def test_a_browser_gets_the_text_in_pieces(real: Up, text: str):
    pieces = (await run("browser", real)).removesuffix("\n").split("\n")
    assert "".join(pieces).strip() == text.replace("\n", "")
    assert len(pieces) > 5


async def test_a_reader_that_comes_back_over_another_protocol_has_it_all(real: Up, text: str):
    assert (await run("resume", real)).strip() == f"{text} True"


async def test_a_console_takes_the_python_examples_too(real: Up, text: str):
    names = [name for name, (language, _) in EXAMPLES.items() if language == "python"]
    for said in await at_once(*(run(name, real, "-i", "-q") for name in names), names=tuple(names)):
        assert text in said


def check_events(events: list[dict]) -> str:
    """Whole and in order; the text."""
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "started"
    assert events[-1]["type"] == "finished"
    assert events[-1]["events"] == len(events)
    return "".join(event["text"] for event in events if event["type"] == "text")


async def run(name: str, up: Up, *options: str) -> str:
    """What an example prints; with options, what the interpreter prints when it is pasted into that."""
    language, code = EXAMPLES[name]
    code = re.sub(r"\blocalhost:8080\b", up.rest.partition("://")[2], code)
    command = INTERPRETERS.get(language, [sys.executable, *options, "-"])
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
