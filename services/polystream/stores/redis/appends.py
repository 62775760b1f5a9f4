"""The appends of this replica's generations on their way to Redis: gathered, spelt, sent, their answers told.

The rule to know: appends of a generation that wait together become one. So an outage costs little above what
the producer keeps anyway, and above `buffer` events not even that: then only a question is kept, whose answer
(`behind`) has the producer send again.
"""

import logging
from typing import Any

from hiredis import ReplyError

from polystream.core.events import Event, Failed, Finished
from polystream.core.ports import Done, Verdict
from polystream.stores.redis import keys
from polystream.stores.redis.codec import write_event
from polystream.stores.redis.link import pack
from polystream.stores.redis.scripts import APPEND, RELEASE
from polystream.stores.redis.watches import Watches
from polystream.stores.redis.writer import Command, Writer

logger = logging.getLogger(__name__)

#: Looked up once: an enum's members are slow to reach.
_OK, _BEHIND = Verdict.OK, Verdict.BEHIND
_VERDICTS = (Verdict.OK, Verdict.FENCED, Verdict.BEHIND, Verdict.GONE)
#: Most events that one run of the script adds, and most bytes (one event more where a single one is larger):
#: the server does nothing else meanwhile.
_RUN_EVENTS, _RUN_BYTES = 100, 64 * 1024


class Writing:
    """A generation that this replica writes. `owner`: None when it was not created here.

    `head`: the start of an append's command, up to the number of its first event. `tail`: the last event that
    Redis is known to have.
    """

    __slots__ = ("attempt", "head", "id", "owner", "tail", "waiting")

    def __init__(self, id: str, owner: str | None):
        self.id = id
        self.owner = owner
        self.attempt = -1
        self.head = b""
        self.tail = 0
        self.waiting: _Append | None = None


class _Append:
    """One append, or several that waited together. `events`: None when too many wait: then it only asks."""

    __slots__ = ("appends", "count", "done", "events", "first_seq", "further", "most", "writing")

    def __init__(self, appends: "Appends", writing: Writing, first_seq: int, events: list[Event], done: Done):
        self.appends = appends
        self.writing = writing
        self.first_seq = first_seq
        self.events: list[Event] | None = events
        self.count = len(events)
        self.most = len(events) + appends.buffer  # what the producer sends again may be long
        self.done = done
        self.further: list[Done] = []

    def takes(self, first_seq: int, events: list[Event], done: Done) -> bool:
        """Whether it could take a further append in."""
        end = self.first_seq + self.count
        if not self.first_seq <= first_seq <= end:
            return False
        self.further.append(done)
        missing = events[end - first_seq :]
        self.count += len(missing)
        if self.count > self.most:
            self.events = None
        if self.events is not None and missing:
            self.events = self.events + missing if len(self.further) == 1 else _extended(self.events, missing)
        return True

    def pack(self) -> tuple[bytes, int]:
        """The commands: one, but for very many events or very long ones."""
        writing, events = self.writing, self.events
        if writing.waiting is self:
            writing.waiting = None
        if events is None:
            return _command(writing, self.first_seq + self.count, b"0", []), 1
        if len(events) == 1 and not isinstance(events[0], Finished | Failed):
            value = write_event(events[0])
            number = b"%d" % self.first_seq
            word = (writing.head, len(number), number, len(value), value)
            return b"*9%b$%d\r\n%b\r\n$1\r\n0\r\n$%d\r\n%b\r\n" % word, 1
        runs, life = _runs(list(map(write_event, events))), b"0"
        first_seq, packed = self.first_seq, []
        for run in runs:
            if run is runs[-1] and events and isinstance(events[-1], Finished | Failed):
                life = b"%d" % self.appends.retention_ms
            packed.append(_command(writing, first_seq, life, run))
            first_seq += len(run)
        return b"".join(packed), len(packed)

    def answered(self, replies: list[Any]) -> None:
        """Feed the watchers, then tell who appended; the last run's answer is that of all."""
        self.appends.answered(self, replies[-1])


class Appends:
    """What `core.ports.Store.append` is made of; `create` and `watch` ask it who writes here."""

    def __init__(self, writer: Writer, watches: Watches, retention_ms: int, buffer: int):
        self.retention_ms = retention_ms
        self.buffer = buffer
        self._writer = writer
        self._watches = watches
        self._writings: dict[str, Writing] = {}

    def begin(self, id: str, owner: str) -> None:
        """This replica created the log."""
        self._writings[id] = Writing(id, owner)

    def created(self, id: str) -> Writing | None:
        """A log that was created here and goes on."""
        writing = self._writings.get(id)
        return writing if writing is not None and writing.owner is not None else None

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        """See `core.ports.Store.append`."""
        writing = self._writings.get(id)
        if writing is None:
            writing = self._writings[id] = Writing(id, None)
        if attempt != writing.attempt:
            if writing.waiting is not None:  # of another attempt: it keeps its own words
                owner, tail = writing.owner, writing.tail
                writing = self._writings[id] = Writing(id, owner)
                writing.tail = tail
            writing.attempt, writing.head = attempt, _head(id, attempt)
        waiting = writing.waiting
        if waiting is not None and waiting.takes(first_seq, events, done):
            return
        writing.waiting = append = _Append(self, writing, first_seq, events, done)
        self._writer.send(append)

    def answered(self, append: _Append, reply: Any) -> None:
        """Obey Redis' word."""
        id, first_seq, events = append.writing.id, append.first_seq, append.events
        if type(reply) is int:  # nearly every one: ok, and not cancelled
            append.writing.tail = reply
            if events:
                self._watches.added(id, first_seq, events)
            append.done(_OK, reply, False)
            for done in append.further:
                done(_OK, reply, False)
            return
        if isinstance(reply, ReplyError):
            logger.error("the store refuses an append to %s: %s", id, reply)
            reply = (1, -1, 0)
        verdict, tail, cancel = _VERDICTS[reply[0]], reply[1], bool(reply[2])
        append.writing.tail = tail
        if verdict is _OK and events:
            self._watches.added(id, first_seq, events)
        if len(reply) > 3:
            self._end(id, int(reply[3]), reply[4])
        if verdict not in (_OK, _BEHIND):
            self._forget(id)
            self._watches.follow(id)
        self._tell(append, verdict, tail, cancel)

    def _tell(self, append: _Append, verdict: Verdict, tail: int, cancel: bool) -> None:
        append.done(verdict, tail, cancel)
        if not append.further:
            return
        writing = self._writings.get(append.writing.id)
        if verdict is _BEHIND and writing is not None and writing.waiting is not None:
            writing.waiting.further += (
                append.further
            )  # it holds all of theirs: the producer sends again at once
            return
        for done in append.further:
            done(verdict, tail, cancel)

    def _end(self, id: str, until: int, claims: list[bytes]) -> None:
        """The last event is stored: what stands elsewhere learns of it."""
        self._forget(id)
        self._writer.send(Command(("ZREM", keys.OPEN, id), _ignore))
        for key in claims:
            words = ("EVALSHA", RELEASE.digest, "1", key, id, str(until))
            self._writer.send(Command(words, _ignore))

    def _forget(self, id: str) -> None:
        writing = self._writings.get(id)
        if writing is not None and writing.waiting is None:
            del self._writings[id]


def _extended(events: list[Event], more: list[Event]) -> list[Event]:
    events += more
    return events


def _head(id: str, attempt: int) -> bytes:
    words = ("EVALSHA", APPEND.digest, "2", keys.log(id), keys.record(id), str(attempt))
    return pack(words)[2:]


def _command(writing: Writing, first_seq: int, life: bytes, values: list[bytes]) -> bytes:
    """An append of any number of events; the third key only with a last event."""
    names = [keys.log(writing.id), keys.record(writing.id)]
    if life != b"0":
        names.append(keys.claims(writing.id))
    words = ("EVALSHA", APPEND.digest, str(len(names)), *names, str(writing.attempt), str(first_seq), life)
    return pack((*words, *values))


def _runs(values: list[bytes]) -> list[list[bytes]]:
    runs: list[list[bytes]] = [[]]
    size = 0
    for value in values:
        if size > _RUN_BYTES or len(runs[-1]) == _RUN_EVENTS:
            runs.append([])
            size = 0
        runs[-1].append(value)
        size += len(value)
    return runs


def _ignore(reply: object) -> None:
    pass
