"""SIGTERM with streams open: readers that can resume are told to come back, and the process ends in time."""

import asyncio
import contextlib
import json
import signal
import time

import pytest
from websockets.exceptions import ConnectionClosed

from tests.clients import Json, Wire, websocket
from tests.clients.websocket import unpack
from tests.integration.cases import Case, load, start
from tests.integration.conftest import Serve
from tests.integration.server import Server
from tests.integration.upstream import Stage, Upstream
from tests.integration.waiting import at_once, until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def last_of(door: str, server: Server, case: Case, stage: Stage) -> tuple[Json, Wire]:
    """Read an answer to its end, which its client sees to; the last event and what the protocol says."""
    wire: Wire = {}
    events = [event async for event in start(door, server, case.request(stage), wire=wire)]
    return events[-1], wire


async def test_an_open_stream_does_not_block_the_shutdown_B81(serve: Serve, upstream: Upstream):
    """NDJSON besides the case's protocols. Its `shutdown` is our `come_back`.

    Chat, which cannot resume, is kept until DRAIN_S and then broken off with an error.
    """
    case = load()["B81"]
    server = await serve(DRAIN_S=2, **case.settings(upstream))
    stages = {door: case.stage(upstream) for door in ("ndjson", *case.doors)}
    reading = asyncio.ensure_future(
        at_once(*(last_of(door, server, case, stage) for door, stage in stages.items()), names=tuple(stages))
    )
    calls = [await stage.called() for stage in stages.values()]
    await until(lambda: all(call.written > 2 for call in calls), 5, "every answer has begun")
    server.signal(signal.SIGTERM)
    told = time.monotonic()
    for door, (event, wire) in zip(stages, await reading, strict=True):
        if door == "chat":
            assert event["type"] == "failed", event
            continue
        assert (event["type"], event.get("reason")) == ("come_back", "drain"), f"{door}: {event}"
        if door == "grpc":
            assert wire["status"] == "UNAVAILABLE"
            assert wire["retry_after_ms"] == event["retry_after_ms"]
    assert await server.ended() == case.expect["exit_code"]
    assert (time.monotonic() - told) * 1000 <= case.expect["server_exit_within_ms"]


async def test_a_socket_is_closed_as_a_restart_when_its_server_drains_B81(serve: Serve, upstream: Upstream):
    case = load()["B81"]
    server = await serve(**case.settings(upstream))
    kinds: dict[str | None, list[str]] = {"a": [], "b": []}
    told = False
    async with websocket.opened(server) as socket:
        for ref in kinds:
            request = case.request(case.stage(upstream))
            await socket.send(json.dumps({"type": "start", "ref": ref, "request": request}))
        with contextlib.suppress(ConnectionClosed):
            while True:
                ref, event = unpack(await socket.recv())
                kinds[ref].append(event["type"])
                if not told and all("text" in seen for seen in kinds.values()):
                    server.signal(signal.SIGTERM)
                    told = True
        assert {ref: seen[-1] for ref, seen in kinds.items()} == {"a": "come_back", "b": "come_back"}
        assert socket.close_code == 1012


async def test_a_second_run_in_the_same_process_serves_too_B78(serve: Serve, upstream: Upstream):
    case = load()["B78"]
    server = await serve(module="tests.integration.twice", command="rest", **case.settings(upstream))
    for run in range(case.expect["runs"]):
        if run:
            server.rest = ""
            server.process.terminate()
            await asyncio.to_thread(server.wait_until_listening)
        event, _ = await last_of("sse", server, case, case.stage(upstream))
        assert (event["type"], event["reason"], event["events"]) == ("finished", "stop", 3)
