"""Logs in this process's memory: for one process on its own, never shared by two.

Appends are answered in the same turn. Events are kept as they are, without their encodings.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

from polystream.core.errors import NotFound, PositionLost
from polystream.core.events import ATTEMPT_SPAN, Batch, Event, Started, byte_size
from polystream.core.ports import Done, Unwatch, Verdict
from polystream.core.record import Record, State

#: Bytes of events that one `read` gives at most (one event more where a single one is larger).
_READ_BYTES = 64 * 1024
#: Bytes counted for an event's fixed parts, so that a read of tiny events is bounded too.
_EVENT_BYTES = 64
#: Looked up once: an enum's members are slow to reach.
_OK = Verdict.OK

Receive = Callable[[Batch], None]


@dataclass(slots=True)
class _Entry:
    """One generation. `segments`: the events of each attempt behind the number of their first.

    `latest`: the events of the last one. `next_seq`: where its next append begins, -1 when it has none: the
    log is closed, or its attempt has not written yet.

    The record's counts and flag are brought up to date when it is read. So an append touches few objects:
    among hundreds of streams each of them is a cache miss.
    """

    record: Record
    segments: list[tuple[int, list[Event]]]
    latest: list[Event]
    attempt: int
    next_seq: int
    cancel: bool = False
    watchers: tuple[Receive, ...] = ()

    @property
    def tail(self) -> int:
        first, events = self.segments[-1]
        return first + len(events) - 1

    def present(self) -> Record:
        """A copy of the record as it stands."""
        events = sum(len(events) for _, events in self.segments)
        return replace(self.record, events=events, last_seq=self.tail, cancel=self.cancel)


class MemoryStore:
    """See `core.ports.Store` for what it guarantees.

    `retention_s`: life of a log after its last event, seconds.
    """

    kind = "memory"
    durable = False

    def __init__(self, retention_s: float):
        self._retention_s = retention_s
        self._entries: dict[str, _Entry] = {}
        self._keys: dict[str, tuple[str, str]] = {}
        self._keys_of: dict[str, list[str]] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._cancelled: Callable[[str], None] = lambda id: None

    async def create(self, record: Record, started: Started) -> None:
        """Write the record and seq 0."""
        events: list[Event] = [started]
        next_seq = -1 if record.attempt else 1
        self._entries[record.id] = _Entry(replace(record), [(0, events)], events, record.attempt, next_seq)

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        """Append in this turn; see `core.ports.Store.append`."""
        entry = self._entries.get(id)
        if entry is None:
            done(Verdict.GONE, -1, False)
            return
        if first_seq == entry.next_seq and attempt == entry.attempt and events:  # nearly every append
            entry.latest += events
            batch = Batch(first_seq, events)
            self._publish(entry, batch)
            done(_OK, batch.last_seq, entry.cancel)
        else:
            verdict, tail = self._append_again(entry, attempt, first_seq, events)
            done(verdict, tail, entry.cancel)

    async def watch(self, id: str, owner: str, receive: Receive) -> Unwatch:
        """Call `receive` with what is stored from now on."""
        entry = self._entry(id, owner)
        entry.watchers += (receive,)

        def unwatch() -> None:
            entry.watchers = tuple(watcher for watcher in entry.watchers if watcher is not receive)

        return unwatch

    async def read(self, id: str, owner: str, after: int) -> list[Batch]:
        """Stored events behind `after`, about 64 KiB at a time."""
        segments = self._entry(id, owner).segments
        index = bisect_right(segments, after, key=lambda segment: segment[0]) - 1
        if index < 0:
            index, start = 0, 0
        else:
            first, events = segments[index]
            start = after + 1 - first
            if start > len(events):
                raise PositionLost
            if start == len(events):
                index, start = index + 1, 0
        if index == len(segments):
            return []
        first, events = segments[index]
        return [Batch(first + start, _piece(events, start))]

    async def record(self, id: str, owner: str) -> Record:
        """A copy of the record."""
        return self._entry(id, owner).present()

    async def cancel(self, id: str, owner: str) -> Record:
        """Set the cancel flag of a running generation."""
        entry = self._entry(id, owner)
        if entry.record.state is State.RUNNING:
            entry.cancel = True
            self._cancelled(id)
        return entry.present()

    def on_cancel(self, call: Callable[[str], None]) -> None:
        """Have `call` told of each cancel."""
        self._cancelled = call

    async def claim(self, key: str, id: str, digest: str, replacing: str | None = None) -> tuple[str, str]:
        """Bind the key, or give its holder.

        A key whose generation was never created lasts until it is replaced.
        """
        holder = self._keys.get(key)
        if holder is None or holder[0] == replacing:
            self._keys[key] = holder = (id, digest)
            self._keys_of.setdefault(id, []).append(key)
        return holder

    async def check(self) -> None:
        """Always there."""

    async def close(self) -> None:
        """Stop the timers."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _entry(self, id: str, owner: str) -> _Entry:
        entry = self._entries.get(id)
        if entry is None or entry.record.owner != owner:
            raise NotFound
        return entry

    def _append_again(
        self, entry: _Entry, attempt: int, first_seq: int, events: list[Event]
    ) -> tuple[Verdict, int]:
        """An append that is not simply the next: repeated, of another attempt, too early or too late."""
        record = entry.record
        expected = max(entry.tail + 1, attempt * ATTEMPT_SPAN)
        missing = list(events[max(0, expected - first_seq) :])
        if record.attempt != attempt or (record.state is not State.RUNNING and missing):
            return Verdict.FENCED, entry.tail
        if first_seq > expected:
            return Verdict.BEHIND, expected - 1
        if missing:
            self._add(entry, Batch(expected, missing))
        return Verdict.OK, entry.tail

    def _add(self, entry: _Entry, batch: Batch) -> None:
        if batch.first_seq == entry.tail + 1:
            entry.latest.extend(batch.events)
        else:
            entry.latest = list(batch.events)
            entry.segments.append((batch.first_seq, entry.latest))
        self._publish(entry, batch)

    def _publish(self, entry: _Entry, batch: Batch) -> None:
        """Close the log behind its last event and tell the watchers, once the batch is stored."""
        entry.next_seq = batch.last_seq + 1
        if batch.last is not None:
            entry.next_seq = -1
            entry.record.close(batch.last)
            self._forget_later(entry.record.id)
        for receive in entry.watchers:
            receive(batch)

    def _forget_later(self, id: str) -> None:
        def forget() -> None:
            self._timers.discard(timer)
            del self._entries[id]
            for key in self._keys_of.pop(id, []):
                if (holder := self._keys.get(key)) and holder[0] == id:
                    del self._keys[key]

        timer = asyncio.get_running_loop().call_later(self._retention_s, forget)
        self._timers.add(timer)


def _piece(events: list[Event], start: int) -> list[Event]:
    """Events from `start` on until they are about `_READ_BYTES`."""
    size = 0
    for end in range(start, len(events)):
        size += byte_size(events[end]) + _EVENT_BYTES
        if size > _READ_BYTES:
            return events[start : end + 1]
    return events[start:]
