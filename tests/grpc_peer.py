"""A gRPC client made of h2 alone, on the other end of a connection without a socket.

h2 checks what the server sends: an answer that exceeds a window or a frame that is too large raises.
"""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

from google.rpc.status_pb2 import Status
from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection

from polystream.protocols.grpc_call import Call, Method
from polystream.protocols.grpc_connection import Connection
from polystream.protocols.grpc_frames import prefixed
from polystream.protocols.grpc_service import Service
from tests.clock import settle

MESSAGE_MAX_BYTES = 200_000
HEARTBEAT_S = 10.0
#: HTTP/2's, of a connection and of a stream.
WINDOW = 65_535
#: Types of frames, and flags.
DATA, HEADERS, RESET, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 6, 7, 8
END_STREAM, END_HEADERS = 1, 4


class Transport(asyncio.Transport):
    """Holds what is written until it is taken."""

    def __init__(self, connection: Connection):
        super().__init__()
        self.data = b""
        self.ended = self.closed = False
        self.waiting = 0  #: turns for which the connection has put off reading on
        self._reading = True
        self._connection = connection

    def write(self, data: Any) -> None:
        assert not self.ended
        assert not self.closed
        self.data += data

    def write_eof(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True

    def is_reading(self) -> bool:
        return self._reading

    def abort(self) -> None:
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self._connection.connection_lost, None)

    def get_write_buffer_size(self) -> int:
        return len(self.data)


class Peer:
    """The client, who sends the preface at once if it is to greet.

    `events`: all that it was told; `frames`: type and length of each frame it was sent.
    """

    def __init__(self, service: Service | None = None, greet: bool = True, **handlers: Callable[..., Any]):
        methods = {f"/t.T/{name}": Method(handler, name == "Talk") for name, handler in handlers.items()}
        self.service = service or Service(methods, MESSAGE_MAX_BYTES, HEARTBEAT_S)
        self.connection = Connection(self.service)
        self.transport = Transport(self.connection)
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.events: list[events.Event] = []
        self.frames: list[tuple[int, int]] = []
        self.connection.connection_made(self.transport)
        self.h2.initiate_connection()
        if greet:
            self.exchange()

    def exchange(self) -> None:
        """Carry what both have to say, until both are silent."""
        while (sent := self.h2.data_to_send()) or self.transport.data:
            if sent:
                self.give(sent)
            self.receive()

    def give(self, data: bytes) -> None:
        """Bytes for the server, and as many turns as it takes for them."""
        self.connection.data_received(data)
        self.turn()

    def turn(self) -> None:
        """Have the server read all that it has put off."""
        while not self.transport.is_reading() and not self.transport.closed and not self.transport.ended:
            self.transport.waiting += 1
            self.connection.data_received(b"")

    def receive(self) -> None:
        """Take what the server has written."""
        data, self.transport.data = self.transport.data, b""
        self.events += self.h2.receive_data(data)
        while data:
            length = int.from_bytes(data[:3], "big")
            self.frames.append((data[3], length))
            data = data[9 + length :]

    def call(self, name: str = "Say", message: bytes | None = b"", end: bool = True, **headers: str) -> int:
        """Begin a call, with a message unless it is None; its stream."""
        stream_id = self.h2.get_next_available_stream_id()
        fields = {
            ":method": "POST", ":scheme": "http", ":path": f"/t.T/{name}", ":authority": "t",
            "content-type": "application/grpc", "te": "trailers",
        }  # fmt: skip
        fields |= {key.replace("_", "-"): value for key, value in headers.items()}
        for name in ("method", "path"):
            fields[f":{name}"] = fields.pop(name, fields[f":{name}"])
        self.h2.send_headers(stream_id, [*fields.items()], end_stream=end and message is None)
        if message is not None:
            self.send(stream_id, prefixed(message), end)
        self.exchange()
        return stream_id

    def send(self, stream_id: int, data: bytes, end: bool = False) -> None:
        """Bytes of a request's body, as windows allow."""
        while len(data) > (room := min(self.h2.local_flow_control_window(stream_id), 16_384)):
            self.h2.send_data(stream_id, data[:room])
            data = data[room:]
            self.exchange()
        self.h2.send_data(stream_id, data, end_stream=end)
        self.exchange()

    def of(self, kind: type[events.Event]) -> list[Any]:
        """The events of a kind."""
        return [event for event in self.events if type(event) is kind]

    def headers(self, stream_id: int) -> dict[str, str]:
        """The head of an answer."""
        (event,) = (event for event in self.of(events.ResponseReceived) if event.stream_id == stream_id)
        return dict(event.headers)

    def trailers(self, stream_id: int) -> dict[str, str]:
        """The end of an answer, which may be its head too; empty before."""
        ended = [event.stream_id for event in self.of(events.StreamEnded)]
        found = [event for event in self.of(events.TrailersReceived) if event.stream_id == stream_id]
        if stream_id not in ended:
            return {}
        return dict(found[0].headers) if found else self.headers(stream_id)

    def status(self, stream_id: int) -> int | None:
        """The status of a call; None before its end."""
        status = self.trailers(stream_id).get("grpc-status")
        return None if status is None else int(status)

    def details(self, stream_id: int) -> Status:
        """`grpc-status-details-bin`."""
        text = self.trailers(stream_id)["grpc-status-details-bin"]
        assert "=" not in text
        return Status.FromString(base64.b64decode(text + "=" * (-len(text) % 4)))

    def body(self, stream_id: int) -> bytes:
        """The bytes of an answer so far."""
        return b"".join(event.data for event in self.of(events.DataReceived) if event.stream_id == stream_id)


class Held:
    """A method whose call the test holds. `cancelled`: its handler was."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self.cancelled = False

    async def __call__(self, message: bytes, call: Call) -> None:
        self.call = call
        call.send_initial_metadata()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def frame(kind: int, stream_id: int, body: bytes, flags: int = 0) -> bytes:
    """A frame that h2 might refuse to send."""
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big") + body


async def wait(message: bytes, call: Call) -> bytes:
    """Answers in an hour."""
    await asyncio.sleep(3600)
    return b"done"


def ended_with(peer: Peer) -> list[tuple[Any, int | None]]:
    """The GOAWAYs that a client was sent: code and last stream."""
    return [(event.error_code, event.last_stream_id) for event in peer.of(events.ConnectionTerminated)]


async def held() -> tuple[Peer, Held, Call, int]:
    """A peer whose call is under way."""
    method = Held()
    peer = Peer(Say=method)
    stream_id = peer.call()
    await settle()
    peer.exchange()
    assert method.call
    return peer, method, method.call, stream_id
