"""The front door: every protocol through nginx and Envoy, as quick, patient and truthful as without them."""

import asyncio
import json
import time
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from tests.clients import Broken, Wire, rest
from tests.clients.answer import Answer, collect
from tests.integration.cases import FRONT_DOORS, ask, native_id, start
from tests.integration.conftest import Serve
from tests.integration.front import Front
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream, says
from tests.integration.waiting import at_once, closed_within, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOKENS = 20
PACE_MS = 50
#: Two tokens that come together leave no longer gap than this.
TOGETHER_S = 0.005
ATTEMPTS = 4
DOORS = (*FRONT_DOORS, "text")


def scripted_request(*pieces: Any, **script: Any) -> dict[str, Any]:
    """A request to which the scripted engine says these pieces."""
    return {"prompt": "Hi", "metadata": {"script": json.dumps({"pieces": pieces} | script)}}


def opened(door: str, front: Front, request: dict[str, Any]) -> Any:
    """Start over a door, plain text included."""
    if door == "text":
        return rest.start(front, request, form=rest.TEXT)
    return start(door, front, request)


def numbered(door: str) -> bool:
    """Whether the door's events have numbers."""
    return door not in ("chat", "text")


@pytest.mark.parametrize("door", DOORS)
async def test_tokens_arrive_one_by_one(door: str, front: Front):
    """A read for each token, not a few with many. A busy machine delays some of them, a buffer all."""
    most = 0.0
    for _ in range(ATTEMPTS):
        most = max(most, await reads_per_token(door, front))
        if most >= 0.9:
            break
    print(f"{door}: {most} reads a token")
    assert most >= 0.9


async def reads_per_token(door: str, front: Front) -> float:
    """All that comes together counts as one read."""
    request = scripted_request(*(f"w{number} " for number in range(TOKENS)), pace_ms=PACE_MS)
    answer, reads, before = Answer(numbered=numbered(door)), 0, 0.0
    async for event in opened(door, front, request):
        answer.take(event)
        if event["type"] == "text":
            reads += time.monotonic() - before > TOGETHER_S
            before = time.monotonic()
    assert answer.text == "".join(f"w{number} " for number in range(TOKENS))
    return reads / TOKENS


async def test_a_silent_engine_is_waited_for_at_every_door_with_heartbeats(shared: Serve):
    """Silent for longer than the proxies bear, before and behind the first token. Text is cut."""
    server = await shared(ENGINE_URL="scripted:", HEARTBEAT_S=0.5, STATUS_HOLD_S=0.5)
    request = scripted_request({"text": "late", "wait_ms": 4000}, {"text": " but", "wait_ms": 3000}, " fine")

    async def over(door: str) -> None:
        answer = await ask(door, front, request)
        assert (answer.text, answer.reason) == ("late but fine", "stop")
        assert answer.heartbeats >= 8

    async def text() -> None:
        with pytest.raises(Broken):
            await collect(rest.start(front, request, form=rest.TEXT), Answer(numbered=False))

    async with Front(server, silence_s=2, idle_s=2) as front:
        await at_once(*map(over, FRONT_DOORS), text(), names=DOORS)


@pytest.mark.parametrize("heard", [0, 3])
@pytest.mark.parametrize("door", FRONT_DOORS)
async def test_a_client_that_leaves_stops_the_engine(
    door: str, heard: int, front_relay: Front, upstream: Upstream
):
    """Before the first token too, where no failing write would tell."""
    tokens = [f"w{number} " for number in range(heard)]
    stage = upstream.stage(
        Reply(says(*tokens)[: heard + 1] if heard else [], end="hold", hold_ms=30_000), "left"
    )
    request = stage.request(**({} if door == "chat" else {"on_disconnect": "cancel"}))
    answer = Answer(numbered=door != "chat")
    reading = asyncio.ensure_future(collect(start(door, front_relay, request), answer))
    await stage.called()
    await until(lambda: answer.text == "".join(tokens), 5, "all that was said has arrived")
    left = time.monotonic()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await closed_within(stage, left, 1000)
    print(f"{door}, {heard} tokens: {((stage.calls[0].closed_at or 0) - left) * 1000:.1f} ms")
    if answer.id is None:  # chat gives none before the first token
        return

    async def ended() -> dict[str, Any] | None:
        state = await rest.status(front_relay, native_id(answer))
        return None if state["state"] == "running" else state

    assert (await until(ended, 2, "the generation has ended"))["reason"] == "cancelled"


async def test_an_answer_whose_server_died_does_not_look_whole():
    server = Server(ENGINE_URL="scripted:")
    try:
        await asyncio.to_thread(server.wait_until_listening)
        async with Front(server) as front, AsyncExitStack() as stack:
            request = scripted_request("a", {"text": "b", "wait_ms": 30_000})
            answers = [await stack.enter_async_context(aclosing(opened(d, front, request))) for d in DOORS]
            for events in answers:
                while (await anext(events))["type"] != "text":
                    pass
            server.process.kill()
            for door, events in zip(DOORS, answers, strict=True):
                with pytest.raises(Broken):
                    raise AssertionError(f"{door}: {await collect(events, Answer(numbered=False))}")
    finally:
        server.kill()


@pytest.mark.parametrize("door", [door for door in FRONT_DOORS if numbered(door)])
async def test_a_generation_can_be_cancelled_and_asked_about(door: str, front: Front):
    client = FRONT_DOORS[door]
    events = start(door, front, scripted_request("a", {"text": "b", "wait_ms": 30_000}))
    answer = await collect(events, stop_after=1)
    await client.cancel(front, answer.id)
    whole = await collect(client.follow(front, answer.id, answer.seq), answer)
    assert whole.reason == "cancelled"
    assert (await client.status(front, answer.id))["reason"] == "cancelled"


async def test_grpc_web_in_base64_is_understood(front: Front):
    wire: Wire = {}
    request = scripted_request("a", "日本", "🌍", pace_ms=5)
    answer = await collect(FRONT_DOORS["grpc-web"].start(front, request, text=True, wire=wire))
    assert (answer.text, answer.reason) == ("a日本🌍", "stop")
    assert wire["trailer_frame"]
