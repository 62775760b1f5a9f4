"""The native dialect over HTTP: start, follow, status and cancel, in the form that `Accept` asks for."""

import re

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from polystream.core.errors import InvalidRequest
from polystream.core.record import ANONYMOUS, Record
from polystream.core.request import OnDisconnect
from polystream.dialects import native
from polystream.dialects.forms import Ndjson, Sse
from polystream.dialects.json import convert, decode
from polystream.dialects.text import PlainText
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink, Form
from polystream.protocols.body import LogResponse
from polystream.protocols.http import NO_STORE, choose, door, idempotency_key, json_response, read_body
from polystream.protocols.sse import LogEventSourceResponse

NDJSON, SSE, TEXT = "application/x-ndjson", "text/event-stream", "text/plain"
_OFFERED = (NDJSON, SSE, TEXT)
_DECIMAL = re.compile(r"[0-9]{1,19}")
_START_ID = re.compile(r"(gen_[\w-]+):([0-9]{1,19})")
_START_FIELDS = frozenset({"prompt", "model", "idempotency_key"})
_FOLLOW_FIELDS = frozenset({"after"})


class Streams:
    """The routes under /v1/streams."""

    def __init__(self, readers: Readers, request_max_bytes: int):
        self._readers = readers
        self._generations = readers.generations
        self._request_max_bytes = request_max_bytes

    def routes(self) -> list[Route]:
        """The doors."""
        return [
            door("/v1/streams", POST=self.start, GET=self.start_by_query),
            door("/v1/streams/{id}", GET=self.follow, DELETE=self.cancel),
            door("/v1/streams/{id}/status", GET=self.status),
        ]

    async def start(self, request: Request) -> Response:
        """Start a generation and stream it, or with `Prefer: respond-async` only start it."""
        asynchronous = _prefers_async(request.headers)
        media = "" if asynchronous else _media(request)
        fields = decode(await read_body(request, self._request_max_bytes), native.StartFields)
        default = OnDisconnect.CONTINUE if asynchronous else OnDisconnect.GRACE
        record = await self._generations.start(
            fields.request(),
            ANONYMOUS,
            fields.on_disconnect,
            default=default,
            key=idempotency_key(request),
        )
        if asynchronous:
            headers = _headers(record) | {"Preference-Applied": "respond-async"}
            record = await self._generations.status(record.id, ANONYMOUS)
            return json_response(native.status_fields(record), 202, headers)
        return await self._stream(record, None, media)

    async def start_by_query(self, request: Request) -> Response:
        """Start from a native EventSource, which cannot POST; its reconnect carries the id and so goes on."""
        query = request.query_params
        _check_query(request, _START_FIELDS)
        if last_event_id := request.headers.get("last-event-id"):
            if not (match := _START_ID.fullmatch(last_event_id)):
                raise InvalidRequest("Last-Event-ID is none of ours.", param="Last-Event-ID")
            record = await self._generations.status(match[1], ANONYMOUS)
            return await self._stream(record, int(match[2]), SSE, id_in_events=True)
        if "prompt" not in query:
            raise InvalidRequest("prompt: missing; or follow a stream by its id.", param="prompt")
        body = {name: query[name] for name in ("prompt", "model") if name in query}
        record = await self._generations.start(
            convert(body, native.StartFields).request(),
            ANONYMOUS,
            key=native.idempotency_key(query.get("idempotency_key"), "idempotency_key"),
        )
        return await self._stream(record, None, SSE, id_in_events=True)

    async def follow(self, request: Request) -> Response:
        """Go on behind the position in `Last-Event-ID` or `after`; the header wins: browsers keep the URL."""
        _check_query(request, _FOLLOW_FIELDS)
        media, after = _media(request), _position(request)
        record = await self._generations.status(request.path_params["id"], ANONYMOUS)
        return await self._stream(record, after, media)

    async def status(self, request: Request) -> Response:
        """The status object."""
        id = request.path_params["id"]
        return json_response(native.status_fields(await self._generations.status(id, ANONYMOUS)))

    async def cancel(self, request: Request) -> Response:
        """Cancel; idempotent, also after the end."""
        id = request.path_params["id"]
        return json_response(native.status_fields(await self._generations.cancel(id, ANONYMOUS)), 202)

    async def _stream(
        self, record: Record, after: int | None, media: str, *, id_in_events: bool = False
    ) -> Response:
        sink = BufferSink(_form(media, record.id if id_in_events else ""))
        headers = _headers(record)
        if not await self._readers.open(record.id, after, ANONYMOUS, sink):
            return Response(status_code=204 if media == SSE else 200, headers=headers | NO_STORE)
        if media == SSE:
            return LogEventSourceResponse(self._readers, sink, headers)
        return LogResponse(self._readers, sink, headers, media)


def _check_query(request: Request, known: frozenset[str]) -> None:
    if unknown := set(request.query_params) - known:
        name = min(unknown)
        raise InvalidRequest(f"{name}: there is no such parameter.", param=name)


def _headers(record: Record) -> dict[str, str]:
    return {"Stream-Id": record.id, "Location": f"/v1/streams/{record.id}"}


def _form(media: str, id: str) -> Form:
    if media == SSE:
        return Sse(id)
    return Ndjson() if media == NDJSON else PlainText()


def _media(request: Request) -> str:
    media = choose(",".join(request.headers.getlist("accept")), _OFFERED)
    if media is None:
        raise HTTPException(406, f"Accept one of {', '.join(_OFFERED)}.")
    return media


def _prefers_async(headers: Headers) -> bool:
    """Whether `respond-async` is among the preferences, RFC 7240; their parameters say nothing to us."""
    preferences = ",".join(headers.getlist("prefer")).lower().split(",")
    return "respond-async" in [preference.partition(";")[0].strip() for preference in preferences]


def _position(request: Request) -> int | None:
    for name, value in (
        ("Last-Event-ID", request.headers.get("last-event-id")),
        ("after", request.query_params.get("after")),
    ):
        if value:
            if not _DECIMAL.fullmatch(value):
                raise InvalidRequest(f"{name}: a position is a decimal number.", param=name)
            return int(value)
    return None
