"""The sink behind `Generations.follow`: batches handed to an async iterator, for paths where speed does not
matter.
"""

import asyncio
from collections.abc import AsyncGenerator

from polystream.core.errors import (
    Draining,
    Overloaded,
    PositionLost,
    StoreUnavailable,
    StreamError,
    from_event,
)
from polystream.core.events import Batch, Error
from polystream.core.follower import Follower

#: Batches held for a reader that does not take them before it is detached.
_HIGH_WATER = 64


#: What being told to come back is where a reader sees exceptions or statuses.
COME_BACK: dict[str, tuple[type[StreamError], str]] = {
    "drain": (Draining, ""),
    "store": (StoreUnavailable, ""),
    "slow": (Overloaded, "This reader is too slow; it may come back with its position."),
}


def come_back_error(reason: str, retry_after_ms: int) -> StreamError:
    """Being told to come back, as an error."""
    error, message = COME_BACK[reason]
    return error(message, retry_after_s=retry_after_ms / 1000)


class BatchSink:
    """Holds batches until they are taken; its reader sees trouble as an exception."""

    resumable = False

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._error: StreamError | None = None
        self._wake = asyncio.Event()

    @property
    def full(self) -> bool:
        """Past the high-water mark."""
        return len(self._batches) >= _HIGH_WATER

    def write(self, batch: Batch) -> None:
        """Take the next events."""
        self._batches.append(batch)
        self._wake.set()

    def come_back(self, reason: str, retry_after_ms: int) -> None:
        """End with an error that may pass."""
        self._end(come_back_error(reason, retry_after_ms))

    def lost(self, after: int) -> None:
        """End with `PositionLost`."""
        self._end(PositionLost())

    def cut(self, error: Error) -> None:
        """End with the error."""
        self._end(from_event(error))

    async def batches(self, follower: Follower | None) -> AsyncGenerator[Batch, None]:
        """The batches as they come, to the last event; closes the follower when it is closed itself."""
        if follower is None:
            return
        try:
            while True:
                taken, self._batches = self._batches, []
                for batch in taken:
                    yield batch
                    if batch.last:
                        return
                follower.drained()
                if not self._batches:
                    if self._error is not None:
                        raise self._error
                    self._wake.clear()
                    await self._wake.wait()
        finally:
            follower.close()

    def _end(self, error: StreamError) -> None:
        self._error = error
        self._wake.set()
