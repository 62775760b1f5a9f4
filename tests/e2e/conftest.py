"""A browser of Debian's for all tests, a page with a clean memory for each, and what they look at."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect

from tests.e2e.texts import SLOW
from tests.integration.conftest import Serve, real, relay, serve, shared, upstream
from tests.integration.front import Front
from tests.integration.server import ROOT, Server

#: The servers are those of the integration tests.
__all__ = ["real", "relay", "serve", "shared", "upstream"]

#: Pictures of the views, for people to look at.
PICTURES = ROOT / "build" / "screenshots"
#: As a headless browser must be started where there is no desktop and nothing may call home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync"]
#: Longest wait for what a person would see at once.
PATIENCE_MS = 15_000
#: Never right on a page, whatever was done to it.
_ALLOWED = ("Failed to load resource", "net::ERR", "WebSocket connection to")

Open = Callable[..., Awaitable[Page]]
expect.set_options(timeout=PATIENCE_MS)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium; `.ci/browser` sees to it that it is there."""
    executable = shutil.which("chromium")
    assert executable, "no chromium: make e2e says what to install"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def slow(shared: Serve) -> Front:
    """The front door of a server that says `texts.TEXT`."""
    return await (await shared(ENGINE_URL=SLOW)).front()


@pytest_asyncio.fixture(loop_scope="session")
async def front_relay(relay: Server) -> Front:
    """The front door of a server in front of the mock engine."""
    return await relay.front()


@pytest_asyncio.fixture(loop_scope="session")
async def person(browser: Browser) -> AsyncIterator[Callable[..., Awaitable[BrowserContext]]]:
    """`await person(...)`: a memory of its own; none of its pages may have complained at the end."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def listen(page: Page) -> None:
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.extend(_complaint(message)))

    async def make(**options: Any) -> BrowserContext:
        given = {"viewport": {"width": 1440, "height": 900}, "locale": "en-GB", "color_scheme": "light"}
        context = await browser.new_context(**given | options)
        context.on("page", listen)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        await context.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def visit(person: Callable[..., Awaitable[BrowserContext]]) -> Open:
    """`await visit(url, **context)`: a page in a memory of its own."""

    async def open_page(url: str, **options: Any) -> Page:
        page = await (await person(**options)).new_page()
        await page.goto(url)
        return page

    return open_page


def picture(name: str) -> Path:
    """Where a picture goes."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES / f"{name}.png"


def _complaint(message: ConsoleMessage) -> list[str]:
    """What the page said of itself, unless a test has cut its connections on purpose."""
    if message.type not in ("error", "warning") or any(words in message.text for words in _ALLOWED):
        return []
    return [f"{message.type}: {message.text} ({message.location.get('url')})"]
