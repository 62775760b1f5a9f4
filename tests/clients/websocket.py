"""WebSocket: a socket a stream; leaving cuts the connection without a closing frame."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.clients import Addresses, Broken, Events, Json, Refused, Wire, rest
from tests.clients.event import ENDS, read
from tests.clients.http import READ_TIMEOUT_S

status = rest.status
REF = "a"


def start(
    server: Addresses,
    request: Json,
    *,
    idempotency_key: str | None = None,
    wire: Wire | None = None,
    **options: Any,
) -> Events:
    """Start a generation and yield its events; `wire`: the close code; `options` are for `connect`."""
    message = {"type": "start", "ref": REF, "request": request}
    if idempotency_key is not None:
        message["idempotency_key"] = idempotency_key
    return _events(server, message, wire, options)


def follow(
    server: Addresses, id: str, after: int | None = None, *, wire: Wire | None = None, **options: Any
) -> Events:
    """Yield the events behind `after`; nothing when the log has ended there."""
    message = {"type": "follow", "ref": REF, "id": id} | ({} if after is None else {"after": after})
    return _events(server, message, wire, options)


async def cancel(server: Addresses, id: str) -> Json:
    """Cancel; the status object."""
    async with opened(server) as socket:
        await socket.send(json.dumps({"type": "cancel", "id": id}))
        while (answer := unpack(await socket.recv()))[1]["type"] == "heartbeat":
            pass
        return _status_of(answer[1])


def opened(server: Addresses, **options: Any) -> connect:
    """A socket to the native door, to be awaited or entered."""
    ours = {"compression": None, "proxy": None, "subprotocols": ["polystream.v1"], "max_size": None}
    return connect(f"{server.websocket}/v1/streams", **(ours | options))


def unpack(frame: str | bytes) -> tuple[str | None, Json]:
    """One frame from the server: its ref and the message without it."""
    assert isinstance(frame, str), f"a binary frame: {frame!r}"
    ref = None
    if frame.startswith('{"ref":'):
        ref = json.loads(frame)["ref"]
        prefix = f'{{"ref":{json.dumps(ref)},'
        assert frame.startswith(prefix), f"the ref is spelled otherwise: {frame}"
        frame = "{" + frame[len(prefix) :]
    message = json.loads(frame)
    if message["type"] not in ("error", "status"):
        message = read(frame.encode())
        assert (ref is None) == (message["type"] == "heartbeat"), f"ref {ref} on {frame}"
    return ref, message


async def _events(server: Addresses, message: Json, wire: Wire | None, options: Json) -> Events:
    try:
        socket = await opened(server, **options)
    except InvalidStatus as error:
        raise Refused(error.response.status_code, "", error.response.body) from error
    try:
        await socket.send(json.dumps(message))
        async with aclosing(_until_the_end(socket)) as events:
            async for event in events:
                yield event
        await socket.close()
    finally:
        socket.transport.abort()
        if wire is not None:
            wire.update(close_code=socket.close_code)


async def _until_the_end(socket: ClientConnection) -> Events:
    event: Json = {"type": "nothing"}
    try:
        while event["type"] not in ENDS:
            ref, event = unpack(await _next_frame(socket))
            assert ref in (None, REF), f"a frame of another ref: {ref}"
            if event["type"] == "status":
                _status_of(event)
                return
            if event["type"] == "error":
                raise Refused(None, event["error"]["code"], event["error"])
            yield event
    except ConnectionClosed as error:
        code = error.rcvd.code if error.rcvd else None
        if event["type"] == "nothing" and code is not None:
            raise Refused(code, "", error.rcvd and error.rcvd.reason) from error
        raise Broken(f"closed with {code} after {event['type']}") from error


async def _next_frame(socket: ClientConnection) -> str | bytes:
    async with asyncio.timeout(READ_TIMEOUT_S):
        return await socket.recv()


def _status_of(message: Json) -> Json:
    if message["type"] == "error":
        raise Refused(None, message["error"]["code"], message["error"])
    assert message["type"] == "status", message
    return {key: value for key, value in message.items() if key != "type"}
