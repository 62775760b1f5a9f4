"""`polystream model` as others see it: its queue, its refusals and its notices, directly and through a
gateway.

The model is a stand-in for CTranslate2 that says a token every 5 ms, so that the order of things is known.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.clients import Broken, Refused, chat, grpc, rest
from tests.integration.cases import ask, start
from tests.integration.conftest import Serve
from tests.integration.server import Server
from tests.integration.small_model import Steps, stand_in
from tests.integration.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: Ten seconds of answer, if nobody stops it.
LONG: Steps = [{"piece": "▁more", "repeat": 2000}, {"finish": "stop"}]
SHORT: Steps = [{"piece": "▁so"}, {"piece": "▁far"}, {"finish": "stop"}]
ASK = {"prompt": "hi", "temperature": 0}
LEAVE = ASK | {"on_disconnect": "cancel"}
Model = Callable[..., Awaitable[Server]]


@pytest.fixture
def model(serve: Serve, small_model: Path) -> Model:
    """`await model(steps, **settings)`: the model's service, saying these steps."""

    async def begin(steps: Steps, **settings: Any) -> Server:
        return await serve(command="model", **stand_in(small_model, steps) | settings)

    return begin


@pytest.fixture
def gateway(serve: Serve) -> Callable[[Server], Awaitable[Server]]:
    """`await gateway(model)`: all protocols in front of a model's service."""

    async def begin(model: Server) -> Server:
        return await serve(ENGINE_URL=f"{model.rest}/v1")

    return begin


async def test_it_lists_its_model_and_is_ready(model: Model):
    server = await model(SHORT, DEFAULT_MODEL="mine")
    assert [row["id"] for row in (await rest.call("GET", f"{server.rest}/v1/models", 200))["data"]] == [
        "mine"
    ]
    ready = await rest.call("GET", f"{server.rest}/readyz", 200)
    assert ready["models"] == [{"id": "mine", "state": "ready"}]


async def test_another_model_is_not_found(model: Model):
    with pytest.raises(Refused) as refused:
        await ask("chat", await model(SHORT), ASK | {"model": "other"})
    assert (refused.value.status, refused.value.code) == (404, "model_not_found")


@pytest.mark.parametrize("door", ["ndjson", "sse", "websocket", "grpc"])
async def test_what_it_cannot_honour_is_told_through_a_gateway(
    door: str, model: Model, gateway: Callable[[Server], Awaitable[Server]]
):
    server = await gateway(await model(SHORT))
    answer = await ask(door, server, ASK | {"seed": 1, "presence_penalty": 0.5})
    assert answer.text == "so far"
    told = {"kind": "ignored", "detail": {"fields": ["seed", "presence_penalty"]}}
    assert [{"kind": each["kind"], "detail": each["detail"]} for each in answer.notices] == [told]
    plain = await ask(door, server, ASK)
    assert plain.notices == []


async def test_who_waits_is_told_its_place_and_who_finds_no_room_is_refused(
    model: Model, gateway: Callable[[Server], Awaitable[Server]]
):
    service = await model(LONG, ENGINE_WORKERS=1, ENGINE_BATCH=1, ENGINE_QUEUE=1)
    server = await gateway(service)
    async with (
        aclosing(start("ndjson", server, LEAVE)) as first,
        aclosing(start("sse", server, LEAVE)) as second,
    ):
        await anext_of(first, "text")
        queued = await anext_of(second, "notice")
        assert (queued["kind"], queued["detail"]) == ("queued", {"position": 1})
        with pytest.raises(Refused) as refused:
            await ask("chat", service, ASK)
        assert (refused.value.status, refused.value.code) == (503, "overloaded")
        assert refused.value.headers["retry-after"] == "5"
        third = await ask("grpc", server, ASK)
        assert third.code == "overloaded"
        await first.aclose()
        await anext_of(second, "text")


async def test_a_client_that_leaves_frees_the_worker(model: Model):
    server = await model(LONG, ENGINE_WORKERS=1, ENGINE_BATCH=1)
    async with aclosing(start("ndjson", server, LEAVE)) as events:
        await anext_of(events, "text")
    began = time.monotonic()
    async with aclosing(start("ndjson", server, LEAVE)) as events:
        await anext_of(events, "text")
    assert time.monotonic() - began < 1


async def test_a_client_that_leaves_the_queue_is_not_computed(model: Model):
    server = await model(LONG, ENGINE_WORKERS=1, ENGINE_BATCH=1, GENERATION_MAX_S=60)
    async with aclosing(start("ndjson", server, LEAVE)) as first:
        await anext_of(first, "text")
        async with aclosing(start("ndjson", server, LEAVE)) as second:
            id = (await anext_of(second, "started"))["id"]
            await anext_of(second, "notice")

        async def cancelled() -> bool:
            return (await rest.status(server, id)).get("reason") == "cancelled"

        await until(cancelled, 1, "the one that waited is cancelled")
    answer = await ask("chat", server, ASK | {"max_tokens": 1})
    assert answer.reason == "length"


@pytest.mark.parametrize("door", ["ndjson", "chat"])
async def test_a_prompt_that_is_too_long_is_refused_before_any_work(door: str, model: Model):
    server = await model(SHORT, ENGINE_MAX_PROMPT=20)
    asked = ASK | {"prompt": "much more than that " * 20}
    if door == "chat":
        with pytest.raises(Refused) as refused:
            await ask(door, server, asked)
        assert (refused.value.status, refused.value.code) == (400, "context_length_exceeded")
    else:
        answer = await ask(door, server, asked)
        assert (answer.code, answer.text) == ("context_length_exceeded", "")
        assert answer.error
        assert "the model takes 20 tokens" in answer.error["message"]


async def test_a_huge_prompt_stops_nobody_else(model: Model):
    server = await model(SHORT)
    asked = ASK | {"prompt": "a word or two " * 70_000}
    huge = asyncio.ensure_future(ask("ndjson", server, asked))
    waits = []
    while not huge.done():
        began = time.monotonic()
        await rest.call("GET", f"{server.rest}/healthz", 200)
        waits.append(time.monotonic() - began)
    assert (await huge).code == "context_length_exceeded"
    assert max(waits) < 0.5


async def test_log_probabilities_are_not_made_up(model: Model):
    """The stand-in has no logits, so the request breaks, and breaks nothing else."""
    server = await model(SHORT)
    assert (await ask("ndjson", server, ASK | {"logprobs": 1})).code == "internal"
    assert (await ask("ndjson", server, ASK)).text == "so far"


async def test_a_second_signal_ends_it_at_once_in_mid_answer(small_model: Path):
    """Not by the library's abort over a result that is pending."""
    server = Server(command="model", **stand_in(small_model, LONG), DRAIN_S=30)
    try:
        await asyncio.to_thread(server.wait_until_listening)
        with contextlib.suppress(Broken):
            async for event in chat.start(server, ASK):
                if event["type"] == "text" and server.exit_code is None:
                    server.signal(signal.SIGINT)
        assert await server.ended() == 128 + signal.SIGINT
    finally:
        server.kill()


async def anext_of(events: Any, kind: str) -> dict[str, Any]:
    """The next event of a kind."""
    async for event in events:
        if event["type"] == kind:
            return event
    raise AssertionError(f"no {kind}")


async def test_grpc_lists_it_through_a_gateway(model: Model, gateway: Callable[[Server], Awaitable[Server]]):
    server = await gateway(await model(SHORT, DEFAULT_MODEL="mine"))
    assert await grpc.models(server) == [{"id": "mine", "state": "ready"}]
