"""h2's connection with our limits, and the bound on what costs the server work and its client nothing."""

from collections.abc import Callable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

#: Calls that may run at once on a connection.
STREAMS_MAX = 1000
#: Bytes of a request's header fields together, as HTTP/2 counts them.
HEADERS_MAX_BYTES = 16 * 1024
#: Frames a second that ask for work and carry nothing (PING, SETTINGS, PRIORITY, empty DATA, …; any while
#: there are no calls).
CONTROL_MAX = 10_000
#: Calls a second that a client may begin and reset (CVE-2023-44487): more than it can have open at once.
RESETS_MAX = STREAMS_MAX * 3 // 2


class Http2(H2Connection):
    """A server's connection. It remembers fewer streams that are gone than h2 does by itself, 65,536."""

    DEFAULT_MAX_HEADER_LIST_SIZE = HEADERS_MAX_BYTES
    MAX_CLOSED_STREAMS = 2 * STREAMS_MAX

    def __init__(self) -> None:
        config = H2Configuration(
            client_side=False, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        super().__init__(config)
        limits = {
            SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS_MAX_BYTES,
        }
        self.local_settings = Settings(client=False, initial_values=limits)


class Flood(Exception):
    """The client sends more than it may."""


class Floods:
    """Counts within a second of `clock`."""

    __slots__ = ("_clock", "_control", "_resets", "_since")

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._since = clock()
        self._control = self._resets = 0

    def count(self) -> None:
        """A frame that carries nothing. Raises `Flood`."""
        now = self._clock()
        if now - self._since >= 1:
            self._since, self._control, self._resets = now, 0, 0
        self._control += 1
        if self._control > CONTROL_MAX:
            raise Flood

    def count_reset(self) -> None:
        """A call that was reset. Raises `Flood`."""
        self.count()
        self._resets += 1
        if self._resets > RESETS_MAX:
            raise Flood
