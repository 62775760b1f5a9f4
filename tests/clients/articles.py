"""The clients printed in the articles, played as they cut what they get; and a browser's EventSource.

The pages' scripts are plain functions of what came, so that tests without a server can play them too. They
are strict where the pages would show `undefined`.
"""

import asyncio
import codecs
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

import grpc
from websockets.asyncio.client import connect

from polystream.proto import stream_pb2 as pb
from polystream.proto.stream_pb2_grpc import ResponseStreamingServiceStub
from tests.clients import Broken, Headers, http

JSON = {"Content-Type": "application/json"}
_TIMEOUT_S = 60
#: Of one EventSource, which nothing else would ever stop.
_CONNECTIONS_MAX = 40


class Doors(Protocol):
    """Where the doors are: `http://…`, `ws://…` and `host:port`."""

    http: str
    websocket: str
    grpc: str


Texts = AsyncGenerator[str, None]

# ---- what the pages' scripts make of what came ----


def fastapi(body: str) -> str:
    """Takes what stands after the first `: ` of each piece; pieces part at a blank line."""
    return "".join(piece[piece.index(": ") + 2 :] for piece in body.split("\n\n") if piece)


def starlette(body: str) -> str:
    """Splits lines and takes what stands after the `:`, whose one blank HTML does not show."""
    return "".join(line[line.index(":") + 1 :].removeprefix(" ") for line in body.split("\n") if line)


def socket(frame: str) -> str:
    """Takes what stands behind `: `, up to the next one, as `split(": ")[1]` does."""
    return frame.removesuffix("\n\n").split(": ")[1]


def response(content: str) -> str:
    """Splits at the first blank."""
    return content[content.index(" ") + 1 :]


class EventStream:
    """HTML Living Standard 9.2.6, event for event: (id, event, data)."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_ms: int | None = None
        self._rest = ""
        self._event, self._data = "", ""

    def feed(self, text: str, final: bool = False) -> Iterable[tuple[str, str, str]]:
        """The events that these characters complete; a CR at the very end may be half a line end."""
        self._rest += text
        held = not final and self._rest.endswith("\r")
        ready = self._rest[:-1] if held else self._rest
        *lines, rest = re.split(r"\r\n|\n|\r", ready)
        self._rest = rest + ("\r" if held else "")
        for line in lines:
            if not line:
                if self._data:
                    yield self.last_id, self._event or "message", self._data.removesuffix("\n")
                self._event, self._data = "", ""
            else:
                self._take(line)

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data += value + "\n"
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isdecimal():
            self.retry_ms = int(value)


def events(body: str) -> list[tuple[str, str]]:
    """Names and data of a whole event stream."""
    return [(name, data) for _, name, data in EventStream().feed(body, final=True)]


# ---- the clients ----


async def read(answer: http.Answer) -> AsyncIterator[str]:
    """`iter_content(decode_unicode=True)`: byte for byte, in the charset that the head names, else Latin-1.

    Raises `Refused` for a status that is an error.
    """
    if answer.status >= 400:
        raise await http.refuse(answer)
    charset = re.search(r"charset=([\w-]+)", answer.headers["content-type"])
    decoder = codecs.getincrementaldecoder(charset[1] if charset else "latin-1")()
    async for piece in answer.pieces():
        for byte in piece:
            if text := decoder.decode(bytes([byte])):
                yield text
    assert decoder.decode(b"", final=True) == ""


async def post(url: str, fields: Any, headers: Headers | None = None) -> http.Answer:
    """A POST of JSON."""
    return await http.request("POST", url, JSON | (headers or {}), json.dumps(fields).encode())


async def body(answer: http.Answer) -> Texts:
    """An answer's text as it comes; leaving it leaves the connection."""
    try:
        async for text in read(answer):
            yield text
    finally:
        answer.close()


async def streaming(doors: Doors, kind: str, prompt: str, **more: Any) -> Texts:
    """The page's `fetch` of `/streaming/{kind}/`; the body as it comes."""
    asked = {"prompt": prompt, "max_tokens": 50, "seed": 42, "temperature": 1.0, "stream": True} | more
    async with aclosing(body(await post(f"{doors.http}/streaming/{kind}/", asked))) as texts:
        async for text in texts:
            yield text


async def instruct(doors: Doors, instruction: str, prefix: str = "") -> Texts:
    """The notebook's `requests.post(..., stream=True)`."""
    headers = {"Accept": "text/event-stream", "Authorization": "Bearer none"}
    answer = await post(f"{doors.http}{prefix}/instruct", {"instruction": instruction}, headers)
    async with aclosing(body(answer)) as texts:
        async for text in texts:
            yield text


async def curl(doors: Doors, prompt: str) -> Texts:
    """`curl -N 'http://…/?prompt=…'`."""
    answer = await http.request("GET", f"{doors.http}/?{urlencode({'prompt': prompt})}")
    async with aclosing(body(answer)) as texts:
        async for text in texts:
            yield text


def opened(doors: Doors, **options: Any) -> connect:
    """A socket to `/ws`."""
    return connect(f"{doors.websocket}/ws", **({"compression": None, "proxy": None} | options))


async def frames(doors: Doors, prompt: str) -> Texts:
    """One prompt on a socket; its frames, to the one that ends the answer."""
    async with opened(doors) as socket_:
        await socket_.send(prompt)
        async with aclosing(answer(socket_)) as texts:
            async for frame in texts:
                yield frame


async def answer(socket_: Any) -> Texts:
    """The frames of one answer, the one that ends it too."""
    while True:
        async with asyncio.timeout(http.READ_TIMEOUT_S):
            frame = await socket_.recv()
        assert isinstance(frame, str)
        yield frame
        if frame.startswith("event:"):
            return


async def responses(doors: Doors, prompt: str) -> Texts:
    """The contents of the gRPC stream."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    async with grpc.aio.insecure_channel(doors.grpc, options=options) as channel:
        stub: Any = ResponseStreamingServiceStub(channel)
        call = stub.stream(pb.UserRequest(prompt=prompt), timeout=_TIMEOUT_S)
        try:
            async for message in call:
                yield message.llm_content
        finally:
            call.cancel()


@dataclass
class Browser:
    """The page of `POST /start` and `new EventSource("generate")`, with the browser's cookies.

    `connections`: how often it asked; `events`: (id, event, data) as they came.
    """

    doors: Doors
    cookies: dict[str, str] = field(default_factory=dict)
    connections: int = 0
    last_id: str = ""
    events: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """What the listener to `streamed-text` has shown."""
        return "".join(data for _, name, data in self.events if name == "streamed-text")

    @property
    def ends(self) -> list[tuple[str, str]]:
        """The last events, which the page of the article does not listen to."""
        return [(name, data) for _, name, data in self.events if name != "streamed-text"]

    async def start(self, content: bytes = b"", headers: Headers | None = None) -> dict[str, Any]:
        """`POST /start`; its JSON."""
        asked, raw = await http.fetch("POST", f"{self.doors.http}/start", self._fields(headers), content)
        if asked.status >= 400:
            error = json.loads(raw)["error"]
            raise AssertionError(f"{asked.status} {error}")
        name, _, value = asked.headers["set-cookie"].partition(";")[0].partition("=")
        self.cookies[name] = value
        told: dict[str, Any] = json.loads(raw)
        return told

    async def source(self, query: str = "") -> int:
        """An EventSource from its first connection to the refusal that stops it: the status of that."""
        while (status := await self.connect(query)) == 200:
            pass
        return status

    async def connect(self, query: str = "", leave_after: int | None = None) -> int:
        """One connection of an EventSource, left after so many events; its status."""
        self.connections += 1
        assert self.connections <= _CONNECTIONS_MAX, "it comes back again and again"
        fields = self._fields({"Accept": "text/event-stream"})
        if self.last_id:
            fields["Last-Event-ID"] = self.last_id
        got = await http.request("GET", f"{self.doors.http}/generate{query}", fields)
        stream, count = EventStream(), 0
        try:
            if got.status != 200:
                return got.status
            assert got.headers["content-type"].startswith("text/event-stream")
            async for text in read(got):
                for id, name, data in stream.feed(text):
                    self.events.append((id, name, data))
                    self.last_id, count = id, count + 1
                    if count == leave_after:
                        return 200
        except Broken:
            pass  # a browser comes back all the same
        finally:
            got.close()
        return 200

    def _fields(self, headers: Headers | None) -> Headers:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return ({"Cookie": cookies} if cookies else {}) | (headers or {})
