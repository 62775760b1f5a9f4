"""The record that stands beside each log from its first moment, and what is told of it.

It shares the log's life, is created with `started` in one step, and is what takeover, resumed folds and
status need.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from polystream.core.events import Error, Failed, Last
from polystream.core.request import OnDisconnect, Request

#: The owner of every generation while no door asks who is calling.
ANONYMOUS = "anonymous"


class State(StrEnum):
    """Where a generation is in its life."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(slots=True)
class Record:
    """Everything about one generation that is not its events.

    `created`: seconds since 1970. `dialect` and `echo`: the dialect it was started in and what that must
    repeat.
    `on_cut`: `restart` or `fail`, for a takeover that cannot continue. `attempt` and `replica`: who may
    append.
    `watched`: seconds since 1970 when a reader was last seen. `fold`: version of a derived numbering, 0 for
    none.
    """

    id: str
    owner: str
    request: Request
    model: str
    engine: str
    created: int
    dialect: str = "native"
    echo: Mapping[str, Any] = field(default_factory=dict)
    on_disconnect: OnDisconnect = OnDisconnect.GRACE
    on_cut: str = "fail"
    attempt: int = 0
    replica: str = ""
    cancel: bool = False
    watched: float = 0
    fold: int = 0
    state: State = State.RUNNING
    events: int = 0
    last_seq: int | None = None
    reason: str | None = None
    error: Error | None = None

    def close(self, last: Last) -> None:
        """Take over how the generation ended from its last event."""
        if isinstance(last, Failed):
            self.state, self.error = State.FAILED, last.error
        else:
            self.state, self.reason = State.FINISHED, last.reason

    @property
    def may_be_joined(self) -> bool:
        """Whether an idempotent start may follow it: not when it was cancelled or failed in a way that may
        pass.
        """
        if self.cancel or self.reason == "cancelled":
            return False
        return not (self.error is not None and self.error.retryable)
