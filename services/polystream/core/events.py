"""The events of a generation's log, in the closed vocabulary that every protocol spells.

An event carries no `seq`: its place in the log is its number, so the log gives it (see `log.py`). Plain
slotted
dataclasses, not frozen: one is built per token, and a frozen one costs three times as much.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

#: Attempt k numbers its events from k * ATTEMPT_SPAN; above LOG_MAX_EVENTS, so that attempts never meet.
ATTEMPT_SPAN = 1 << 20

#: Why a generation finished, the closed list.
REASONS = ("stop", "length", "tool_calls", "content_filter", "cancelled", "budget")


@dataclass(slots=True)
class Started:
    """Seq 0, in the log before the engine is called. `created`: seconds since 1970."""

    type: ClassVar[str] = "started"
    id: str
    model: str
    engine: str
    created: int


@dataclass(slots=True)
class Text:
    """A piece of the answer: never empty, whole code points. `logprobs`: OpenAI's `logprobs.content` list.

    `tokens`: how many tokens the piece holds, where the engine says so.
    """

    type: ClassVar[str] = "text"
    text: str
    logprobs: list[dict[str, Any]] | None = None
    tokens: int | None = None


@dataclass(slots=True)
class Reasoning:
    """A piece of the model's reasoning, kept apart from the answer."""

    type: ClassVar[str] = "reasoning"
    text: str


@dataclass(slots=True)
class Refusal:
    """A piece of a refusal, kept apart from the answer."""

    type: ClassVar[str] = "refusal"
    text: str


@dataclass(slots=True)
class ToolCall:
    """A fragment of the arguments of call `index`; `call_id` and `name` come on the first piece of an index
    only.
    """

    type: ClassVar[str] = "tool_call"
    index: int
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(slots=True)
class Notice:
    """Something to know.

    Readers may ignore every kind but `takeover` (explains a jump of seq) and `restart`.
    """

    type: ClassVar[str] = "notice"
    kind: str
    detail: dict[str, Any]


@dataclass(slots=True)
class Attempt:
    """What one target was charged with."""

    target: str
    input_tokens: int
    output_tokens: int


@dataclass(slots=True)
class Usage:
    """Tokens in and out; `estimated` when counted by us."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    estimated: bool = False
    attempts: list[Attempt] = field(default_factory=list)


@dataclass(slots=True)
class Error:
    """A failure as clients see it.

    `retry_after_s` is for HTTP's Retry-After and gRPC's RetryInfo, not for the log.
    """

    code: str
    message: str
    retryable: bool
    param: str | None = None
    retry_after_s: float | None = None


@dataclass(slots=True)
class Finished:
    """The last event of a generation that ended as it should.

    `events`: how many events the log holds, this one included. `sha256`: hex digest of the UTF-8 bytes of all
    text
    events joined (after the last `restart`), by which a client proves that it has everything.
    """

    type: ClassVar[str] = "finished"
    reason: str
    usage: Usage | None = None
    model: str | None = None
    events: int = 0
    sha256: str = ""


@dataclass(slots=True)
class Failed:
    """The last event of a generation that broke; only ever written by its producer or taker."""

    type: ClassVar[str] = "failed"
    error: Error
    usage: Usage | None = None
    events: int = 0
    sha256: str = ""


Last = Finished | Failed
Event = Started | Text | Reasoning | Refusal | ToolCall | Notice | Finished | Failed


def byte_size(event: Event) -> int:
    """UTF-8 bytes of what the event says: what `LOG_MAX_BYTES` counts. Fixed fields count nothing."""
    match event:
        case Text(text=text) | Reasoning(text=text) | Refusal(text=text):
            size = len(text) if text.isascii() else len(text.encode())
            return size + (len(repr(event.logprobs)) if isinstance(event, Text) and event.logprobs else 0)
        case ToolCall():
            return (
                len((event.call_id or "").encode())
                + len((event.name or "").encode())
                + len(event.arguments.encode())
            )
        case Notice():
            return len(repr(event.detail))
    return 0


def _plain(events: list[Event]) -> bool:
    return all(type(event) is Text and event.logprobs is None and event.tokens is None for event in events)


class Batch:
    """Consecutive events of one log as they travel together: one per network read of the engine, shared by
    all readers.

    `plain`: its events, when they are nothing but text, as nearly all are. `encodings` holds the batch as
    each dialect spells it, filled by the first sink that needs it.
    """

    __slots__ = ("encodings", "events", "first_seq", "last", "last_seq", "plain")

    def __init__(self, first_seq: int, events: list[Event]):
        self.first_seq = first_seq
        self.last_seq = first_seq + len(events) - 1
        self.events = events
        event = events[-1]
        #: The generation's last event, when the batch ends with it.
        self.last: Last | None = None
        self.plain: list[Text] | None = None
        if type(event) is Text:
            if event.logprobs is None and event.tokens is None and (len(events) == 1 or _plain(events)):
                self.plain = cast(list[Text], events)
        elif isinstance(event, Finished | Failed):
            self.last = event
        self.encodings: dict[str, list[bytes]] = {}

    @property
    def size(self) -> int:
        """UTF-8 bytes of what the events say."""
        return sum(map(byte_size, self.events))

    def after(self, seq: int) -> "Batch":
        """The rest of the batch behind `seq`, which lies in it."""
        return Batch(seq + 1, self.events[seq + 1 - self.first_seq :])

    def continues(self, seq: int) -> bool:
        """Whether a reader that stands at `seq` may take this batch next: the next number, or a takeover from
        `seq`.
        """
        if self.first_seq == seq + 1:
            return True
        first = self.events[0]
        return isinstance(first, Notice) and first.kind == "takeover" and first.detail.get("from") == seq
