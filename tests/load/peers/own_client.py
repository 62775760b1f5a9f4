"""A small streaming HTTP/1.1 client for one known upstream: pooled connections, no task per stream.

``data_received`` undoes the chunked coding and leaves the text in a mailbox; the reader wakes once for
all that has come until then, so tokens that arrive while the consumer is busy are coalesced for free.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

_HIGH_WATER = 256 * 1024


class UpstreamError(Exception):
    """The upstream refused or broke off."""


class _Connection(asyncio.Protocol):
    """One connection to the upstream."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def start(self, request: bytes) -> None:
        """Send one request."""
        self._raw = b""
        self._in_body = self.ended = False
        self._parts: list[bytes] = []
        self._size = 0
        self.transport.write(request)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._raw:
            data = self._raw + data
        position = 0
        if not self._in_body:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._raw = data
                return
            if not data.startswith(b"HTTP/1.1 200"):
                self.transport.close()
                return
            position, self._in_body = end + 4, True
        self._raw = data[self._unchunk(data, position) :]
        if self._size > _HIGH_WATER and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        if self._parts or self.ended:
            self._wake()

    def _unchunk(self, data: bytes, position: int) -> int:
        """Take the whole chunks from ``position`` on; returns where the first incomplete one begins."""
        while (line := data.find(b"\r\n", position)) >= 0:
            size = int(data[position:line], 16)
            end = line + 2 + size
            if len(data) < end + 2:
                break
            position = end + 2
            if size == 0:
                self.ended = True
                break
            self._parts.append(data[line + 2 : end])
            self._size += size
        return position

    async def read(self) -> bytes:
        """All text that has come since the last call; empty at the end."""
        while not self._parts:
            if self.ended:
                return b""
            if self.closed:
                raise UpstreamError("upstream broke off")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        parts, self._parts, self._size = self._parts, [], 0
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Upstream:
    """The upstream at ``host:port``."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._idle: list[_Connection] = []
        self._head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer sk-bench\r\n"
            "content-type: application/json\r\ncontent-length: %d\r\n\r\n"
        ).encode()

    async def _connection(self) -> _Connection:
        while self._idle:
            candidate = self._idle.pop()
            if not candidate.closed:
                return candidate
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, self._host, self._port)
        return connection

    async def stream(self, body: bytes) -> AsyncIterator[bytes]:
        """The text of one streamed completion."""
        connection = await self._connection()
        connection.start(self._head % len(body) + body)
        try:
            while data := await connection.read():
                yield data
        finally:
            if connection.ended and not connection.closed:
                self._idle.append(connection)
            else:
                connection.transport.abort()
