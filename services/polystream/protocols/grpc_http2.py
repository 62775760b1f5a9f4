"""h2's connection with our limits, and as RFC 9113 has it where h2 ends more than it must: what is wrong with
a stream ends that stream, and a client's GOAWAY ends nothing.

The methods with an underscore are h2's; it has no other place for this, so `pyproject.toml` holds it back.
"""

import struct
from collections.abc import Iterator

from h2.config import H2Configuration
from h2.connection import AllowedStreamIDs, ConnectionInputs, H2Connection, _decode_headers
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, StreamReset
from h2.exceptions import InvalidBodyLengthError, ProtocolError, StreamClosedError
from h2.frame_buffer import FrameBuffer
from h2.settings import SettingCodes, Settings
from h2.stream import H2Stream, StreamClosedBy, StreamState
from hpack import Encoder
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PriorityFrame,
    RstStreamFrame,
    WindowUpdateFrame,
)

#: Calls that may run at once on a connection.
STREAMS_MAX = 1000
#: Bytes of a request's header fields together, as HTTP/2 counts them.
HEADERS_MAX_BYTES = 16 * 1024

#: Bytes of our header fields that a client may have us remember, HTTP/2's own number.
TABLE_MAX_BYTES = 4096

#: What a frame asks of its connection: frames to send, and what happened.
Answer = tuple[list[Frame], list[Event]]

_HEAD_BYTES = 9
#: Length and type of a WINDOW_UPDATE, and its stream and increment behind the flags.
_WINDOW_UPDATE, _STREAM_AND_INCREMENT = b"\0\0\4\x08", struct.Struct(">II")
_31_BITS = 0x7FFF_FFFF


class Frames(FrameBuffer):
    """The frames in the bytes that came. One that is too long is refused at its head, not at its end."""

    def __next__(self) -> Frame:
        data = self._data
        if len(data) >= _HEAD_BYTES:
            self._validate_frame_length(int.from_bytes(data[:3], "big"))
            if data.startswith(_WINDOW_UPDATE) and (stream_id := self._opens_nothing()):
                return WindowUpdateFrame(stream_id)
        return super().__next__()

    def _opens_nothing(self) -> int:
        """The stream of a WINDOW_UPDATE of 0, which is taken: h2 cannot read it. 0 for what is left to h2."""
        if len(self._data) < _HEAD_BYTES + 4 or self._headers_buffer:
            return 0
        stream_id, increment = _STREAM_AND_INCREMENT.unpack_from(self._data, 5)
        if increment & _31_BITS or not stream_id & _31_BITS:
            return 0
        del self._data[: _HEAD_BYTES + 4]
        return int(stream_id & _31_BITS)


class Heads(Encoder):
    """Compresses our header fields. Those remembered are searched one by one: no client has them grow."""

    @property
    def header_table_size(self) -> int:
        return self.header_table.maxsize

    @header_table_size.setter
    def header_table_size(self, value: int) -> None:
        value = min(value, TABLE_MAX_BYTES)
        if value != self.header_table.maxsize:
            self.header_table.maxsize = value
            # RFC 7541, 4.2: of many changes before a block, the smallest and the last are told.
            self.table_size_changes = [*{min([value, *self.table_size_changes]): None, value: None}]


class Http2(H2Connection):
    """A server's connection. It remembers fewer streams that are gone than h2 does by itself, 65,536."""

    DEFAULT_MAX_HEADER_LIST_SIZE = HEADERS_MAX_BYTES
    MAX_CLOSED_STREAMS = 2 * STREAMS_MAX

    def __init__(self) -> None:
        config = H2Configuration(
            client_side=False, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        super().__init__(config)
        limits = {
            SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS_MAX_BYTES,
        }
        self.local_settings = Settings(client=False, initial_values=limits)
        self.incoming_buffer = Frames(server=True)
        self.encoder = Heads()
        self._sweep_at = STREAMS_MAX // 10  # streams, open or gone, at which those that are gone are put away

    def read(self, data: bytes | bytearray | memoryview) -> Iterator[list[Event]]:
        """What each frame means, before the next is looked at; nothing, if it is of no use any more.

        Who stops early reads on with no further data. Raises `ProtocolError`, with a GOAWAY to send.
        """
        try:
            self.incoming_buffer.add_data(data)
            self.incoming_buffer.max_frame_size = self.max_inbound_frame_size
            for frame in self.incoming_buffer:
                yield self._receive_frame(frame)
        except (ProtocolError, HyperframeError) as error:
            self._terminate_connection(getattr(error, "error_code", ErrorCodes.PROTOCOL_ERROR))
            raise ProtocolError(str(error)) from error

    # --- what h2 calls for a frame

    def _receive_headers_frame(self, frame: HeadersFrame) -> Answer:
        """Malformed ones are their stream's trouble (8.1.1); priorities are none (5.3.2).

        Who takes the events bounds the open streams (5.1.2): h2 walks over all to count them for a new one.
        """
        headers = _decode_headers(self.decoder, frame.data)  # also of those that are refused: it has a state
        self.state_machine.process_input(ConnectionInputs.RECV_HEADERS)
        if self._is_late(frame.stream_id):
            return [], []
        if len(self.streams) >= self._sweep_at:
            self._sweep_at = STREAMS_MAX // 10 + 2 * self.open_inbound_streams
        stream = self._get_or_create_stream(frame.stream_id, AllowedStreamIDs.ODD)
        try:
            return stream.receive_headers(headers, "END_STREAM" in frame.flags, None)
        except StreamClosedError:
            raise
        except ProtocolError as error:
            return self._break_off(stream, error.error_code)

    def _receive_data_frame(self, frame: DataFrame) -> Answer:
        """A body that is not as long as its head has said is its stream's trouble (8.1.1)."""
        try:
            return super()._receive_data_frame(frame)
        except InvalidBodyLengthError as error:
            answer = self._break_off(self.streams[frame.stream_id], error.error_code)
            self.acknowledge_received_data(frame.flow_controlled_length, frame.stream_id)
            return answer

    def _handle_data_on_closed_stream(
        self, events: list[Event], exc: StreamClosedError, frame: DataFrame
    ) -> Answer:
        """What comes late is nobody's trouble, but its window is the connection's (5.1)."""
        frames, happened = super()._handle_data_on_closed_stream(events, exc, frame)
        if not happened and self._is_late(frame.stream_id):
            frames = [answer for answer in frames if isinstance(answer, WindowUpdateFrame)]
        return frames, happened

    def _receive_window_update_frame(self, frame: WindowUpdateFrame) -> Answer:
        """One of 0 is its stream's trouble (6.9)."""
        if frame.window_increment:
            return super()._receive_window_update_frame(frame)
        try:
            stream = self._get_stream_by_id(frame.stream_id)
        except StreamClosedError:
            return [], []
        return ([], []) if stream.closed else self._break_off(stream, ErrorCodes.PROTOCOL_ERROR)

    def _receive_priority_frame(self, frame: HeadersFrame | PriorityFrame) -> Answer:
        """There are none (5.3.2)."""
        return [], []

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> Answer:
        """What is under way goes on (6.8); for h2 the connection would end, with what is still to be sent."""
        return [], [ConnectionTerminated()]

    # --- the inside

    def _is_late(self, stream_id: int) -> bool:
        """Whether we have reset that stream, so that its client may not have known."""
        return self._stream_closed_by(stream_id) is StreamClosedBy.SEND_RST_STREAM

    def _break_off(self, stream: H2Stream, code: ErrorCodes) -> Answer:
        """RST_STREAM, in whatever state h2 has left the stream."""
        stream.state_machine.state = StreamState.CLOSED
        stream.state_machine.stream_closed_by = StreamClosedBy.SEND_RST_STREAM
        reset = StreamReset(stream_id=stream.stream_id, error_code=code, remote_reset=False)
        return [RstStreamFrame(stream.stream_id, error_code=code)], [reset]
