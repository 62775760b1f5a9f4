"""Asks the OpenAI engine in front of a scripted server, and keeps what it says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from polystream.core.errors import StreamError
from polystream.core.events import Event, Text
from polystream.core.ports import Ending
from polystream.core.request import Message, Request
from polystream.engines.openai import OpenAIEngine
from tests.chunks import chunk
from tests.engine_server import EngineServer, Script, Wire, engine_server

ASK = Request((Message("user", "hi"),))
DONE = b"data: [DONE]\n\n"


def said(*deltas: Any, finish: str | None = None) -> bytes:
    """Events with these texts or deltas, and with a finish reason at the end."""
    chunks = [chunk({"content": delta} if isinstance(delta, str) else delta) for delta in deltas]
    chunks += [chunk({}, finish)] if finish else []
    return b"".join(b"data: " + data + b"\n\n" for data in chunks)


class Heard:
    """What an engine emitted, and how it ended."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lists = 0
        self.ending: Ending | None = None
        self.error: StreamError | None = None

    def emit(self, events: list[Event]) -> None:
        assert events
        self.lists += 1
        self.events += events

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Text))

    @property
    def end(self) -> str:
        """Finish reason or code of the failure."""
        if self.error is not None:
            return self.error.code
        assert self.ending is not None
        return self.ending.reason


async def ask(engine: OpenAIEngine, request: Request = ASK, heard: Heard | None = None) -> Heard:
    """One generation."""
    heard = heard or Heard()
    try:
        heard.ending = await engine.generate(request, heard.emit)
    except StreamError as error:
        heard.error = error
    return heard


@asynccontextmanager
async def engine_for(script: Script, **settings: Any) -> AsyncIterator[tuple[OpenAIEngine, EngineServer]]:
    """An engine in front of a server that runs this script for each connection."""
    async with engine_server(script) as server:
        engine = OpenAIEngine(server.url, **{"first_token_timeout_s": 10, "stall_timeout_s": 10} | settings)
        try:
            yield engine, server
        finally:
            await engine.close()


async def answered(answer: bytes, **settings: Any) -> Heard:
    """One generation that is answered with these bytes, after which the connection is closed."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(answer)

    async with engine_for(script, **settings) as (engine, server):
        heard = await ask(engine)
        assert len(server.requests) == 1
        return heard
