"""`POST /v1/chat/completions` and `GET /v1/models`, for OpenAI's clients and for another Polystream's engine.

The status waits for the engine's first word, so that a refusal reaches SDKs as a status.
"""

import time

from fastapi import Request
from starlette.responses import Response
from starlette.routing import Route

from polystream.core.errors import ModelNotFound
from polystream.core.record import ANONYMOUS, Record
from polystream.core.request import OnDisconnect
from polystream.dialects import chat, chat_request
from polystream.dialects.json import decode
from polystream.edge.readers import Readers
from polystream.protocols.body import LogResponse
from polystream.protocols.hold import held, whole
from polystream.protocols.http import door, idempotency_key, json_response, read_body


class Chat:
    """The OpenAI chat doors. `status_hold_s`: longest wait for the first word before 200."""

    def __init__(self, readers: Readers, request_max_bytes: int, status_hold_s: float):
        self._readers = readers
        self._generations = readers.generations
        self._request_max_bytes = request_max_bytes
        self._status_hold_s = status_hold_s
        self._created = int(time.time())

    def routes(self) -> list[Route]:
        """The doors."""
        return [
            door("/v1/chat/completions", POST=self.complete),
            door("/v1/models", GET=self.models),
            door("/v1/models/{id:path}", GET=self.model),
        ]

    async def models(self, request: Request) -> Response:
        """The models that are ready."""
        models = [model for model in await self._generations.models() if model.state == "ready"]
        return json_response(chat.models_fields(models, self._created))

    async def model(self, request: Request) -> Response:
        """One model. Raises `ModelNotFound`."""
        for row in chat.models_fields(await self._generations.models(), self._created)["data"]:
            if row["id"] == request.path_params["id"]:
                return json_response(row)
        raise ModelNotFound(param="model")

    async def complete(self, request: Request) -> Response:
        """A completion, streamed or whole."""
        fields = decode(await read_body(request, self._request_max_bytes), chat_request.ChatFields)
        options, key = chat_request.options(fields), idempotency_key(request)
        default = OnDisconnect.CANCEL if key is None else OnDisconnect.GRACE
        record = await self._generations.start(
            chat_request.request(fields), ANONYMOUS, default=default, dialect="chat", key=key
        )
        if options.stream:
            return await self._stream(request, record, options)
        completion = await whole(request, self._generations, record)
        return json_response(completion.fields(), headers={"x-request-id": record.id})

    async def _stream(self, request: Request, record: Record, options: chat_request.Options) -> Response:
        form = chat.Chunks(record, options.include_usage)
        sink = await held(request, self._readers, record.id, form, self._status_hold_s)
        headers = {"Stream-Id": record.id, "x-request-id": record.id}
        return LogResponse(self._readers, sink, headers, "text/event-stream")
