"""How gRPC is spelled in HTTP/2, https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: bytes and
header fields, without any state.

Header blocks are h2's, since compression has a state; the frames of tokens, PING and GOAWAY are spelled here.
"""

import re
import struct
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import quote

from google.rpc.status_pb2 import Status

Fields = list[tuple[str, str]]

#: Flag and length in front of each message.
PREFIX = struct.Struct(">BI")
#: Length (24 bits), type, flags and stream of a frame; and the same with a message's prefix behind it.
_HEAD = struct.Struct(">HBBBI")
_HEAD_AND_PREFIX = struct.Struct(">HBBBIBI")
_DATA, _PING, _GOAWAY = 0x0, 0x6, 0x7

#: A ping of ours.
PING = _HEAD.pack(0, 8, _PING, 0, 0) + b"polystrm"

_TIMEOUT = re.compile(rb"([0-9]{1,8})([HMSmun])")
_SECONDS = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_CONTENT_TYPE = re.compile(rb"(application/grpc(?:\+proto)?)(?:\s*;.*)?", re.IGNORECASE)
#: What a message in the trailers need not escape: printable ASCII but for the percent sign.
_PLAIN = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


def messages(stream_id: int, pieces: list[bytes], frame_max_bytes: int) -> bytes:
    """Whole messages in as few DATA frames as may hold them."""
    if len(pieces) == 1:
        size = len(pieces[0])
        length = size + PREFIX.size
        if length <= frame_max_bytes:
            head = _HEAD_AND_PREFIX.pack(length >> 8, length & 0xFF, _DATA, 0, stream_id, 0, size)
            return head + pieces[0]
    return data(stream_id, b"".join(map(prefixed, pieces)), frame_max_bytes)


def prefixed(message: bytes) -> bytes:
    """A message as it stands in the stream of bytes, not compressed."""
    return PREFIX.pack(0, len(message)) + message


def data(stream_id: int, body: bytes, frame_max_bytes: int) -> bytes:
    """Bytes of a body as DATA frames of at most that many bytes each."""
    if len(body) <= frame_max_bytes:
        return _HEAD.pack(len(body) >> 8, len(body) & 0xFF, _DATA, 0, stream_id) + body
    parts = (body[at : at + frame_max_bytes] for at in range(0, len(body), frame_max_bytes))
    return b"".join(data(stream_id, part, frame_max_bytes) for part in parts)


def goaway(last_stream_id: int) -> bytes:
    """The announcement that streams above this one are not looked at; NO_ERROR."""
    return _HEAD.pack(0, 8, _GOAWAY, 0, 0) + struct.pack(">II", last_stream_id, 0)


def trailers(status: Status | None) -> Fields:
    """The end of a call; None is OK. Details travel in the status as a whole."""
    if status is None:
        return [("grpc-status", "0")]
    fields = [("grpc-status", str(status.code))]
    if status.message:
        fields.append(("grpc-message", quote(status.message, safe=_PLAIN)))
    if status.details:
        whole = b64encode(status.SerializeToString()).decode().rstrip("=")
        fields.append(("grpc-status-details-bin", whole))
    return fields


def head(asked: bytes) -> Fields | None:
    """The head of an answer in the content type asked for; None for one that is not gRPC with protobuf."""
    match = _CONTENT_TYPE.fullmatch(asked)
    return [(":status", "200"), ("content-type", match[1].decode().lower())] if match else None


def timeout_s(text: bytes) -> float:
    """`grpc-timeout` in seconds. Raises `ValueError`."""
    match = _TIMEOUT.fullmatch(text)
    if match is None:
        raise ValueError("grpc-timeout is malformed")
    return int(match[1]) * _SECONDS[match[2]]


def metadata(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """A request's header fields by name, without HTTP/2's own; of several of one name the last."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name[:1] != b":"}
