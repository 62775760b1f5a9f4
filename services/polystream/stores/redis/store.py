"""The store in Redis: one writer and one subscriber connection for the hot path, redis-py for the rest.

All that is sent may run twice, because any reply may be lost: scripts and commands are such that this harms
nothing.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from polystream.core.errors import Internal, NotFound, PositionLost
from polystream.core.events import Batch, Event, Started
from polystream.core.ports import Done, Unwatch
from polystream.core.record import Record
from polystream.stores.redis import keys, rare
from polystream.stores.redis.address import Address
from polystream.stores.redis.appends import Appends
from polystream.stores.redis.codec import check_format, read_event, read_record, write_event, write_record
from polystream.stores.redis.scripts import CANCEL, CLAIM, CREATE, READ
from polystream.stores.redis.tail import Tail
from polystream.stores.redis.watches import Receive, Watches
from polystream.stores.redis.writer import Command, Writer

#: Bytes of events that one `read` gives at most (one event more where a single one is larger), and bytes
#: counted for an event's fixed parts.
_READ_BYTES, _EVENT_BYTES = 64 * 1024, 64
#: How long `close` waits for what was appended.
_LAST_WRITES_S = 5.0


class RedisStore:
    """See `core.ports.Store` for what it guarantees.

    `open_s`: life of a log that never gets its last event; `retention_s`: after its last event, both seconds.
    `buffer`: events of a generation that are held while Redis is away. `reply_timeout_s`: a connection that
    owes a reply for so long is given up.
    """

    kind = "redis"
    durable = True

    def __init__(
        self,
        address: Address,
        *,
        retention_s: float,
        open_s: float,
        buffer: int,
        connect_timeout_s: float = 5.0,
        reply_timeout_s: float = 5.0,
    ):
        self._open_ms = int(open_s * 1000)
        self._cancelled: Callable[[str], None] = lambda id: None
        self._rare = rare.Rare(address, connect_timeout_s, reply_timeout_s)
        writer = self._writer = Writer(address, connect_timeout_s, reply_timeout_s)
        self._watches = Watches(writer, self.read, lambda id: self._cancelled(id))
        self._tail = self._watches.tail = Tail(
            address, connect_timeout_s, self._watches.message, self._watches.doubt
        )
        self._appends = Appends(writer, self._watches, int(retention_s * 1000), buffer)

    async def create(self, record: Record, started: Started) -> None:
        """Write the record and seq 0; once, however often it is sent."""
        fields = write_record(record)
        blob = fields.pop("record")
        words = [word for pair in fields.items() for word in pair]
        names = (keys.log(record.id), keys.record(record.id))
        try:
            await self._rare.ask(lambda redis: redis.zadd(keys.OPEN, {record.id: record.created}, nx=True))
            created = await self._rare.run(CREATE, names, self._open_ms, write_event(started), blob, *words)
        except BaseException:  # it may have run, or run yet: nobody would write the log to its end
            asyncio.get_running_loop().call_later(rare.PATIENCE_S, self._take_away, record.id)
            raise
        if not created:
            raise Internal(f"The id {record.id} is taken.")
        self._appends.begin(record.id, record.owner)
        self._tail.open(keys.CANCELLED)

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        """Append with whatever else is appended in this turn; see `core.ports.Store.append`."""
        self._appends.append(id, attempt, first_seq, events, done)

    async def watch(self, id: str, owner: str, receive: Receive) -> Unwatch:
        """Call `receive` with what is stored from now on, by any replica."""
        here = self._appends.created(id)
        if here is not None:
            if here.owner != owner:
                raise NotFound
            self._watches.here(id, owner, receive, here.tail)
        else:
            await self._watch_others(id, owner, receive)
        return lambda: self._watches.leave(id, receive)

    async def read(self, id: str, owner: str, after: int) -> list[Batch]:
        """Stored events behind `after`, about 64 KiB at a time."""
        names = (keys.log(id), keys.record(id))
        reply = await self._rare.run(READ, names, owner, after, _READ_BYTES, _EVENT_BYTES)
        if reply == 0:
            raise NotFound
        if reply == 1:
            raise PositionLost
        check_format(reply[0])
        return _batches(reply[1::2], reply[2::2])

    async def record(self, id: str, owner: str) -> Record:
        """The record with its present state."""
        kept: dict[Any, Any] = await self._rare.ask(lambda redis: redis.hgetall(keys.record(id)))
        if kept.get(b"owner") != owner.encode():
            raise NotFound
        return read_record(kept)

    async def cancel(self, id: str, owner: str) -> Record:
        """Set the cancel flag of a running generation, and tell all replicas."""
        kept = await self._rare.run(CANCEL, (keys.record(id),), owner, keys.CANCELLED, id)
        if not kept:
            raise NotFound
        return read_record(dict(zip(kept[::2], kept[1::2], strict=True)))

    def on_cancel(self, call: Callable[[str], None]) -> None:
        """Have `call` told the id of each generation that any replica cancels."""
        self._cancelled = call

    async def claim(self, key: str, id: str, digest: str, replacing: str | None = None) -> tuple[str, str]:
        """Bind the key, or give its holder.

        Two steps in two places: the key, then what the holder's end has to release. A key whose holder never
        ends, or that was bound in the moment of a crash, has a life of its own.
        """
        name = keys.claim(key)
        held = await self._rare.run(CLAIM, (name,), id, digest, replacing or "", self._open_ms)
        holder, kept = held[0].decode(), held[1].decode()
        if holder == id:
            await self._rare.ask(lambda redis: redis.sadd(keys.claims(id), name))
            await self._rare.ask(lambda redis: redis.pexpire(keys.claims(id), self._open_ms))
        return holder, kept

    async def check(self) -> None:
        """Raises `StoreUnavailable`, also for a Redis that may throw logs away when its memory is full."""
        await self._rare.check()

    async def close(self) -> None:
        """Wait for what was appended, then give the connections back."""
        await self._watches.close()
        await self._writer.close(_LAST_WRITES_S)
        await self._tail.close()
        await self._rare.close()

    def _take_away(self, id: str) -> None:
        """Remove, when Redis is there again, what a create that failed may have left."""
        if self._appends.created(id) is None:
            self._writer.send(Command(("UNLINK", keys.log(id), keys.record(id)), lambda reply: None))
            self._writer.send(Command(("ZREM", keys.OPEN, id), lambda reply: None))

    async def _watch_others(self, id: str, owner: str, receive: Receive) -> None:
        """Watch a log that was not created here: hear its channel, if it goes on."""
        words = ("owner", "format", "tail", "until")
        kept: list[Any] = await self._rare.ask(lambda redis: redis.hmget(keys.record(id), words))
        if kept[0] != owner.encode():
            raise NotFound
        check_format(kept[1])
        self._watches.here(id, owner, receive, int(kept[2]))
        if kept[3] is None:
            self._watches.follow(id)
            try:
                await self._tail.subscribe(keys.log(id))
            except BaseException:
                self._watches.leave(id, receive)
                raise


def _batches(numbers: Sequence[int], values: Sequence[bytes]) -> list[Batch]:
    """Events that follow one another are one batch."""
    batches: list[Batch] = []
    start = 0
    for index in range(1, len(numbers) + 1):
        if index == len(numbers) or numbers[index] != numbers[index - 1] + 1:
            events = [read_event(value) for value in values[start:index]]
            batches.append(Batch(numbers[start], events))
            start = index
    return batches if numbers else []
