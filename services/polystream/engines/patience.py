"""How long an engine may be silent: one lazy timer per answer, not one per token.

Who receives a token sets a flag of its own; the timer asks for it when it fires.
"""

import asyncio
from collections.abc import Callable

from polystream.core.errors import StreamError, UpstreamStalled, UpstreamTimeout

#: Looks within the limit of silence: by one of them at most it is told late.
_LOOKS = 8


class Patience:
    """Calls `on_end` once with what was missed: the first content in `first_s`, or any byte for `stall_s`
    after it.

    The first limit is absolute, so that keep-alive comments do not extend it; the second is about silence, of
    which a comment is none, and is told late by an eighth at most. Both in seconds, from `start`. `heard`
    says, once, whether bytes have come since it was asked last.
    """

    __slots__ = ("_first_s", "_heard", "_loop", "_on_end", "_silent", "_stall_s", "_timer")

    def __init__(
        self, first_s: float, stall_s: float, heard: Callable[[], bool], on_end: Callable[[StreamError], None]
    ):
        self._first_s = first_s
        self._stall_s = stall_s
        self._heard = heard
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._silent = 0  # looks in a row before which nothing had come

    def start(self) -> None:
        """The request is on its way. A second call changes nothing."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._first_s, self._on_end, UpstreamTimeout())

    def content(self) -> None:
        """The first content has come."""
        self._heard()
        self.stop()
        self._look_later()

    def stop(self) -> None:
        """Wait for nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_later(self) -> None:
        self._timer = self._loop.call_later(self._stall_s / _LOOKS, self._look)

    def _look(self) -> None:
        self._silent = 0 if self._heard() else self._silent + 1
        if self._silent < _LOOKS:
            self._look_later()
        else:
            self._on_end(UpstreamStalled())
