"""REST: NDJSON (the default form) and plain text, and the calls that answer with one JSON object."""

import codecs
import json
from typing import Any

from tests.clients import Addresses, Broken, Events, Headers, Json, Wire, http
from tests.clients.event import ENDS, body, read

NDJSON = "application/x-ndjson"
TEXT = "text/plain"


def start(
    server: Addresses,
    request: Json,
    *,
    idempotency_key: str | None = None,
    form: str = NDJSON,
    headers: Headers | None = None,
    wire: Wire | None = None,
) -> Events:
    """Start a generation and yield its events; `wire` receives the answer's status, headers and raw bytes."""
    fields = {"Content-Type": "application/json"} | (headers or {})
    if idempotency_key is not None:
        fields["Idempotency-Key"] = idempotency_key
    return _events("POST", f"{server.rest}/v1/streams", fields, body(request), form, wire)


def follow(
    server: Addresses,
    id: str,
    after: int | str | None = None,
    *,
    form: str = NDJSON,
    headers: Headers | None = None,
    wire: Wire | None = None,
) -> Events:
    """Yield the events behind `after`; nothing when the log has ended there."""
    query = "" if after is None else f"?after={after}"
    return _events("GET", f"{server.rest}/v1/streams/{id}{query}", headers or {}, b"", form, wire)


async def cancel(server: Addresses, id: str) -> Json:
    """Cancel; the status object."""
    return await call("DELETE", f"{server.rest}/v1/streams/{id}", 202)


async def status(server: Addresses, id: str) -> Json:
    """The status object."""
    return await call("GET", f"{server.rest}/v1/streams/{id}/status", 200)


async def call(method: str, url: str, expected: int, headers: Headers | None = None, raw: bytes = b"") -> Any:
    """One call that answers JSON with the expected status; raises `Refused` for an error."""
    answer = await http.request(method, url, headers, raw)
    try:
        if answer.status >= 400:
            raise await http.refuse(answer)
        assert answer.status == expected, f"{method} {url}: {answer.status}"
        return json.loads(await answer.read())
    finally:
        answer.close()


async def _events(
    method: str, url: str, headers: Headers, raw: bytes, form: str, wire: Wire | None
) -> Events:
    answer = await http.request(method, url, {"Accept": form} | headers, raw)
    try:
        if wire is not None:
            wire.update(status=answer.status, headers=answer.headers, raw=answer.raw)
        if answer.status >= 400:
            raise await http.refuse(answer)
        assert answer.status == 200, answer.status
        if answer.headers.get("content-length") == "0":
            return
        assert answer.headers["content-type"].startswith(form), answer.headers
        async for event in _text(answer) if form == TEXT else _lines(answer):
            yield event
    finally:
        answer.close()


async def _lines(answer: http.Answer) -> Events:
    event: Json | None = None
    async for line in answer.lines():
        assert event is None or event["type"] not in ENDS, f"after the end: {line!r}"
        event = read(line)
        yield event
    if event is not None and event["type"] not in ENDS:
        raise Broken(f"the body ended after {event['type']}")


async def _text(answer: http.Answer) -> Events:
    assert answer.headers["content-type"] == "text/plain; charset=utf-8", answer.headers
    decoder = codecs.getincrementaldecoder("utf-8")()
    async for piece in answer.pieces():
        if text := decoder.decode(piece):
            yield {"type": "text", "text": text}
    decoder.decode(b"", final=True)
