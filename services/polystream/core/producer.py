"""Runs the engine for one generation and writes its log to the one last event.

The only place that decides how a generation ends, and the only one that looks at a cancelled task.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from polystream.core.errors import Internal, StreamError, TooLarge
from polystream.core.events import Failed, Finished, Last, Started
from polystream.core.log import Log, LogLimits
from polystream.core.ports import Ending, Engine, Store
from polystream.core.record import Record
from polystream.core.request import OnDisconnect, Request

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a generation: its log, its life and how long it runs without a reader, both in seconds."""

    log: LogLimits
    generation_max_s: float
    orphan_grace_s: float


class Producer:
    """One generation being produced by this replica; `on_end` is called when it is over."""

    __slots__ = (
        *("_deadline", "_engine", "_limits", "_log", "_loop", "_on_end", "_orphaned", "_readers", "_stopped"),
        *("_task", "record"),
    )

    def __init__(
        self,
        store: Store,
        engine: Engine,
        record: Record,
        started: Started,
        limits: Limits,
        on_end: Callable[[str], None],
    ):
        self.record = record
        self._engine = engine
        self._limits = limits
        self._on_end = on_end
        self._log = Log(store, record, started, limits.log, self.cancel, self.abort, self._stop_full)
        self._readers = 0
        self._orphaned: asyncio.TimerHandle | None = None
        self._stopped: Last | None = None
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(engine.generate(record.request, self._log.append))
        self._task.add_done_callback(self._finish)
        self._deadline = self._loop.call_later(limits.generation_max_s, self._stop, Finished("budget"))
        if record.on_disconnect is OnDisconnect.GRACE:
            self._wait_for_reader()

    def cancel(self) -> None:
        """Stop the engine; the log ends with `finished(cancelled)`."""
        self._stop(Finished("cancelled"))

    def abort(self) -> None:
        """Stop the engine and write nothing: the log is another's, or this process ends."""
        self._log.abandon()
        self._task.cancel()

    def reader_came(self) -> None:
        """A reader of this replica follows."""
        self._readers += 1
        if self._orphaned is not None:
            self._orphaned.cancel()

    def reader_left(self, invited: bool) -> None:
        """A reader is gone; `invited`: it was told to come back, which a generation waits for whatever its
        mode.
        """
        self._readers -= 1
        if self._readers or self._log.ended:
            return
        match self.record.on_disconnect:
            case OnDisconnect.CANCEL if not invited:
                self.cancel()
            case OnDisconnect.CANCEL | OnDisconnect.GRACE:
                self._wait_for_reader()

    def _wait_for_reader(self) -> None:
        self._orphaned = self._loop.call_later(self._limits.orphan_grace_s, self.cancel)

    def _stop_full(self) -> None:
        self._stop(Failed(TooLarge("The answer grew above what a log may hold.").as_event()))

    def _stop(self, last: Last) -> None:
        if self._stopped is None and not self._log.ended:
            self._stopped = last
            self._log.sealed = True
            self._task.cancel()

    def _finish(self, task: "asyncio.Task[Ending]") -> None:
        """Write the last event; in a callback, so that it also runs for a task that was cancelled before it
        began.
        """
        self._deadline.cancel()
        if self._orphaned is not None:
            self._orphaned.cancel()
        outcome = self._outcome(task)
        last = self._stopped or outcome
        if last is not None:
            last.usage = last.usage or self._log.estimated_usage(request_bytes(self.record.request))
            self._log.end(last)
        self._on_end(self.record.id)

    def _outcome(self, task: "asyncio.Task[Ending]") -> Last | None:
        if task.cancelled():
            if task.cancelling():
                return None  # aborted: nothing may be written
            logger.error("generation %s broke: its engine let a cancellation of its own out", self.record.id)
            return Failed(Internal().as_event())
        error = task.exception()
        if error is None:
            ending = task.result()
            return Finished(ending.reason, ending.usage, ending.model)
        if isinstance(error, StreamError):
            return Failed(error.as_event())
        logger.error("generation %s broke", self.record.id, exc_info=error)
        return Failed(Internal().as_event())


def request_bytes(request: Request) -> int:
    """UTF-8 bytes of a request's words, for estimates."""
    contents = [request.prompt or "", *(message.content or "" for message in request.messages)]
    words = [content if isinstance(content, str) else repr(content) for content in contents]
    return sum(len(word.encode("utf-8", "replace")) for word in words)
