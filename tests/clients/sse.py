"""Server-sent events over REST, read by a parser that accepts exactly the frames native.md describes."""

from collections.abc import AsyncIterator
from urllib.parse import urlencode

from tests.clients import Addresses, Broken, Events, Headers, Json, Wire, http, rest
from tests.clients.event import ENDS, LOG_EVENTS, body, read

SSE = "text/event-stream"

cancel = rest.cancel
status = rest.status


def start(
    server: Addresses,
    request: Json,
    *,
    idempotency_key: str | None = None,
    headers: Headers | None = None,
    wire: Wire | None = None,
) -> Events:
    """Start a generation and yield its events; `wire`: status, headers, raw bytes and the frames' ids."""
    fields = {"Content-Type": "application/json"} | (headers or {})
    if idempotency_key is not None:
        fields["Idempotency-Key"] = idempotency_key
    return _events("POST", f"{server.rest}/v1/streams", fields, body(request), wire)


def start_by_get(
    server: Addresses,
    query: dict[str, str],
    *,
    last_event_id: str | None = None,
    wire: Wire | None = None,
) -> Events:
    """Start, or go on, as a browser's `EventSource` does: by GET, with `Last-Event-ID` when it reconnects."""
    fields = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    return _events("GET", f"{server.rest}/v1/streams?{urlencode(query)}", fields, b"", wire, prefixed=True)


def follow(
    server: Addresses,
    id: str,
    after: int | str | None = None,
    *,
    headers: Headers | None = None,
    wire: Wire | None = None,
) -> Events:
    """Yield the events behind `after`, given as a browser gives it: in `Last-Event-ID`."""
    fields = ({} if after is None else {"Last-Event-ID": str(after)}) | (headers or {})
    return _events("GET", f"{server.rest}/v1/streams/{id}", fields, b"", wire)


async def _events(
    method: str, url: str, headers: Headers, raw: bytes, wire: Wire | None, *, prefixed: bool = False
) -> Events:
    answer = await http.request(method, url, {"Accept": SSE} | headers, raw)
    wire = {} if wire is None else wire
    wire.update(status=answer.status, headers=answer.headers, raw=answer.raw, ids=[])
    try:
        if answer.status >= 400:
            raise await http.refuse(answer)
        if answer.status == 204:
            return
        assert answer.status == 200, answer.status
        assert answer.headers["content-type"].startswith(SSE), answer.headers
        event: Json | None = None
        async for frame in _frames(answer):
            assert event is None or event["type"] not in ENDS, f"after the end: {frame}"
            event = _event(frame, wire["ids"], prefixed)
            yield event
        if event is None or event["type"] not in ENDS:
            raise Broken(f"the body ended after {event and event['type']}")
    finally:
        answer.close()


async def _frames(answer: http.Answer) -> AsyncIterator[list[bytes]]:
    """The lines of each frame; a blank line ends one."""
    frame: list[bytes] = []
    async for line in answer.lines():
        assert b"\r" not in line, f"CR inside a frame: {line!r}"
        if line:
            frame.append(line)
        elif frame:
            yield frame
            frame = []
    if frame:
        raise Broken(f"the last frame is not ended: {frame}")


def _event(frame: list[bytes], ids: list[str], prefixed: bool) -> Json:
    if frame == [b": heartbeat"]:
        return {"type": "heartbeat"}
    fields = [line.partition(b": ")[::2] for line in frame]
    named = {name.decode(): value for name, value in fields}
    assert len(named) == len(fields), f"a field twice: {frame}"
    event = read(named["data"])
    expected = ["event", "data"]
    if event["type"] in LOG_EVENTS:
        expected = ["id", *expected]
        id = named["id"].decode()
        ids.append(id)
        assert (id.rpartition(":")[2] if prefixed else id) == str(event["seq"]), frame
    elif event["type"] == "come_back":
        expected = ["event", "retry", "data"]
        assert named["retry"] == str(event["retry_after_ms"]).encode(), frame
    assert [name.decode() for name, _ in fields] == expected, f"fields of a frame: {frame}"
    assert named["event"] == event["type"].encode(), frame
    return event
