"""One timer for all open readers: keep-alive for the silent ones, the end for those that take nothing.

A timer a reader would cost more than the readers do.
"""

import asyncio
from typing import Protocol

#: Turns of the pulse within the shorter of its two times: how late a heartbeat may come is 1/20 of it.
_TURNS = 20


class Ticked(Protocol):
    """What the pulse keeps alive."""

    def tick(self, now: float, heartbeat_s: float, stall_s: float) -> None:
        """Look at the time, in the loop's seconds."""
        ...


class Pulse:
    """Ticks every open sink.

    `heartbeat_s`: silence before a heartbeat; `stall_s`: standstill before a reader is closed.
    """

    def __init__(self, heartbeat_s: float, stall_s: float):
        self._heartbeat_s = heartbeat_s
        self._stall_s = stall_s
        self._every_s = min(heartbeat_s, stall_s) / _TURNS
        self._open: set[Ticked] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, ticked: Ticked) -> None:
        """Tick this one from now on."""
        self._open.add(ticked)
        if self._timer is None:
            self._arm()

    def discard(self, ticked: Ticked) -> None:
        """Tick it no more."""
        self._open.discard(ticked)

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._every_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._open:
            self._arm()  # before the ticks: whatever they do, there is one timer as long as somebody is open
        now = asyncio.get_running_loop().time()
        for ticked in list(self._open):
            ticked.tick(now, self._heartbeat_s, self._stall_s)
