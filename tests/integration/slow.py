"""Readers that take little or nothing, at each protocol's lowest level: no library reads ahead for them."""

import asyncio
import re
import socket
from contextlib import AsyncExitStack
from typing import Any, Protocol
from urllib.parse import urlsplit

import grpc as grpcio
from google.protobuf.json_format import ParseDict
from websockets.frames import Frame, Opcode

from polystream.proto.polystream.v1 import streams_pb2 as pb
from polystream.proto.polystream.v1.streams_pb2_grpc import StreamsStub
from tests.clients import Addresses, Json, grpc, grpcweb, http
from tests.clients.chat import to_chat
from tests.clients.event import body
from tests.clients.rest import NDJSON
from tests.clients.sse import SSE

#: What the kernel may take for us, bytes (it doubles this).
RECEIVE_BUFFER = 4096
#: The same for gRPC: HTTP/2's initial window, which is not to grow.
SMALL_WINDOW = {"grpc.http2.bdp_probe": 0, "grpc.http2.lookahead_bytes": 65535}
_ID = re.compile(rb'(?:gen_|chatcmpl-)([\w-]+)["\r]')


class Reader(Protocol):
    """One answer, taken by the piece."""

    id: str | None

    async def take(self, size: int) -> int:
        """Take about `size` bytes; how many came, 0 at the end."""
        ...


class SlowSocket:
    """REST, SSE, chat and WebSocket: the bytes of the connection."""

    def __init__(self, sock: socket.socket):
        self.id: str | None = None
        self._sock = sock
        self._beginning = b""

    async def take(self, size: int) -> int:
        data = await asyncio.get_running_loop().sock_recv(self._sock, size)
        if self.id is None:
            self._beginning += data
            if match := _ID.search(self._beginning):
                self.id = f"gen_{match[1].decode()}"
        return len(data)


class SlowCall:
    """gRPC: the messages of a call."""

    def __init__(self, call: Any):
        self.id: str | None = None
        self._call = call

    async def take(self, size: int) -> int:
        taken = 0
        while taken < size:
            message = await self._call.read()
            if message is grpcio.aio.EOF:
                break
            if message.HasField("come_back"):  # its status, an error, is all that follows
                return 0
            self.id = self.id or message.started.id
            taken += message.ByteSize()
        return taken


async def open_reader(door: str, server: Addresses, request: Json, stack: AsyncExitStack) -> Reader:
    """Start a request over a door; the stack closes what it opens."""
    if door == "grpc":
        channel = await stack.enter_async_context(grpc.opened(server, SMALL_WINDOW))
        return SlowCall(StreamsStub(channel).Start(ParseDict(request, pb.StartRequest())))
    if door == "grpc-web":
        url, opening = await _opening_web(server, request)
    else:
        url, opening = _opening(door, server, request)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    stack.callback(sock.close)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    sock.setblocking(False)
    loop, address = asyncio.get_running_loop(), urlsplit(url)
    await loop.sock_connect(sock, (address.hostname, address.port))
    await loop.sock_sendall(sock, opening[0])
    if door == "websocket":
        handshake = b""
        while b"\r\n\r\n" not in handshake:
            handshake += await loop.sock_recv(sock, 1024)
        assert handshake.startswith(b"HTTP/1.1 101"), handshake
        await loop.sock_sendall(sock, opening[1])
    return SlowSocket(sock)


async def _opening_web(server: Any, request: Json) -> tuple[str, list[bytes]]:
    url = f"{await server.web()}/polystream.v1.Streams/Start"
    message = grpcweb.frame(ParseDict(request, pb.StartRequest()).SerializeToString())
    return url, [http.head("POST", url, grpcweb.head(), message)]


def _opening(door: str, server: Addresses, request: Json) -> tuple[str, list[bytes]]:
    if door == "websocket":
        url = f"{server.websocket}/v1/streams"
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        upgrade["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
        message = Frame(Opcode.TEXT, body({"type": "start", "ref": "a", "request": request}))
        return url, [http.head("GET", url, upgrade), message.serialize(mask=True)]
    if door == "chat":
        url = f"{server.rest}/v1/chat/completions"
        return url, [http.head("POST", url, body=body(to_chat(request) | {"stream": True}))]
    url = f"{server.rest}/v1/streams"
    return url, [http.head("POST", url, {"Accept": {"ndjson": NDJSON, "sse": SSE}[door]}, body(request))]
