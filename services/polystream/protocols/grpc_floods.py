"""The bound on what costs the server work and its client nothing."""

from collections.abc import Callable

from polystream.protocols.grpc_http2 import STREAMS_MAX

#: Frames a second that ask for work and carry nothing (PING, SETTINGS, PRIORITY, empty DATA, frames of calls
#: that are gone, …; any while there are no calls).
CONTROL_MAX = 10_000
#: As how many such frames a call counts that is one too many, which a client can know, and one that is none.
REFUSED_FRAMES, NO_CALL_FRAMES = 20, 3
#: Calls a second that a client may begin and have reset (CVE-2023-44487, CVE-2025-8671): more than it can
#: have open at once.
RESETS_MAX = STREAMS_MAX * 3 // 2


class Flood(Exception):
    """The client sends more than it may."""


class Floods:
    """Counts within a second of `clock`."""

    __slots__ = ("_clock", "_control", "_resets", "_since")

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._since = clock()
        self._control = self._resets = 0

    def count(self, frames: int = 1) -> None:
        """A frame that carries nothing, as dear as so many. Raises `Flood`."""
        now = self._clock()
        if now - self._since >= 1:
            self._since, self._control, self._resets = now, 0, 0
        self._control += frames
        if self._control > CONTROL_MAX:
            raise Flood

    def count_reset(self) -> None:
        """A call that was reset. Raises `Flood`."""
        self.count()
        self._resets += 1
        if self._resets > RESETS_MAX:
            raise Flood
