"""The server's side of an HTTP/2 connection that carries gRPC calls, over h2's state machine.

h2 reads all frames, and writes all but DATA (`grpc_call`), PING and GOAWAY: behind a GOAWAY of its own it
would refuse to go on with the calls under way. Only HTTP/2 with prior knowledge is spoken: TLS is the front
proxy's.
"""

import asyncio
import logging
from typing import cast

from h2 import events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from polystream.core.errors import Overloaded
from polystream.dialects import proto
from polystream.protocols import grpc_frames as frames
from polystream.protocols.grpc_call import Call
from polystream.protocols.grpc_floods import NO_CALL_FRAMES, REFUSED_FRAMES, Flood, Floods
from polystream.protocols.grpc_http2 import STREAMS_MAX, Http2
from polystream.protocols.grpc_request import NoCall, Refused, read_head
from polystream.protocols.grpc_service import Service

#: How long a ping may stay without an answer, seconds; looked at every `heartbeat_s`.
PING_ANSWER_S = 20.0
#: Bytes of answers to control frames and of statuses that a client may leave unread.
UNREAD_MAX_BYTES = 1024 * 1024
#: As many requests of the largest size a connection may have on the way; a call has a bound of its own, too.
LARGEST_REQUESTS = 32
#: What a client is given to close when it has taken its last bytes, seconds.
LINGER_S = 1.0
#: Bytes that are read at once, and frames that are taken in a turn of the loop: no client is alone.
_READ_BYTES, _TURN_FRAMES = 16 * 1024, 64
#: A piece of a request that is smaller, and not its last, costs more than it brings.
_SMALL_BYTES = 64
#: Open calls that SETTINGS walk over in the time of a frame.
_SETTINGS_CALLS = 50
#: Events of frames that belong to calls; resets are counted apart.
_WORK = (
    events.DataReceived, events.WindowUpdated, events.RequestReceived, events.StreamEnded, events.StreamReset,
)  # fmt: skip

logger = logging.getLogger(__name__)


class Connection(asyncio.BufferedProtocol):
    """One client's connection; see `grpc_call.Carrier`."""

    transport: asyncio.Transport

    def __init__(self, service: Service):
        self.h2 = Http2()
        self.paused = False
        self.message_max_bytes = service.message_max_bytes
        self._service = service
        self._calls: dict[int, Call] = {}
        self._loop = asyncio.get_running_loop()
        self._draining = self._closing = False
        self._pinged: float | None = None  # when, while a ping has no answer
        self._floods = Floods(self._loop.time)
        self._held = 0  # bytes of requests that no handler has taken yet
        self._opened = False  # whether there is more room for all calls since they were woken
        self._incoming = bytearray()
        self._unread = 0  # bytes of h2's frames that were written while the transport was full

    # --- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._service.connections.add(self)
        self._timer = self._loop.call_later(self._service.heartbeat_s, self._beat)
        self.h2.initiate_connection()
        self._flush()
        if self._service.draining:
            self.drain()

    def get_buffer(self, sizehint: int) -> bytearray:
        self._incoming = bytearray(_READ_BYTES)
        return self._incoming

    def buffer_updated(self, nbytes: int) -> None:
        data, self._incoming = self._incoming, bytearray()  # a silent connection holds none
        self.data_received(memoryview(data)[:nbytes])

    def data_received(self, data: bytes | memoryview) -> None:
        """What a client has sent; empty: on with what was put off."""
        if self._closing:
            return
        try:
            whole = self._take_frames(data)
        except Flood:
            self.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            self._break()
            return
        except ProtocolError as error:  # h2 has prepared its GOAWAY
            logger.debug("a gRPC connection broke the protocol: %s", error)
            self._break()
            return
        if self._opened:
            self._opened = False
            self._wake_all()
        self._flush()
        if self.transport.is_closing():
            return
        if not whole:
            self.transport.pause_reading()
            self._loop.call_soon(self.data_received, b"")
        elif not data:
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self._unread = 0
        self._wake_all()

    def connection_lost(self, error: Exception | None) -> None:
        self._closing = True
        self._timer.cancel()
        self._service.leave(self)
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.cancel()

    # --- what calls use

    def send_headers(self, stream_id: int, fields: frames.Fields, *, end: bool) -> None:
        """See `grpc_call.Carrier`."""
        if self._closing:
            return
        try:
            self.h2.send_headers(stream_id, fields, end_stream=end)
            if end and self.h2.streams[stream_id].open:  # the client need not say the rest
                self.h2.reset_stream(stream_id, ErrorCodes.NO_ERROR)
        except ProtocolError as gone:
            logger.debug("a call was gone before its headers: %s", gone)
        self._flush()

    def hold(self, size: int) -> None:
        """See `grpc_call.Carrier`."""
        self._held += size
        if size > 0 and self._held > LARGEST_REQUESTS * self.message_max_bytes:
            words = "The requests on the way over this connection are too large together; try again."
            raise Refused(proto.rpc_status(Overloaded(words).as_event()))

    def run(self, call: Call, message: bytes) -> "asyncio.Task[None]":
        """See `grpc_call.Carrier`."""
        task = self._loop.create_task(call.run(message))
        self._service.tasks.add(task)
        task.add_done_callback(self._service.tasks.discard)
        return task

    def forget(self, call: Call) -> None:
        """See `grpc_call.Carrier`."""
        if call.timer is not None:
            call.timer.cancel()
        self._calls.pop(call.stream_id, None)
        self._close_if_done()

    # --- the drain

    def drain(self) -> None:
        """GOAWAY; close when the last call has ended."""
        if self._closing or self._draining:
            return
        self._draining = True
        if not self.transport.is_closing():
            self.transport.write(frames.goaway(self.h2.highest_inbound_stream_id))
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._draining and not self._calls:
            self._close()

    def _break(self) -> None:
        """The client must go, and its calls end; why is in h2's GOAWAY."""
        self._flush()
        self._close()

    def _close(self) -> None:
        """Say no more; the client closes. A close at once might lose what it has not read yet."""
        if self._closing:
            return
        self._closing = True
        for call in list(self._calls.values()):
            call.cancel()
        if not self.transport.is_closing():
            self.transport.write_eof()
            self._timer.cancel()
            self._timer = self._loop.call_later(LINGER_S, self._linger)

    def _linger(self) -> None:
        """The client has not closed: it may be slow."""
        if self.transport.get_write_buffer_size():
            self._timer = self._loop.call_later(PING_ANSWER_S, self.transport.abort)
        else:
            self.transport.abort()

    # --- what the client sends

    def _take_frames(self, data: bytes | memoryview) -> bool:
        """So many of them; whether these were all. Raises `Flood` and `ProtocolError`."""
        for number, happened in enumerate(self.h2.read(data), 1):
            for event in happened:
                self._take(event)
            if not happened:
                self._floods.count()
            if number == _TURN_FRAMES:
                return False
        return True

    def _take(self, event: events.Event) -> None:
        match event:
            case events.DataReceived(stream_id=stream_id):
                self._take_data(stream_id, event)
            case events.WindowUpdated(stream_id=0):
                self._opened = True
            case events.RemoteSettingsChanged():
                self._opened = True
                self._floods.count(len(self._calls) // _SETTINGS_CALLS)
            case events.WindowUpdated(stream_id=stream_id) if call := self._calls.get(stream_id):
                call.wake()
            case events.RequestReceived():
                self._begin(event)
            case events.StreamEnded(stream_id=stream_id) if call := self._calls.get(stream_id):
                call.close_half()
            case events.StreamReset(stream_id=stream_id):
                self._take_reset(stream_id)
            case events.PingAckReceived():
                self._pinged = None
            case events.ConnectionTerminated():  # it begins no more calls
                self._draining = True
                self._close_if_done()
        if not self._calls or not isinstance(event, _WORK):
            self._floods.count()

    def _take_data(self, stream_id: int, event: events.DataReceived) -> None:
        if call := self._calls.get(stream_id):
            call.receive(event.data)
        self.h2.acknowledge_received_data(event.flow_controlled_length, stream_id)
        if len(event.data) < _SMALL_BYTES and event.stream_ended is None:
            self._floods.count()

    def _take_reset(self, stream_id: int) -> None:
        """By the client, or by h2 since the client went wrong, which is as cheap for it."""
        if call := self._calls.pop(stream_id, None):
            call.cancel()
            self._floods.count_reset()
            self._close_if_done()
        else:
            self._floods.count()

    def _begin(self, request: events.RequestReceived) -> None:
        stream_id, headers = request.stream_id, dict(request.headers)
        if self._draining or len(self._calls) >= STREAMS_MAX:
            self.h2.reset_stream(stream_id, ErrorCodes.REFUSED_STREAM)
            self._floods.count(REFUSED_FRAMES)
            return
        try:
            head, timeout_s = read_head(headers)
            method = self._service.method(headers[b":path"], head)
        except NoCall as answer:
            self._floods.count(NO_CALL_FRAMES)
            self.send_headers(stream_id, answer.fields, end=True)
            return
        call = Call(self, self.h2.streams[stream_id], method, frames.metadata(request.headers), head)
        self._calls[stream_id] = call
        if timeout_s is not None:
            call.timer = self._loop.call_later(timeout_s, call.expire)
        call.begin()

    # --- the inside

    def _flush(self) -> None:
        data = self.h2.data_to_send()
        if not data or self._closing or self.transport.is_closing():
            return
        self.transport.write(data)
        if self.paused:
            self._unread += len(data)
            if self._unread > UNREAD_MAX_BYTES:
                self.transport.abort()

    def _wake_all(self) -> None:
        for call in self._calls.values():
            call.wake()

    def _beat(self) -> None:
        now = self._loop.time()
        if self._pinged is None:
            self._pinged = now
            if not self.transport.is_closing():
                self.transport.write(frames.PING)
        elif now - self._pinged >= PING_ANSWER_S:
            self.transport.abort()
            return
        self._timer = self._loop.call_later(self._service.heartbeat_s, self._beat)
