"""One gRPC call on its HTTP/2 stream: a request's messages in, messages and one status out.

While windows and transport have room, messages go straight to the transport, in DATA frames that h2 does not
see: its `send_data` costs more than all the rest of a token's way. What it would have counted is counted
here, in its own attributes: `H2Stream.outbound_flow_control_window`,
`H2Connection.outbound_flow_control_window`, and `H2Connection.max_outbound_frame_size`, which it keeps right
for WINDOW_UPDATE and SETTINGS.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from google.rpc.status_pb2 import Status
from h2.stream import H2Stream

from polystream.protocols import grpc_frames as frames
from polystream.protocols.grpc_http2 import Http2
from polystream.protocols.grpc_request import DEADLINE_EXCEEDED, INTERNAL, ONE_MESSAGE, Assembler, Refused

#: Answers a request's message (empty where requests are streamed); what it gives is the answer's one message.
Handler = Callable[[bytes, "Call"], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service."""

    handler: Handler
    streams_requests: bool = False


class Carrier(Protocol):
    """What a call needs of its connection."""

    transport: asyncio.Transport
    h2: Http2
    paused: bool  #: whether the transport takes no more for now
    message_max_bytes: int  #: largest request message

    def send_headers(self, stream_id: int, fields: frames.Fields, *, end: bool) -> None:
        """A header block; nothing when the stream is gone."""
        ...

    def hold(self, size: int) -> None:
        """So many bytes of requests are held, or, below 0, no longer. Raises `Refused`: too many."""
        ...

    def run(self, call: "Call", message: bytes) -> "asyncio.Task[None]":
        """Begin `call.run(message)`."""
        ...

    def forget(self, call: "Call") -> None:
        """The call has ended."""
        ...


class Call:
    """One call. `metadata`: the request's, by name. `partial`: bytes sent of the message being written."""

    __slots__ = (
        *("_answered", "_carrier", "_head", "_held", "_reading", "_request", "_stream"),
        *("_task", "_waiter", "ended", "half_closed", "metadata", "method", "partial", "stream_id", "timer"),
    )

    def __init__(
        self,
        carrier: Carrier,
        stream: H2Stream,
        method: Method,
        metadata: dict[str, str],
        head: frames.Fields,
    ):
        self.stream_id = stream.stream_id
        self.method = method
        self.metadata = metadata
        self.ended = False
        self.half_closed = False  #: whether the client has said all
        self.partial = 0
        self.timer: asyncio.TimerHandle | None = None
        self._carrier = carrier
        self._stream = stream
        self._head = head
        self._answered = False
        self._request = Assembler(carrier.message_max_bytes, method.streams_requests)
        self._held = 0  # bytes of the request that no handler has taken yet
        self._task: asyncio.Task[None] | None = None
        self._waiter: asyncio.Future[None] | None = None  # of the writing side
        self._reading: asyncio.Future[None] | None = None

    # --- what handlers use

    def send_initial_metadata(self, metadata: frames.Fields | None = None) -> None:
        """The answer's head; messages may follow."""
        self._answered = True
        self._carrier.send_headers(self.stream_id, self._head + (metadata or []), end=False)

    def output(self, pieces: list[bytes]) -> int:
        """Send messages at once; the bytes taken, 0 while windows or transport have no room for all."""
        size = len(pieces[0]) if len(pieces) == 1 else sum(map(len, pieces))
        return size if self._send(pieces, size) else 0

    async def write(self, message: bytes) -> None:
        """Send a message as windows and transport allow."""
        if self._send([message], len(message)):
            return
        body, carrier = frames.prefixed(message), self._carrier
        while self.partial < len(body):
            largest = carrier.h2.max_outbound_frame_size
            if room := min(self._room(), largest):
                part = body[self.partial : self.partial + room]
                self._take_room(len(part))
                carrier.transport.write(frames.data(self.stream_id, part, largest))
                self.partial += len(part)
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
        self.partial = 0

    async def messages(self) -> AsyncIterator[bytes]:
        """The client's messages, to its end; for methods that stream requests."""
        while self._request.whole or not self.half_closed:
            if self._request.whole:
                yield self._take()
                await asyncio.sleep(0)  # many that came at once are not answered in one turn
            else:
                self._reading = asyncio.get_running_loop().create_future()
                await self._reading

    def end(self, status: Status | None = None, more: frames.Fields | None = None) -> None:
        """End with a status (None is OK) and further trailers; nothing when the call has ended."""
        if self.ended:
            return
        self.ended = True
        self._let_go(self._held)
        fields = ([] if self._answered else self._head) + frames.trailers(status) + (more or [])
        self._carrier.send_headers(self.stream_id, fields, end=True)
        self._carrier.forget(self)

    async def run(self, message: bytes) -> None:
        """Have the method answer, to the end of the call."""
        reply = await self.method.handler(message, self)
        if reply is not None:
            self.send_initial_metadata()
            await self.write(reply)
        self.end()

    # --- what the connection tells

    def begin(self) -> None:
        """The head has come: begin, unless the request's one message is awaited."""
        if self.method.streams_requests:
            self._task = self._carrier.run(self, b"")

    def receive(self, piece: bytes) -> None:
        """A piece of the request's body."""
        if self.ended:
            return
        try:
            self._held += len(piece)
            self._carrier.hold(len(piece))
            self._request.feed(piece)
        except Refused as refused:
            self.abort(refused.status, refused.trailers)
            return
        self._read_on()

    def close_half(self) -> None:
        """The client has said all."""
        self.half_closed = True
        if self.ended:
            return
        if self._request.incomplete():
            self.abort(Status(code=INTERNAL, message="The request ends within a message."))
        elif self.method.streams_requests:
            self._read_on()
        elif not self._request.whole:
            self.abort(ONE_MESSAGE)
        else:
            self._task = self._carrier.run(self, self._take())

    def expire(self) -> None:
        """The deadline has passed."""
        self.abort(Status(code=DEADLINE_EXCEEDED, message="Deadline Exceeded"))

    def abort(self, status: Status, more: frames.Fields | None = None) -> None:
        """End from outside of the handler, which is cancelled."""
        self.end(status, more)
        self.cancel()

    def cancel(self) -> None:
        """The client is gone, or what it gets is settled: end the handler."""
        self.ended = True
        self._let_go(self._held)
        if self.timer is not None:
            self.timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def wake(self) -> None:
        """There may be room again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the inside

    def _send(self, pieces: list[bytes], size: int) -> bool:
        """Send messages of that many bytes at once, if there is room for all."""
        length = size + frames.PREFIX.size * len(pieces)
        if length > self._room():
            return False
        self._take_room(length)
        largest = self._carrier.h2.max_outbound_frame_size
        self._carrier.transport.write(frames.messages(self.stream_id, pieces, largest))
        return True

    def _room(self) -> int:
        """Bytes of DATA that may be sent now."""
        carrier = self._carrier
        if self.ended or carrier.paused or not self._answered or carrier.transport.is_closing():
            return 0
        window, shared = self._stream.outbound_flow_control_window, carrier.h2.outbound_flow_control_window
        # Below 0 after SETTINGS have shrunk one (RFC 9113, 6.9.2).
        return max(0, window if window < shared else shared)

    def _take_room(self, size: int) -> None:
        self._stream.outbound_flow_control_window -= size
        self._carrier.h2.outbound_flow_control_window -= size

    def _read_on(self) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(None)

    def _take(self) -> bytes:
        """The request's next message."""
        message = self._request.take()
        self._let_go(min(self._held, frames.PREFIX.size + len(message)))
        return message

    def _let_go(self, size: int) -> None:
        """So many bytes of the request are taken, or of no more use."""
        self._held -= size
        self._carrier.hold(-size)
