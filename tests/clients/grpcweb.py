"""gRPC-Web over HTTP/1.1, frame by frame; the messages are gRPC's, told in the native JSON form.

The framing: a flag byte and a length before each message, and one last frame (flag 0x80) with the trailers.
`text` speaks the variant in base64, which may be padded anywhere.
"""

import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Protocol
from urllib.parse import unquote

from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode

from polystream.proto.polystream.v1 import streams_pb2 as pb
from tests.clients import Broken, Events, Headers, Json, Refused, Wire, http
from tests.clients.event import ENDS
from tests.clients.grpc import fields, to_dict

BINARY = "application/grpc-web+proto"
TEXT = "application/grpc-web-text"
_TRAILERS = 0x80
_NAMES = {code.value[0]: code.name for code in StatusCode}


class WebAddress(Protocol):
    """Where gRPC-Web is spoken: at a front door, which may have to be opened first."""

    async def web(self) -> str:
        """Its URL."""
        ...


def start(
    server: WebAddress,
    request: Json,
    *,
    idempotency_key: str | None = None,
    headers: Headers | None = None,
    text: bool = False,
    wire: Wire | None = None,
) -> Events:
    """Start a generation and yield its events; `wire`: headers, raw bytes, trailers, status and details."""
    more = (headers or {}) | ({} if idempotency_key is None else {"idempotency-key": idempotency_key})
    return _events(server, "Start", ParseDict(request, pb.StartRequest()), more, text, wire)


def follow(
    server: WebAddress,
    id: str,
    after: int | None = None,
    *,
    headers: Headers | None = None,
    text: bool = False,
    wire: Wire | None = None,
) -> Events:
    """Yield the events behind `after`; nothing when the log has ended there."""
    return _events(server, "Follow", pb.FollowRequest(id=id, after=after), headers or {}, text, wire)


async def cancel(server: WebAddress, id: str) -> Json:
    """Cancel; the status object."""
    return await _unary(server, "Cancel", pb.CancelRequest(id=id))


async def status(server: WebAddress, id: str) -> Json:
    """The status object."""
    return await _unary(server, "GetStatus", pb.GetStatusRequest(id=id))


def frame(message: bytes) -> bytes:
    """One message in its frame."""
    return b"\x00" + len(message).to_bytes(4, "big") + message


def head(text: bool = False) -> Headers:
    """The headers that make a POST a call of gRPC-Web."""
    form = TEXT if text else BINARY
    return {"Content-Type": form, "Accept": form, "X-Grpc-Web": "1", "X-User-Agent": "polystream-tests"}


async def _events(
    server: WebAddress, method: str, message: Message, headers: Headers, text: bool, wire: Wire | None
) -> Events:
    wire = {} if wire is None else wire
    event: Json | None = None
    async with aclosing(_messages(server, method, message, headers, text, wire)) as messages:
        async for raw in messages:
            assert event is None or event["type"] not in ENDS, f"after the end: {raw!r}"
            event = to_dict(pb.Event.FromString(raw))
            yield event
    if wire["status"] == "OK":
        if event is not None and event["type"] != "finished":
            raise Broken(f"OK after {event['type']}")
    elif event is None:
        raise _refused(wire)
    elif event["type"] not in ("failed", "come_back", "lost"):
        raise Broken(f"{wire['status']} after {event['type']}")


async def _unary(server: WebAddress, method: str, message: Message) -> Json:
    wire: Wire = {}
    raw = [answer async for answer in _messages(server, method, message, {}, False, wire)]
    if wire["status"] != "OK":
        raise _refused(wire)
    (answer,) = raw
    return fields(pb.Status.FromString(answer))


async def _messages(
    server: WebAddress, method: str, message: Message, headers: Headers, text: bool, wire: Wire
) -> AsyncGenerator[bytes, None]:
    """The messages of a call; `wire` has its status afterwards."""
    url = f"{await server.web()}/polystream.v1.Streams/{method}"
    body = frame(message.SerializeToString())
    answer = await http.request("POST", url, head(text) | headers, base64.b64encode(body) if text else body)
    wire.update(headers=answer.headers, raw=answer.raw)
    trailers: Headers | None = answer.headers if "grpc-status" in answer.headers else None
    try:
        if answer.status != 200:
            raise await http.refuse(answer)
        assert answer.headers["content-type"].startswith(TEXT if text else "application/grpc-web"), answer
        async for flag, content in _frames(answer, text):
            assert trailers is None, f"behind the trailers: {content!r}"
            assert flag in (0, _TRAILERS), flag
            if flag:
                wire["trailer_frame"] = True
                trailers = _trailers(content)
            else:
                yield content
    finally:
        answer.close()
    if trailers is None:
        raise Broken("the body ended without trailers")
    wire.update(_details(trailers))


async def _frames(answer: http.Answer, text: bool) -> AsyncIterator[tuple[int, bytes]]:
    data, letters = bytearray(), b""
    async for piece in answer.pieces():
        if text:
            letters += piece
            whole = len(letters) - len(letters) % 4
            piece, letters = _decode(letters[:whole]), letters[whole:]
        data += piece
        while len(data) >= 5 and len(data) >= (end := 5 + int.from_bytes(data[1:5], "big")):
            yield data[0], bytes(data[5:end])
            del data[:end]
    if data or letters:
        raise Broken(f"the last frame is not whole: {bytes(data[:40])!r}")


def _decode(letters: bytes) -> bytes:
    """Base64 in which padding may stand after any piece."""
    return b"".join(base64.b64decode(letters[at : at + 4]) for at in range(0, len(letters), 4))


def _trailers(content: bytes) -> Headers:
    lines = [line.partition(":") for line in content.decode().split("\r\n") if line]
    for name, _, _value in lines:
        assert name == name.lower(), f"a trailer's name is lower case: {name}"
    return {name: value.strip() for name, _, value in lines}


def _details(trailers: Headers) -> Json:
    """As of a gRPC call: status name, message, ErrorInfo's reason and domain, RetryInfo's delay."""
    found: Json = {
        "status": _NAMES[int(trailers["grpc-status"])], "message": unquote(trailers.get("grpc-message", "")),
        "reason": "", "domain": "", "retry_after_ms": None, "trailers": trailers,
    }  # fmt: skip
    encoded = trailers.get("grpc-status-details-bin", "")
    for detail in Status.FromString(base64.b64decode(encoded + "=" * (-len(encoded) % 4))).details:
        info, retry = ErrorInfo(), RetryInfo()
        if detail.Unpack(info):
            found.update(reason=info.reason, domain=info.domain)
        elif detail.Unpack(retry):
            found.update(retry_after_ms=retry.retry_delay.ToMilliseconds())
    return found


def _refused(wire: dict[str, Any]) -> Refused:
    return Refused(wire["status"], wire["reason"], wire["message"], wire["trailers"])
