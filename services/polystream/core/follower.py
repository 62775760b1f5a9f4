"""The reading end of a log: feeds one reader from any position.

The rule to know: replay and live are one operation. A follower watches first, reads second and drops what it
has, so there is no gap between stored and live, and a reader never sees an event that is not already in the
log.
"""

import asyncio
from collections.abc import Callable

from polystream.core.errors import NotFound, PositionLost, StoreUnavailable, StreamError
from polystream.core.events import Batch
from polystream.core.ports import Sink, Store, Unwatch

#: How long a reader is told to wait before it comes back, milliseconds: long enough for a proxy to see the
#: change.
COME_BACK_MS = 200


class Follower:
    """Feeds one sink the events of one log behind `after`, stored ones first, each once and in order.

    A sink that is full is detached and caught up later from the log, so a slow reader costs the others
    nothing and
    holds a bounded number of bytes. One that lags more than `max_lag` bytes is told to come back.
    """

    __slots__ = (
        *("_catching_up", "_closed", "_lag", "_live", "_max_lag", "_owner", "_position", "_reading"),
        *("_store", "_tail", "_unwatch", "id", "invited", "on_close", "sink"),
    )

    def __init__(self, store: Store, id: str, owner: str, after: int, sink: Sink, max_lag: int):
        self.id = id
        self.sink = sink
        self.invited = False  #: told to come back, so that its leaving is not the reader's will
        self.on_close: Callable[[Follower], None] = lambda _: None
        self._store = store
        self._owner = owner
        self._position = self._tail = after
        self._max_lag = max_lag
        self._lag = 0
        self._live = self._reading = self._closed = False
        self._unwatch: Unwatch = lambda: None
        self._catching_up: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Watch, then deliver what is stored.

        Raises `NotFound` or `PositionLost`, having delivered nothing.
        """
        try:
            self._unwatch = await self._store.watch(self.id, self._owner, self._receive)
            if self._closed:
                self._unwatch()
            await self._read()
        except BaseException as error:
            self.invited = isinstance(error, StreamError)  # it was never fed, so it does not leave either
            self.close()
            raise

    def close(self) -> None:
        """Stop feeding; idempotent."""
        if self._closed:
            return
        self._closed, self._live = True, False
        self._unwatch()
        if self._catching_up is not None:
            self._catching_up.cancel()
        self.on_close(self)

    def drained(self) -> None:
        """The sink has room again: go on from the log if it was detached."""
        if not (self._live or self._closed or self._reading):
            self._reading = True
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up())

    def come_back(self, reason: str) -> None:
        """Tell the reader to come back with its position, and end."""
        if not self._closed:
            self.invited = True
            self.sink.come_back(reason, COME_BACK_MS)
            self.close()

    def _receive(self, batch: Batch) -> None:
        if self._live and not self.sink.full:
            if batch.first_seq == self._position + 1 and batch.last is None:  # as `_hand_over`: the hot path
                self._position = batch.last_seq
                self.sink.write(batch)
            else:
                self._align(batch)
            return
        self._live = False
        self._tail = batch.last_seq
        self._lag += batch.size
        if self._lag > self._max_lag:
            self.come_back("slow")

    def _hand_over(self, batch: Batch) -> None:
        self._position = batch.last_seq
        self.sink.write(batch)
        if batch.last is not None:
            self.close()

    def _align(self, batch: Batch) -> None:
        """Drop what the reader has; a hole that no takeover explains is looked for in the log."""
        if batch.last_seq <= self._position:
            return
        if batch.first_seq <= self._position:
            batch = batch.after(self._position)
        if batch.continues(self._position):
            self._hand_over(batch)
        else:
            self._live = False
            self._tail = batch.last_seq
            self.drained()

    async def _read(self) -> None:
        """Deliver from the log until nothing is left (then go live, in the same turn) or the sink is full."""
        self._reading = True
        try:
            await self._read_until_full()
        finally:
            self._reading = False

    async def _read_until_full(self) -> None:
        while not self._closed and not self.sink.full:
            announced = self._tail  # before the read: what comes during it may be missing from its answer
            batches = await self._store.read(self.id, self._owner, self._position)
            if self._closed:
                return
            if not batches:
                if self._tail <= self._position:
                    self._live, self._lag = True, 0
                    return
                if announced > self._position:
                    raise PositionLost
            for batch in batches:
                if not batch.continues(self._position):
                    raise PositionLost
                if self._lag:
                    self._lag = max(0, self._lag - batch.size)
                self._hand_over(batch)

    async def _catch_up(self) -> None:
        try:
            await self._read()
        except (NotFound, PositionLost):
            self.sink.lost(self._position)
            self.close()
        except StoreUnavailable:
            self.come_back("store")
