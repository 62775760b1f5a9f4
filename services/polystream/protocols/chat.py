"""`POST /v1/chat/completions` and `GET /v1/models`, for OpenAI's clients and for another Polystream's engine.

The status waits for the engine's first word, so that a refusal reaches SDKs as a status.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from polystream.core.errors import Cancelled, ModelNotFound, PositionLost, from_event
from polystream.core.events import Batch, Error, Event, Failed, Finished, Notice, Started
from polystream.core.record import ANONYMOUS, Record
from polystream.core.request import OnDisconnect
from polystream.core.sink import come_back_error
from polystream.dialects import chat, chat_request
from polystream.dialects.json import decode
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.protocols.body import Connection, LogResponse
from polystream.protocols.http import door, idempotency_key, json_response, read_body

T = TypeVar("T")

#: Notices of an engine that has taken the request and needs time: the status is held no longer.
_TAKEN = ("queued", "prefill")


class _HeldChunks(chat.Chunks):
    """Chunks that also tell the engine's first word, or how it failed before it said one."""

    def __init__(self, record: Record, include_usage: bool):
        super().__init__(record, include_usage)
        self.first: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

    def breaks(self, batch: Batch) -> bool:
        """As the chunks; and every batch up to the first word passes here."""
        if not self.first.done():
            for event in batch.events:
                if not isinstance(event, Started | Notice) or getattr(event, "kind", "") in _TAKEN:
                    self.first.set_result(event)
                    break
        return super().breaks(batch)

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """No words, but a status."""
        self._refuse(come_back_error(reason, retry_after_ms).as_event())
        return super().come_back(reason, retry_after_ms)

    def lost(self, after: int) -> bytes | None:
        """No words, but a status."""
        self._refuse(PositionLost().as_event())
        return super().lost(after)

    def cut(self, error: Error) -> bytes | None:
        """An error event, or a status."""
        self._refuse(error)
        return super().cut(error)

    def _refuse(self, error: Error) -> None:
        """The reader's own trouble is a failure too, as long as there is a status to say it in."""
        if not self.first.done():
            self.first.set_result(Failed(error))


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
        return await self._whole(request, record)

    async def _stream(self, request: Request, record: Record, options: chat_request.Options) -> Response:
        form = _HeldChunks(record, options.include_usage)
        sink = BufferSink(form)
        await self._readers.open(record.id, None, ANONYMOUS, sink)
        try:
            first = await _while_connected(request, form.first, self._status_hold_s)
            if isinstance(first, Failed):
                raise from_event(first.error)
        except BaseException:
            self._readers.close(sink)
            raise
        headers = {"Stream-Id": record.id, "x-request-id": record.id}
        return LogResponse(self._readers, sink, headers, "text/event-stream")

    async def _whole(self, request: Request, record: Record) -> Response:
        completion = chat.Completion(record)
        batches = await self._generations.follow(record.id, None, ANONYMOUS)
        folding = asyncio.get_running_loop().create_task(_fold(batches, completion))
        try:
            await _while_connected(request, folding)
        finally:
            folding.cancel()
        match completion.last:
            case Failed(error=error):
                raise from_event(error)
            case Finished(reason="cancelled"):
                raise Cancelled
        return json_response(completion.fields(), headers={"x-request-id": record.id})


async def _fold(batches: AsyncGenerator[Batch, None], completion: chat.Completion) -> None:
    async with contextlib.aclosing(batches):
        async for batch in batches:
            completion.add(batch.events)


async def _while_connected(
    request: Request, work: "asyncio.Future[T]", seconds: float | None = None
) -> T | None:
    """What the work gives, None after `seconds`.

    Raises what it raises, and `ClientDisconnect` if the client leaves.
    """
    connection: Connection = request.scope["state"]["connection"]
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    connection.on_lost = lambda: gone.set_result(None)
    if connection.lost:
        gone.set_result(None)
    try:
        either: set[asyncio.Future[Any]] = {work, gone}
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        connection.on_lost = None
    if gone.done():
        raise ClientDisconnect
    return work.result() if work.done() else None
