"""The articles' doors as tests use them: where they are, and each door's client under one name."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.clients import articles
from tests.integration.upstream import Stage

#: What the engine says where a test looks at something else.
SHORT = ["One", " two."]


@dataclass
class Doors:
    """See `tests.clients.articles.Doors`."""

    http: str
    websocket: str
    grpc: str


def doors_of(place: Any) -> Doors:
    """Of a server or a front door."""
    return Doors(place.rest, place.websocket, place.grpc)


@dataclass
class Shown:
    """What a page shows, and how it knows that this is all."""

    text: str
    end: str  #: `end`, `failed …`, or `` where only the connection tells


Ask = Callable[[articles.Doors, str], Any]


async def fastapi(doors: articles.Doors, prompt: str) -> Shown:
    return _shown(await whole_text(articles.streaming(doors, "fastapi", prompt)), articles.fastapi)


async def starlette(doors: articles.Doors, prompt: str) -> Shown:
    return _shown(await whole_text(articles.streaming(doors, "starlette", prompt)), articles.starlette)


async def socket(doors: articles.Doors, prompt: str) -> Shown:
    *frames, last = [frame async for frame in articles.frames(doors, prompt)]
    assert articles.socket(last) == ""
    return Shown("".join(map(articles.socket, frames)), articles.events(last)[0][0])


async def grpc(doors: articles.Doors, prompt: str) -> Shown:
    contents = [content async for content in articles.responses(doors, prompt)]
    return Shown("".join(map(articles.response, contents)), "")


async def instruct(doors: articles.Doors, prompt: str) -> Shown:
    return Shown(await whole_text(articles.instruct(doors, prompt)), "")


async def curl(doors: articles.Doors, prompt: str) -> Shown:
    return Shown(await whole_text(articles.curl(doors, prompt)), "")


async def generate(doors: articles.Doors, prompt: str) -> Shown:
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt}).encode(), articles.JSON)
    assert await browser.source() == 204
    ((name, _),) = browser.ends
    return Shown(browser.shown, name)


ASKS: dict[str, Ask] = {
    ask.__name__: ask for ask in (fastapi, starlette, socket, grpc, instruct, curl, generate)
}
#: Doors whose client has the answer in one body, which breaks off where the answer does.
BODIES = ("fastapi", "starlette", "instruct", "curl")
STREAMING = ("fastapi", "starlette")


def _shown(body: str, script: Callable[[str], str]) -> Shown:
    """`end` is named at one door, and an empty message at the other."""
    name, data = articles.events(body)[-1]
    assert (name, data) in (("end", ""), ("message", ""))
    return Shown(script(body), "end")


async def whole_text(texts: articles.Texts) -> str:
    """All of it."""
    return "".join([text async for text in texts])


def prompt_of(stage: Stage) -> str:
    """A prompt that this stage answers."""
    return f"stage {stage.key} こんにちは"


def first_of(name: str, doors: articles.Doors, prompt: str) -> articles.Texts:
    """What a door sends, as it comes."""
    match name:
        case "fastapi" | "starlette":
            return articles.streaming(doors, name, prompt)
        case "socket":
            return articles.frames(doors, prompt)
        case "grpc":
            return articles.responses(doors, prompt)
        case "instruct":
            return articles.instruct(doors, prompt)
        case "curl":
            return articles.curl(doors, prompt)
    return _source(doors, prompt)


async def _source(doors: articles.Doors, prompt: str) -> articles.Texts:
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt}).encode(), articles.JSON)
    await browser.connect(leave_after=1)
    yield browser.shown
