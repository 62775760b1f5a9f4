"""Where a reader's events gather until its connection takes them: one buffer of encoded bytes and one
wake-up.

The log writes by direct call; the connection's one loop takes all that has gathered as one piece. A sink
never blocks, and holds `HIGH_WATER` bytes and one batch at most: past that it is detached and catches up from
the log.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from polystream.core.events import Batch, Error
from polystream.core.follower import Follower

#: Bytes a sink holds before it is detached; a batch above it is held whole. As large as what asyncio's
#: transports hold.
HIGH_WATER = 64 * 1024


class Form(Protocol):
    """How one reader's bytes are spelled.

    A method that gives None has no words for it: the body then breaks off.
    """

    @property
    def key(self) -> str:
        """Under which a batch keeps this encoding; equal keys mean equal bytes within one generation."""
        ...

    @property
    def resumable(self) -> bool:
        """Whether its reader can come back with a position."""
        ...

    @property
    def spoke(self) -> bool:
        """Whether its reader has been given words, where that makes a difference; else always."""
        ...

    @property
    def heartbeat(self) -> bytes | None:
        """A sign of life, or None where the form has no room for one."""
        ...

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's bytes, in pieces that may travel apart."""
        ...

    def breaks(self, batch: Batch) -> bool:
        """Whether the body must break off after this batch, so that it cannot look whole.

        Asked once for each batch, but for plain ones behind the first words: they never break.
        """
        ...

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """The invitation to come back."""
        ...

    def lost(self, after: int) -> bytes | None:
        """The position is lost."""
        ...

    def cut(self, error: Error) -> bytes | None:
        """An error before the body breaks off in any case."""
        ...


class BufferSink:
    """A reader's buffer; see `core.ports.Sink` for the writing side.

    The taking side: `await wake()` while there is nothing, then `take()`; `ended` with nothing left is the
    end, and `broken` says that the body must break off there. `last`: the batch that ended the log, when that
    was the end.

    `output`, where a connection has one, takes pieces at once while nobody is in the way: it gives the bytes
    it took, or 0 when they must wait for their turn. `unsent`: bytes that were given away and that the reader
    has not taken. `stalled` is called when it takes nothing for too long.
    """

    __slots__ = (
        *("_direct", "_form", "_given", "_key", "_loop", "_size", "_taken", "_waiter"),
        *("broken", "ended", "follower", "full", "last", "moved", "output", "pieces", "resumable", "stalled"),
        "unsent",
    )

    def __init__(self, form: Form):
        self._form = form
        self._key = form.key
        self.resumable = form.resumable
        self.pieces: list[bytes] = []
        self.ended = False
        self.broken = False
        self.last: Batch | None = None
        self.follower: Follower | None = None
        self.output: Callable[[list[bytes]], int] | None = None
        self.unsent: Callable[[], int] = lambda: 0
        self.stalled: Callable[[], object] = lambda: None
        self.full = False  #: past the high-water mark
        self._loop = asyncio.get_running_loop()
        self.moved = self._loop.time()  #: when its reader was last given or last took something; see `tick`
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._direct: Callable[[list[bytes]], int] | None = None  # `output`, while the taking side waits
        self._given = self._taken = 0

    def write(self, batch: Batch) -> None:
        """Encode once a dialect, gather, wake; nothing more after an end that the form made."""
        if self.ended:
            return
        pieces = batch.encodings.get(self._key)
        form = self._form
        if pieces is None:
            pieces = batch.encodings[self._key] = form.encode(batch)
        if batch.plain is None or not form.spoke:
            if batch.last is not None:
                self.last = batch
                self.ended = True
            if form.breaks(batch):
                self.ended = self.broken = True
        if pieces and self._direct is not None and (taken := self._direct(pieces)):
            self._given += taken
            if self.ended:
                self._rouse()
        else:
            self._gather(pieces)

    def come_back(self, reason: str, retry_after_ms: int) -> None:
        """Invite the reader back, in the form's words or by breaking off."""
        self._end(self._form.come_back(reason, retry_after_ms))

    def lost(self, after: int) -> None:
        """Say that the position is lost, in the form's words or by breaking off."""
        self._end(self._form.lost(after))

    def cut(self, error: Error) -> None:
        """Say the error where the form can, and break off."""
        if not self.ended:
            self._end(self._form.cut(error))
            self.broken = True

    def abandon(self) -> None:
        """The reader wants no more: forget what has gathered, and end."""
        self.ended = True
        self.pieces.clear()
        self._gather([])

    def wake(self) -> "asyncio.Future[None]":
        """A future that is done when there is something to take."""
        self._waiter = self._loop.create_future()
        if self.pieces or self.ended:
            self._waiter.set_result(None)
        else:
            self._direct = self.output
        return self._waiter

    def take(self) -> list[bytes]:
        """All that has gathered, oldest first; the log goes on if it was too much."""
        pieces, self.pieces = self.pieces, []
        size, self._size = self._size, 0
        self._given += size
        if self.full:
            self.full = False
            if self.follower is not None:
                self.follower.drained()
        return pieces

    def tick(self, now: float, heartbeat_s: float, stall_s: float) -> None:
        """Called by the pulse: a sign of life when silent, the end of a reader that takes nothing.

        Only here is looked at the clock, not once a token: `moved` is late by a turn of the pulse at most.
        """
        unsent = self.unsent()
        taken = self._given - unsent
        if taken != self._taken:
            self._taken, self.moved = taken, now
        elif self._waiting and not unsent:
            heartbeat = self._form.heartbeat
            if now - self.moved >= heartbeat_s and heartbeat is not None and not self.ended:
                self._gather([heartbeat])
                self._taken, self.moved = taken + len(heartbeat), now  # its being taken is no news
        elif now - self.moved >= stall_s:
            self.moved = now
            self.output = self._direct = None  # the connection is being closed
            self.stalled()

    @property
    def _waiting(self) -> bool:
        """Whether the taking side has taken all there was."""
        return self._waiter is not None and not self._waiter.done()

    def _end(self, words: bytes | None) -> None:
        if self.ended:
            return
        self.ended = True
        self.broken = words is None
        self._gather([] if words is None else [words])

    def _gather(self, pieces: list[bytes]) -> None:
        """Hold pieces until they are taken."""
        self.pieces += pieces
        self._size += sum(map(len, pieces))
        self.full = self._size > HIGH_WATER
        if self.pieces or self.ended:
            self._rouse()

    def _rouse(self) -> None:
        """Wake the taking side if it waits."""
        self._direct = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
