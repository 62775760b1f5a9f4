"""What the tests of the core share: an engine and readers that the test drives."""

import asyncio
import contextlib
import hashlib
import itertools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from polystream.core.errors import NotFound, StreamError
from polystream.core.events import Batch, Error, Event, Notice, Started, Text, Usage
from polystream.core.follower import Follower
from polystream.core.generations import Generations
from polystream.core.log import LogLimits
from polystream.core.ports import Emit, Ending, Model, Store, Verdict
from polystream.core.producer import Limits
from polystream.core.record import Record
from polystream.core.request import Message, Request
from polystream.stores.memory import MemoryStore

OWNER = "anonymous"
#: Opens an empty store with the given retention, seconds.
OpenStore = Callable[[float], Awaitable[Store]]
LIMITS = Limits(LogLimits(max_events=1000, max_bytes=100_000), generation_max_s=3600, orphan_grace_s=60)

_numbers = itertools.count()


def request(prompt: str = "Say hello.", **fields: Any) -> Request:
    """A request with one user message."""
    return Request((Message("user", prompt),), **({"model": "m"} | fields))


def record(**fields: Any) -> Record:
    """A record under an id of its own."""
    id = f"gen_test{next(_numbers)}"
    made = Record(id, OWNER, request(), "m", "held", 1_796_057_692)
    return replace(made, **fields)


def started(record: Record) -> Started:
    """The first event of the record's log."""
    return Started(record.id, record.model, record.engine, record.created)


def texts(*pieces: str) -> list[Event]:
    """A text event for each piece."""
    return [Text(piece) for piece in pieces]


def numbered(batches: Iterable[Batch]) -> list[tuple[int, Event]]:
    """The events of some batches with their numbers."""
    return [pair for batch in batches for pair in enumerate(batch.events, batch.first_seq)]


def text_of(events: Iterable[Event]) -> str:
    """The text that counts: what stands behind the last restart."""
    text = ""
    for event in events:
        if isinstance(event, Notice) and event.kind == "restart":
            text = ""
        elif isinstance(event, Text):
            text += event.text
    return text


def digest(text: str) -> str:
    """Hex SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


class Answer(NamedTuple):
    """A store's answer to an append, as `ports.Done` is told it."""

    verdict: Verdict
    tail: int = -1
    cancel: bool = False


async def append(store: Store, id: str, first_seq: int, events: list[Event], attempt: int = 0) -> Answer:
    """The store's answer to an append; a second answer would raise."""
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    store.append(id, attempt, first_seq, events, lambda *said: answer.set_result(Answer(*said)))
    return await asyncio.wait_for(answer, 5)


async def stored(store: Store, id: str, after: int = -1) -> list[tuple[int, Event]]:
    """Everything the log holds behind `after`, read to its end."""
    events: list[tuple[int, Event]] = []
    while piece := numbered(await store.read(id, OWNER, events[-1][0] if events else after)):
        events += piece
    return events


async def until(happened: Callable[[], object]) -> None:
    """Give way until it happened; five seconds at most."""
    async with asyncio.timeout(5):
        while not happened():  # noqa: ASYNC110 - conditions of any kind, which no event announces
            await asyncio.sleep(0.001)


async def gone(store: Store, id: str) -> None:
    """Wait until the store has forgotten that id; five seconds at most."""
    with contextlib.suppress(NotFound):
        async with asyncio.timeout(5):
            while True:
                await store.record(id, OWNER)
                await asyncio.sleep(0.005)


class Run:
    """One call of the engine: the test emits and ends. `stopped`: the call was cancelled."""

    def __init__(self, request: Request, emit: Emit):
        self.request = request
        self.stopped = False
        self.ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._emit = emit

    def emit(self, *events: Event) -> None:
        """What one network read brings."""
        self._emit(list(events))

    def say(self, *pieces: str) -> None:
        """Text events, together."""
        self._emit(texts(*pieces))

    def end(self, reason: str = "stop", usage: Usage | None = None, model: str | None = None) -> None:
        """Return."""
        self.ending.set_result(Ending(reason, usage, model))

    def fail(self, error: BaseException) -> None:
        """Raise."""
        self.ending.set_exception(error)


class HeldEngine:
    """An engine that does what the test says: see `runs`."""

    kind = "held"

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.offered = [Model("m", "ready"), Model("other", "ready")]
        self.refusal: StreamError | None = None

    @property
    def run(self) -> Run:
        """The latest call."""
        return self.runs[-1]

    def check(self, request: Request) -> None:
        """Raise the refusal, if there is one."""
        if self.refusal is not None:
            raise self.refusal

    async def generate(self, request: Request, emit: Emit) -> Ending:
        """Wait for the test's word."""
        run = Run(request, emit)
        self.runs.append(run)
        try:
            return await run.ending
        finally:
            run.stopped = run.ending.cancelled()

    async def models(self) -> list[Model]:
        """What it offers."""
        return self.offered

    async def close(self) -> None:
        """Nothing to give back."""


class HeldSink:
    """A reader that takes when told to. Full when it holds `high_water` bytes or more; never, without."""

    def __init__(self, high_water: int | None = None, *, resumable: bool = True):
        self.resumable = resumable
        self.held: list[Batch] = []
        self.taken: list[Batch] = []
        self.trouble: list[object] = []
        self.held_bytes = self.most_held = 0
        self._high_water = high_water

    @property
    def full(self) -> bool:
        """Past its high-water mark."""
        return self._high_water is not None and self.held_bytes >= self._high_water

    @property
    def events(self) -> list[tuple[int, Event]]:
        """Everything it was ever given."""
        return numbered(self.taken + self.held)

    @property
    def seqs(self) -> list[int]:
        """Numbers of everything it was ever given."""
        return [seq for seq, _ in self.events]

    @property
    def text(self) -> str:
        """The text it was given."""
        return text_of(event for _, event in self.events)

    def take(self, follower: Follower) -> None:
        """Take all that waits."""
        self.taken += self.held
        self.held, self.held_bytes = [], 0
        follower.drained()

    def write(self, batch: Batch) -> None:
        """Hold."""
        self.held.append(batch)
        self.held_bytes += batch.size
        self.most_held = max(self.most_held, self.held_bytes)

    def come_back(self, reason: str, retry_after_ms: int) -> None:
        """Note."""
        self.trouble.append((reason, retry_after_ms))

    def lost(self, after: int) -> None:
        """Note."""
        self.trouble.append(("lost", after))

    def cut(self, error: Error) -> None:
        """Note."""
        self.trouble.append(("cut", error.code))


def generations(
    engine: HeldEngine, store: Store | None = None, *, default_model: str = "", **limits: Any
) -> Generations:
    """A replica over an engine; `limits`: changes to `LIMITS`, those of the log among them."""
    log = {name: limits.pop(name) for name in ("max_events", "max_bytes") if name in limits}
    bounds = replace(LIMITS, log=replace(LIMITS.log, **log), **limits)
    store = store or MemoryStore(retention_s=3600)
    return Generations(store, engine, bounds, replica="here", default_model=default_model)
