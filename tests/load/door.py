"""What the load generator sends to start a stream, by door.

HTTP doors: the whole request. WebSocket: the text message. gRPC: the StartRequest, spelled by hand,
since the harness needs nothing but the standard library.
"""

import json
import struct

DOORS = ("ndjson", "sse", "chat", "text", "websocket", "grpc")
MODEL = "mock-model"

_MESSAGES = [
    {"role": "system", "content": "You are a helpful assistant. Answer in short sentences. " * 3},
    {"role": "user", "content": "Tell me how a token travels from the model to my screen. " * 5},
]
_ACCEPT = {"ndjson": "application/x-ndjson", "sse": "text/event-stream", "text": "text/plain"}
_MAX_TOKENS, _TEMPERATURE = 512, 0.7


def request_bytes(door: str, port: int) -> bytes:
    """The one request that the load generator repeats."""
    sampling = {"max_tokens": _MAX_TOKENS, "temperature": _TEMPERATURE}
    native = {"model": MODEL, "messages": _MESSAGES, "on_disconnect": "cancel", **sampling}
    match door:
        case "grpc":
            return _start_request()
        case "websocket":
            return json.dumps({"type": "start", "ref": "a", "request": native}).encode()
        case "chat":
            body = {"model": MODEL, "messages": _MESSAGES, "stream": True, **sampling}
            return _post("/v1/chat/completions", "text/event-stream", body, port)
        case _:
            return _post("/v1/streams", _ACCEPT[door], native, port)


def _post(path: str, accept: str, body: dict[str, object], port: int) -> bytes:
    content = json.dumps(body).encode()
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Authorization: Bearer sk-bench",
        "Content-Type: application/json",
        f"Accept: {accept}",
        f"Content-Length: {len(content)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, content: bytes | str) -> bytes:
    """A length-delimited field."""
    content = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _start_request() -> bytes:
    """polystream.v1.StartRequest; a message's content is a google.protobuf.Value with string_value = 3."""
    messages = [_field(1, each["role"]) + _field(2, _field(3, each["content"])) for each in _MESSAGES]
    return b"".join(
        [
            _field(1, MODEL),
            *(_field(2, message) for message in messages),
            _varint(4 << 3) + _varint(_MAX_TOKENS),
            _varint(5 << 3 | 1) + struct.pack("<d", _TEMPERATURE),
            _field(17, "cancel"),
        ]
    )
