"""The front door and the services behind it: dead ones, ones that hang up, and their connections."""

import asyncio
import json

import pytest

from tests.clients import grpcweb
from tests.clients.answer import collect
from tests.integration.cases import FRONT_DOORS, start
from tests.integration.conftest import Serve
from tests.integration.front import Front, Nowhere, ask_for, refused

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANYTHING = "gen_" + "0" * 22


@pytest.mark.parametrize("door", FRONT_DOORS)
async def test_a_service_that_cannot_be_reached_is_told_in_the_words_of_its_door(door: str):
    async with Front(Nowhere, alone=True) as front:
        told = await refused(start(door, front, {"prompt": "Hi"}))
        assert (await ask_for(front, "GET", "/healthz")) == (200, {"ok": True})
        assert (await ask_for(front, "GET", "/readyz"))[0] == 502
    if door.startswith("grpc"):
        assert (told.status, told.code) == ("UNAVAILABLE", "upstream_unavailable")
    else:
        assert told.status == 502
        error = json.loads(told.body)["error"] if door == "websocket" else told.body
        assert error["code"] == "upstream_unavailable"
        assert error["type"] == "api_error" if door == "chat" else error["retryable"] is True


async def test_envoy_says_unavailable_when_the_service_has_gone(serve: Serve):
    server = await serve(ENGINE_URL="scripted:")
    async with Front(server) as front:
        assert (await collect(grpcweb.start(front, {"prompt": "Hi"}))).reason == "stop"
        await server.stop()
        told = await refused(grpcweb.start(front, {"prompt": "Hi"}))
    assert (told.status, told.code) == ("UNAVAILABLE", "upstream_unavailable")


@pytest.mark.parametrize(
    ("method", "path", "arrivals"),
    [
        ("POST", "/v1/streams", 1),
        ("GET", "/v1/streams?prompt=Hi", 1),
        ("GET", "/?prompt=Hi", 1),
        ("GET", f"/v1/streams/{ANYTHING}", 2),
    ],
)
async def test_a_start_is_never_sent_twice(method: str, path: str, arrivals: int):
    """The service closes a kept connection on a request, perhaps having started: only a read is repeated."""
    arrived: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readuntil(b"\r\n\r\n")
        if b"/readyz" in first:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            first = await reader.readuntil(b"\r\n\r\n")
        arrived.append(first)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as service:
        host, port = service.sockets[0].getsockname()
        async with Front(Nowhere, alone=True, rest=f"{host}:{port}") as front:
            assert (await ask_for(front, "GET", "/readyz"))[0] == 200
            assert (await ask_for(front, method, path))[0] == 502
    assert len(arrived) == arrivals


async def test_connections_to_the_services_are_kept():
    """nginx's pool: without it each request would cost the service a connection."""
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /v1/models "):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as service:
        host, port = service.sockets[0].getsockname()
        async with Front(Nowhere, alone=True, rest=f"{host}:{port}") as front:
            for _ in range(20):
                assert await ask_for(front, "GET", "/v1/models") == (200, {})
            assert connections == 1
            await ask_for(front, "GET", "/v1/over")
