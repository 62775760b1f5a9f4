"""The logs watched on this replica: each event to each watcher once and in order, wherever it was appended.

The rule to know: what was appended here comes from the acknowledgement, all else from the subscription; both
meet in one position for each log. A hole, or a doubt, is filled from the log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from polystream.core.errors import NotFound, PositionLost, StoreUnavailable
from polystream.core.events import Batch, Event
from polystream.stores.redis import keys
from polystream.stores.redis.codec import read_batch
from polystream.stores.redis.tail import Tail
from polystream.stores.redis.writer import Command, Writer

logger = logging.getLogger(__name__)

#: After so long without a message the log is asked for what was missed, seconds.
SILENCE_S = 2.0
#: Logs that are read at once to fill holes; below the connections that reads have.
_FILLS = 2

Receive = Callable[[Batch], None]
#: Reads a log as `core.ports.Store.read`.
Read = Callable[[str, str, int], Awaitable[list[Batch]]]


class Watch:
    """One log. `position`: the last event its watchers were given, or that was there before them."""

    __slots__ = ("asked", "filling", "heard", "id", "owner", "position", "receivers", "remote", "wanted")

    def __init__(self, id: str, owner: str, position: int):
        self.id = id
        self.owner = owner
        self.position = position
        self.receivers: tuple[Receive, ...] = ()
        self.remote = False  #: subscribed to: another replica may append
        self.heard = 0.0
        self.wanted = -1  #: number of an event that is in the log, and was not given
        self.asked = self.filling = False

    def give(self, batch: Batch) -> None:
        """Hand over what is new of a batch that is known to come next."""
        if batch.last_seq <= self.position:
            return
        if batch.first_seq <= self.position:
            batch = batch.after(self.position)
        self.position = batch.last_seq
        for receive in self.receivers:
            receive(batch)


class Watches:
    """All of them. `cancelled` is called with the id of each generation that is cancelled anywhere."""

    def __init__(self, writer: Writer, read: Read, cancelled: Callable[[str], None]):
        self._writer = writer
        self._read = read
        self._cancelled = cancelled
        self._loop = asyncio.get_running_loop()
        self._watches: dict[str, Watch] = {}
        self._by_channel: dict[str, Watch] = {}
        self._fills: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(_FILLS)
        self._tick: asyncio.TimerHandle | None = None
        self.tail: Tail

    def here(self, id: str, owner: str, receive: Receive, position: int) -> Watch:
        """Watch a log from now on; `position`: its last event, where it is not watched yet."""
        watch = self._watches.get(id)
        if watch is None:
            watch = self._watches[id] = Watch(id, owner, position)
        watch.receivers += (receive,)
        return watch

    def leave(self, id: str, receive: Receive) -> None:
        """Watch no more; idempotent."""
        watch = self._watches.get(id)
        if watch is None or receive not in watch.receivers:
            return
        watch.receivers = tuple(other for other in watch.receivers if other is not receive)
        if not watch.receivers:
            del self._watches[id]
            if watch.remote:
                del self._by_channel[keys.log(id)]
                self.tail.unsubscribe(keys.log(id))

    def added(self, id: str, first_seq: int, events: list[Event]) -> None:
        """This replica appended, and Redis has it."""
        watch = self._watches.get(id)
        if watch is not None:
            self._take(watch, Batch(first_seq, events))

    def follow(self, id: str) -> Watch | None:
        """Other replicas append to the log, or may: hear what they publish, without waiting."""
        watch = self._watches.get(id)
        if watch is not None and not watch.remote:
            watch.remote = True
            watch.heard = self._loop.time()
            self._by_channel[keys.log(id)] = watch
            self.tail.open(keys.log(id)).add_done_callback(
                lambda confirmed: None if confirmed.cancelled() else self._ask(watch)  # what came before it
            )
            if self._tick is None:
                self._tick = self._loop.call_later(SILENCE_S / 2, self._look)
        return watch

    def message(self, channel: str, payload: bytes) -> None:
        """What came over the subscription."""
        watch = self._by_channel.get(channel)
        if watch is not None:
            watch.heard = self._loop.time()
            self._take(watch, read_batch(payload))
        elif channel == keys.CANCELLED:
            self._cancelled(payload.decode())

    def doubt(self) -> None:
        """Messages may have been missed: ask each log where it ends."""
        for watch in self._by_channel.values():
            self._ask(watch)

    async def close(self) -> None:
        """Fill no more holes."""
        if self._tick is not None:
            self._tick.cancel()
        for task in self._fills:
            task.cancel()
        await asyncio.gather(*self._fills, return_exceptions=True)

    def _take(self, watch: Watch, batch: Batch) -> None:
        position = watch.position
        if batch.first_seq == position + 1:  # nearly every one
            watch.position = batch.last_seq
            for receive in watch.receivers:
                receive(batch)
        elif batch.first_seq <= position or batch.continues(position):
            watch.give(batch)
        else:
            self._fill(watch, batch.last_seq)

    def _look(self) -> None:
        """Ask the logs that are silent; one timer for all of them."""
        self._tick = None
        if not self._by_channel:
            return
        self._tick = self._loop.call_later(SILENCE_S / 2, self._look)
        now = self._loop.time()
        for watch in self._by_channel.values():
            if now - watch.heard >= SILENCE_S:
                watch.heard = now
                self._ask(watch)

    def _ask(self, watch: Watch) -> None:
        def answer(tail: object) -> None:
            watch.asked = False
            if isinstance(tail, bytes) and int(tail) > watch.position:
                self._fill(watch, int(tail))

        if not watch.asked:
            watch.asked = True
            self._writer.send(Command(("HGET", keys.record(watch.id), "tail"), answer))

    def _fill(self, watch: Watch, wanted: int) -> None:
        watch.wanted = max(wanted, watch.wanted)
        if not watch.filling:
            watch.filling = True
            task = self._loop.create_task(self._fill_from_log(watch))
            self._fills.add(task)
            task.add_done_callback(self._fills.discard)

    async def _fill_from_log(self, watch: Watch) -> None:
        try:
            async with self._places:
                while watch.receivers and watch.position < watch.wanted:
                    batches = await self._read(watch.id, watch.owner, watch.position)
                    if not batches:
                        break
                    for batch in batches:
                        watch.give(batch)
        except (NotFound, PositionLost):
            pass  # its producer creates it again from its copy; else its readers are told when they read
        except StoreUnavailable:
            logger.debug("a hole of %s stays for now", watch.id)  # the next silence finds it
        finally:
            watch.filling = False
            watch.wanted = -1
