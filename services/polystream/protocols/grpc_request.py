"""What a client sends in a call: the messages in a stream of bytes, and what is refused of them."""

from collections import deque

from google.rpc.status_pb2 import Status

from polystream.core.errors import TooLarge
from polystream.dialects import proto
from polystream.protocols import grpc_frames as frames

#: Statuses that are none of `core.errors`: gRPC's own, https://grpc.io/docs/guides/status-codes/.
DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL = 4, 12, 13
#: As https://grpc.io/docs/guides/status-codes/ says.
ONE_MESSAGE = Status(code=UNIMPLEMENTED, message="The method takes exactly one message.")

#: Messages of a streamed request that may wait: empty ones have no bytes to be bounded by.
WAITING_MAX = 1000


class Refused(Exception):
    """The call ends with this status and these further trailers."""

    def __init__(self, status: Status, *trailers: tuple[str, str]):
        super().__init__(status.message)
        self.status = status
        self.trailers = list(trailers)


class Assembler:
    """Puts messages together; a request that is not `streamed` is one.

    `whole`: those that nobody has taken yet, at most `WAITING_MAX`, and of `max_bytes` together.
    """

    __slots__ = ("_buffer", "_max_bytes", "_streamed", "_waiting", "whole")

    def __init__(self, max_bytes: int, streamed: bool):
        self.whole: deque[bytes] = deque()
        self._buffer = bytearray()
        self._max_bytes = max_bytes
        self._streamed = streamed
        self._waiting = 0  # bytes of `whole`

    def feed(self, piece: bytes) -> None:
        """The next bytes. Raises `Refused` and reads no more; for a message too large at its prefix."""
        self._buffer += piece
        at, given = 0, len(self._buffer)
        while at < given:
            if self.whole and not self._streamed:
                raise Refused(ONE_MESSAGE)
            if (body := at + frames.PREFIX.size) > given:
                break
            flag, size = frames.PREFIX.unpack_from(self._buffer, at)
            _check_flag(flag)
            self._check_room(size)
            if (end := body + size) > given:
                break
            self.whole.append(bytes(self._buffer[body:end]))
            self._waiting += size
            at = end
        del self._buffer[:at]

    def take(self) -> bytes:
        """The oldest of `whole`."""
        message = self.whole.popleft()
        self._waiting -= len(message)
        return message

    def incomplete(self) -> bool:
        """Whether the bytes so far end within a message."""
        return bool(self._buffer)

    def _check_room(self, size: int) -> None:
        """Whether a message of that many bytes may follow. Raises `Refused`."""
        if self._waiting + size > self._max_bytes:
            words = f"The message is larger than {self._max_bytes} bytes."
        elif len(self.whole) >= WAITING_MAX:
            words = f"More than {WAITING_MAX} messages wait for their answers."
        else:
            return
        raise Refused(proto.rpc_status(TooLarge(words).as_event()))


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
