"""The HTTP doors of the articles that this grew from, for the clients printed there.

An answer ends with its connection's reader: those clients cannot come back. Only the page behind
`POST /start` can, by the id that its browser keeps.
"""

import re

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from polystream.core.errors import InvalidRequest, NotFound
from polystream.core.record import ANONYMOUS, Record
from polystream.core.request import OnDisconnect
from polystream.core.request import Request as Asked
from polystream.dialects import articles, articles_request
from polystream.dialects.text import PlainText
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink, Form
from polystream.protocols.body import LogResponse
from polystream.protocols.form_data import MULTIPART, URLENCODED, media_type, read_form
from polystream.protocols.hold import held, whole
from polystream.protocols.http import NO_STORE, door, json_response, read_body
from polystream.protocols.sse import LogEventSourceResponse

SSE, TEXT, JSON = "text/event-stream", "text/plain", "application/json"
#: Keeps a browser's generation for `GET /generate`. No page's script needs it, and no other site's request.
COOKIE = "polystream_generation"
_COOKIE_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"
_LAST_EVENT_ID = re.compile(rf"(gen_[\w-]+):([0-9]{{1,19}}|{articles.END})")
#: What scripts send that say nothing of their body: it is read as JSON.
_UNSAID = ("", TEXT)


class Articles:
    """The doors. `status_hold_s`: longest wait for the first word before 200."""

    def __init__(
        self, readers: Readers, request_max_bytes: int, status_hold_s: float, instruct_template: str
    ):
        self._readers = readers
        self._generations = readers.generations
        self._request_max_bytes = request_max_bytes
        self._status_hold_s = status_hold_s
        self._instruct_template = instruct_template

    def routes(self) -> list[Route]:
        """The doors. `/instruct` may lie behind a proxy that leaves its own path in front."""
        return [
            door("/streaming/fastapi/", POST=self.fastapi),
            door("/streaming/starlette/", POST=self.starlette),
            door("/instruct", POST=self.instruct),
            door("/{prefix:path}/instruct", POST=self.instruct),
            door("/start", POST=self.start),
            door("/generate", GET=self.generate),
            door("/", GET=self.text),
        ]

    async def fastapi(self, request: Request) -> Response:
        """Pieces `data: TEXT`."""
        return await self._streaming(request, articles.Pieces())

    async def starlette(self, request: Request) -> Response:
        """The same, through sse-starlette."""
        return await self._streaming(request, articles.Lines())

    async def instruct(self, request: Request) -> Response:
        """Bare text without `</s>`."""
        fields = articles_request.body(await self._body(request), articles_request.InstructFields)
        record = await self._begin(fields.request(self._instruct_template))
        return await self._stream(request, record, articles.Instruction(record.id), TEXT)

    async def text(self, request: Request) -> Response:
        """Bare text of the prompt in the query; without one this is no door."""
        if "prompt" not in request.query_params:
            raise HTTPException(404)
        fields = articles_request.fields(request.query_params.multi_items())
        record = await self._begin(fields.request())
        return await self._stream(request, record, PlainText(), TEXT)

    async def start(self, request: Request) -> Response:
        """Start what `GET /generate` shows; its id is the browser's, in a cookie and in the answer."""
        fields = self._start_fields(request.headers.get("content-type", ""), await self._body(request))
        record = await self._begin(fields.request(), OnDisconnect.GRACE)
        cookie = f"{COOKIE}={record.id}; {_COOKIE_ATTRIBUTES}"
        return json_response({"id": record.id}, headers=_headers(record) | {"Set-Cookie": cookie})

    async def generate(self, request: Request) -> Response:
        """Follow it, for a native EventSource: one that comes back goes on behind what it has."""
        id, after = _position(request)
        if after == articles.END:
            return Response(status_code=204, headers=NO_STORE)
        record = await self._generations.status(id, ANONYMOUS)
        position = None if after is None else int(after)
        sink = BufferSink(articles.StreamedText(id, position is not None))
        if not await self._readers.open(id, position, ANONYMOUS, sink):
            return Response(status_code=204, headers=_headers(record) | NO_STORE)
        return LogEventSourceResponse(self._readers, sink, _headers(record))

    async def _streaming(self, request: Request, form: articles.Pieces) -> Response:
        fields = articles_request.body(await self._body(request), articles_request.StreamingFields)
        record = await self._begin(fields.request())
        if fields.streamed:
            return await self._stream(request, record, form, SSE)
        completion = await whole(request, self._generations, record)
        said = articles.whole(form, "".join(completion.text))
        return Response(said, 200, NO_STORE | _headers(record), SSE)

    async def _stream(self, request: Request, record: Record, form: Form, media: str) -> Response:
        sink = await held(request, self._readers, record.id, form, self._status_hold_s)
        if isinstance(form, articles.Lines):
            return LogEventSourceResponse(self._readers, sink, _headers(record))
        return LogResponse(self._readers, sink, _headers(record), media)

    async def _begin(self, asked: Asked, on_disconnect: OnDisconnect = OnDisconnect.CANCEL) -> Record:
        return await self._generations.start(asked, ANONYMOUS, on_disconnect, dialect="articles")

    async def _body(self, request: Request) -> bytes:
        return await read_body(request, self._request_max_bytes)

    def _start_fields(self, content_type: str, body: bytes) -> articles_request.PromptFields:
        media = media_type(content_type)
        if media not in (*_UNSAID, JSON, URLENCODED, MULTIPART):
            raise HTTPException(415, f"Send {JSON}, {URLENCODED} or {MULTIPART}.")
        if not body:
            return articles_request.PromptFields(articles_request.START_PROMPT)
        if media in (URLENCODED, MULTIPART):
            return articles_request.fields(read_form(content_type, body))
        return articles_request.body(body, articles_request.PromptFields)


def _headers(record: Record) -> dict[str, str]:
    return {"Stream-Id": record.id}


def _position(request: Request) -> tuple[str, str | None]:
    """Generation and place: of the browser's own stream when it comes back, else of `id` or the cookie.

    The cookie is shared by a browser's tabs, so it comes last.
    """
    if unknown := set(request.query_params) - {"id"}:
        name = min(unknown)
        raise InvalidRequest(f"{name}: there is no such parameter.", param=name)
    if last_event_id := request.headers.get("last-event-id"):
        if not (match := _LAST_EVENT_ID.fullmatch(last_event_id)):
            raise InvalidRequest("Last-Event-ID is none of ours.", param="Last-Event-ID")
        return match[1], match[2]
    if id := request.query_params.get("id") or request.cookies.get(COOKIE):
        return id, None
    raise NotFound("Nothing was started: POST /start first.")
