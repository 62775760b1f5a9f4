"""What the tests of the store in Redis share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from polystream.core.events import Batch
from polystream.core.ports import Store
from polystream.core.record import Record
from polystream.stores.redis import Address, RedisStore
from tests.fakes import numbered, record, started


@asynccontextmanager
async def redis_store(port: int, **options: Any) -> AsyncIterator[RedisStore]:
    """A replica's store."""
    knobs: dict[str, Any] = {"retention_s": 600, "open_s": 600, "buffer": 10_000} | options
    store = RedisStore(Address.parse(f"redis://127.0.0.1:{port}"), **knobs)
    try:
        yield store
    finally:
        await store.close()


async def opened(store: Store, **fields: Any) -> Record:
    """A log that holds `started` alone."""
    made = record(**fields)
    await store.create(made, started(made))
    return made


class Heard(list[Batch]):
    """What a watcher heard."""

    @property
    def seqs(self) -> list[int]:
        """The numbers."""
        return [seq for seq, _ in numbered(self)]

    def has(self, seq: int) -> bool:
        """Whether that is the last one."""
        return bool(self) and self[-1].last_seq == seq
