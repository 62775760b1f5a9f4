"""The native spelling of one event, read as strictly as native.md writes it."""

import json
from typing import Any

from tests.clients import Json

LAST = ("finished", "failed")
#: After these the answer ends, though the generation may not have ended.
ENDS = (*LAST, "come_back", "lost")
LOG_EVENTS = ("started", "text", "reasoning", "refusal", "tool_call", "notice", *LAST)
#: The order of an event's keys on the wire.
_KEYS = {
    "started": ("id", "model", "engine", "created"),
    "text": ("text", "logprobs", "tokens"),
    "reasoning": ("text",),
    "refusal": ("text",),
    "tool_call": ("index", "call_id", "name", "arguments"),
    "notice": ("kind", "detail"),
    "finished": ("reason", "usage", "model", "events", "sha256"),
    "failed": ("error", "usage", "events", "sha256"),
    "come_back": ("retry_after_ms", "reason"),
    "lost": ("after",),
    "heartbeat": (),
}


def read(raw: bytes) -> Json:
    """One encoded event; asserts ASCII, no blanks, `seq` and `type` first, keys in order, no null."""
    assert raw.isascii(), f"not ASCII: {raw!r}"
    event: Json = json.loads(raw)
    kind = event["type"]
    assert kind in _KEYS, f"unknown event {raw!r}"
    allowed = (("seq",) if kind in LOG_EVENTS else ()) + ("type", *_KEYS[kind])
    keys = list(event)
    assert keys == [key for key in allowed if key in event], f"keys out of order or unknown: {raw!r}"
    if kind in LOG_EVENTS:
        assert type(event.get("seq")) is int, f"no seq: {raw!r}"
    if kind in ("text", "reasoning", "refusal"):
        assert event["text"], f"an empty piece: {raw!r}"
    if "logprobs" not in event:  # OpenAI's own list has nulls, and floats that Python spells otherwise
        assert not _has_null(event), f"null on the wire: {raw!r}"
        compact = json.dumps(event, separators=(",", ":"))
        assert compact.lower() == raw.decode().lower(), f"not the compact spelling: {raw!r}"
    return event


def body(request: Json) -> bytes:
    """A request as JSON bytes."""
    return json.dumps(request).encode()


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None
