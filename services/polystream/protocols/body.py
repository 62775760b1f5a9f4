"""How a log becomes an HTTP body: the sink's one generator, and an end that never makes a broken answer look
whole.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from polystream.core.events import Error
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.protocols.http import error_response

#: Sent with every stream: nothing on the way may keep, change or hold it back.
STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


#: A response's own streaming: head and body by the given `send`.
Stream = Callable[[Send], Awaitable[None]]

logger = logging.getLogger(__name__)


class BrokenOff(Exception):
    """The body must end here, without its terminating chunk."""


async def pieces(sink: BufferSink) -> AsyncIterator[bytes]:
    """Everything the sink gathers, as large as it has gathered.

    Raises `BrokenOff` at an end that is not one.
    """
    while True:
        if sink.pieces:
            yield b"".join(sink.take())
        elif sink.ended:
            break
        else:
            await sink.wake()
    if sink.broken:
        raise BrokenOff


class Connection(Protocol):
    """The server's side of a connection, which `http_server` puts into the scope's state."""

    transport: asyncio.Transport
    lost: bool  #: whether the client is gone
    on_lost: Callable[[], None] | None  #: called when it goes

    async def send(self, message: Message) -> None:
        """The server's own `send` for this request."""

    def write_chunk(self, pieces: list[bytes]) -> int:
        """Write pieces of the present body at once, as one chunk; the bytes taken, 0 while the client takes
        none.
        """
        ...


class LogResponse(StreamingResponse):
    """A log in a chunked body, by Starlette's own streaming."""

    def __init__(self, readers: Readers, sink: BufferSink, headers: dict[str, str], media_type: str):
        super().__init__(pieces(sink), headers=STREAM_HEADERS | headers, media_type=media_type)
        self._readers = readers
        self._sink = sink

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream to the end of the log or of the connection."""
        await stream_to_the_end(self._readers, self._sink, self.stream_response, scope, receive, send)


async def stream_to_the_end(
    readers: Readers, sink: BufferSink, stream: Stream, scope: Scope, receive: Receive, send: Send
) -> None:
    """Let a response stream its head and body, to the end of the log or of the connection, and close its
    reader.

    By the server's own `send`: the framework's wraps it in coroutines that have nothing to do here. Starlette
    may drop a body iterator without closing it, so the reader is closed here.
    """
    if scope["http_version"] == "1.0":  # it knows no chunks, and so no body that can be seen to break off
        readers.close(sink)
        refusal = Error("invalid_request", "Streams need HTTP/1.1.", False)
        await error_response(scope["path"], refusal, 505)(scope, receive, send)
        return
    connection: Connection = scope["state"]["connection"]
    sink.unsent = connection.transport.get_write_buffer_size
    sink.output = connection.write_chunk
    sink.stalled = connection.transport.abort
    connection.on_lost = sink.abandon
    if connection.lost:
        sink.abandon()
    try:
        await stream(connection.send)
    except BrokenOff:
        await _break_off(connection.transport, receive)
    except Exception:
        logger.exception("a body broke")
        await _break_off(connection.transport, receive)
    finally:
        connection.on_lost = None
        readers.close(sink)


async def _break_off(transport: asyncio.Transport, receive: Receive) -> None:
    """Close without the terminating chunk, and wait until it is closed: what was written is still sent.

    A reader that takes nothing is ended by the pulse, which still holds the sink.
    """
    transport.close()
    message: dict[str, Any] = {}
    while message.get("type") != "http.disconnect":
        message = dict(await receive())
