"""What all gRPC connections of a server share: the methods by path, the limits, and who is connected."""

import asyncio
import contextlib
from typing import Protocol

from google.rpc.status_pb2 import Status

from polystream.protocols import grpc_frames as frames
from polystream.protocols.grpc_call import Method
from polystream.protocols.grpc_request import UNIMPLEMENTED, NoCall


class Connected(Protocol):
    """A connection, as its service sees it."""

    transport: asyncio.Transport

    def drain(self) -> None:
        """No new calls; close when those under way have ended."""
        ...


class Service:
    """`message_max_bytes`: largest request message; `heartbeat_s`: between pings."""

    def __init__(self, methods: dict[str, Method], message_max_bytes: int, heartbeat_s: float):
        self._methods = {path.encode(): method for path, method in methods.items()}
        self.message_max_bytes = message_max_bytes
        self.heartbeat_s = heartbeat_s
        self.connections: set[Connected] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.draining = False
        self._gone: asyncio.Event | None = None

    def method(self, path: bytes, head: frames.Fields) -> Method:
        """Raises `NoCall`, whose answer begins with that head."""
        if (method := self._methods.get(path)) is None:
            unknown = Status(code=UNIMPLEMENTED, message="There is no such method.")
            raise NoCall(head + frames.trailers(unknown))
        return method

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

    def leave(self, connection: Connected) -> None:
        """It is closed."""
        self.connections.discard(connection)
        if self._gone is not None and not self.connections:
            self._gone.set()
