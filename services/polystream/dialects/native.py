"""Our own dialect: start requests in, events, status and errors out. docs/protocol.md spells it byte by byte.

One encoding of an event serves NDJSON, SSE and WebSocket, so it is made once a batch.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

import msgspec

from polystream.core.errors import InvalidRequest
from polystream.core.events import (
    Batch,
    Error,
    Event,
    Failed,
    Finished,
    Notice,
    Started,
    Text,
    ToolCall,
    Usage,
)
from polystream.core.ports import Model
from polystream.core.record import Record
from polystream.core.request import Message, OnDisconnect, Request
from polystream.dialects.json import dumps, quote

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
Object = dict[str, Any]
#: Longest idempotency key, characters.
KEY_MAX = 255


class MessageFields(msgspec.Struct, forbid_unknown_fields=True):
    """A message, as in OpenAI chat."""

    role: Role
    content: str | list[Object] | None = None
    name: str | None = None
    tool_calls: list[Object] | None = None
    tool_call_id: str | None = None


class Sampling(msgspec.Struct, forbid_unknown_fields=True):
    """The fields that native and chat requests share. An absent field is the engine's to decide."""

    model: str | None = None
    max_tokens: Positive | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)] | None = None
    seed: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tools: list[Object] | None = None
    tool_choice: str | Object | None = None
    response_format: Object | None = None
    metadata: dict[str, str] | None = None


class StartFields(Sampling, forbid_unknown_fields=True):
    """The body of a start."""

    messages: list[MessageFields] | None = None
    prompt: str | None = None
    stop: list[NonEmpty] | None = None
    logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    on_disconnect: OnDisconnect | None = None

    def request(self, prefix: str = "") -> Request:
        """As the core knows it. Raises `InvalidRequest`."""
        if (self.prompt is None) == (self.messages is None):
            what = "both" if self.prompt is not None else "neither"
            raise InvalidRequest(f"Give either messages or prompt, not {what}.", param=f"{prefix}messages")
        messages = [MessageFields("user", self.prompt)] if self.messages is None else self.messages
        return Request(
            messages=tuple(
                Message(item.role, item.content, item.name, item.tool_calls, item.tool_call_id)
                for item in check_messages(messages, prefix)
            ),
            stop=tuple(self.stop or ()),
            logprobs=self.logprobs,
            **sampling(self),
        )


def sampling(fields: Sampling) -> dict[str, Any]:
    """The shared fields by the names the core gives them."""
    values = {name: getattr(fields, name) for name in Sampling.__struct_fields__}
    return values | {"model": fields.model or "", "metadata": fields.metadata or {}}


def check_messages(messages: list[Any], prefix: str = "") -> list[Any]:
    """The same messages.

    Raises `InvalidRequest` when there are none, or one says nothing or in no known shape.
    """
    if not messages:
        raise InvalidRequest("There must be at least one message.", param=f"{prefix}messages")
    for number, message in enumerate(messages):
        place = f"{prefix}messages[{number}]"
        if message.content is None and message.role != "assistant":
            raise InvalidRequest(
                f"{place}: a message of the {message.role} needs content.", param=f"{place}.content"
            )
        if isinstance(message.content, list):
            for at, part in enumerate(message.content):
                if not isinstance(part.get("type"), str):
                    where = f"{place}.content[{at}].type"
                    raise InvalidRequest(f"{where}: a part needs a type.", param=where)
    return messages


def idempotency_key(value: str | None, param: str) -> str | None:
    """A key, None when absent or empty. Raises `InvalidRequest`."""
    if value is not None and len(value) > KEY_MAX:
        raise InvalidRequest(f"{param}: a key has at most {KEY_MAX} characters.", param=param)
    return value or None


# ---- events ----

#: A text as JSON, by its seq and its quoted text: nearly every event of a log.
TEXT = '{"seq":%d,"type":"text","text":%s}'


def spell(template: str, first_seq: int, texts: list[Text]) -> bytes:
    """Texts of a plain batch, each by a template of its seq and its quoted text."""
    if len(texts) == 1:
        return (template % (first_seq, quote(texts[0].text))).encode()
    return b"".join([spell(template, first_seq + at, [text]) for at, text in enumerate(texts)])


def encode(batch: Batch) -> list[bytes]:
    """Each event of a batch as JSON, made once a batch."""
    encoded = batch.encodings.get("native")
    if encoded is None:
        encoded = [event_json(seq, event) for seq, event in enumerate(batch.events, batch.first_seq)]
        batch.encodings["native"] = encoded
    return encoded


def event_json(seq: int, event: Event) -> bytes:
    """One event as ASCII JSON, `seq` and `type` first."""
    return dumps({"seq": seq, "type": event.type} | fields_of(event)).encode()


def fields_of(event: Event) -> dict[str, Any]:
    """An event's fields in their order on the wire; absent ones are None."""
    match event:
        case Started():
            model = event.model or None  # of an engine that has said no name yet
            return {"id": event.id, "model": model, "engine": event.engine, "created": event.created}
        case Text():
            return {"text": event.text, "logprobs": event.logprobs, "tokens": event.tokens}
        case ToolCall():
            return {
                "index": event.index,
                "call_id": event.call_id,
                "name": event.name,
                "arguments": event.arguments,
            }
        case Notice():
            return {"kind": event.kind, "detail": event.detail}
        case Finished():
            return {
                "reason": event.reason,
                "usage": usage_fields(event.usage),
                "model": event.model,
                "events": event.events,
                "sha256": event.sha256,
            }
        case Failed():
            return {
                "error": error_fields(event.error),
                "usage": usage_fields(event.usage),
                "events": event.events,
                "sha256": event.sha256,
            }
    return {"text": event.text}


def usage_fields(usage: Usage | None) -> dict[str, Any] | None:
    """Usage, its absent fields left out."""
    if usage is None:
        return None
    fields = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "estimated": usage.estimated or None,
        "attempts": [asdict(attempt) for attempt in usage.attempts] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def error_fields(error: Error) -> dict[str, Any]:
    """An error, `param` left out when absent."""
    fields = {
        "code": error.code,
        "message": error.message,
        "param": error.param,
        "retryable": error.retryable,
    }
    return {name: value for name, value in fields.items() if value is not None}


# ---- what is no event ----


def heartbeat() -> bytes:
    """A sign of life."""
    return b'{"type":"heartbeat"}'


def come_back(reason: str, retry_after_ms: int) -> bytes:
    """Come back with your position."""
    return dumps({"type": "come_back", "retry_after_ms": retry_after_ms, "reason": reason}).encode()


def lost(after: int) -> bytes:
    """Your position is lost; a reader that has nothing yet has none to name."""
    return dumps({"type": "lost", "after": None if after < 0 else after}).encode()


def error_json(error: Error) -> bytes:
    """An answer that is an error."""
    return dumps({"error": error_fields(error)}).encode()


def status_fields(record: Record) -> dict[str, Any]:
    """The status object."""
    fields: Mapping[str, Any] = {
        "id": record.id,
        "model": record.model,
        "state": str(record.state),
        "events": record.events,
        "last_seq": record.last_seq,
        "created": record.created,
        "reason": record.reason,
        "error": error_fields(record.error) if record.error else None,
        "metadata": dict(record.request.metadata) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def models_fields(models: list[Model]) -> list[dict[str, str]]:
    """The models and their states."""
    return [{"id": model.id, "state": model.state} for model in models]
