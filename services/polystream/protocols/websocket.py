"""The native dialect over WebSocket: several generations at once on one socket, each under the client's own
`ref`.

The websockets library's server is used as it is (its pings, its size limit, its flow control), but for the
frames of answers whose reader keeps up: those are spelled here and written at once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from polystream.core.errors import Internal, InvalidRequest, NotFound, StreamError
from polystream.core.record import ANONYMOUS, Record
from polystream.dialects import native, socket
from polystream.dialects.forms import Frames
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink

logger = logging.getLogger(__name__)


class _RefSink(BufferSink):
    """The sink of one ref."""

    __slots__ = ("id", "ref")

    def __init__(self, ref: str, id: str, session: "Session"):
        super().__init__(Frames(ref))
        self.ref = ref
        self.id = id
        self.unsent = session.connection.transport.get_write_buffer_size
        self.output = session.write
        self.stalled = session.connection.transport.abort


class Session:
    """One socket. Runs until the client closes it or leaves."""

    def __init__(self, connection: ServerConnection, readers: Readers):
        self.connection = connection
        self._readers = readers
        self._generations = readers.generations
        self._sinks: dict[str, _RefSink] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._sent = self._loop.time()
        self._draining = False

    async def run(self) -> None:
        """Obey the client's messages, one after the other; answers run beside them."""
        self._readers.pulse.add(self)
        try:
            async for message in self.connection:
                if isinstance(message, bytes):
                    await self.connection.close(CloseCode.UNSUPPORTED_DATA, "text frames only")
                    return
                await self._obey(message)
        except ConnectionClosed:
            pass  # the client left; nobody is there to be told
        finally:
            self._readers.pulse.discard(self)
            for task in self._tasks:
                task.cancel()
            for sink in self._sinks.values():
                self._readers.close(sink)

    def write(self, messages: list[bytes]) -> int:
        """Write messages at once; the bytes taken."""
        return write_frames(self.connection, messages)

    def drain(self) -> None:
        """Close with 1012 once every ref has ended, told to come back or not."""
        self._draining = True
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._draining and not self._sinks:
            self._spawn(self.connection.close(CloseCode.SERVICE_RESTART, "drain"))

    def tick(self, now: float, heartbeat_s: float, stall_s: float) -> None:
        """A heartbeat for the whole socket while answers run and nothing was sent."""
        last = max([self._sent, *(sink.moved for sink in self._sinks.values())])
        if self._sinks and now - last >= heartbeat_s:
            self._sent = now
            self._spawn(self._beat())

    async def _obey(self, text: str) -> None:
        ref = None
        try:
            ref = socket.ref_of(text)
            match socket.parse(text):
                case socket.Start() as start:
                    await self._start(start)
                case socket.Follow() as follow:
                    await self._follow(follow)
                case socket.Cancel() as cancel:
                    await self._cancel(cancel)
                case socket.Unfollow(ref=ref):
                    self._unfollow(ref)
        except StreamError as error:
            await self._send(socket.error(ref, error.as_event()))
        except ConnectionClosed:
            raise
        except Exception:
            logger.exception("a WebSocket message broke")
            await self._send(socket.error(ref, Internal().as_event()))

    async def _start(self, start: socket.Start) -> None:
        self._refuse_used(start.ref)
        request = start.request.request("request.")
        record = await self._generations.start(
            request,
            ANONYMOUS,
            start.request.on_disconnect,
            key=start.idempotency_key or None,
        )
        await self._open(start.ref, record, None)

    async def _follow(self, follow: socket.Follow) -> None:
        self._refuse_used(follow.ref)
        await self._open(follow.ref, await self._generations.status(follow.id, ANONYMOUS), follow.after)

    async def _open(self, ref: str, record: Record, after: int | None) -> None:
        sink = _RefSink(ref, record.id, self)
        if await self._readers.open(record.id, after, ANONYMOUS, sink):
            self._sinks[ref] = sink
            self._sent = self._loop.time()
            self._spawn(self._pump(sink))
        else:
            await self._send(socket.status(ref, await self._generations.status(record.id, ANONYMOUS)))

    async def _cancel(self, cancel: socket.Cancel) -> None:
        if cancel.id is None and cancel.ref not in self._sinks:
            raise NotFound("No answer runs under that ref.", param="ref")
        id = cancel.id or self._sinks[cancel.ref or ""].id
        await self._send(socket.status(cancel.ref, await self._generations.cancel(id, ANONYMOUS)))

    async def _pump(self, sink: _RefSink) -> None:
        """Send what the sink gathers, to its end."""
        try:
            await send_gathered(self.connection, sink)
            if sink.broken:
                self.connection.transport.abort()
        except ConnectionClosed:
            pass  # `run` ends and closes every reader
        finally:
            self._readers.close(sink)
            if self._sinks.get(sink.ref) is sink:
                del self._sinks[sink.ref]
            self._close_if_done()

    async def _send(self, message: bytes) -> None:
        self._sent = self._loop.time()
        await self.connection.send(message, text=True)

    async def _beat(self) -> None:
        with contextlib.suppress(ConnectionClosed):  # the client left meanwhile; `run` learns of it too
            await self._send(native.heartbeat())

    def _refuse_used(self, ref: str) -> None:
        if ref in self._sinks:
            raise InvalidRequest("That ref is in use.", param="ref")

    def _unfollow(self, ref: str) -> None:
        """Leave it; one that has just ended is left already."""
        if sink := self._sinks.pop(ref, None):
            sink.abandon()
            self._readers.close(sink)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def write_frames(connection: ServerConnection, messages: list[bytes]) -> int:
    """Write messages at once, so that a token goes out in the turn in which it came in; the bytes taken.

    Whole frames straight to the transport, which the library's own may precede or follow: with its `send` a
    frame costs twice as much. None behind a close frame, and none while the client takes none.
    """
    transport = connection.transport
    if connection.paused or connection.protocol.close_sent or transport.is_closing():
        return 0
    frames = text_frame(messages[0]) if len(messages) == 1 else b"".join(map(text_frame, messages))
    transport.write(frames)
    return len(frames)


async def send_gathered(connection: ServerConnection, sink: BufferSink) -> None:
    """Send what a sink gathers, to its end. Raises `ConnectionClosed`."""
    while True:
        if sink.pieces:
            for message in sink.take():
                await connection.send(message, text=True)
        elif sink.ended:
            return
        else:
            await sink.wake()


def text_frame(payload: bytes) -> bytes:
    """A whole, unmasked text frame (RFC 6455, 5.2)."""
    size = len(payload)
    if size < 126:
        return b"\x81%c%b" % (size, payload)
    if size < 65_536:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), payload)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), payload)
