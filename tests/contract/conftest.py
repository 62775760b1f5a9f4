"""The contract suite's stores: another one joins by one more entry in `_STORES`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest

from polystream.core.ports import Store
from polystream.edge.loop import Loop
from polystream.stores.memory import MemoryStore
from tests.fakes import OpenStore


@asynccontextmanager
async def _memory(retention_s: float) -> AsyncIterator[Store]:
    store = MemoryStore(retention_s)
    try:
        yield store
    finally:
        await store.close()


#: Kind of store → opens an empty one with the given retention, seconds, and gives it back in the end.
_STORES: dict[str, Callable[[float], AbstractAsyncContextManager[Store]]] = {"memory": _memory}


@pytest.fixture(params=_STORES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[OpenStore]:
    """Opens an empty store of one kind with the given retention, seconds."""
    async with AsyncExitStack() as stack:

        async def open(retention_s: float) -> Store:
            return await stack.enter_async_context(_STORES[request.param](retention_s))

        yield open


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """An empty store that forgets nothing while a test runs."""
    return await open_store(600)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Everything here runs in the loop of the product."""
    return {"uvloop": Loop}
