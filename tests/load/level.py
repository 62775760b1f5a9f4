"""The loads: their shapes and bounds. ``request`` prices a stream, ``c200`` a token, ``hold`` the memory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """One load. Ends after ``streams``, or after ``seconds`` and 5 more for the streams under way."""

    name: str
    tokens: int
    delay_us: int  #: between tokens; 0: as fast as they are taken
    first_us: int  #: before the first token
    concurrency: int
    streams: int
    seconds: float
    spread_us: int | None = None  #: time over which the clients arrive; by default one delay


#: Pools filled and code warm before anything is measured; also shows whether streams get through at all.
WARM = Level("warm", 5, 1_000, 0, concurrency=8, streams=80, seconds=10)

#: One token a stream: what a stream costs.
REQUEST = Level("request", 1, 0, 0, concurrency=8, streams=2000, seconds=2)

#: 200 streams of 50 tokens/s: what a token costs, and how late it comes.
C200 = Level("c200", 50, 20_000, 20_000, concurrency=200, streams=600, seconds=6)

MEASURED = (REQUEST, C200)

#: Memory is taken from ``HOLD_FROM_S`` to ``HOLD_TO_S``: after all clients have come (2 s) and got their
#: first token, before the first stream ends (7 s).
HOLD_FROM_S, HOLD_TO_S = 4.5, 6.5

#: Streams held at once; the lower number is for a peer that the higher one is too much for.
HOLD_STREAMS = (1000, 200)


def hold(streams: int) -> Level:
    """Many open streams that do little: a token every two seconds."""
    return Level("hold", 4, 2_000_000, 1_000_000, streams, streams, seconds=8, spread_us=2_000_000)
