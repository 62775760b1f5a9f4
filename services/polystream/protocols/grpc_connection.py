"""The server's side of an HTTP/2 connection that carries gRPC calls, over h2's state machine.

h2 reads all frames, and writes all but DATA (`grpc_call`), PING and GOAWAY: behind a GOAWAY of its own it
would refuse to go on with the calls under way. Only HTTP/2 with prior knowledge is spoken: TLS is the front
proxy's.
"""

import asyncio
import contextlib
import logging
from typing import cast

from google.rpc.status_pb2 import Status
from h2 import events
from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from polystream.protocols import grpc_frames as frames
from polystream.protocols.grpc_call import INTERNAL, UNIMPLEMENTED, Call, Method

#: Calls that may run at once on a connection.
STREAMS_MAX = 1000
#: Bytes of a request's header fields together, as HTTP/2 counts them.
HEADERS_MAX_BYTES = 16 * 1024
#: How long a ping may stay without an answer, seconds; looked at every `heartbeat_s`.
PING_ANSWER_S = 20.0
#: Frames a second that ask for work and carry nothing (PING, SETTINGS, PRIORITY, empty DATA, …).
CONTROL_MAX = 10_000
#: Calls a second that a client may begin and reset (CVE-2023-44487): more than it can have open at once.
RESETS_MAX = 1500
#: Bytes of answers to control frames and of statuses that a client may leave unread.
UNREAD_MAX_BYTES = 1024 * 1024
#: What a client is given to take its last bytes and close, seconds.
LINGER_S = 1.0

logger = logging.getLogger(__name__)


class _H2(H2Connection):
    """h2's, with less to remember of streams that are gone."""

    DEFAULT_MAX_HEADER_LIST_SIZE = HEADERS_MAX_BYTES
    MAX_CLOSED_STREAMS = 2 * STREAMS_MAX

    def __init__(self) -> None:
        config = H2Configuration(
            client_side=False, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        super().__init__(config)
        self.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
                SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS_MAX_BYTES,
            },
        )


class Service:
    """What all connections share: the methods by path, the limits, who is connected."""

    def __init__(self, methods: dict[str, Method], message_max_bytes: int, heartbeat_s: float):
        self.methods = {path.encode(): method for path, method in methods.items()}
        self.message_max_bytes = message_max_bytes
        self.heartbeat_s = heartbeat_s
        self.connections: set[Connection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.draining = False
        self._gone: asyncio.Event | None = None

    def drain(self) -> None:
        """No new calls; those under way go on."""
        self.draining = True
        for connection in list(self.connections):
            connection.drain()

    async def stop(self, seconds: float) -> None:
        """Wait until all connections are closed, and close them then."""
        self._gone = asyncio.Event()
        if self.connections:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._gone.wait()
        for connection in list(self.connections):
            connection.transport.abort()

    def leave(self, connection: "Connection") -> None:
        """It is closed."""
        self.connections.discard(connection)
        if self._gone is not None and not self.connections:
            self._gone.set()


class Connection(asyncio.Protocol):
    """One client's connection; see `grpc_call.Carrier`."""

    transport: asyncio.Transport

    def __init__(self, service: Service):
        self.h2: H2Connection = _H2()
        self.paused = False
        self.message_max_bytes = service.message_max_bytes
        self._service = service
        self._calls: dict[int, Call] = {}
        self._loop = asyncio.get_running_loop()
        self._draining = self._closing = False
        self._pinged: float | None = None  # when, while a ping has no answer
        self._second = 0.0  # in which `_control` and `_resets` are counted
        self._control = self._resets = 0
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

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        try:
            for event in self.h2.receive_data(data):
                self._take(event)
        except ProtocolError as error:
            logger.debug("a gRPC connection broke the protocol: %s", error)
            self._flush()  # h2 has prepared its GOAWAY
            self._close()
            return
        self._flush()

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
        self.transport.write(frames.goaway(self.h2.highest_inbound_stream_id))
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._draining and not self._calls:
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
            self._timer = self._loop.call_later(LINGER_S, self.transport.abort)

    # --- what the client sends

    def _take(self, event: events.Event) -> None:
        match event:
            case events.DataReceived(stream_id=stream_id):
                self._take_data(stream_id, event)
            case events.WindowUpdated(stream_id=0) | events.RemoteSettingsChanged():
                self._wake_all()
            case events.WindowUpdated(stream_id=stream_id) if call := self._calls.get(stream_id):
                call.wake()
            case events.RequestReceived():
                self._begin(event)
            case events.StreamEnded(stream_id=stream_id) if call := self._calls.get(stream_id):
                call.close_half()
            case events.StreamReset(stream_id=stream_id):
                self._resets += 1
                if call := self._calls.pop(stream_id, None):
                    call.cancel()
                    self._close_if_done()
            case events.PingAckReceived():
                self._pinged = None
            case events.ConnectionTerminated():
                self._take_goaway()
        if not isinstance(event, _WORK):
            self._count()

    def _take_data(self, stream_id: int, event: events.DataReceived) -> None:
        if call := self._calls.get(stream_id):
            call.receive(event.data)
        self.h2.acknowledge_received_data(event.flow_controlled_length, stream_id)
        if not event.data and event.stream_ended is None:
            self._count()

    def _take_goaway(self) -> None:
        """The client begins no more calls; h2 takes it for the end of those under way, too."""
        self.h2.state_machine.state = ConnectionState.SERVER_OPEN
        self._draining = True
        self._close_if_done()

    def _count(self) -> None:
        """Bound what costs us work and the client nothing. Raises `ProtocolError`."""
        now = self._loop.time()
        if now - self._second >= 1:
            self._second, self._control, self._resets = now, 0, 0
        self._control += 1
        if self._control > CONTROL_MAX or self._resets > RESETS_MAX:
            self.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            raise ProtocolError("a flood of frames")

    def _begin(self, request: events.RequestReceived) -> None:
        stream_id, headers = request.stream_id, dict(request.headers)
        stream = self.h2.streams.get(stream_id)
        if stream is None or stream.closed:  # reset in the same read
            return
        if self._draining:
            self.h2.reset_stream(stream_id, ErrorCodes.REFUSED_STREAM)
            return
        head, method, timeout_s = _read_head(headers, self._service.methods)
        if method is None:
            self.send_headers(stream_id, head, end=True)
            return
        call = Call(self, stream, method, frames.metadata(request.headers), head)
        self._calls[stream_id] = call
        if timeout_s is not None:
            call.timer = self._loop.call_later(timeout_s, call.expire)
        call.begin()

    # --- the inside

    def _flush(self) -> None:
        if not (data := self.h2.data_to_send()) or self.transport.is_closing():
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
            self.transport.write(frames.PING)
        elif now - self._pinged >= PING_ANSWER_S:
            self.transport.abort()
            return
        self._timer = self._loop.call_later(self._service.heartbeat_s, self._beat)


def _read_head(
    headers: dict[bytes, bytes], methods: dict[bytes, Method]
) -> tuple[frames.Fields, Method | None, float | None]:
    """The head of the answer, the method, and the seconds it may take. Without a method the head is all."""
    if headers[b":method"] != b"POST":
        return [(":status", "405"), ("allow", "POST")], None, None
    head = frames.head(headers.get(b"content-type", b""))
    if head is None:
        return [(":status", "415")], None, None
    try:
        timeout_s = frames.timeout_s(headers[b"grpc-timeout"]) if b"grpc-timeout" in headers else None
    except ValueError as error:
        return head + frames.trailers(Status(code=INTERNAL, message=str(error))), None, None
    method = methods.get(headers[b":path"])
    if method is None:
        unknown = Status(code=UNIMPLEMENTED, message="There is no such method.")
        return head + frames.trailers(unknown), None, None
    return head, method, timeout_s


#: Events of frames that belong to calls, or answer ours.
_WORK = (
    events.DataReceived,
    events.WindowUpdated,
    events.RequestReceived,
    events.StreamEnded,
    events.PingAckReceived,
    events.SettingsAcknowledged,
)
