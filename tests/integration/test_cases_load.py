"""Many streams at once: slow ones, long ones and health checks share one event loop and do not wait."""

import asyncio
import statistics
import time
from typing import Any

import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.clients import grpc, http
from tests.clients.answer import Answer, collect
from tests.integration.cases import ask, load, start
from tests.integration.conftest import Serve
from tests.integration.probe import alive
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream, says
from tests.integration.waiting import at_once, closed_within, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: There is no limit on streams in this version; more than any thread pool of a gRPC server has.
MANY_STREAMS = 105
HEALTH = "polystream.v1.Streams"


async def test_a_slow_engine_stalls_neither_other_streams_nor_health_B69(relay: Server, upstream: Upstream):
    case = load()["B69"]
    drip = [f"b{number} " for number in range(10)]

    async def slow(door: str) -> None:
        answer = await ask(door, relay, case.request(case.stage(upstream)))
        assert answer.text == case.expect["text"]

    async def quick(door: str) -> None:
        began = time.monotonic()
        answer = await ask(door, relay, upstream.stage(Reply(says(*drip, delay_ms=100)), case.id).request())
        assert answer.text == "".join(drip)
        assert (time.monotonic() - began) * 1000 <= case.expect["stream_b_done_ms"]

    async def probe() -> list[float]:
        took = []
        for _ in range(5000 // case.client["during"][1]["every_ms"]):
            began = time.monotonic()
            answer, _body = await http.fetch("GET", relay.rest + case.client["during"][1]["probe"])
            assert answer.status == 200
            took.append((time.monotonic() - began) * 1000)
            await asyncio.sleep(case.client["during"][1]["every_ms"] / 1000)
        return took

    *_, took = await at_once(*map(slow, case.doors), *map(quick, case.doors), probe())
    assert statistics.quantiles(took, n=100)[98] <= case.expect["healthz_p99_ms"]


async def test_twenty_streams_at_once_hold_nothing_that_they_share_B72(relay: Server, upstream: Upstream):
    case = load()["B72"]

    async def one(door: str) -> None:
        answer = await ask(door, relay, case.request(case.stage(upstream)))
        assert answer.text == case.expect["text"]

    began = time.monotonic()
    doors = case.doors * case.client["parallel"]
    await at_once(*map(one, doors), names=doors)
    assert (time.monotonic() - began) * 1000 <= case.expect["all_done_within_ms"]


async def test_long_grpc_streams_leave_room_for_health_checks_B103(relay: Server, upstream: Upstream):
    case = load()["B103"]
    streams = [start("grpc", relay, case.request(case.stage(upstream))) for _ in range(MANY_STREAMS)]
    answers = [Answer() for _ in streams]
    try:
        for _ in range(2):  # started, and a first token: every stream is under way
            for answer, event in zip(answers, await asyncio.gather(*map(anext, streams)), strict=True):
                answer.take(event)
        assert all(answer.pieces == 1 for answer in answers)
        async with grpc.opened(relay) as channel:
            stub: Any = HealthStub(channel)
            await stub.Check(health_pb2.HealthCheckRequest(), timeout=5, wait_for_ready=True)  # connects
            began = time.monotonic()
            reply = await stub.Check(health_pb2.HealthCheckRequest(service=HEALTH), timeout=5)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
            assert (time.monotonic() - began) * 1000 <= case.expect["health_ms"]
    finally:
        await asyncio.gather(*(stream.aclose() for stream in streams))


async def test_a_cancelled_grpc_call_leaves_no_task_behind_B98(serve: Serve, upstream: Upstream):
    case = load()["B98"]
    server = await serve(module="tests.integration.probe", **case.settings(upstream))
    await ask("grpc", server, upstream.stage(Reply(says("warm"))).request())
    before = (await alive(server))["tasks"]

    async def one() -> None:
        stage = case.stage(upstream)
        request = case.request(stage, on_disconnect="cancel")
        await ask("grpc", server, request, leave_after=case.client["leave_after_tokens"])
        await closed_within(stage, time.monotonic(), case.expect["upstream_closed_within_ms"])

    await at_once(*(one() for _ in range(case.client["repeat"])))
    limit = before + case.expect["leaked_tasks_max"]
    await until(lambda: _few_tasks(server, limit), 5, f"at most {limit} tasks are left")


async def test_clients_that_ping_often_are_not_sent_away_B100(relay: Server, upstream: Upstream):
    case = load()["B100"]
    async with grpc.opened(relay, case.client["grpc_options"]) as channel:
        events = start("grpc", relay, case.request(case.stage(upstream)), channel=channel)
        answer = await collect(events)
    assert (answer.text, answer.reason) == (case.expect["text"], "stop")


async def test_parameters_reach_the_engine_as_they_were_given_B115(relay: Server, upstream: Upstream):
    """The engine of this case answers with what it was asked for; what nobody gave it was not sent."""
    case = load()["B115"]

    async def one(door: str, seed: int) -> str:
        answer = await ask(door, relay, case.request(case.stage(upstream), seed=seed))
        said = dict(part.split("=") for part in answer.text.split())
        assert f"seed={said['seed']}" == case.expect["text_template"].format(seed=seed)
        assert float(said["temperature"]) == case.params["temperature"]
        assert set(said) == {"seed", "temperature"}
        return answer.text

    runs = [(door, seed) for door in case.doors for seed in case.client["seeds"]]
    first, second = [await at_once(*(one(*run) for run in runs)) for _ in range(case.client["runs"])]
    assert (first == second) is case.expect["runs_equal"]


async def _few_tasks(server: Server, limit: int) -> bool:
    return (await alive(server))["tasks"] <= limit
