"""Stores around the memory store: one that a test bends, one that answers as over a network."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

from polystream.core.errors import StreamError
from polystream.core.events import Batch, Event, Started
from polystream.core.ports import Done, Store, Unwatch, Verdict
from polystream.core.record import Record
from polystream.stores.memory import MemoryStore


class OtherStore:
    """A store that passes everything on to another one, which may be exchanged; counts its calls."""

    kind = "other"

    def __init__(self, inner: Store | None = None, *, durable: bool = True) -> None:
        self.inner = inner or MemoryStore(retention_s=3600)
        self.durable = durable
        self.appends: list[list[Event]] = []
        self.creates = self.reads = 0

    async def create(self, record: Record, started: Started) -> None:
        self.creates += 1
        await self.inner.create(record, started)

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        self.appends.append(list(events))
        self.inner.append(id, attempt, first_seq, events, done)

    async def watch(self, id: str, owner: str, receive: Callable[[Batch], None]) -> Unwatch:
        return await self.inner.watch(id, owner, receive)

    async def read(self, id: str, owner: str, after: int) -> list[Batch]:
        self.reads += 1
        return await self.inner.read(id, owner, after)

    async def record(self, id: str, owner: str) -> Record:
        return await self.inner.record(id, owner)

    async def cancel(self, id: str, owner: str) -> Record:
        return await self.inner.cancel(id, owner)

    def on_cancel(self, call: Callable[[str], None]) -> None:
        self.inner.on_cancel(call)

    async def claim(self, key: str, id: str, digest: str, replacing: str | None = None) -> tuple[str, str]:
        return await self.inner.claim(key, id, digest, replacing)

    async def check(self) -> None:
        await self.inner.check()

    async def close(self) -> None:
        await self.inner.close()


class RemoteStore(OtherStore):
    """As over a network: calls take `way` seconds there and back, answers come later; nothing overtakes.

    `fault`: raised by `create` and `read` while set.
    """

    kind = "remote"

    def __init__(self, way: float = 0.001) -> None:
        super().__init__()
        self.way = way
        self.fault: StreamError | None = None
        self._there: deque[Callable[[], None]] = deque()
        self._back: deque[Callable[[], None]] = deque()

    async def create(self, record: Record, started: Started) -> None:
        await self._travel(self.fault)
        await super().create(record, started)
        await self._travel()

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        def answer(verdict: Verdict, tail: int, cancel: bool) -> None:
            self._later(self._back, partial(done, verdict, tail, cancel))

        kept = list(events)
        self._later(self._there, partial(super().append, id, attempt, first_seq, kept, answer))

    async def watch(self, id: str, owner: str, receive: Callable[[Batch], None]) -> Unwatch:
        await self._travel()
        unwatch = await super().watch(id, owner, receive)
        await self._travel()
        return unwatch

    async def read(self, id: str, owner: str, after: int) -> list[Batch]:
        await self._travel(self.fault)
        batches = await super().read(id, owner, after)
        await self._travel()
        return batches

    async def record(self, id: str, owner: str) -> Record:
        await self._travel()
        record = await super().record(id, owner)
        await self._travel()
        return record

    async def _travel(self, fault: StreamError | None = None) -> None:
        await asyncio.sleep(self.way)
        if fault is not None:
            raise fault

    def _later(self, line: deque[Callable[[], None]], call: Callable[[], None]) -> None:
        line.append(call)
        asyncio.get_running_loop().call_later(self.way, lambda: line.popleft()())
