"""The native dialect over gRPC. Messages are serialized once a batch and sent as bytes.

The server is our own (`grpc_connection`): each token goes straight to the transport.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from polystream.core.errors import Internal, PositionLost, StreamError
from polystream.core.events import Batch, Error, Failed
from polystream.core.follower import COME_BACK_MS
from polystream.core.record import ANONYMOUS, Record
from polystream.core.sink import come_back_error
from polystream.dialects import native, proto
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink, Form
from polystream.proto.polystream.v1 import streams_pb2 as pb
from polystream.protocols.grpc_call import Call, Method

S = TypeVar("S")
R = TypeVar("R", bound=bytes | None)

SERVICE = "polystream.v1.Streams"

logger = logging.getLogger(__name__)


def answering(
    handler: Callable[[S, bytes, Call], Awaitable[R]],
) -> Callable[[S, bytes, Call], Awaitable[R | None]]:
    """Translate every exception once, here."""

    @functools.wraps(handler)
    async def answer(self: S, message: bytes, call: Call) -> R | None:
        try:
            return await handler(self, message, call)
        except StreamError as error:
            _fail(call, error.as_event())
        except Exception:
            logger.exception("a gRPC call broke")
            _fail(call, Internal().as_event())
        return None

    return answer


def _fail(call: Call, error: Error) -> None:
    """End the call with the error's status."""
    call.end(proto.rpc_status(error))


class Streams:
    """The service `polystream.v1.Streams`."""

    def __init__(self, readers: Readers):
        self._readers = readers
        self._generations = readers.generations

    def methods(self) -> dict[str, Method]:
        """By path."""
        handlers = {
            "Start": self.start,
            "Follow": self.follow,
            "Cancel": self.cancel,
            "GetStatus": self.get_status,
            "ListModels": self.list_models,
        }
        return {f"/{SERVICE}/{name}": Method(handler) for name, handler in handlers.items()}

    @answering
    async def start(self, message: bytes, call: Call) -> None:
        """Start a generation and stream it."""
        fields = proto.start_fields(message)
        record = await self._generations.start(
            fields.request(),
            ANONYMOUS,
            fields.on_disconnect,
            key=native.idempotency_key(call.metadata.get("idempotency-key"), "idempotency-key"),
        )
        await stream(self._readers, call, record, None, CallSink(proto.Messages()))

    @answering
    async def follow(self, message: bytes, call: Call) -> None:
        """Go on behind a position."""
        request = proto.parse(message, pb.FollowRequest)
        record = await self._generations.status(request.id, ANONYMOUS)
        after = request.after if request.HasField("after") else None
        await stream(self._readers, call, record, after, CallSink(proto.Messages()))

    @answering
    async def cancel(self, message: bytes, call: Call) -> bytes:
        """Cancel; idempotent, also after the end."""
        id = proto.parse(message, pb.CancelRequest).id
        return proto.status(await self._generations.cancel(id, ANONYMOUS)).SerializeToString()

    @answering
    async def get_status(self, message: bytes, call: Call) -> bytes:
        """The status object."""
        id = proto.parse(message, pb.GetStatusRequest).id
        return proto.status(await self._generations.status(id, ANONYMOUS)).SerializeToString()

    @answering
    async def list_models(self, message: bytes, call: Call) -> bytes:
        """The models and their states."""
        return proto.models(await self._generations.models()).SerializeToString()


async def stream(readers: Readers, call: Call, record: Record, after: int | None, sink: "CallSink") -> None:
    """A generation from `after` as a call's answer, to its end, and the status."""
    sink.output = call.output
    # What lies in the transport is the connection's: its pings tell whether the client takes that.
    sink.unsent = lambda: sink.waiting - call.partial
    opened = await readers.open(record.id, after, ANONYMOUS, sink)
    try:
        call.send_initial_metadata([("stream-id", record.id)])
        if opened:
            async with asyncio.timeout(None) as patience:
                sink.stalled = lambda: patience.reschedule(0)
                await _pump(sink, call)
    except TimeoutError:
        sink.come_back("slow", COME_BACK_MS)
    finally:
        readers.close(sink)
    if sink.error is not None:
        _fail(call, sink.error)


class CallSink(BufferSink):
    """The sink of one call, which also keeps the error that becomes the call's status."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        self.unsent = lambda: self.waiting
        self.waiting = 0  #: bytes of messages that the call has not taken
        self.error: Error | None = None

    def write(self, batch: Batch) -> None:
        super().write(batch)
        if isinstance(batch.last, Failed):
            self.error = batch.last.error

    def come_back(self, reason: str, retry_after_ms: int) -> None:
        super().come_back(reason, retry_after_ms)
        self.error = come_back_error(reason, retry_after_ms).as_event()

    def lost(self, after: int) -> None:
        super().lost(after)
        self.error = PositionLost().as_event()

    def cut(self, error: Error) -> None:
        super().cut(error)
        self.error = error


async def _pump(sink: CallSink, call: Call) -> None:
    """Send what the sink gathers, to its end."""
    while True:
        if sink.pieces:
            pieces = sink.take()
            if sink.output is not None and sink.output(pieces):
                continue
            sink.waiting = sum(map(len, pieces))
            for piece in pieces:
                await call.write(piece)
                sink.waiting -= len(piece)
        elif sink.ended:
            return
        else:
            await sink.wake()
