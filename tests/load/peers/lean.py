"""The leanest asyncio gateway: one protocol per side, no task and no queue per stream.

``python -m tests.load.peers.lean PORT UPSTREAM_PORT``. The server side takes a keep-alive upstream
connection from a pool; the upstream side decodes each chunk and writes a fresh one, built from the
gateway's own template, straight to the client's transport: the floor for any gateway in Python.
"""

import asyncio
import gc
import json
import re
import sys
from typing import cast

import msgspec
import uvloop

from .chunk import DONE, decode_chunk

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.I)
_REQUEST_HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer sk-bench\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n"
)
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
_HEALTH = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
_BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"
_PREFIX = (
    b'data: {"id":"chatcmpl-gateway0000000000000000000","object":"chat.completion.chunk",'
    b'"created":1760000000,"model":"mock-model","choices":[{"index":0,"delta":{'
)
_SUFFIX = b'},"finish_reason":null}]}\n\n'

_encode = msgspec.json.Encoder().encode


class _Side(asyncio.Protocol):
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance


class UpstreamSide(_Side):
    """A pooled connection to the upstream."""

    def __init__(self, pool: list["UpstreamSide"]) -> None:
        self._pool = pool
        self.client: ClientSide | None = None

    def start(self, client: "ClientSide", request: bytes) -> None:
        """Send one request; what comes back goes to ``client``."""
        self.client = client
        self._buffer = b""
        self._in_body = False
        self.transport.write(request)

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self._pool:
            self._pool.remove(self)
        if self.client:
            self.client.upstream_gone()
            self.client = None

    def data_received(self, data: bytes) -> None:
        client = self.client
        if client is None:
            self.transport.close()
            return
        data = self._buffer + data if self._buffer else data
        position = 0
        if not self._in_body:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._buffer = data
                return
            if not data.startswith(b"HTTP/1.1 200"):
                self.client = None
                client.fail()
                self.transport.close()
                return
            position, self._in_body = end + 4, True
            client.begin()
        self._relay(client, data, position)

    def _relay(self, client: "ClientSide", data: bytes, position: int) -> None:
        parts = []
        ended = False
        while not ended and (line := data.find(b"\r\n", position)) >= 0:
            size = int(data[position:line], 16)
            end = line + 2 + size
            if len(data) < end + 2:
                break
            parts.append(data[line + 2 : end])
            position, ended = end + 2, size == 0
        self._buffer = data[position:]
        if parts:
            client.relay(b"".join(parts))
        if ended:
            self.client = None
            self._pool.append(self)
            client.finish()


class ClientSide(_Side):
    """A client's connection."""

    def __init__(self, upstream_port: int, pool: list[UpstreamSide]) -> None:
        self._upstream_port, self._pool = upstream_port, pool
        self._buffer = self._rest = b""
        self._upstream: UpstreamSide | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._upstream:  # the client went away: stop the upstream too
            self._upstream.client = None
            self._upstream.transport.close()

    def pause_writing(self) -> None:
        if self._upstream:
            self._upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._upstream:
            self._upstream.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _LENGTH.search(self._buffer, 0, end + 2)
        stop = end + 4 + (int(length.group(1)) if length else 0)
        if len(self._buffer) < stop:
            return
        head, body, self._buffer = self._buffer[:end], self._buffer[end + 4 : stop], self._buffer[stop:]
        if head.startswith(b"POST /v1/chat/completions"):
            self._chat(body)
        else:
            self.transport.write(_HEALTH)

    def _chat(self, body: bytes) -> None:
        json.loads(body)  # a gateway looks into the request once
        request = _REQUEST_HEAD % (self._upstream_port, len(body)) + body
        if self._pool:
            self._start(self._pool.pop(), request)
        else:
            self._task = asyncio.get_running_loop().create_task(self._connect(request))

    async def _connect(self, request: bytes) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, upstream = await loop.create_connection(
                lambda: UpstreamSide(self._pool), "127.0.0.1", self._upstream_port
            )
        except OSError:
            self.fail()
            return
        self._start(upstream, request)

    def _start(self, upstream: UpstreamSide, request: bytes) -> None:
        self._upstream = upstream
        upstream.start(self, request)

    def begin(self) -> None:
        """The upstream has accepted."""
        self.transport.write(_HEAD)

    def relay(self, text: bytes) -> None:
        """Decode every event, send all that came together as one chunk."""
        events = (self._rest + text if self._rest else text).split(b"\n\n")
        self._rest = events.pop()
        if events:
            out = b"".join(map(_rewrite, events))
            self.transport.write(b"%x\r\n%b\r\n" % (len(out), out))

    def finish(self) -> None:
        """The stream is complete."""
        self._upstream = None
        self.transport.write(b"0\r\n\r\n")

    def fail(self) -> None:
        """The upstream did not accept."""
        self._upstream = None
        self.transport.write(_BAD_GATEWAY)

    def upstream_gone(self) -> None:
        """The upstream broke off: break off, so that the client notices."""
        self._upstream = None
        self.transport.close()


def _rewrite(event: bytes) -> bytes:
    """Content chunks by template, all others as they came."""
    if event != DONE:
        choices = decode_chunk(event[6:]).choices
        if choices and choices[0].finish_reason is None and choices[0].delta.content is not None:
            return b'%b"content":%b%b' % (_PREFIX, _encode(choices[0].delta.content), _SUFFIX)
    return event + b"\n\n"


async def serve(port: int, upstream_port: int) -> None:
    """Listen on loopback until the process is ended."""
    pool: list[UpstreamSide] = []
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: ClientSide(upstream_port, pool), "127.0.0.1", port, backlog=4096)
    gc.freeze()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))
