"""Replicas as processes on one Redis: one follows what another produces, and what cannot serve says so."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.clients import Json, rest, websocket
from tests.clients.answer import Answer, collect
from tests.clients.http import fetch
from tests.integration.server import Server
from tests.redis_server import RedisServer, redis_server

pytestmark = pytest.mark.asyncio(loop_scope="session")


def asking(pieces: int, pace_ms: float) -> Json:
    """A request for so many pieces."""
    script = {"pieces": [f"{number} " for number in range(pieces)], "pace_ms": pace_ms}
    return {"prompt": "hi", "metadata": {"script": json.dumps(script)}}


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """One Redis."""
    with redis_server() as server:
        yield server


@pytest.fixture
async def replicas(redis: RedisServer) -> AsyncIterator[tuple[Server, Server]]:
    """REST in one process, WebSocket in another."""
    one = Server(command="rest", STORE_URL=redis.url, ENGINE_URL="scripted:")
    other = Server(command="websocket", STORE_URL=redis.url, ENGINE_URL="scripted:")
    try:
        for server in (one, other):
            await asyncio.to_thread(server.wait_until_listening)
        yield one, other
        for server in (one, other):
            await server.stop()
    finally:
        one.kill()
        other.kill()


async def test_an_answer_is_resumed_over_another_protocol_in_another_process(replicas: tuple[Server, Server]):
    one, other = replicas
    answer = Answer()
    await collect(rest.start(one, asking(200, 5)), answer, stop_after=20)
    assert answer.id is not None
    await collect(websocket.follow(other, answer.id, answer.seq), answer)
    assert (answer.reason, answer.text) == ("stop", "".join(f"{number} " for number in range(200)))


async def test_an_answer_is_cancelled_in_another_process(replicas: tuple[Server, Server]):
    one, other = replicas
    answer = Answer()
    await collect(rest.start(one, asking(3, 20_000)), answer, stop_after=1)
    assert answer.id is not None
    await websocket.cancel(other, answer.id)
    async with asyncio.timeout(5):
        await collect(rest.follow(one, answer.id, answer.seq), answer)
    assert answer.reason == "cancelled"


async def test_a_replica_says_that_it_is_ready_and_on_which_store(replicas: tuple[Server, Server]):
    _, body = await fetch("GET", f"{replicas[0].rest}/readyz")
    assert json.loads(body)["store"] == {"kind": "redis", "ok": True}


@pytest.mark.parametrize(
    ("policy", "url", "told"),
    [
        (
            "allkeys-lru",
            "redis://127.0.0.1:{port}",
            "its maxmemory-policy is allkeys-lru, and must be noeviction",
        ),
        ("noeviction", "redis://user:s3cret@127.0.0.1:{port}", "refuses user or password"),
        ("noeviction", "redis://:s3cret@127.0.0.1:1", "cannot be reached"),
    ],
)
async def test_a_redis_that_cannot_serve_ends_the_start_with_words(
    redis: RedisServer, policy: str, url: str, told: str
):
    redis.ask("CONFIG", "SET", "maxmemory-policy", policy)
    server = Server(command="rest", STORE_URL=url.format(port=redis.port))
    try:
        assert await server.ended(30) == 1
    finally:
        server.kill()
        redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    said = "\n".join(server.log)
    assert "polystream rest: STORE_URL: The store redis://127.0.0.1:" in said
    assert told in said
    assert "s3cret" not in said
    assert "Traceback" not in said
