"""What a client sends in a call: the messages in a stream of bytes, and what is refused of them."""

from collections import deque

from google.rpc.status_pb2 import Status

from polystream.core.errors import TooLarge
from polystream.dialects import proto
from polystream.protocols import grpc_frames as frames

#: Statuses that are none of `core.errors`: gRPC's own, https://grpc.io/docs/guides/status-codes/.
DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL = 4, 12, 13


class Refused(Exception):
    """The call ends with this status and these further trailers."""

    def __init__(self, status: Status, *trailers: tuple[str, str]):
        super().__init__(status.message)
        self.status = status
        self.trailers = list(trailers)


class Assembler:
    """Puts messages together. `whole`: those that nobody has taken yet, of `max_bytes` together."""

    __slots__ = ("_buffer", "_max_bytes", "whole")

    def __init__(self, max_bytes: int):
        self.whole: deque[bytes] = deque()
        self._buffer = bytearray()
        self._max_bytes = max_bytes

    def feed(self, piece: bytes) -> None:
        """The next bytes. Raises `Refused`; a message that is too large is refused by its prefix."""
        self._buffer += piece
        while len(self._buffer) >= frames.PREFIX.size:
            flag, size = frames.PREFIX.unpack_from(self._buffer)
            _check_flag(flag)
            if size + sum(map(len, self.whole)) > self._max_bytes:
                error = TooLarge(f"The message is larger than {self._max_bytes} bytes.")
                raise Refused(proto.rpc_status(error.as_event()))
            end = frames.PREFIX.size + size
            if len(self._buffer) < end:
                return
            self.whole.append(bytes(self._buffer[frames.PREFIX.size : end]))
            del self._buffer[:end]

    def incomplete(self) -> bool:
        """Whether the bytes so far end within a message."""
        return bool(self._buffer)

    def more_than_one(self) -> bool:
        """Whether a second message has begun."""
        return len(self.whole) + bool(self._buffer) > 1


def _check_flag(flag: int) -> None:
    """Raises `Refused`."""
    if flag == 1:
        status = Status(code=UNIMPLEMENTED, message="Compressed messages are not taken.")
        raise Refused(status, ("grpc-accept-encoding", "identity"))
    if flag:
        raise Refused(Status(code=INTERNAL, message="A message's flags are invalid."))


class NoCall(Exception):
    """A request that begins no call. `fields`: the whole answer."""

    def __init__(self, fields: frames.Fields):
        super().__init__(fields)
        self.fields = fields


def read_head(headers: dict[bytes, bytes]) -> tuple[frames.Fields, float | None]:
    """The head of the answer, and the seconds it may take, if there is a limit. Raises `NoCall`."""
    if headers[b":method"] != b"POST":
        raise NoCall([(":status", "405"), ("allow", "POST")])
    head = frames.head(headers.get(b"content-type", b""))
    if head is None:
        raise NoCall([(":status", "415")])
    timeout = headers.get(b"grpc-timeout")
    try:
        return head, None if timeout is None else frames.timeout_s(timeout)
    except ValueError as error:
        raise NoCall(head + frames.trailers(Status(code=INTERNAL, message=str(error)))) from None
