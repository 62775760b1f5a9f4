"""A log as server-sent events through sse-starlette, which is handed encoded bytes: its event objects cost 21
µs each.
"""

from sse_starlette.sse import AppStatus, EventSourceResponse
from starlette.types import Receive, Scope, Send

from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.protocols.body import STREAM_HEADERS, pieces, stream_to_the_end

# Ending readers on SIGTERM is ours (edge/drain.py): the library would cut them before they are told to come
# back.
AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]


class LogEventSourceResponse(EventSourceResponse):
    """A log as an event stream. The keep-alive is the sink's, so the library's ping is off."""

    def __init__(self, readers: Readers, sink: BufferSink, headers: dict[str, str]):
        super().__init__(pieces(sink), headers=STREAM_HEADERS | headers, ping=0, sep="\n")
        self._readers = readers
        self._sink = sink

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream to the end of the log or of the connection.

        By the library's own streaming, without the three tasks in which it waits for what our connection
        tells.
        """
        await stream_to_the_end(self._readers, self._sink, self._stream_response, scope, receive, send)
