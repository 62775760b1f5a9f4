"""What the core asks of engines, stores and sinks, and the guarantees it relies on."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from polystream.core.events import Batch, Error, Event, Started, Usage
from polystream.core.record import Record
from polystream.core.request import Request

Emit = Callable[[list[Event]], None]
Unwatch = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an engine's answer ended: a reason of `REASONS`, and what the engine says of cost and model, if it
    does.
    """

    reason: str
    usage: Usage | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A name clients may ask for. `state`: `ready` or `unavailable`."""

    id: str
    state: str


class Engine(Protocol):
    """Turns a request into events."""

    @property
    def kind(self) -> str:
        """Name of the kind, as `started.engine` carries it."""
        ...

    def check(self, request: Request) -> None:
        """Refuse, before any work, what it cannot do. Raises a `StreamError` that names the field."""
        ...

    async def generate(self, request: Request, emit: Emit) -> Ending:
        """Run one request to its end, calling `emit` synchronously with a list of events for each network
        read.

        Emits no `started` and no last event. Cancelling the call stops the engine at once. After it returned,
        raised
        or was cancelled it emits nothing more. Raises a `StreamError`; what it emitted before stands.
        """
        ...

    async def models(self) -> list[Model]:
        """The models it serves, with their state; answered within seconds, never raises."""
        ...

    async def close(self) -> None:
        """Give back connections and threads."""
        ...


class Verdict(Enum):
    """A store's word on an append."""

    OK = "ok"  #: stored, or already there from this attempt
    FENCED = "fenced"  #: another attempt owns the generation, or it has ended: write nothing more
    BEHIND = "behind"  #: the log ends before `first_seq`: send again from `tail` + 1
    GONE = "gone"  #: there is no such log


#: A store's answer to an append: the verdict, the number of the log's last event (-1: there is none), and the
#: cancel flag. No object: there is an answer to each append.
Done = Callable[[Verdict, int, bool], None]


class Store(Protocol):
    """Keeps records and logs. Every reading call takes the owner; a foreign owner sees `NotFound`.

    Raises `StoreUnavailable` from any coroutine when it cannot be reached.
    """

    @property
    def kind(self) -> str:
        """Name of the kind, for /readyz."""
        ...

    @property
    def durable(self) -> bool:
        """Whether logs outlive this process, so that a reader told to come back finds its own elsewhere."""
        ...

    async def create(self, record: Record, started: Started) -> None:
        """Write the record and seq 0 in one step. The id must be new, unless its log is gone."""
        ...

    def append(self, id: str, attempt: int, first_seq: int, events: list[Event], done: Done) -> None:
        """Append events numbered from `first_seq`; idempotent. Never blocks; calls `done` once, now or later.

        The caller leaves the list alone from then on.

        Watchers receive what was added after it is stored and before `done` is called. A last event closes
        the log, and its life ends RETENTION_S later.
        """
        ...

    async def watch(self, id: str, owner: str, receive: Callable[[Batch], None]) -> Unwatch:
        """Have `receive` called with every batch stored from now on, in order, until the returned call."""
        ...

    async def read(self, id: str, owner: str, after: int) -> list[Batch]:
        """Stored events behind `after` (-1: from the start), in order, a bounded number of bytes at a time.

        Empty at the end of what is stored. Raises `NotFound`, or `PositionLost` when the log does not hold
        `after`.
        """
        ...

    async def record(self, id: str, owner: str) -> Record:
        """The record with its present state. Raises `NotFound`."""
        ...

    async def cancel(self, id: str, owner: str) -> Record:
        """Set the cancel flag (no effect after the end) and give the record. Raises `NotFound`."""
        ...

    def on_cancel(self, call: Callable[[str], None]) -> None:
        """Have `call` told the id of each generation whose cancel flag is set, by whatever replica.

        A hint, at most once: what counts is the flag, which the record and each answer to an append carry.
        """
        ...

    async def claim(self, key: str, id: str, digest: str, replacing: str | None = None) -> tuple[str, str]:
        """Bind an idempotency key to (id, digest) if it is free or bound to `replacing`; who holds it now.

        Kept as long as the log of the id that holds it.
        """
        ...

    async def check(self) -> None:
        """Raises `StoreUnavailable` when generations cannot be served now."""
        ...

    async def close(self) -> None:
        """Give back connections and timers."""
        ...


class Sink(Protocol):
    """Where one reader's events go. None of its methods blocks or raises."""

    @property
    def full(self) -> bool:
        """Whether it is past its high-water mark: it is fed no more until it calls `Follower.drained`."""
        ...

    @property
    def resumable(self) -> bool:
        """Whether its form can tell a reader to come back; others are kept on drain."""
        ...

    def write(self, batch: Batch) -> None:
        """Take the next events."""
        ...

    def come_back(self, reason: str, retry_after_ms: int) -> None:
        """Tell the reader to come back with its position (`drain`, `store`, `slow`) and end."""
        ...

    def lost(self, after: int) -> None:
        """Tell the reader that its position is lost, and end."""
        ...

    def cut(self, error: Error) -> None:
        """End now so that it cannot look whole, after an error in the form's words where it has them."""
        ...
