"""Small careful clients, one a protocol, with the same functions: `start`, `follow`, `cancel`, `status`.

Each yields events in their native JSON form. They believe nothing: an answer that does not end as its
protocol says raises `Broken`, one refused before its stream raises `Refused`, and a spelling that the
specification forbids fails the test.
"""

from collections.abc import AsyncGenerator
from typing import Any, Protocol

Json = dict[str, Any]
Headers = dict[str, str]
Events = AsyncGenerator[Json, None]
#: Filled by a client with what only its protocol knows: status, headers, raw bytes, close code.
Wire = dict[str, Any]


class Addresses(Protocol):
    """Where a server listens: `http://…`, `ws://…` and `host:port`."""

    rest: str
    websocket: str
    grpc: str


class Refused(Exception):
    """An error instead of a stream. `status`: HTTP's number, gRPC's name, a WebSocket close code, or None."""

    def __init__(self, status: int | str | None, code: str, body: Any = None, headers: Headers | None = None):
        super().__init__(f"{status} {code}: {body}")
        self.status = status
        self.code = code
        self.body = body
        self.headers = headers or {}


class Broken(Exception):
    """The answer ended without its proper end: no terminating chunk, no last event, an abnormal close."""
