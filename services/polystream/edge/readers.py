"""Opens and closes readers for every protocol: a sink, its follower and its place in the pulse belong
together.
"""

from polystream.core.generations import Generations
from polystream.edge.pulse import Pulse
from polystream.edge.sink import BufferSink


class Readers:
    """The readers of one process."""

    def __init__(self, generations: Generations, pulse: Pulse):
        self.generations = generations
        self.pulse = pulse

    async def open(self, id: str, after: int | None, owner: str, sink: BufferSink) -> bool:
        """Feed the sink from `after`; False when the log has ended there.

        Raises `NotFound` or `PositionLost`.
        """
        follower = await self.generations.attach(id, after, owner, sink)
        if follower is None:
            return False
        sink.follower = follower
        self.pulse.add(sink)
        return True

    def close(self, sink: BufferSink) -> None:
        """The reader has left; idempotent."""
        self.pulse.discard(sink)
        if sink.follower is not None:
            sink.follower.close()
