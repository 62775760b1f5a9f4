"""Readers that are slow or stand still: they cost themselves something, and nobody else."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.clients import grpc, rest
from tests.clients.answer import Answer, collect
from tests.integration.cases import ask, load, start
from tests.integration.conftest import Serve
from tests.integration.probe import alive
from tests.integration.server import Server
from tests.integration.slow import open_reader
from tests.integration.upstream import MODEL, Reply, Stage, Upstream, says
from tests.integration.waiting import at_once, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

MIB = 2**20
#: Enough to fill what a connection may hold, were there too little of it for each stream.
UNREAD = 2
#: Times 4 MiB: more than all socket buffers on the way swallow.
LONGER = 6


async def test_a_slow_reader_does_not_fill_the_memory_B75(serve: Serve, upstream: Upstream):
    """One server a door. The engine says 20 MiB at once; the log's limit ends it, far ahead of the reader."""
    case = load()["B75"]
    duration_s, rate = case.client["for_ms"] / 1000, case.client["read_bytes_per_s"]

    async def over(door: str, server: Server) -> None:
        await ask(door, server, upstream.stage(Reply(says("warm"))).request())
        stage, before, most = case.stage(upstream), server.resident_bytes(), 0
        async with AsyncExitStack() as stack:
            reader = await open_reader(door, server, case.request(stage), stack)
            began = time.monotonic()
            while (elapsed := time.monotonic() - began) < duration_s:
                async with asyncio.timeout(20):
                    if not await reader.take(rate // 10):
                        break
                most = max(most, server.resident_bytes())
                await asyncio.sleep(max(0.0, 0.1 - (time.monotonic() - began - elapsed)))
            assert reader.id
            state = await rest.status(server, reader.id)
        assert (most - before) / MIB <= case.expect["rss_growth_mib_max"], door
        assert state["state"] == "running" or state["error"]["code"] == "too_large", state

    servers = [await serve(ENGINE_URL=upstream.url, DEFAULT_MODEL=MODEL) for _ in case.doors]
    await at_once(*map(over, case.doors, servers), names=case.doors)


async def test_a_reader_that_stands_still_is_closed_and_has_left_B77(shared: Serve, upstream: Upstream):
    case = load()["B77"]
    server = await shared(**case.settings(upstream))

    async def over(door: str) -> None:
        stage = case.stage(upstream)
        request = case.request(stage, **({} if door == "chat" else {"on_disconnect": "cancel"}))
        async with AsyncExitStack() as stack:
            reader = await open_reader(door, server, request, stack)
            async with asyncio.timeout(20):
                taken = 0
                while taken < 5 * 4096:  # the case's five tokens
                    taken += await reader.take(4096)
            frozen = time.monotonic()
            (call,) = stage.calls
            async with asyncio.timeout(case.expect["upstream_closed_within_ms"] / 1000):
                await call.closed.wait()
            assert call.closed_at
            assert call.closed_at - frozen >= 1, "closed before it had stood still for long"
            state = await until(lambda: rest.status(server, str(reader.id)), 2, "a status")
        assert (state["state"], state.get("reason")) == ("finished", case.expect["status"])

    await at_once(*map(over, case.doors), names=case.doors)


async def test_a_stream_nobody_reads_does_not_hold_up_its_neighbour_B106(shared: Serve, upstream: Upstream):
    case = load()["B106"]
    server = await shared(ENGINE_URL=upstream.url, DEFAULT_MODEL=MODEL)
    drip = says(*(f"n{number} " for number in range(10)), delay_ms=50)
    async with grpc.opened(server) as channel:
        unread = start("grpc", server, case.request(case.stage(upstream)), channel=channel)
        await anext(unread)
        began, second = time.monotonic(), upstream.stage(Reply(drip), case.id)
        answer = await collect(start("grpc", server, second.request(), channel=channel))
        assert answer.reason == "stop"
        assert answer.text == "".join(f"n{number} " for number in range(10))
        assert (time.monotonic() - began) * 1000 <= case.expect["second"]["done_ms"]
        first = await collect(unread, Answer(seq=0, events=1))
        assert first.text == "f" * 16 * 512 * 512
        assert first.reason == "stop"


@pytest.mark.parametrize("door", load()["B106"].doors)
async def test_streams_nobody_reads_do_not_hold_up_their_neighbour_at_the_front_door_B106(
    door: str, shared: Serve, upstream: Upstream
):
    """All browsers share Envoy's connection to the service, a client's gRPC calls its own one to nginx."""
    case, drip = load()["B106"], [f"n{number} " for number in range(10)]
    server = await shared(ENGINE_URL=upstream.url, DEFAULT_MODEL=MODEL, LOG_MAX_BYTES=64 * MIB)
    front, long = await server.front(), Reply(case.upstream["writes"][:2] * LONGER)
    async with AsyncExitStack() as stack:
        options: dict[str, Any] = {}
        if door == "grpc":
            options["channel"] = await stack.enter_async_context(grpc.opened(front))
        for _ in range(UNREAD):
            said = upstream.stage(long, case.id)
            if door == "grpc":
                unread = start(door, front, said.request(), **options)
                stack.push_async_callback(unread.aclose)
                await anext(unread)
            else:
                await (await open_reader(door, front, said.request(), stack)).take(1024)
            await all_said(said)
        began, second = time.monotonic(), upstream.stage(Reply(says(*drip, delay_ms=50)), case.id)
        answer = await collect(start(door, front, second.request(), **options))
        assert (answer.text, answer.reason) == ("".join(drip), "stop")
        assert (time.monotonic() - began) * 1000 <= case.expect["second"]["done_ms"]


async def all_said(stage: Stage) -> None:
    """Wait until the engine has said everything."""
    call = await stage.called()
    await until(lambda: call.done, 20, "the engine has said it all")


async def test_answers_that_are_over_are_freed_B80(serve: Serve, upstream: Upstream):
    case = load()["B80"]
    server = await serve(module="tests.integration.probe", **case.settings(upstream))
    for _ in range(case.client["repeat"]):
        stage = case.stage(upstream)
        for door in case.doors:
            assert (await ask(door, server, case.request(stage))).reason == "stop"
        del upstream.stages[stage.key]
    left = case.expect["alive_response_objects_max"]
    await until(lambda: _few_responses(server, left), 5, f"at most {left} responses are alive")


async def _few_responses(server: Server, limit: int) -> bool:
    return (await alive(server))["responses"] <= limit
