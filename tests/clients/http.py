"""HTTP/1.1 over a bare socket: what came before a cut is handed out, only a terminating chunk ends a body.

Ready-made clients drop bytes that had arrived before a cut, or take a closed connection for a whole body.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.clients import Broken, Headers, Refused

#: Bounds every single wait for bytes; above any heartbeat or stall limit of a server under test.
READ_TIMEOUT_S = 30


@dataclass
class Answer:
    """Status and headers (names in lower case), and the body as it comes; `raw` keeps all its bytes."""

    status: int
    headers: Headers
    raw: bytearray
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter = field(repr=False)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, one HTTP chunk at a time. Raises `Broken` when it ends before its proper end."""
        if self.status in (204, 304) or self.headers.get("content-length") == "0":
            return
        try:
            if length := self.headers.get("content-length"):
                yield await self._take(int(length))
                return
            if self.headers.get("transfer-encoding") != "chunked":
                raise AssertionError(f"a body that only the connection's end delimits: {self.headers}")
            while size := int(await self._line(), 16):
                yield await self._take(size)
                assert await self._line() == b"", "a chunk is longer than it says"
            assert await self._line() == b"", "trailers nobody announced"
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Broken(f"the connection ended inside the body: {error!r}") from error

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self.pieces()])

    async def lines(self) -> AsyncIterator[bytes]:
        """The body by LF, without it. Raises `Broken` also for a body whose last line is not ended."""
        rest = b""
        async for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line
        if rest:
            raise Broken(f"the last line is not ended: {rest[:80]!r}")

    def close(self) -> None:
        """Leave at once, whatever is still to come."""
        self._writer.transport.abort()

    async def _line(self) -> bytes:
        async with asyncio.timeout(READ_TIMEOUT_S):
            line = await self._reader.readuntil(b"\n")
        self.raw += line
        assert line.endswith(b"\r\n"), f"a line of HTTP without CR: {line!r}"
        return line[:-2]

    async def _take(self, size: int) -> bytes:
        async with asyncio.timeout(READ_TIMEOUT_S):
            data = await self._reader.readexactly(size)
        self.raw += data
        return data

    async def _head(self) -> None:
        try:
            version, status, *_ = (await self._line()).split(b" ", 2)
            assert version == b"HTTP/1.1", version
            self.status = int(status)
            while line := await self._line():
                name, _, value = line.decode("latin-1").partition(":")
                self.headers[name.lower()] = value.strip()
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Broken(f"the connection ended before an answer: {error!r}") from error


async def connect(
    url: str, receive_buffer: int | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the host of `url`; `receive_buffer` (bytes): the kernel takes no more for us."""
    address = urlsplit(url)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.setblocking(False)
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            await asyncio.get_running_loop().sock_connect(sock, (address.hostname, address.port))
    except BaseException:
        sock.close()
        raise
    return await asyncio.open_connection(sock=sock, limit=2**26)


def head(method: str, url: str, headers: Headers | None = None, body: bytes = b"") -> bytes:
    """The bytes of a request."""
    address = urlsplit(url)
    target = (address.path or "/") + (f"?{address.query}" if address.query else "")
    fields = {"Host": address.netloc, **(headers or {})}
    if body:
        fields["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode() + body


async def request(
    method: str,
    url: str,
    headers: Headers | None = None,
    body: bytes = b"",
    receive_buffer: int | None = None,
) -> Answer:
    """Send one request on its own connection and read the answer's head. The caller closes the answer."""
    reader, writer = await connect(url, receive_buffer)
    answer = Answer(0, {}, bytearray(), reader, writer)
    try:
        writer.write(head(method, url, {"Connection": "close"} | (headers or {}), body))
        await answer._head()
    except BaseException:
        answer.close()
        raise
    return answer


async def fetch(
    method: str, url: str, headers: Headers | None = None, body: bytes = b""
) -> tuple[Answer, bytes]:
    """A request whose whole body is wanted."""
    answer = await request(method, url, headers, body)
    try:
        return answer, await answer.read()
    finally:
        answer.close()


async def refuse(answer: Answer) -> Refused:
    """The native or OpenAI error that an answer other than 2xx carries."""
    raw = await answer.read()
    try:
        error: Any = json.loads(raw)["error"]
        code = error.get("code") or error["type"]
    except (ValueError, LookupError, TypeError) as cause:
        raise AssertionError(f"{answer.status} without an error object: {raw[:300]!r}") from cause
    return Refused(answer.status, code, error, answer.headers)
