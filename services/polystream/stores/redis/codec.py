"""How records and events are written into Redis: JSON, by field names.

The rule to know: replicas of two versions read each other's logs. A field that is not known is passed over,
one that is missing has its default, a record is never written again as a whole, and `FORMAT` is raised only
when an older reader would be wrong; it then refuses the log.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

import msgspec

from polystream.core.errors import StoreUnavailable
from polystream.core.events import (
    Batch,
    Event,
    Failed,
    Finished,
    Notice,
    Reasoning,
    Refusal,
    Started,
    Text,
    ToolCall,
)
from polystream.core.record import Record

#: Version of what stands here, in each record; also that of the record's log.
FORMAT = 1

#: Fields of a record that change; they stand beside it, and are no part of what `create` writes.
_BESIDE = ("attempt", "replica", "watched", "cancel", "state", "events", "last_seq", "reason", "error")
_EVENTS: dict[str, type[Any]] = {
    kind.type: kind for kind in (Started, Text, Reasoning, Refusal, ToolCall, Notice, Finished, Failed)
}
_encode = msgspec.json.Encoder().encode


def write_event(event: Event) -> bytes:
    """An event's value: a JSON string for a piece of text that is nothing else, an object for all others."""
    if type(event) is Text and event.logprobs is None and event.tokens is None:
        return _write(event.text)
    named = {field.name: getattr(event, field.name) for field in fields(event)}
    return _write({"type": event.type} | {name: value for name, value in named.items() if value is not None})


def read_event(value: bytes) -> Event:
    """The event of a value."""
    return _event(_read(value))


def read_batch(payload: bytes) -> Batch:
    """The events of a published payload: an array of the first one's number and the values."""
    first_seq, *values = _read(payload)
    return Batch(first_seq, [Text(value) if type(value) is str else _event(value) for value in values])


def write_record(record: Record) -> dict[str, bytes | str]:
    """The fields of a new record's hash but for those that the script knows itself."""
    kept = {field.name: getattr(record, field.name) for field in fields(record)}
    for name in _BESIDE:
        del kept[name]
    return {
        "record": _write(kept),
        "format": str(FORMAT),
        "owner": record.owner,
        "attempt": str(record.attempt),
        "replica": record.replica,
        "watched": repr(float(record.watched)),
    }


def read_record(kept: Mapping[bytes, bytes]) -> Record:
    """The record of a hash's fields. Raises `StoreUnavailable` for one that a newer version must read."""
    check_format(kept.get(b"format", b"0"))
    record: Record = msgspec.convert(_read(kept[b"record"]), Record)
    record = replace(
        record,
        owner=kept[b"owner"].decode(),
        attempt=int(kept[b"attempt"]),
        replica=kept[b"replica"].decode(),
        watched=float(kept[b"watched"]),
        cancel=b"cancel" in kept,
        events=int(kept[b"events"]),
        last_seq=int(kept[b"tail"]),
    )
    if b"last" in kept:
        last = read_event(kept[b"last"])
        assert isinstance(last, Finished | Failed)
        record.close(last)
    return record


def check_format(version: bytes) -> None:
    """Raises `StoreUnavailable` for a format that is newer than ours: another replica may read it."""
    if int(version) > FORMAT:
        raise StoreUnavailable("A newer version wrote this generation; ask again.")


def _event(value: Any) -> Event:
    if isinstance(value, str):
        return Text(value)
    kind = _EVENTS.get(value["type"])
    if kind is None:  # of a version to come; it must have its place in the log
        return Notice("skipped", {"what": value["type"]})
    event: Event = msgspec.convert(value, kind)
    return event


def _write(value: Any) -> bytes:
    try:
        return _encode(value)
    except (
        ValueError,
        OverflowError,
    ):  # half a surrogate pair, an integer of more than 64 bits: rare, and legal
        return json.dumps(value, default=_plain).encode()


def _read(value: bytes) -> Any:
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return json.loads(value)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value)
