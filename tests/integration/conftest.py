"""Servers under test and their mock engine; one event loop for all tests here, so that both can be shared."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.integration import small_model as small
from tests.integration.articles import Doors, doors_of
from tests.integration.front import Front
from tests.integration.server import ROOT, Server
from tests.integration.up import Up
from tests.integration.upstream import MODEL, Upstream

#: Converted models of the tests, kept from one run to the next.
MODELS = ROOT / "build" / "models"
Serve = Callable[..., Awaitable[Server]]
_running: list[Server] = []
_read: dict[Server, int] = {}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def upstream() -> AsyncIterator[Upstream]:
    """The mock engine."""
    async with Upstream() as mock:
        yield mock


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared() -> AsyncIterator[Serve]:
    """`await shared(**settings)`: a server with these settings, started once and used by many tests."""
    servers: dict[tuple[tuple[str, str], ...], Server] = {}

    async def get(**settings: Any) -> Server:
        key = tuple(sorted((name, str(value)) for name, value in settings.items()))
        if key not in servers:
            servers[key] = await _start(settings)
        return servers[key]

    yield get
    await _stop(list(servers.values()))


@pytest_asyncio.fixture(loop_scope="session")
async def serve() -> AsyncIterator[Serve]:
    """`await serve(**settings)`: a server of the test's own, stopped and checked when the test is over."""
    servers: list[Server] = []

    async def start(**settings: Any) -> Server:
        servers.append(await _start(settings))
        return servers[-1]

    yield start
    await _stop(servers)


@pytest_asyncio.fixture(loop_scope="session")
async def relay(shared: Serve, upstream: Upstream) -> Server:
    """A server in front of the mock engine; its front door is open, so no test's clock counts the opening."""
    server = await shared(ENGINE_URL=upstream.url, DEFAULT_MODEL=MODEL)
    await server.front()
    return server


@pytest_asyncio.fixture(loop_scope="session")
async def scripted(shared: Serve) -> Server:
    """A server whose engine plays scripts; its front door is open as well."""
    server = await shared(ENGINE_URL="scripted:")
    await server.front()
    return server


@pytest_asyncio.fixture(loop_scope="session")
async def front(scripted: Server) -> Front:
    """The front door of a server whose engine plays scripts: nginx and Envoy, as shipped."""
    return await scripted.front()


@pytest_asyncio.fixture(loop_scope="session")
async def front_relay(relay: Server) -> Front:
    """The front door of a server in front of the mock engine."""
    return await relay.front()


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `ENGINE_URL=ctranslate2:` takes, where a stand-in does the computing."""
    return small.write(tmp_path_factory.mktemp("small-model"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def real() -> AsyncIterator[Up]:
    """All that `make run` starts, with the real model, which is converted once for all runs of the tests."""
    up = Up(ENGINE_URL="", MODELS_DIR=MODELS, ENGINE_THREADS=1)
    try:
        yield await asyncio.to_thread(up.wait_until_ready)
        await up.stop()
        await up.all_gone()
    finally:
        up.kill_all()


@pytest_asyncio.fixture(params=["direct", "front"], loop_scope="session")
async def doors(request: pytest.FixtureRequest, relay: Server, front_relay: Front) -> Doors:
    """Where the articles' doors are, in front of the mock engine."""
    return doors_of(relay if request.param == "direct" else front_relay)


async def _start(settings: dict[str, Any]) -> Server:
    server = Server(**settings)
    _running.append(server)
    try:
        return await asyncio.to_thread(server.wait_until_listening)
    except BaseException:
        server.kill()
        raise


async def _stop(servers: list[Server]) -> None:
    results = await asyncio.gather(*(server.stop() for server in servers), return_exceptions=True)
    for server in servers:
        server.kill()
        _running.remove(server)
    for result in results:
        if isinstance(result, BaseException):
            raise result


def pytest_runtest_setup() -> None:
    """Remember where each server's log stands when a test begins."""
    _read.update({server: len(server.log) for server in _running})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what its servers said meanwhile."""
    report = yield
    if report.failed:
        for server in _running:
            if said := server.log[_read.get(server, 0) :]:
                report.sections.append((f"log of server {server.pid}", "\n".join(said[-60:])))
    return report
