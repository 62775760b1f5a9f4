"""What every door calls: start, attach or follow, cancel, status. A connection owns nothing here; leaving
ends a reader.

All calls take the owner; a foreign owner sees `NotFound`.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from polystream.core.errors import Conflict, Draining, InvalidRequest, NotFound
from polystream.core.events import Batch, Started
from polystream.core.follower import Follower
from polystream.core.ports import Engine, Model, Sink, Store
from polystream.core.producer import Limits, Producer
from polystream.core.record import Record, State
from polystream.core.request import OnDisconnect, Request
from polystream.core.sink import BatchSink


class Generations:
    """The generations of one replica, over a store that other replicas may share."""

    def __init__(
        self, store: Store, engine: Engine, limits: Limits, *, replica: str = "", default_model: str = ""
    ):
        self.store = store
        self.engine = engine
        self.draining = False
        self._limits = limits
        self._replica = replica
        self._default_model = default_model
        self._producers: dict[str, Producer] = {}
        self._followers: set[Follower] = set()
        self._idle = asyncio.Event()
        store.on_cancel(self._cancelled)

    async def start(
        self,
        request: Request,
        owner: str,
        on_disconnect: OnDisconnect | None = None,
        *,
        default: OnDisconnect = OnDisconnect.GRACE,
        dialect: str = "native",
        echo: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Record:
        """Start a generation, or give the one that the idempotency key already started.

        `on_disconnect`: what the client asked for; None takes the door's `default`. The record and `started`
        are in the log when this returns. A key counts within its owner and dialect. Raises `Conflict` when
        the key belongs to another request, `Draining`, `InvalidRequest`.
        """
        if not request.model:
            request = replace(request, model=await self._first_model())
        if self.draining:
            raise Draining
        self.engine.check(request)
        record = Record(
            id=f"gen_{secrets.token_urlsafe(18)}",
            owner=owner,
            request=request,
            model=request.model,
            engine=self.engine.kind,
            created=int(time.time()),
            dialect=dialect,
            echo=echo or {},
            on_disconnect=on_disconnect or default,
            replica=self._replica,
        )
        if key is not None and (joined := await self._claim(key, record, on_disconnect)):
            return joined
        started = Started(record.id, record.model, record.engine, record.created)
        await self.store.create(record, started)
        self._producers[record.id] = Producer(
            self.store, self.engine, record, started, self._limits, self._ended
        )
        return record

    async def attach(self, id: str, after: int | None, owner: str, sink: Sink) -> Follower | None:
        """Feed a sink the events behind `after` (None: from the start), stored and live; the caller closes.

        None when the log has ended and `after` is its last event. Raises `NotFound` or `PositionLost`.
        """
        position = -1 if after is None else after
        if after is not None:
            record = await self.store.record(id, owner)
            if record.state is not State.RUNNING and after == record.last_seq:
                return None
        follower = Follower(self.store, id, owner, position, sink, self._limits.log.max_bytes // 2)
        follower.on_close = self._left
        self._followers.add(follower)
        if producer := self._producers.get(id):
            producer.reader_came()
        await follower.start()
        return follower

    async def follow(self, id: str, after: int | None, owner: str) -> AsyncGenerator[Batch, None]:
        """The same for rare paths, as an iterator that the caller closes.

        Raises before the first event, as `attach`.
        """
        sink = BatchSink()
        follower = await self.attach(id, after, owner, sink)
        return sink.batches(follower)

    async def cancel(self, id: str, owner: str) -> Record:
        """Cancel; idempotent, and after the end without effect.

        Gives the record as it stands. Raises `NotFound`.
        """
        await self.store.cancel(id, owner)
        self._cancelled(id)
        return await self.store.record(id, owner)

    async def status(self, id: str, owner: str) -> Record:
        """The record as it stands. Raises `NotFound`."""
        return await self.store.record(id, owner)

    async def models(self) -> list[Model]:
        """The models clients may ask for, the default one first."""
        models = await self.engine.models()
        return sorted(models, key=lambda model: model.id != self._default_model)

    @property
    def open(self) -> int:
        """How many generations this replica produces now."""
        return len(self._producers)

    async def drain(self, seconds: float) -> None:
        """Take no more starts, send away the readers that can resume, wait for the rest at most `seconds`,
        cut it.

        Where logs die with this process, generations that nobody reads any more are ended at once.
        """
        self.draining = True
        for follower in [follower for follower in self._followers if follower.sink.resumable]:
            follower.come_back("drain")
        if not self.store.durable:
            watched = {follower.id for follower in self._followers}
            for producer in [p for id, p in self._producers.items() if id not in watched]:
                producer.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nothing_open()
        for follower in list(self._followers):
            follower.sink.cut(Draining().as_event())
            follower.close()
        for producer in list(self._producers.values()):
            producer.abort()
        await self._nothing_open()

    async def _nothing_open(self) -> None:
        while self._producers:
            self._idle.clear()
            await self._idle.wait()

    async def _first_model(self) -> str:
        if self._default_model:
            return self._default_model
        models = await self.engine.models()
        if not models:
            raise InvalidRequest("Name a model: there is no default one.", param="model")
        return models[0].id

    async def _claim(self, key: str, record: Record, asked: OnDisconnect | None) -> Record | None:
        """Bind the key to the new record, or give the record that holds it and may be joined."""
        scope = f"{record.owner}\n{record.dialect}\n{key}"
        digest = f"{record.request.digest()} {asked or ''}"
        replacing = None
        while True:
            holder, held = await self.store.claim(scope, record.id, digest, replacing)
            if holder == record.id:
                return None
            if held != digest:
                raise Conflict
            with contextlib.suppress(NotFound):
                joined = await self.store.record(holder, record.owner)
                if joined.may_be_joined:
                    return joined
            replacing = holder

    def _cancelled(self, id: str) -> None:
        if producer := self._producers.get(id):
            producer.cancel()

    def _left(self, follower: Follower) -> None:
        self._followers.discard(follower)
        if producer := self._producers.get(follower.id):
            producer.reader_left(follower.invited)

    def _ended(self, id: str) -> None:
        del self._producers[id]
        self._idle.set()
