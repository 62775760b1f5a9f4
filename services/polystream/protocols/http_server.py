"""The HTTP listener: uvicorn with its ears and its signals in our hands, serving every HTTP door."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Message
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from polystream import __version__
from polystream.edge import health
from polystream.edge.readers import Readers
from polystream.protocols.articles import Articles
from polystream.protocols.chat import Chat
from polystream.protocols.http import door, handle_errors, json_response
from polystream.protocols.rest import Streams
from polystream.protocols.sockets import BACKLOG, listening

#: Idle connections are kept longer than nginx keeps them (60 s), so that it never sends into a closing one.
KEEP_ALIVE_S = 75
#: Bytes of a request's line and headers together. What comes behind them in the same read counts too.
HEAD_MAX_BYTES = 256 * 1024
#: What is left of connections when the drain is over, seconds: all answers have ended by then.
_LAST_BYTES_S = 5


class Api(FastAPI):
    """FastAPI with plain routes and without the middleware that these doors have no use for: 200 µs a stream.

    The contract is docs/protocol.md: bodies are parsed by the dialects, of which a generated schema knows
    nothing.
    """

    def __init__(self, routes: list[Route]):
        super().__init__(title="Polystream", version=__version__, openapi_url=None, redirect_slashes=False)
        self.router.routes[:] = routes
        handle_errors(self)

    def build_middleware_stack(self) -> ASGIApp:
        """Errors become answers, and nothing else."""
        handlers = dict(self.exception_handlers)
        unknown = handlers.pop(Exception)
        inner = ExceptionMiddleware(self.router, handlers=handlers)
        return ServerErrorMiddleware(inner, handler=unknown)


def app(readers: Readers, request_max_bytes: int, status_hold_s: float, instruct_template: str) -> Api:
    """The HTTP doors as an ASGI application."""

    async def healthz(request: Request) -> Response:
        return json_response({"ok": True})

    async def readyz(request: Request) -> Response:
        state = await health.check(readers.generations)
        return json_response(state.fields, 200 if state.ready else 503)

    return Api(
        [
            *Streams(readers, request_max_bytes).routes(),
            *Chat(readers, request_max_bytes, status_hold_s).routes(),
            *Articles(readers, request_max_bytes, status_hold_s, instruct_template).routes(),
            door("/healthz", GET=healthz),
            door("/readyz", GET=readyz),
        ]
    )


class _Exchange:
    """One request's side of its connection; see `body.Connection`.

    uvicorn may have parsed the next request already.
    """

    __slots__ = ("_cycle", "_flow", "_protocol", "on_lost", "transport")

    def __init__(self, protocol: "_Protocol"):
        self.transport = protocol.transport
        self.on_lost: Callable[[], None] | None = None
        self._protocol = protocol
        self._cycle = protocol.cycle
        self._flow = protocol.flow

    @property
    def lost(self) -> bool:
        """Whether the client is gone."""
        return self._protocol.lost

    @property
    def over(self) -> bool:
        """Whether the answer is complete."""
        return self._cycle.response_complete

    async def send(self, message: Message) -> None:
        """uvicorn's own `send` for this request."""
        await self._cycle.send(cast(Any, message))

    def write_chunk(self, pieces: list[bytes]) -> int:
        """The hot path: a token goes out in the turn in which it came in, past task, generator and `send`.

        To be called behind the head of a body without a length, which uvicorn always sends in chunks.
        """
        transport = self.transport
        if self._flow.write_paused or transport.is_closing():
            return 0
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        size = len(data)
        transport.write(b"%x\r\n%b\r\n" % (size, data))
        return size


class _Protocol(HttpToolsProtocol):
    """uvicorn's, which also hands each request its side of the connection, in the scope's state.

    ASGI cannot break a body off, see it stall, or tell that a client left without a task that waits for it.
    """

    lost = False

    def __init__(self, *arguments: Any, **settings: Any):
        super().__init__(*arguments, **settings)
        self._exchanges: list[_Exchange] = []
        self._head_bytes: int | None = 0  # None: between a head and the next

    @property
    def receiving(self) -> bool:
        """Whether a request is under way whose end has not come."""
        return self.cycle is not None and self.cycle.more_body and not self.cycle.response_started

    def data_received(self, data: bytes) -> None:
        """Refuse a head above the limit, which httptools would gather without end."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > HEAD_MAX_BYTES:
            self.send_400_response(f"A request's head has at most {HEAD_MAX_BYTES} bytes.")

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._head_bytes = 0

    def on_message_begin(self) -> None:
        super().on_message_begin()
        # 2.4: a response need not watch for the client's leaving. `on_lost` tells it.
        self.scope["asgi"]["spec_version"] = "2.4"

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head_bytes = None
        if self.cycle is not None and self.cycle.scope is self.scope:
            exchange = _Exchange(self)
            self._exchanges = [other for other in self._exchanges if not other.over] + [exchange]
            self.scope["state"]["connection"] = exchange

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost = True
        for exchange in self._exchanges:
            if exchange.on_lost is not None:
                exchange.on_lost()


class HttpServer(uvicorn.Server):
    """A uvicorn on a bound socket that leaves signals to us and can close its ears before its answers."""

    def __init__(self, app: FastAPI, listener: socket.socket):
        super().__init__(
            uvicorn.Config(
                app,
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=_LAST_BYTES_S,
                server_header=False,
            )
        )
        self._listener = listener

    async def run_until_stopped(self) -> None:
        """Serve; returns when `should_exit` was set and the last answer has ended."""
        await self.serve([self._listener])

    def stop_listening(self) -> None:
        """Refuse new connections, close idle ones and half requests, let the answers under way go on."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            if isinstance(connection, _Protocol) and connection.receiving:
                connection.transport.abort()
            else:
                connection.shutdown()

    def stop(self) -> None:
        """End when the answers under way have ended."""
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are edge/drain.py's."""
        yield


class HttpListener:
    """See `edge.drain.Listener`."""

    def __init__(self, app: FastAPI, host: str, port: int):
        self._app = app
        self._address = host, port

    async def start(self) -> str:
        """Listen."""
        host, _ = self._address
        listener = listening(*self._address)
        self._server = HttpServer(self._app, listener)
        self._serving = asyncio.get_running_loop().create_task(self._server.run_until_stopped())
        while not self._server.started:
            if self._serving.done():
                self._serving.result()
            await asyncio.sleep(0)
        return f"http://{host}:{listener.getsockname()[1]}"

    async def stop_listening(self) -> None:
        """Refuse new connections, close idle ones."""
        self._server.stop_listening()

    async def stop(self) -> None:
        """End."""
        self._server.stop()
        await self._serving
