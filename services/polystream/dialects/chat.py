"""The OpenAI chat dialect, on its way out: chunks, whole completions, errors, models.

Follows openai-python's `types/chat`; where a stock client disagrees with a text, the client is right.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from polystream.core.errors import TABLE, Cancelled, UpstreamDisconnected
from polystream.core.events import (
    Batch,
    Error,
    Event,
    Failed,
    Finished,
    Notice,
    Reasoning,
    Refusal,
    Started,
    Text,
    ToolCall,
    Usage,
)
from polystream.core.ports import Model
from polystream.core.record import Record
from polystream.dialects.json import quote, whole
from polystream.dialects.native import (
    Object,
)


def completion_id(id: str) -> str:
    """The generation's id as OpenAI spells it."""
    return f"chatcmpl-{id.removeprefix('gen_')}"


class Chunks:
    """A log as `chat.completion.chunk` events. Cannot resume: its clients know no position."""

    resumable = False
    heartbeat: bytes | None = b": heartbeat\n\n"

    def __init__(self, record: Record, include_usage: bool):
        self.key = "chat-usage" if include_usage else "chat"
        self._include_usage = include_usage
        self._head = (
            f'data: {{"id":{quote(completion_id(record.id))},"object":"chat.completion.chunk",'
            f'"created":{record.created},"model":{quote(record.model)},"choices":['
        )
        end = '],"usage":null}\n\n' if include_usage else "]}\n\n"
        self._text_head = self._head + '{"index":0,"delta":{"content":'
        self._text_end = '},"logprobs":null,"finish_reason":null}' + end
        self._end = end
        self.spoke = False

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's chunks as one piece; up to where it breaks, and an error there."""
        if batch.plain is not None:
            head, tail = self._text_head, self._text_end
            return ["".join([f"{head}{quote(event.text)}{tail}" for event in batch.plain]).encode()]
        at = _restart(batch, self.spoke)
        text = "".join(map(self._chunk, batch.events if at is None else batch.events[:at]))
        if at is not None:
            text += self._chunk(Failed(UpstreamDisconnected().as_event()))
        return [text.encode()] if text else []

    def breaks(self, batch: Batch) -> bool:
        """A restart after words, which cannot be taken back."""
        broken = _restart(batch, self.spoke) is not None
        self.spoke = self.spoke or any(map(_says, batch.events))
        return broken

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """No words."""
        return None

    def lost(self, after: int) -> bytes | None:
        """No words."""
        return None

    def cut(self, error: Error) -> bytes | None:
        """An error event; no `[DONE]`."""
        return f"data: {error_json(error).decode()}\n\n".encode()

    def _chunk(self, event: Event) -> str:
        match event:
            case Text(logprobs=None):
                return f"{self._text_head}{quote(event.text)}{self._text_end}"
            case Text():
                return self._choice(
                    {"content": event.text}, logprobs={"content": event.logprobs, "refusal": None}
                )
            case Started():
                return self._choice({"role": "assistant", "content": "", "refusal": None})
            case Reasoning():
                return self._choice({"reasoning_content": event.text})
            case Refusal():
                return self._choice({"refusal": event.text})
            case ToolCall():
                return self._choice({"tool_calls": [_fragment(event)]})
            case Notice():
                return f": notice {whole({'kind': event.kind, 'detail': event.detail})}\n\n"
            case Failed():
                return f"data: {error_json(event.error).decode()}\n\n"
            case Finished(reason="cancelled"):
                return f"data: {error_json(Cancelled().as_event()).decode()}\n\n"
        return self._finish(event)

    def _choice(self, delta: Object, logprobs: Object | None = None, reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return f"{self._head}{whole(choice)}{self._end}"

    def _finish(self, last: Finished) -> str:
        chunk = self._choice({}, reason=finish_reason(last))
        if self._include_usage:
            chunk += f'{self._head}],"usage":{whole(usage_fields(last.usage))}}}\n\n'
        return chunk + "data: [DONE]\n\n"


def finish_reason(last: Finished) -> str:
    """A reason in OpenAI's closed list: a budget that ran out is a length."""
    return "length" if last.reason == "budget" else last.reason


def usage_fields(usage: Usage | None) -> Object:
    """OpenAI's usage object."""
    usage = usage or Usage(0, 0)
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
    }


def error_json(error: Error) -> bytes:
    """OpenAI's error object, the same as a body and in an event."""
    row = TABLE[error.code]
    fields = {
        "message": error.message,
        "type": row.openai_type,
        "param": error.param,
        "code": row.openai_code,
    }
    return whole({"error": fields}).encode()


def models_fields(models: list[Model], created: int) -> Object:
    """The answer of `GET /v1/models`."""
    rows = [{"id": m.id, "object": "model", "created": created, "owned_by": "polystream"} for m in models]
    return {"object": "list", "data": rows}


# ---- whole completions ----


@dataclass(slots=True)
class Completion:
    """Folds a log into one `chat.completion`; `last` is set once it is whole."""

    record: Record
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    logprobs: list[Object] = field(default_factory=list)
    calls: dict[int, Object] = field(default_factory=dict)
    last: Finished | Failed | None = None

    def add(self, events: Iterable[Event]) -> None:
        """The next events."""
        for event in events:
            match event:
                case Text():
                    self.text.append(event.text)
                    self.logprobs += event.logprobs or []
                case Reasoning():
                    self.reasoning.append(event.text)
                case Refusal():
                    self.refusal.append(event.text)
                case ToolCall():
                    self._add_call(event)
                case Notice(kind="restart"):
                    self.text, self.reasoning, self.refusal, self.logprobs, self.calls = [], [], [], [], {}
                case Finished() | Failed():
                    self.last = event

    def fields(self) -> Object:
        """The body. Raises `UpstreamDisconnected` when the log has not ended."""
        if not isinstance(self.last, Finished):
            raise UpstreamDisconnected
        message: Object = {
            "role": "assistant",
            "content": "".join(self.text),
            "refusal": "".join(self.refusal) or None,
        }
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        if self.calls:
            message["content"] = message["content"] or None
            message["tool_calls"] = [self.calls[index] for index in sorted(self.calls)]
        logprobs = {"content": self.logprobs, "refusal": None} if self.logprobs else None
        choice = {
            "index": 0,
            "message": message,
            "logprobs": logprobs,
            "finish_reason": finish_reason(self.last),
        }
        return {
            "id": completion_id(self.record.id),
            "object": "chat.completion",
            "created": self.record.created,
            "model": self.record.model,
            "choices": [choice],
            "usage": usage_fields(self.last.usage),
        }

    def _add_call(self, event: ToolCall) -> None:
        call = self.calls.setdefault(
            event.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = event.call_id or call["id"]
        call["function"]["name"] += event.name or ""
        call["function"]["arguments"] += event.arguments


def _says(event: Event) -> bool:
    """Whether a client is shown words by it."""
    return not isinstance(event, Started | Notice | Finished | Failed)


def _restart(batch: Batch, spoke: bool) -> int | None:
    """Where in a batch a restart stands behind words; `spoke`: there were some before the batch."""
    for at, event in enumerate(batch.events):
        spoke = spoke or _says(event)
        if spoke and type(event) is Notice and event.kind == "restart":
            return at
    return None


def _fragment(event: ToolCall) -> Object:
    fragment: Object = {"index": event.index}
    if event.call_id is not None:
        fragment |= {"id": event.call_id, "type": "function"}
    function = {"arguments": event.arguments}
    return fragment | {"function": function if event.name is None else {"name": event.name} | function}
