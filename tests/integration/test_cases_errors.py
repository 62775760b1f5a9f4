"""Engines that refuse or are dead: the status arrives as such, nothing leaks, and health tells the truth."""

from typing import Any

import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.clients import Refused, Wire, grpc, http
from tests.clients.answer import Answer, collect
from tests.integration.cases import ask, load, start
from tests.integration.conftest import Serve
from tests.integration.server import Server
from tests.integration.upstream import Upstream
from tests.integration.waiting import at_once, until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_refusal_by_the_engine_reaches_the_client_and_frees_its_connection_B45(
    relay: Server, upstream: Upstream
):
    """Chat gives the engine's status; a native door has answered 200 already and says `failed`."""
    case = load()["B45"]

    async def refused(door: str, stage: Any) -> None:
        if door == "chat":
            with pytest.raises(Refused) as refusal:
                await ask(door, relay, case.request(stage))
            assert (refusal.value.status, refusal.value.code) == (case.expect["http_status"], "rate_limited")
            assert refusal.value.headers["retry-after"] == case.expect["retry_after"]
            return
        wire: Wire = {}
        answer = await ask(door, relay, case.request(stage), wire=wire)
        assert (answer.code, answer.text) == ("rate_limited", "")
        assert answer.error
        assert answer.error["retryable"] is True
        if door.startswith("grpc"):
            assert wire["status"] in case.expect["grpc_code"]
            assert wire["retry_after_ms"] == int(case.expect["retry_after"]) * 1000

    async def over(door: str) -> None:
        stage = case.stage(upstream)
        await at_once(*(refused(door, stage) for _ in range(case.client["parallel"])))
        answer = await ask(door, relay, case.request(stage))
        assert answer.text == case.expect["final_request_text"]
        assert len(stage.calls) == case.client["parallel"] + 1
        await until(lambda: not upstream.busy(stage), 2, "no connection is left behind")

    await at_once(*map(over, case.doors), names=case.doors)


async def test_an_engine_that_died_makes_the_server_unready_B47(serve: Serve):
    case = load()["B47"]
    server = await serve(**case.settings(Upstream()))
    await server.front()  # while there is something for Envoy to be ready for
    assert await _health(server) == (200, 200, 200, 200, "SERVING")
    said = []
    for door in case.doors:
        for _ in range(case.client["repeat"]):
            answer = Answer()
            try:
                await collect(start(door, server, case.request()), answer)
            except Refused:
                continue
            assert answer.error, "an answer of a dead engine looks whole"
            said.append(answer.text)
    assert said[0] == case.expect["text"]
    unready = case.expect["readyz_status"]
    wanted = (200, unready, 200, unready, case.expect["grpc_health"])
    await until(lambda: _is(server, wanted), 5, f"health says {wanted}")


async def _is(server: Server, wanted: tuple[Any, ...]) -> bool:
    return await _health(server) == wanted


async def _health(server: Server) -> tuple[Any, ...]:
    """/healthz and /readyz of the REST and the WebSocket port, and what gRPC's health service says."""
    socket = server.websocket.replace("ws://", "http://")
    found: list[Any] = []
    for url in (server.rest, socket):
        for path in ("healthz", "readyz"):
            answer, _ = await http.fetch("GET", f"{url}/{path}")
            found.append(answer.status)
    async with grpc.opened(server) as channel:
        stub: Any = HealthStub(channel)
        reply = await stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
    return (*found, health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))
