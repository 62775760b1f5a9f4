"""The writing end of a log: numbers events, appends them to the store, and obeys what the store answers.

The rule to know: the producer keeps a copy of all it said, so whatever a store loses can be sent again.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from polystream.core.errors import StreamError
from polystream.core.events import ATTEMPT_SPAN, Event, Last, Notice, Started, Text, Usage, byte_size
from polystream.core.ports import Store, Verdict
from polystream.core.record import Record

#: Looked up once: an enum's members are slow to reach.
_OK = Verdict.OK


@dataclass(frozen=True, slots=True)
class LogLimits:
    """What a log may hold, its last event included: events (below ATTEMPT_SPAN), and UTF-8 bytes of what they
    say.
    """

    max_events: int
    max_bytes: int


class Log:
    """The producing side of one attempt: numbers, counts, digests and appends, and keeps a copy until the
    end.

    `on_cancel` is called when the record carries the cancel flag, `on_lost` when this attempt may write no
    more, `on_full` when events do not fit the limits. `sealed`: only `end` may follow; `ended`: nothing may.
    """

    __slots__ = (
        *("_attempt", "_before", "_bytes", "_copy", "_done", "_first", "_first_seq", "_id", "_max_bytes"),
        *("_max_events", "_on_cancel", "_on_full", "_on_lost", "_record", "_recreated", "_recreating"),
        *("_store", "ended", "sealed", "tokens"),
    )

    def __init__(
        self,
        store: Store,
        record: Record,
        first: Started,
        limits: LogLimits,
        on_cancel: Callable[[], None],
        on_lost: Callable[[], None],
        on_full: Callable[[], None],
    ):
        self._store = store
        self._record = record
        self._id, self._attempt = record.id, record.attempt
        self._before = record.events
        self._max_events, self._max_bytes = limits.max_events, limits.max_bytes
        self._on_cancel = on_cancel
        self._on_lost = on_lost
        self._on_full = on_full
        self._first = first
        self._first_seq = record.attempt * ATTEMPT_SPAN
        self._copy: list[Event] = [first]
        self._bytes = 0
        self._recreated = False
        self._done = partial(self._answered, False)
        self._recreating: asyncio.Task[None] | None = None
        self.tokens = 0
        self.sealed = self.ended = False

    def append(self, events: list[Event]) -> None:
        """Append events, all or none; nothing once it is sealed, as by events that did not fit.

        The hot path: once for each network read of the engine.
        """
        if self.sealed:
            return
        copy = self._copy
        size, tokens, stored = self._bytes, self.tokens, len(copy)
        for event in events:
            if type(event) is Text:
                text = event.text
                plain = event.logprobs is None and text.isascii()
                size += len(text) if plain else byte_size(event)
                tokens += 1 if event.tokens is None else event.tokens
            else:
                size += byte_size(event)
        if size > self._max_bytes or stored + len(events) >= self._max_events:
            self.sealed = True
            self._on_full()
            return
        self._bytes, self.tokens = size, tokens
        copy += events
        if self._recreating is None:
            self._store.append(self._id, self._attempt, self._first_seq + stored, events, self._done)

    def end(self, last: Last) -> None:
        """Append the last event with the log's count and digest; once."""
        if self.ended:
            return
        last.events = self._before + len(self._copy) + 1
        last.sha256 = digest(self._copy)
        self.abandon()
        self._copy.append(last)
        if self._recreating is None:
            self._send(len(self._copy) - 1)

    def abandon(self) -> None:
        """Write nothing more."""
        self.sealed = self.ended = True

    def estimated_usage(self, request_bytes: int) -> Usage:
        """What was delivered, when no engine said: pieces as tokens, and four bytes of prompt to a token."""
        return Usage(-(-request_bytes // 4), self.tokens, estimated=True)

    def _answered(self, recreated: bool, verdict: Verdict, tail: int, cancel: bool) -> None:
        """Obey, unless the append is from before the log was created again: it says nothing of the new."""
        if verdict is not _OK and recreated is self._recreated:
            self._obey(verdict, tail)
        if cancel and not self.ended:
            self._on_cancel()

    def _obey(self, verdict: Verdict, tail: int) -> None:
        match verdict:
            case Verdict.FENCED:
                self._lose()
            case Verdict.BEHIND:
                self._resend(tail + 1)
            case Verdict.GONE:
                self._recreate()

    def _lose(self) -> None:
        if not self.ended:
            self.abandon()
            self._on_lost()

    def _resend(self, seq: int) -> None:
        """Send the kept copy from `seq` on; an attempt cannot fill a hole before its own first event."""
        start = seq - self._first_seq
        if not 0 <= start < len(self._copy):
            self._lose()
            return
        self._send(start)

    def _send(self, start: int) -> None:
        seq = self._first_seq + start
        self._store.append(self._id, self._attempt, seq, self._copy[start:], self._done)

    def _recreate(self) -> None:
        if self._recreated or self._record.attempt:
            self._lose()
            return
        self._recreated = True
        self._done = partial(self._answered, True)
        self._recreating = asyncio.get_running_loop().create_task(self._create_again())

    async def _create_again(self) -> None:
        try:
            await self._store.create(self._record, self._first)
        except StreamError:
            self._lose()
            return
        self._recreating = None
        self._resend(1)


def digest(events: list[Event]) -> str:
    """Hex SHA-256 of the UTF-8 bytes of all text behind the last `restart`, which voids what was before."""
    said: list[str] = []
    for event in events:
        if type(event) is Text:
            said.append(event.text)
        elif isinstance(event, Notice) and event.kind == "restart":
            said.clear()
    return hashlib.sha256("".join(said).encode()).hexdigest()
