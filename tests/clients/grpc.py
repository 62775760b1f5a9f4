"""gRPC: messages turned into the native JSON form, so that every protocol's events compare as equal dicts."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import Any, cast

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_status import rpc_status

from polystream.proto.polystream.v1 import streams_pb2 as pb
from polystream.proto.polystream.v1.streams_pb2_grpc import StreamsStub
from tests.clients import Addresses, Broken, Events, Json, Refused, Wire
from tests.clients.event import ENDS

#: Bounds a whole call; a test that means a deadline gives its own.
TIMEOUT_S = 120
#: Set even when they hold proto's default, because JSON spells them always.
_ALWAYS = ("arguments", "retryable")


def start(
    server: Addresses,
    request: Json,
    *,
    idempotency_key: str | None = None,
    channel: grpc.aio.Channel | None = None,
    deadline_s: float = TIMEOUT_S,
    wire: Wire | None = None,
) -> Events:
    """Start a generation and yield its events; `wire` receives status, details and metadata of the call."""
    metadata = [] if idempotency_key is None else [("idempotency-key", idempotency_key)]
    message = ParseDict(request, pb.StartRequest())
    return _events(server, channel, "Start", message, metadata, deadline_s, wire)


def follow(
    server: Addresses,
    id: str,
    after: int | None = None,
    *,
    channel: grpc.aio.Channel | None = None,
    deadline_s: float = TIMEOUT_S,
    wire: Wire | None = None,
) -> Events:
    """Yield the events behind `after`; nothing when the log has ended there."""
    return _events(server, channel, "Follow", pb.FollowRequest(id=id, after=after), [], deadline_s, wire)


async def cancel(server: Addresses, id: str) -> Json:
    """Cancel; the status object."""
    return await _unary(server, "Cancel", pb.CancelRequest(id=id))


async def status(server: Addresses, id: str) -> Json:
    """The status object."""
    return await _unary(server, "GetStatus", pb.GetStatusRequest(id=id))


async def models(server: Addresses) -> list[Json]:
    """The models and their state."""
    return (await _unary(server, "ListModels", pb.ListModelsRequest())).get("models", [])


@asynccontextmanager
async def opened(server: Addresses, options: Json | None = None) -> AsyncIterator[grpc.aio.Channel]:
    """A channel of its own connection."""
    settings = {"grpc.use_local_subchannel_pool": 1, "grpc.enable_http_proxy": 0} | (options or {})
    async with grpc.aio.insecure_channel(server.grpc, options=list(settings.items())) as channel:
        yield channel


async def _events(
    server: Addresses,
    channel: grpc.aio.Channel | None,
    method: str,
    message: Message,
    metadata: list[tuple[str, str]],
    deadline_s: float,
    wire: Wire | None,
) -> Events:
    async with (
        nullcontext(channel) if channel else opened(server) as connection,
        aclosing(_call(connection, method, message, metadata, deadline_s, wire)) as events,
    ):
        async for event in events:
            yield event


async def _call(
    channel: grpc.aio.Channel,
    method: str,
    message: Message,
    metadata: list[tuple[str, str]],
    deadline_s: float,
    wire: Wire | None,
) -> Events:
    wire = {} if wire is None else wire
    call = getattr(StreamsStub(channel), method)(message, metadata=metadata, timeout=deadline_s)
    event: Json | None = None
    try:
        async for answer in call:
            assert event is None or event["type"] not in ENDS, f"after the end: {answer}"
            if event is None:
                wire.update(headers=dict(await call.initial_metadata() or ()))
            event = to_dict(answer)
            yield event
        wire.update(status="OK")
    except grpc.aio.AioRpcError as error:
        wire.update(_details(error))
        if event is None:
            raise _refused(wire, error) from error
        if event["type"] not in ("failed", "come_back", "lost"):
            raise Broken(f"{wire['status']} after {event['type']}") from error
    else:
        if event is not None and event["type"] != "finished":
            raise Broken(f"OK after {event['type']}")
    finally:
        call.cancel()


async def _unary(server: Addresses, method: str, message: Message) -> Json:
    async with opened(server) as channel:
        try:
            return fields(await getattr(StreamsStub(channel), method)(message, timeout=TIMEOUT_S))
        except grpc.aio.AioRpcError as error:
            raise _refused(_details(error), error) from error


def _refused(details: Json, error: grpc.aio.AioRpcError) -> Refused:
    return Refused(details["status"], details["reason"], error.details(), details["trailers"])


def _details(error: grpc.aio.AioRpcError) -> Json:
    """Status name, ErrorInfo's reason and domain, RetryInfo's delay in milliseconds (None without one)."""
    found: Json = {
        "status": error.code().name, "reason": "", "domain": "", "retry_after_ms": None,
        "trailers": {key: str(value) for key, value in error.trailing_metadata()},
    }  # fmt: skip
    if (status := rpc_status.from_call(cast(grpc.Call, error))) is not None:
        for detail in status.details:
            info, retry = ErrorInfo(), RetryInfo()
            if detail.Unpack(info):
                found.update(reason=info.reason, domain=info.domain)
            elif detail.Unpack(retry):
                found.update(retry_after_ms=retry.retry_delay.ToMilliseconds())
    return found


def to_dict(message: pb.Event) -> Json:
    """One message as the event's native JSON object; absent fields left out."""
    kind = message.WhichOneof("event")
    assert kind is not None, f"an event without a kind: {message}"
    seq = {"seq": message.seq} if message.HasField("seq") else {}
    return {**seq, "type": kind, **fields(getattr(message, kind))}


def fields(message: Message) -> Json:
    """A message as the native JSON object; absent fields left out."""
    found: Json = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            if value:
                of = field.message_type
                found[field.name] = dict(value) if of and of.GetOptions().map_entry else [*map(_value, value)]
        elif field.has_presence:
            if message.HasField(field.name):
                found[field.name] = _value(value)
        elif field.name in _ALWAYS or not isinstance(value, str | bool) or value:
            found[field.name] = value
    return found


def _value(value: Any) -> Any:
    if not isinstance(value, Message):
        return value
    if value.DESCRIPTOR.full_name == "google.protobuf.Struct":
        return _integers(MessageToDict(value))
    return fields(value)


def _integers(value: Any) -> Any:
    """Struct knows only doubles; JSON writes whole numbers as integers."""
    if isinstance(value, dict):
        return {key: _integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [*map(_integers, value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
