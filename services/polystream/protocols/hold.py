"""Answers whose status waits for the engine, so that a refusal is a status and not the end of a body."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from polystream.core.errors import Cancelled, PositionLost, from_event
from polystream.core.events import Batch, Error, Event, Failed, Finished, Notice, Started
from polystream.core.generations import Generations
from polystream.core.record import ANONYMOUS, Record
from polystream.core.sink import come_back_error
from polystream.dialects.chat import Completion
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink, Form
from polystream.protocols.body import Connection

T = TypeVar("T")

#: Notices of an engine that has taken the request and needs time: the status is held no longer.
_TAKEN = ("queued", "prefill")


class _Held:
    """A form that also tells the engine's first word, or how it failed before it said one."""

    __slots__ = ("_form", "encode", "first", "heartbeat", "key", "resumable", "spoke")

    def __init__(self, form: Form):
        self._form = form
        self.key = form.key
        self.resumable = form.resumable
        self.heartbeat = form.heartbeat
        self.encode = form.encode
        self.spoke = False
        self.first: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

    def breaks(self, batch: Batch) -> bool:
        """As the form; and every batch up to the first word passes here."""
        if not self.first.done():
            for event in batch.events:
                if not isinstance(event, Started | Notice) or getattr(event, "kind", "") in _TAKEN:
                    self.first.set_result(event)
                    break
        broken = self._form.breaks(batch)
        self.spoke = self._form.spoke and self.first.done()
        return broken

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """The form's words, or a status."""
        self._refuse(come_back_error(reason, retry_after_ms).as_event())
        return self._form.come_back(reason, retry_after_ms)

    def lost(self, after: int) -> bytes | None:
        """The form's words, or a status."""
        self._refuse(PositionLost().as_event())
        return self._form.lost(after)

    def cut(self, error: Error) -> bytes | None:
        """The form's words, or a status."""
        self._refuse(error)
        return self._form.cut(error)

    def _refuse(self, error: Error) -> None:
        """The reader's own trouble is a failure too, as long as there is a status to say it in."""
        if not self.first.done():
            self.first.set_result(Failed(error))


async def held(request: Request, readers: Readers, id: str, form: Form, seconds: float) -> BufferSink:
    """A reader from the start, once the engine has said its first word, or after `seconds`.

    Raises how the generation failed before, and `ClientDisconnect` if the client leaves.
    """
    holding = _Held(form)
    sink = BufferSink(holding)
    await readers.open(id, None, ANONYMOUS, sink)
    try:
        first = await _while_connected(request, holding.first, seconds)
        if isinstance(first, Failed):
            raise from_event(first.error)
    except BaseException:
        readers.close(sink)
        raise
    return sink


async def whole(request: Request, generations: Generations, record: Record) -> Completion:
    """A generation read to its end while the client is there.

    Raises what it failed with, `Cancelled`, and `ClientDisconnect` if the client leaves.
    """
    completion = Completion(record)
    batches = await generations.follow(record.id, None, ANONYMOUS)
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
    return completion


async def _fold(batches: AsyncGenerator[Batch, None], completion: Completion) -> None:
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
