"""The native dialect over gRPC. Messages are serialized once a batch and sent as bytes.

The handlers are registered by hand for that: generated ones serialize a message object each.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc_status.rpc_status import to_status

from polystream.core.errors import Internal, PositionLost, StreamError, TooLarge
from polystream.core.events import Batch, Error, Failed
from polystream.core.follower import COME_BACK_MS
from polystream.core.record import ANONYMOUS, Record
from polystream.core.sink import come_back_error
from polystream.dialects import native, proto
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.proto.polystream.v1 import streams_pb2 as pb

Context = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[["Streams", bytes, Context], Awaitable[Any]]

SERVICE = "polystream.v1.Streams"

logger = logging.getLogger(__name__)


def _answering(handler: Handler) -> Handler:
    """Translate every exception once, here."""

    @functools.wraps(handler)
    async def answer(self: "Streams", message: bytes, context: Context) -> Any:
        try:
            self.check_size(message)
            return await handler(self, message, context)
        except StreamError as error:
            await _abort(context, error.as_event())
        except Exception as error:
            if isinstance(error, grpc.aio.AbortError | grpc.RpcError):
                raise
            logger.exception("a gRPC call broke")
            await _abort(context, Internal().as_event())

    return answer


async def _abort(context: Context, error: Error) -> None:
    """End the call with the error's status; nothing is left to do when the call is gone."""
    try:
        await context.abort_with_status(to_status(proto.rpc_status(error)))
    except grpc.aio.AbortError:
        raise
    except Exception as gone:
        logger.debug("a call was gone before its status: %s", gone)


class Streams:
    """The service `polystream.v1.Streams`. `request_max_bytes`: largest request message."""

    def __init__(self, readers: Readers, request_max_bytes: int):
        self._readers = readers
        self._generations = readers.generations
        self._request_max_bytes = request_max_bytes

    def handlers(self) -> grpc.GenericRpcHandler:
        """For `grpc.aio.Server.add_generic_rpc_handlers`: bytes in, bytes out."""
        streams, unary = grpc.unary_stream_rpc_method_handler, grpc.unary_unary_rpc_method_handler
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Start": streams(self.start),
                "Follow": streams(self.follow),
                "Cancel": unary(self.cancel),
                "GetStatus": unary(self.get_status),
                "ListModels": unary(self.list_models),
            },
        )

    @_answering
    async def start(self, message: bytes, context: Context) -> None:
        """Start a generation and stream it."""
        fields = proto.start_fields(message)
        metadata = {name: str(value) for name, value in context.invocation_metadata() or ()}
        record = await self._generations.start(
            fields.request(),
            ANONYMOUS,
            fields.on_disconnect,
            key=native.idempotency_key(metadata.get("idempotency-key"), "idempotency-key"),
        )
        await self._stream(context, record, None)

    @_answering
    async def follow(self, message: bytes, context: Context) -> None:
        """Go on behind a position."""
        request = proto.parse(message, pb.FollowRequest)
        record = await self._generations.status(request.id, ANONYMOUS)
        await self._stream(context, record, request.after if request.HasField("after") else None)

    @_answering
    async def cancel(self, message: bytes, context: Context) -> bytes:
        """Cancel; idempotent, also after the end."""
        id = proto.parse(message, pb.CancelRequest).id
        return proto.status(await self._generations.cancel(id, ANONYMOUS)).SerializeToString()

    @_answering
    async def get_status(self, message: bytes, context: Context) -> bytes:
        """The status object."""
        id = proto.parse(message, pb.GetStatusRequest).id
        return proto.status(await self._generations.status(id, ANONYMOUS)).SerializeToString()

    @_answering
    async def list_models(self, message: bytes, context: Context) -> bytes:
        """The models and their states."""
        return proto.models(await self._generations.models()).SerializeToString()

    async def _stream(self, context: Context, record: Record, after: int | None) -> None:
        sink = _CallSink()
        opened = await self._readers.open(record.id, after, ANONYMOUS, sink)
        try:
            await context.send_initial_metadata((("stream-id", record.id),))
            if opened:
                async with asyncio.timeout(None) as patience:
                    sink.stalled = lambda: patience.reschedule(0)
                    await _pump(sink, context)
        except TimeoutError:
            sink.come_back("slow", COME_BACK_MS)
        finally:
            self._readers.close(sink)
        if sink.error is not None:
            await _abort(context, sink.error)

    def check_size(self, message: bytes) -> None:
        """Raises `TooLarge`."""
        if len(message) > self._request_max_bytes:
            raise TooLarge(f"The message is larger than {self._request_max_bytes} bytes.")


class _CallSink(BufferSink):
    """The sink of one call, which also keeps the error that becomes the call's status."""

    def __init__(self) -> None:
        super().__init__(proto.Messages())
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


async def _pump(sink: _CallSink, context: Context) -> None:
    """Send what the sink gathers, to its end."""
    while True:
        if sink.pieces:
            pieces = sink.take()
            sink.waiting = sum(map(len, pieces))
            for piece in pieces:
                await context.write(piece)
                sink.waiting -= len(piece)
        elif sink.ended:
            return
        else:
            await sink.wake()
