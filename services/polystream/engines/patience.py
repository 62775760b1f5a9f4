"""How long an engine may be silent: one lazy timer per answer, not one per token.

A token costs a look at the clock; the timer finds out, when it fires, whether it was needed.
"""

import asyncio
from collections.abc import Callable

from polystream.core.errors import StreamError, UpstreamStalled, UpstreamTimeout


class Patience:
    """Calls `on_end` once with what was missed: the first content in `first_s`, or any byte for `stall_s`
    after it.

    The first limit is absolute, so that keep-alive comments do not extend it; the second is about silence, of
    which a comment is none. Both in seconds, from `start`.
    """

    __slots__ = ("_first_s", "_heard", "_loop", "_on_end", "_stall_s", "_timer", "waiting")

    def __init__(self, first_s: float, stall_s: float, on_end: Callable[[StreamError], None]):
        self._first_s = first_s
        self._stall_s = stall_s
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._heard = 0.0
        self.waiting = True  #: for the first content

    def start(self) -> None:
        """The request is on its way. A second call changes nothing."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._first_s, self._on_end, UpstreamTimeout())

    def heard(self) -> None:
        """Bytes have come."""
        self._heard = self._loop.time()

    def content(self) -> None:
        """The first content has come; `heard` was called in the same turn."""
        self.waiting = False
        self.stop()
        self._timer = self._loop.call_later(self._stall_s, self._look)

    def stop(self) -> None:
        """Wait for nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        left = self._heard + self._stall_s - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._on_end(UpstreamStalled())
