"""The native dialect as protobuf messages: `polystream.v1`, whose field numbers are part of the contract."""

from math import isfinite
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from polystream.core.errors import TABLE, InvalidRequest
from polystream.core.events import Batch, Error, Event, Failed, Finished, Usage
from polystream.core.ports import Model
from polystream.core.record import Record
from polystream.dialects import native
from polystream.dialects.json import convert
from polystream.proto.polystream.v1 import streams_pb2 as pb

M = TypeVar("M", bound=Message)
L = TypeVar("L", pb.Finished, pb.Failed)

#: gRPC's status codes by name, https://grpc.io/docs/guides/status-codes/.
_CODES = {
    "OK": 0,
    "CANCELLED": 1,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "OUT_OF_RANGE": 11,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "UNAUTHENTICATED": 16,
}
#: Characters of a message in a status. It travels twice in the trailers, of which gRPC takes 8 KiB: once with
#: up to 12 bytes a character, once with up to 6. The last event holds it whole.
_MESSAGE_MAX = 400
_BYTES = [bytes([value]) for value in range(0x80)]
#: How long a client waits before it tries again where nobody said otherwise, seconds.
_RETRY_S = 1.0


class Messages:
    """A log as serialized `Event` messages."""

    key = "proto"
    resumable = True
    spoke = True
    heartbeat: bytes | None = pb.Event(heartbeat=pb.Heartbeat()).SerializeToString()

    def encode(self, batch: Batch) -> list[bytes]:
        """A message an event."""
        if batch.plain is not None:
            return [_text(seq, event.text) for seq, event in enumerate(batch.plain, batch.first_seq)]
        events = enumerate(batch.events, batch.first_seq)
        return [_message(seq, event).SerializeToString() for seq, event in events]

    def breaks(self, batch: Batch) -> bool:
        """Never: every end has its message and its status."""
        return False

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """A message; the status says UNAVAILABLE."""
        return pb.Event(
            come_back=pb.ComeBack(retry_after_ms=retry_after_ms, reason=reason)
        ).SerializeToString()

    def lost(self, after: int) -> bytes | None:
        """A message; the status says OUT_OF_RANGE."""
        return pb.Event(lost=pb.Lost(after=max(0, after))).SerializeToString()

    def cut(self, error: Error) -> bytes | None:
        """No message: the status says it."""
        return None


def start_fields(message: bytes) -> native.StartFields:
    """A serialized `StartRequest` as the same fields that JSON gives. Raises `InvalidRequest`."""
    return convert(_whole_numbers(_fields(parse(message, pb.StartRequest))), native.StartFields)


def parse(message: bytes, shape: type[M]) -> M:
    """A serialized message. Raises `InvalidRequest`."""
    try:
        return shape.FromString(message)
    except DecodeError as error:
        raise InvalidRequest(f"The message is no {shape.DESCRIPTOR.name}: {error}") from None


def status(record: Record) -> pb.Status:
    """The status object."""
    return json_format.ParseDict(native.status_fields(record), pb.Status())


def models(rows: list[Model]) -> pb.ListModelsResponse:
    """The models and their states."""
    return pb.ListModelsResponse(models=[pb.Model(id=row.id, state=row.state) for row in rows])


def rpc_status(error: Error) -> status_pb2.Status:
    """The status of a failure, with `ErrorInfo`, and `RetryInfo` where a retry makes sense."""
    row = TABLE[error.code]
    answer = status_pb2.Status(code=_CODES[row.grpc], message=error.message[:_MESSAGE_MAX])
    reason = error_details_pb2.ErrorInfo(reason=error.code, domain="polystream")
    if error.param is not None:
        reason.metadata["param"] = error.param
    answer.details.add().Pack(reason)
    if error.retryable:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(int((error.retry_after_s or _RETRY_S) * 1000))
        answer.details.add().Pack(retry)
    return answer


def _text(seq: int, text: str) -> bytes:
    """`Event { seq = 1; text = 3 { text = 1 } }` as the library serializes it, without its objects."""
    said = text.encode()
    length = _varint(len(said))
    inner = _varint(len(said) + len(length) + 1)
    return b"\x08%b\x1a%b\x0a%b%b" % (_varint(seq), inner, length, said)


def _varint(value: int) -> bytes:
    """https://protobuf.dev/programming-guides/encoding/#varints"""
    if value < 0x80:
        return _BYTES[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _message(seq: int, event: Event) -> pb.Event:
    match event:
        case Finished():
            finished = pb.Finished(
                reason=event.reason, model=event.model or "", events=event.events, sha256=event.sha256
            )
            return pb.Event(seq=seq, finished=_with_usage(finished, event.usage))
        case Failed():
            failed = pb.Failed(events=event.events, sha256=event.sha256)
            json_format.ParseDict(native.error_fields(event.error), failed.error)
            return pb.Event(seq=seq, failed=_with_usage(failed, event.usage))
    fields = {name: value for name, value in native.fields_of(event).items() if value is not None}
    return json_format.ParseDict({event.type: fields}, pb.Event(seq=seq))


def _with_usage(last: L, usage: Usage | None) -> L:
    if usage is not None:
        json_format.ParseDict(native.usage_fields(usage) or {}, last.usage)
    return last


def _fields(message: Message, prefix: str = "") -> dict[str, Any]:
    """The fields that are set, by their proto names. An empty string is not, unless its field is optional."""
    return {field.name: _value(field, value, prefix + field.name) for field, value in message.ListFields()}


def _value(field: Any, value: Any, place: str) -> Any:
    if field.message_type is None:
        if isinstance(value, float) and not isfinite(value):
            raise _not_finite(place)
        return list(value) if field.is_repeated else value
    if field.message_type.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    return _plain(value, place)


def _plain(message: Message, place: str) -> Any:
    """Struct and Value as Python data; any other message as its fields."""
    if message.DESCRIPTOR.file.package != "google.protobuf":
        return _fields(message, f"{place}.")
    try:
        return json_format.MessageToDict(message)
    except ValueError:  # the one thing that JSON cannot say
        raise _not_finite(place) from None


def _not_finite(place: str) -> InvalidRequest:
    return InvalidRequest(f"{place}: a number must be finite.", param=place)


def _whole_numbers(value: Any) -> Any:
    """Struct knows floats only: whole ones become integers again, as JSON clients send them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return value
