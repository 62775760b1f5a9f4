"""A log as server-sent events through sse-starlette, which is handed encoded bytes: its event objects cost 21
µs each.
"""

from sse_starlette.sse import AppStatus, EventSourceResponse
from starlette.types import Send

from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.protocols.body import STREAM_HEADERS, ReaderResponse, pieces

# Ending readers on SIGTERM is ours (edge/drain.py): the library would cut them before they are told to come
# back.
AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]


class LogEventSourceResponse(ReaderResponse, EventSourceResponse):
    """A log as an event stream. The keep-alive is the sink's, so the library's ping is off."""

    def __init__(self, readers: Readers, sink: BufferSink, headers: dict[str, str]):
        self.readers = readers
        self.sink = sink
        EventSourceResponse.__init__(self, pieces(sink), headers=STREAM_HEADERS | headers, ping=0, sep="\n")

    async def stream_to(self, send: Send) -> None:
        """The library's own streaming, without the three tasks a stream in which it waits for what our
        connection tells.
        """
        await self._stream_response(send)
