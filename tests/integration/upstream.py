"""A mock engine over bare sockets: writes HTTP/1.1 chunk by chunk, records what it was asked and who left.

Many answers are staged at once; a request says which one it wants in its first message (`stage <key>`), so
that one server under test can serve all of them.
"""

import asyncio
import base64
import fcntl
import itertools
import json
import re
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MODEL = "mock-1"
POLL_S = 0.01
EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
_STAGE = re.compile(r"stage ([\w.-]+)")
_SIOCOUTQ = 0x5411


@dataclass
class Call:
    """One request for a staged answer. Times: `time.monotonic`; `closed` is set when the peer has gone."""

    number: int
    headers: dict[str, str]
    body: dict[str, Any]
    started: float = field(default_factory=time.monotonic)
    last_write: float = 0.0
    written: int = 0
    done: bool = False
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    closed_at: float | None = None


@dataclass
class Reply:
    """What one request is answered with; `writes`, `end` and `hold_ms` are those of a case."""

    writes: list[dict[str, Any]]
    end: str = "terminate"
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(EVENT_STREAM))
    framing: str = "chunked"
    hold_ms: float = 0
    keep_alive: bool = False


@dataclass
class Stage:
    """An answer waiting to be asked for: `choose(call)` gives each request's reply; `calls` records them."""

    key: str
    choose: Callable[[Call], Reply]
    calls: list[Call] = field(default_factory=list)
    _asked: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, call: Call) -> Reply:
        """Record a call and choose its reply."""
        self.calls.append(call)
        self._asked.set()
        return self.choose(call)

    def request(self, prompt: str = "Say something short.", **more: Any) -> dict[str, Any]:
        """A native request that this stage answers."""
        first = {"role": "system", "content": f"stage {self.key}"}
        return {"messages": [first, {"role": "user", "content": prompt}], **more}

    async def called(self) -> Call:
        """The first call, when it has come."""
        async with asyncio.timeout(10):
            await self._asked.wait()
        return self.calls[0]


class Upstream:
    """The mock: enter it, then `stage(...)`; `url` is the base URL for the product."""

    def __init__(self, models: tuple[str, ...] = (MODEL,)):
        self.models = models
        self.url = ""
        self.connections: set[_Connection] = set()
        self.stages: dict[str, Stage] = {}
        self._keys = itertools.count()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Upstream":
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self.connections):
            connection.abort()

    def stage(self, reply: Reply | Callable[[Call], Reply], name: str = "stage") -> Stage:
        """Have an answer ready."""
        key = f"{name}-{next(self._keys)}"
        self.stages[key] = Stage(key, (lambda _: reply) if isinstance(reply, Reply) else reply)
        return self.stages[key]

    def busy(self, stage: Stage) -> int:
        """How many connections still carry an unfinished answer of this stage."""
        return sum(not call.closed.is_set() and not call.done for call in stage.calls)


class _Connection(asyncio.Protocol):
    """One connection of the product: requests one after the other, each answered by a task."""

    transport: asyncio.Transport

    def __init__(self, upstream: Upstream):
        self._upstream = upstream
        self._received = bytearray()
        self._room = asyncio.Event()
        self._room.set()
        self._call: Call | None = None
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._upstream.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._upstream.connections.discard(self)
        self._room.set()
        if self._call is not None:
            self._call.closed_at = time.monotonic()
            self._call.closed.set()
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._answering is None or self._answering.done():
            self._take_request()

    def abort(self) -> None:
        """Cut the connection."""
        self.transport.abort()

    def _take_request(self) -> None:
        head, separator, rest = bytes(self._received).partition(b"\r\n\r\n")
        if not separator:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body, whole, rest = _body(headers, rest)
        if not whole:
            return
        self._received = bytearray(rest)
        method, path, _ = first.split(" ")
        self._answering = asyncio.get_running_loop().create_task(self._answer(method, path, headers, body))

    async def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        if method == "GET":
            found = path.partition("?")[0].endswith("/models")
            listed = [
                {"id": model, "object": "model", "created": 1, "owned_by": "tests"}
                for model in self._upstream.models
            ]
            self._send_json(200 if found else 404, {"object": "list", "data": listed if found else []})
            return
        asked = json.loads(body)
        match = _STAGE.search(json.dumps(asked.get("messages", "")))
        stage = self._upstream.stages.get(match[1]) if match else None
        if stage is None:
            self._send_json(500, {"error": {"message": "nothing is staged for this request"}})
            return
        self._call = call = Call(len(stage.calls), headers | {":path": path}, asked)
        await self._play(stage.take(call), call)

    def _send_json(self, status: int, content: Any) -> None:
        raw = json.dumps(content).encode()
        head = (
            f"HTTP/1.1 {status} Mock\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
        )
        self.transport.write(head.encode() + raw)

    async def _play(self, reply: Reply, call: Call) -> None:
        chunked = reply.framing == "chunked"
        fields = reply.headers | ({"transfer-encoding": "chunked"} if chunked else {})
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        await self._write(f"HTTP/1.1 {reply.status} Mock\r\n{head}\r\n".encode(), call)
        for write in reply.writes:
            data = payload(write)
            for _ in range(write.get("repeat", 1)):
                if delay := write.get("delay_ms", 0):
                    await asyncio.sleep(delay / 1000)
                await self._write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data, call)
                call.written += 1
        await self._end(reply, call, chunked)

    async def _write(self, data: bytes, call: Call) -> None:
        await self._room.wait()
        if self.transport.is_closing():
            raise asyncio.CancelledError
        self.transport.write(data)
        call.last_write = time.monotonic()

    async def _end(self, reply: Reply, call: Call, chunked: bool) -> None:
        match reply.end:
            case "terminate":
                if chunked:
                    await self._write(b"0\r\n\r\n", call)
                call.done = True
                self._call = None if reply.keep_alive else call
                if reply.keep_alive:
                    asyncio.get_running_loop().call_soon(self._take_request)
                    return
            case "rst":
                await self._delivered()
                linger = struct.pack("ii", 1, 0)
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
                self.transport.abort()
            case "hold":
                await asyncio.sleep(reply.hold_ms / 1000)
        self.transport.close()

    async def _delivered(self) -> None:
        """Wait until the peer's kernel has everything: a reset takes back what is still on its way."""
        sock = self.transport.get_extra_info("socket")
        left = bytearray(4)
        async with asyncio.timeout(5):
            # The kernel tells nobody, so this one polls.
            while fcntl.ioctl(sock.fileno(), _SIOCOUTQ, left) or int.from_bytes(left, "little"):  # noqa: ASYNC110
                await asyncio.sleep(POLL_S)


def _body(headers: dict[str, str], rest: bytes) -> tuple[bytes, bool, bytes]:
    """A request's body, whether it has all come, and what follows it."""
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while (line := rest.partition(b"\r\n"))[1]:
            size = int(line[0], 16)
            if len(line[2]) < size + 2:
                break
            body, rest = body + line[2][:size], line[2][size + 2 :]
            if size == 0:
                return body, True, rest
        return b"", False, b""
    length = int(headers.get("content-length", 0))
    return rest[:length], len(rest) >= length, rest[length:]


def payload(write: dict[str, Any]) -> bytes:
    """The bytes of one write of a case."""
    if "b64" in write:
        return base64.b64decode(write["b64"])
    if write.get("template") == "chat-token":
        unit = write["content_repeat"]
        return chunk({"content": unit["unit"] * unit["times"]})
    return write["text"].encode()


def chunk(delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
    """One data event of a chat stream, its JSON not escaped."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    whole = {
        "id": "cmpl-t",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
    }
    return b"data: " + json.dumps(whole | more, ensure_ascii=False).encode() + b"\n\n"


def writes(
    *deltas: dict[str, Any], finish_reason: str | None = "stop", delay_ms: float = 0
) -> list[dict[str, Any]]:
    """The writes of a whole chat stream: role, deltas `delay_ms` apart, finish reason and [DONE]."""
    events = [chunk({"role": "assistant", "content": ""}), *map(chunk, deltas)]
    events += [chunk({}, finish_reason), b"data: [DONE]\n\n"] if finish_reason else []
    return [
        {"b64": base64.b64encode(event).decode(), "delay_ms": delay_ms if 0 < number <= len(deltas) else 0}
        for number, event in enumerate(events)
    ]


def says(*pieces: str, finish_reason: str | None = "stop", delay_ms: float = 0) -> list[dict[str, Any]]:
    """The writes of an answer that says these pieces."""
    return writes(*({"content": piece} for piece in pieces), finish_reason=finish_reason, delay_ms=delay_ms)
