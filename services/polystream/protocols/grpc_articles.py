"""`stream.ResponseStreamingService` of the article, over gRPC, and through Envoy over gRPC-Web.

Its messages have no word for trouble, so everything but a good end is a status.
"""

from polystream.core.events import Batch
from polystream.core.record import ANONYMOUS
from polystream.core.request import OnDisconnect
from polystream.dialects import articles, articles_request
from polystream.edge.readers import Readers
from polystream.protocols.grpc import CallSink, answering, stream
from polystream.protocols.grpc_call import Call, Method

SERVICE = "stream.ResponseStreamingService"


class ResponseStreaming:
    """The service."""

    def __init__(self, readers: Readers):
        self._readers = readers

    def methods(self) -> dict[str, Method]:
        """By path."""
        return {f"/{SERVICE}/stream": Method(self.stream)}

    @answering
    async def stream(self, message: bytes, call: Call) -> None:
        """Start a generation and stream its text; a client that leaves ends it."""
        asked = articles_request.message(message).request()
        record = await self._readers.generations.start(
            asked, ANONYMOUS, OnDisconnect.CANCEL, dialect="articles"
        )
        await stream(self._readers, call, record, None, _Sink(articles.Messages()))


class _Sink(CallSink):
    """Its form tells why an answer broke, for ends that are none of failures."""

    def __init__(self, form: articles.Messages) -> None:
        super().__init__(form)
        self._articles = form

    def write(self, batch: Batch) -> None:
        super().write(batch)
        self.error = self.error or self._articles.error
