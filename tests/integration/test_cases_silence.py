"""Engines that take their time: nothing on the way may hold the answer back or take the silence for death."""

import time
from itertools import pairwise

import pytest

from tests.clients import Wire, http
from tests.clients.answer import Answer
from tests.clients.event import body
from tests.clients.rest import NDJSON
from tests.clients.sse import SSE
from tests.integration.cases import ask, load, start
from tests.integration.conftest import Serve
from tests.integration.front import Front
from tests.integration.server import Server
from tests.integration.silence import SilenceProxy
from tests.integration.upstream import MODEL, Upstream
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: Case → how long a proxy on the way bears silence, seconds (the case's own figure).
IMPATIENT = {"B50": 2.0, "B56": 2.0, "B101": 3.0}
_LISTENER = {"websocket": "websocket", "grpc": "grpc"}


@pytest.mark.parametrize("id", IMPATIENT)
async def test_a_silent_engine_does_not_cost_the_connection(id: str, shared: Serve, upstream: Upstream):
    """Through a proxy that cuts silent connections and measures their silence."""
    case = load()[id]
    settings = {"HEARTBEAT_S": 1, "STATUS_HOLD_S": 1}
    server = await shared(ENGINE_URL=upstream.url, DEFAULT_MODEL=MODEL, **settings)

    async def over(door: str) -> None:
        stage = case.stage(upstream)
        async with SilenceProxy(server, _LISTENER.get(door, "rest"), IMPATIENT[id]) as proxy:
            answer = await ask(door, proxy, case.request(stage))
        assert answer.text == case.expect["text"]
        assert answer.reason == "stop"
        assert proxy.cuts == 0
        assert proxy.longest_s * 1000 <= case.expect.get("max_silence_ms", 1500)
        assert answer.heartbeats >= case.expect.get("heartbeats_min", 3) - (door == "chat")
        assert len(stage.calls) == 1

    await at_once(*map(over, case.direct), names=case.direct)


@pytest.mark.parametrize("id", IMPATIENT)
async def test_a_silent_engine_does_not_cost_the_connection_at_the_front_door(
    id: str, shared: Serve, upstream: Upstream
):
    """The same through nginx and Envoy themselves, as impatient as the case has it."""
    case = load()[id]
    settings = {"HEARTBEAT_S": 1, "STATUS_HOLD_S": 1}
    server = await shared(ENGINE_URL=upstream.url, DEFAULT_MODEL=MODEL, **settings)

    async def over(door: str) -> None:
        stage = case.stage(upstream)
        answer = await ask(door, front, case.request(stage))
        assert answer.text == case.expect["text"]
        assert answer.reason == "stop"
        assert answer.heartbeats >= case.expect.get("heartbeats_min", 3) - (door == "chat")
        assert len(stage.calls) == 1

    async with Front(server, silence_s=IMPATIENT[id], idle_s=IMPATIENT[id]) as front:
        await at_once(*map(over, case.doors), names=case.doors)


async def test_a_long_answer_has_no_time_limit_at_the_front_door_B55(front_relay: Front, upstream: Upstream):
    """18 seconds: longer than Envoy's route timeout when nobody sets it."""
    case = load()["B55"]

    async def over(door: str) -> None:
        answer = await ask(door, front_relay, case.request(case.stage(upstream)))
        assert (answer.text, answer.reason) == (case.expect["text"], "stop")

    await at_once(*map(over, case.doors), names=case.doors)


@pytest.mark.parametrize("path", ["direct", "front"])
async def test_every_token_arrives_when_it_is_said_B59(path: str, relay: Server, upstream: Upstream):
    """The headers are what keeps further proxies from buffering."""
    server = relay if path == "direct" else await relay.front()
    case = load()["B59"]

    async def over(door: str) -> None:
        wire: Wire = {}
        answer, came = Answer(numbered=door != "chat"), [time.monotonic()]
        async for event in start(door, server, case.request(case.stage(upstream)), wire=wire):
            answer.take(event)
            if event["type"] == "text":
                came.append(time.monotonic())
        assert answer.text == case.expect["text"]
        gaps = [(later - earlier) * 1000 for earlier, later in pairwise(came)]
        assert gaps[0] <= case.expect["first_token_within_ms"]
        assert max(gaps) <= case.expect["max_gap_ms"]
        assert wire["headers"]["x-accel-buffering"] == case.expect["headers"]["x-accel-buffering"]
        assert wire["headers"]["cache-control"] == "no-cache, no-transform"

    await at_once(*map(over, case.doors), names=case.doors)


async def test_nothing_at_the_front_door_holds_a_stream_back_B62(front_relay: Front, upstream: Upstream):
    case = load()["B62"]

    async def over(door: str) -> None:
        answer, gap, before = Answer(numbered=door != "chat"), 0.0, time.monotonic()
        async for event in start(door, front_relay, case.request(case.stage(upstream))):
            answer.take(event)
            gap, before = max(gap, time.monotonic() - before), time.monotonic()
        assert answer.text == case.expect["text"]
        assert gap * 1000 <= case.expect["max_gap_ms"]

    await at_once(*map(over, case.doors), names=case.doors)


@pytest.mark.parametrize("form", [NDJSON, SSE])
async def test_the_headers_do_not_wait_for_the_first_token_B61(form: str, relay: Server, upstream: Upstream):
    """Native doors only: chat holds its status back, so that refusals can be statuses."""
    case = load()["B61"]
    stage, began = case.stage(upstream), time.monotonic()
    headers = {"Accept": form, **case.client["headers"]}
    answer = await http.request("POST", f"{relay.rest}/v1/streams", headers, body(case.request(stage)))
    try:
        assert (time.monotonic() - began) * 1000 <= case.expect["headers_within_ms"]
        assert answer.status == 200
        assert answer.headers["stream-id"].startswith("gen_")
        assert answer.headers["location"] == f"/v1/streams/{answer.headers['stream-id']}"
        assert "content-encoding" not in answer.headers
        whole = await answer.read()
    finally:
        answer.close()
    assert b'"slow start"' in whole
    assert b'"finished"' in whole


@pytest.mark.parametrize("door", load()["B61"].doors)
async def test_a_client_that_takes_gzip_still_gets_a_stream_B61(door: str, relay: Server, upstream: Upstream):
    case = load()["B61"]
    answer = await ask(door, relay, case.request(case.stage(upstream)), headers=case.client["headers"])
    assert answer.text == case.expect["text"]
