"""The articles' doors while the engine says nothing, and in a drain."""

import asyncio
import json
import signal

import pytest

from tests.clients import articles, http
from tests.integration.articles import ASKS, STREAMING, doors_of, prompt_of, whole_text
from tests.integration.conftest import Serve
from tests.integration.upstream import Reply, Upstream, says
from tests.integration.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("kind", STREAMING)
async def test_a_silent_engine_is_bridged_by_what_shows_nothing(shared: Serve, upstream: Upstream, kind: str):
    """From the headers on, which come before the first word where that is late."""
    server = await shared(ENGINE_URL=upstream.url, HEARTBEAT_S=0.2, STATUS_HOLD_S=0.1)
    stage = upstream.stage(Reply(says("a", "b", delay_ms=1500)))
    body = await whole_text(articles.streaming(doors_of(server), kind, prompt_of(stage)))
    beat = {"fastapi": ": \n\n", "starlette": ":\n\n"}[kind]
    assert body.startswith(beat)
    before, _, after = body.partition("data: a\n\n")
    assert min(before.count(beat), after.count(beat)) >= 2
    assert {"fastapi": articles.fastapi, "starlette": articles.starlette}[kind](body) == "ab"


async def test_a_silent_engine_is_bridged_for_the_event_source_too(shared: Serve, upstream: Upstream):
    server = await shared(ENGINE_URL=upstream.url, HEARTBEAT_S=0.2, STATUS_HOLD_S=0.1)
    stage = upstream.stage(Reply(says("a", delay_ms=1500)))
    raw = json.dumps({"prompt": prompt_of(stage)}).encode()
    told = json.loads((await http.fetch("POST", f"{server.rest}/start", articles.JSON, raw))[1])
    _, body = await http.fetch("GET", f"{server.rest}/generate?id={told['id']}")
    assert body.startswith(b": heartbeat\n\n: heartbeat\n\n")


async def test_a_drain_lets_answers_go_on_to_their_ends(serve: Serve, upstream: Upstream):
    server = await serve(ENGINE_URL=upstream.url, DRAIN_S=15)
    doors = doors_of(server)
    names = [name for name in ASKS if name != "generate"]
    stages = [upstream.stage(Reply(says(*["word "] * 20, delay_ms=50))) for _ in names]
    work = [
        asyncio.ensure_future(ASKS[name](doors, prompt_of(stage)))
        for name, stage in zip(names, stages, strict=True)
    ]
    await until(lambda: all(stage.calls and stage.calls[0].written > 3 for stage in stages), 10, "asked")
    server.signal(signal.SIGTERM)
    assert [(await shown).text for shown in work] == ["word " * 20] * len(names)
    assert await server.ended() == 0


async def test_a_socket_with_nothing_under_way_is_closed_by_a_drain(serve: Serve):
    server = await serve()
    async with asyncio.timeout(20), articles.opened(doors_of(server)) as socket_:
        await socket_.send("hi")
        assert [frame async for frame in articles.answer(socket_)][-1].startswith("event:end")
        server.signal(signal.SIGTERM)
        await socket_.wait_closed()
    assert socket_.close_code == 1012
