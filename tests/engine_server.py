"""A server that says what a test tells it, byte by byte, and the event loops its clients are tried on."""

import asyncio
import functools
import inspect
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
import uvloop

#: Bounds a whole test; above every limit that one sets.
TEST_S = 30
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def framed(*pieces: bytes) -> bytes:
    """The pieces as chunks of a body that goes on."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


def counted(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer with a content-length; JSON, if `headers` do not say else."""
    lines = [
        f"HTTP/1.1 {status}",
        *(headers or ["content-type: application/json"]),
        f"content-length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Received:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Wire:
    """One connection that was taken in. `over` is set when its script has ended, as when the client left."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader = reader
        self.writer = writer
        self.over = asyncio.Event()

    async def request(self) -> Received:
        """The next request. Raises IncompleteReadError when the client closes instead."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])
        }
        return Received(
            method, target, headers, await self.reader.readexactly(int(headers.get("content-length", 0)))
        )

    async def send(self, data: bytes) -> None:
        """Send, and let go of it."""
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Return when the client has closed its side."""
        with suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        """Close by a TCP reset, behind everything that was sent."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Wire], Awaitable[None]]


class EngineServer:
    """Where it listens, and what came. Each connection runs the script and is closed when that returns."""

    def __init__(self, script: Script, tls: bool):
        self.wires: list[Wire] = []
        self.requests: list[Received] = []
        self.port = 0
        self._script = script
        self._scheme = "https" if tls else "http"

    @property
    def url(self) -> str:
        """Base URL."""
        return f"{self._scheme}://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        wire = Wire(reader, writer)
        self.wires.append(wire)
        ask = wire.request

        async def request() -> Received:
            self.requests.append(await ask())
            return self.requests[-1]

        wire.request = request  # type: ignore[method-assign]
        try:
            await self._script(wire)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            wire.over.set()
            writer.close()


@asynccontextmanager
async def engine_server(script: Script, context: ssl.SSLContext | None = None) -> AsyncIterator[EngineServer]:
    """Serve on a free port of this machine until the block ends."""
    served = EngineServer(script, context is not None)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.get_running_loop().create_task(served.serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for wire in served.wires:
            wire.writer.transport.abort()
        assert [o for o in outcomes if isinstance(o, Exception)] == []


def answering(*answers: bytes) -> Script:
    """Answers the requests of each connection with these, the last one for ever."""

    async def script(wire: Wire) -> None:
        number = 0
        while True:
            await wire.request()
            await wire.send(answers[min(number, len(answers) - 1)])
            number += 1

    return script


def on_every_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on asyncio's loop and on uvloop's; what callbacks raise fails it too."""

    @functools.wraps(test)
    def run(new_loop: Callable[[], asyncio.AbstractEventLoop], **kwargs: Any) -> None:
        trouble: list[dict[str, Any]] = []
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: trouble.append(context))
            runner.run(asyncio.wait_for(test(**kwargs), TEST_S))
        assert trouble == []

    own = inspect.Parameter("new_loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [own, *inspect.signature(test).parameters.values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    loops = [asyncio.new_event_loop, uvloop.new_event_loop]
    return pytest.mark.parametrize("new_loop", loops, ids=["asyncio", "uvloop"])(run)
