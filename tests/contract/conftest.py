"""The contract suite's stores: another one joins by one more entry in `_STORES`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from polystream.core.ports import Store
from polystream.edge.loop import Loop
from polystream.stores.memory import MemoryStore
from polystream.stores.redis import Address, RedisStore
from tests.fakes import OpenStore
from tests.redis_server import RedisServer, redis_server

Fixture = Callable[[str], Any]


@pytest.fixture(scope="session")
def running_redis() -> Iterator[RedisServer]:
    """One server for the whole run."""
    with redis_server() as server:
        yield server


@pytest.fixture
def redis(running_redis: RedisServer) -> RedisServer:
    """An empty Redis."""
    running_redis.ask("FLUSHALL")
    return running_redis


@asynccontextmanager
async def _memory(retention_s: float, fixture: Fixture) -> AsyncIterator[Store]:
    store = MemoryStore(retention_s)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _redis(retention_s: float, fixture: Fixture) -> AsyncIterator[Store]:
    address = Address.parse(fixture("redis").url)
    store = RedisStore(address, retention_s=retention_s, open_s=600, buffer=10_000)
    try:
        yield store
    finally:
        await store.close()


#: Kind of store → opens an empty one with the given retention, seconds, and gives it back in the end. It may
#: ask for fixtures.
_STORES: dict[str, Callable[[float, Fixture], AbstractAsyncContextManager[Store]]] = {
    "memory": _memory,
    "redis": _redis,
}


@pytest.fixture(params=_STORES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[OpenStore]:
    """Opens an empty store of one kind with the given retention, seconds."""
    async with AsyncExitStack() as stack:

        async def open(retention_s: float) -> Store:
            return await stack.enter_async_context(
                _STORES[request.param](retention_s, request.getfixturevalue)
            )

        yield open


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """An empty store that forgets nothing while a test runs."""
    return await open_store(600)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Everything here runs in the loop of the product."""
    return {"uvloop": Loop}
