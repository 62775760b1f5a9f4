"""What only a socket can get wrong: messages too big, several answers at once, pings in a silence."""

import asyncio
import json
from typing import Any

import pytest

from tests.clients import Refused, Wire, websocket
from tests.clients.answer import Answer
from tests.clients.websocket import unpack
from tests.integration.cases import ask, load
from tests.integration.server import Server
from tests.integration.upstream import Upstream

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("door", load()["B94"].doors)
async def test_an_oversized_request_is_refused_and_the_next_one_served_B94(
    door: str, relay: Server, upstream: Upstream
):
    case = load()["B94"]
    stage = case.stage(upstream)
    _, times, letter = case.wanted["prompt"].removeprefix("@").split(":")
    with pytest.raises(Refused) as refused:
        await ask(door, relay, stage.request(letter * int(times)))
    if door == "websocket":
        assert refused.value.status == 1009 or refused.value.code == "too_large"
    else:
        assert refused.value.code == "too_large"
        expected = "RESOURCE_EXHAUSTED" if door.startswith("grpc") else case.expect["http_status"]
        assert refused.value.status == expected
    assert not stage.calls
    answer = await ask(door, relay, stage.request("small"))
    assert answer.text == case.expect["final_request_text"]


async def test_two_answers_on_one_socket_do_not_mix_and_one_can_be_stopped_B95(
    relay: Server, upstream: Upstream
):
    case = load()["B95"]
    answers = {"first": Answer(), "second": Answer()}
    loop = asyncio.get_running_loop()

    async with websocket.opened(relay) as socket, asyncio.timeout(20):

        def send(**message: Any) -> asyncio.Task[None]:
            return loop.create_task(socket.send(json.dumps(message)))

        sent = [send(type="start", ref="first", request=case.request(case.stage(upstream)))]
        second = {"type": "start", "ref": "second", "request": case.request(case.stage(upstream))}
        loop.call_later(case.client["second_prompt_at_ms"] / 1000, lambda: sent.append(send(**second)))
        cancel = {"type": "cancel", "ref": "first"}
        loop.call_later(case.client["cancel_first_at_ms"] / 1000, lambda: sent.append(send(**cancel)))
        confirmed = None
        while not all(answer.last for answer in answers.values()):
            ref, event = unpack(await socket.recv())
            assert ref in answers, f"a frame without a ref: {event}"
            if event["type"] == "status":
                confirmed = event
            else:
                answers[ref].take(event)
    assert len(sent) == 3
    assert answers["first"].reason == case.expect["first"]["status"]
    assert answers["first"].pieces <= case.expect["first"]["tokens_max"]
    assert answers["second"].reason == "stop"
    assert answers["second"].text == case.expect["second"]["text_if_completed"]
    assert confirmed is not None
    assert confirmed["id"] == answers["first"].id


async def test_pings_are_answered_while_the_engine_is_silent_B92(scripted: Server):
    """Three seconds without a token."""
    case = load()["B92"]
    params = case.params
    answer = Answer()
    wire: Wire = {}
    pings = {
        "ping_interval": params["ws_ping_interval_ms"] / 1000,
        "ping_timeout": params["ws_ping_timeout_ms"] / 1000,
    }
    async for event in websocket.start(scripted, case.request(), wire=wire, **pings):
        answer.take(event)
    assert (answer.text, wire["close_code"]) == (case.expect["text"], case.expect["close_code"])
