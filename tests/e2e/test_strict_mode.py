"""Case B90: React's StrictMode runs everything twice in development; an answer must not notice."""

import mimetypes
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Route, expect

from tests.e2e.chat import Chat
from tests.integration.cases import load
from tests.integration.front import Front
from tests.integration.server import ROOT
from tests.integration.upstream import Upstream

pytestmark = pytest.mark.asyncio(loop_scope="session")

CASE = load()["B90"]
NAMES = {"sse": "SSE", "websocket": "WebSocket", "grpc-web": "gRPC-Web"}
BUILD_S = 120


@pytest.fixture(scope="session")
def development(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The UI built with React's development version: the other one takes no notice of StrictMode."""
    folder = tmp_path_factory.mktemp("development")
    path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    vite = ROOT / "frontend" / "node_modules" / ".bin" / "vite"
    subprocess.run(
        [vite, "build", "--mode", "development", "--outDir", folder, "--emptyOutDir", "--logLevel", "error"],
        cwd=ROOT / "frontend",
        env=os.environ | {"NODE_ENV": "development", "PATH": path},
        timeout=BUILD_S,
        check=True,
    )
    return folder


@pytest.mark.parametrize("door", [door for door in CASE.doors if door in NAMES])
async def test_strict_mode_asks_once_and_doubles_no_word_B90(
    door: str, development: Path, front_relay: Front, upstream: Upstream, person: Any
):
    stage = CASE.stage(upstream)
    context = await person()
    await serve_from(development, context)
    page = await context.new_page()
    await page.goto(front_relay.rest)
    chat = Chat(page)
    await chat.ask(f"{CASE.wanted['prompt']} stage {stage.key}", over=NAMES[door])
    await chat.until_verified()
    assert await chat.paragraphs() == [CASE.expect["ui_text"]]
    assert await chat.text() == CASE.expect["ui_text"]
    assert len(stage.calls) == CASE.expect["upstream_calls"]
    await expect(chat.answers).to_have_count(1)


async def serve_from(folder: Path, context: BrowserContext) -> None:
    """The page from nginx, as ever, with this build's assets in place of its own."""
    assets = folder / "assets"

    async def answer(route: Route) -> None:
        path = assets / route.request.url.rpartition("/")[2]
        if path.exists():
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            await route.fulfill(path=path, content_type=kind)
            return
        name, ending = re.fullmatch(r"(.+)-[\w-]{8}\.(js|css)", path.name).groups()  # type: ignore[union-attr]
        (path,) = assets.glob(f"{name}-*.{ending}")
        # A module that is known by two names would be there twice.
        load = f'{"import" if ending == "js" else "@import"} "./{path.name}";'
        await route.fulfill(body=load, content_type=mimetypes.types_map[f".{ending}"])

    await context.route("**/assets/*", answer)
