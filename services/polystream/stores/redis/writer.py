"""The one connection that writes: a turn's commands go as one batch, and one batch is under way.

The rule to know: everything sent here may run twice. A batch that was not answered whole is sent again whole,
on the next connection if need be, so a lost reply loses nothing and the order stays.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from hiredis import ReplyError

from polystream.stores.redis.address import Address
from polystream.stores.redis.link import Link, pack
from polystream.stores.redis.scripts import APPEND, RELEASE

logger = logging.getLogger(__name__)

#: A batch is sent when it has so many bytes, whatever else waits.
_BATCH_BYTES = 256 * 1024
#: Least time from one batch to the next, seconds. A batch costs two system calls and a turn of the loop
#: however little it holds. An append that comes alone does not wait.
_PACE_S = 0.004
#: How long to wait before a batch that Redis could not serve is sent again, seconds.
_AGAIN_S = 0.2
#: Errors that pass: the whole batch is sent again. READONLY: a former primary; only a new connection helps.
_PASSING = (
    *("LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "OOM", "BUSY", "MISCONF", "NOREPLICAS"),
    *("NOAUTH", "NOPERM", "UNKILLABLE"),
)
#: What a server that forgot its scripts is given before the batch comes again.
_LOADS = tuple(pack(("SCRIPT", "LOAD", script.source)) for script in (APPEND, RELEASE))


class Sent(Protocol):
    """One or more commands, packed when they are sent."""

    def pack(self) -> tuple[bytes, int]:
        """The commands as they travel, and how many they are; called once."""
        ...

    def answered(self, replies: list[Any]) -> None:
        """Take the reply to each of them; an error that does not pass is one of type `ReplyError`."""
        ...


class Command:
    """One command that may be sent again, and who wants its reply."""

    __slots__ = ("_command", "_receive")

    def __init__(self, command: tuple[Any, ...], receive: Callable[[Any], None]):
        self._command = command
        self._receive = receive

    def pack(self) -> tuple[bytes, int]:
        """See `Sent`."""
        return pack(self._command), 1

    def answered(self, replies: list[Any]) -> None:
        """See `Sent`."""
        self._receive(replies[0])


class Writer:
    """Sends in order, tells the answers in order.

    `reply_timeout_s`: a connection that owes a reply for so long is given up.
    """

    def __init__(self, address: Address, connect_timeout_s: float, reply_timeout_s: float):
        self._link = Link("writer", address, connect_timeout_s, self._ready, self._replies, self._lost)
        self._reply_timeout_s = reply_timeout_s
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Sent] = deque()
        self._batch: list[tuple[Sent, int]] = []
        self._packed = b""
        self._got: list[Any] = []
        self._owed = self._loading = 0
        self._flushing = False
        self._deadline: asyncio.TimerHandle | None = None
        self._sent_at = 0.0
        self._idle = asyncio.Event()
        self._troubled = False

    def send(self, sent: Sent) -> None:
        """Send with the other things of this turn, or as soon as that is possible."""
        self._waiting.append(sent)
        if not (self._flushing or self._batch):
            self._flush_soon()

    async def close(self, seconds: float) -> None:
        """Wait at most so long until all is answered, then give the connection back."""
        if self._waiting or self._batch:
            self._idle.clear()
            try:
                await asyncio.wait_for(self._idle.wait(), seconds)
            except TimeoutError:
                logger.error("%d writes to the store are lost", len(self._waiting) + len(self._batch))
        if self._deadline is not None:
            self._deadline.cancel()
        await self._link.close()

    def _flush_soon(self) -> None:
        self._flushing = True
        pause = self._sent_at + _PACE_S - self._loop.time()
        if pause > 0:
            self._loop.call_later(pause, self._flush)
        else:
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._batch:
            return
        if not self._link.ready:
            self._link.open()
            return
        waiting, batch = self._waiting, self._batch
        pieces: list[bytes] = []
        size = count = 0
        while waiting and size < _BATCH_BYTES:
            sent = waiting.popleft()
            packed, commands = sent.pack()
            batch.append((sent, commands))
            pieces.append(packed)
            size += len(packed)
            count += commands
        if not batch:
            return
        self._packed, self._owed = b"".join(pieces), count
        self._transmit()

    def _transmit(self) -> None:
        self._got, self._loading = [], 0
        self._sent_at = self._loop.time()
        self._link.write(self._packed)
        if self._deadline is None:
            self._deadline = self._loop.call_later(self._reply_timeout_s, self._look)

    def _look(self) -> None:
        """One timer for all batches, which are many a second."""
        self._deadline = None
        if self._batch and self._link.ready:
            left = self._sent_at + self._reply_timeout_s - self._loop.time()
            if left <= 0:
                logger.warning("the store owes a reply for %.1f s: another connection", self._reply_timeout_s)
                self._link.abort()
            self._deadline = self._loop.call_later(max(left, 0.01), self._look)

    def _ready(self) -> None:
        if self._batch:
            self._transmit()
        else:
            self._flush()

    def _lost(self) -> None:
        """What was under way is sent by the next connection."""

    def _replies(self, replies: list[Any]) -> None:
        got = self._got
        got += replies
        if (
            len(got) < self._owed + self._loading
        ):  # one that went missing is missed, and none taken for another
            return
        del got[: self._loading]
        if ReplyError in map(type, got) and self._again(got):
            return
        self._troubled = False
        batch, self._batch, self._got = self._batch, [], []
        start = 0
        for sent, commands in batch:
            try:
                sent.answered(got[start : start + commands])
            except Exception:  # one generation's fault must not be another's
                logger.exception("an answer of the store broke who got it")
            start += commands
        if not self._waiting:
            self._idle.set()
        elif not self._flushing:
            self._flush_soon()

    def _again(self, got: list[Any]) -> bool:
        """Whether the batch is sent again because of an error that passes."""
        errors = {str(reply).partition(" ")[0] for reply in got if type(reply) is ReplyError}
        if "NOSCRIPT" in errors:
            self._got, self._loading = [], len(_LOADS)
            self._link.write(b"".join(_LOADS) + self._packed)
            return True
        passing = errors.intersection(_PASSING)
        if passing:
            if not self._troubled:
                logger.warning("the store cannot write now: %s", ", ".join(sorted(passing)))
            self._troubled = True
            self._loop.call_later(_AGAIN_S, self._link.abort, True)
        return bool(passing)
