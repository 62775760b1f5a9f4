"""Folds a generation's events, over any number of connections; proves that nothing is missing or doubled."""

import hashlib
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from tests.clients import Events, Json

_TAKEOVER = ("notice", "takeover")


class Hole(AssertionError):
    """The numbers jumped, or count or digest of the last event contradict what was received."""


@dataclass
class Answer:
    """What a client has of one generation. `numbered`: by a native door, with seq, count and digest."""

    numbered: bool = True
    id: str | None = None
    model: str | None = None
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: dict[int, list[str]] = field(default_factory=dict)
    notices: list[Json] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)
    heartbeats: int = 0
    pieces: int = 0
    events: int = 0
    seq: int = -1
    last: Json | None = None
    cut: Json | None = None

    @property
    def reason(self) -> str | None:
        """The finish reason; None after a failure."""
        return self.last.get("reason") if self.last else None

    @property
    def error(self) -> Json | None:
        """The failure's error object."""
        return self.last.get("error") if self.last else None

    @property
    def code(self) -> str | None:
        """The failure's code."""
        return self.error["code"] if self.error else None

    @property
    def usage(self) -> Json | None:
        """The last event's usage."""
        return self.last.get("usage") if self.last else None

    @property
    def tool_calls(self) -> list[list[str]]:
        """[call_id, name, arguments], in the order of their index."""
        return [self.calls[index] for index in sorted(self.calls)]

    def outcome(self) -> Json:
        """What must be equal over every protocol."""
        names = ("text", "reasoning", "refusal", "tool_calls", "reason", "code", "usage", "events")
        digest = {"sha256": self.last and self.last.get("sha256")}
        return {name: getattr(self, name) for name in names} | digest

    def take(self, event: Json) -> None:
        """Fold one event in. Raises `Hole`; a seq already held is dropped."""
        kind = event["type"]
        if kind == "heartbeat":
            self.heartbeats += 1
            return
        if kind in ("come_back", "lost"):
            self.cut = event
            return
        if self.last is not None:
            raise Hole(f"{event} after the last event")
        if self.numbered and not self._next(event):
            return
        self.events += 1
        self._fold(kind, event)

    def _next(self, event: Json) -> bool:
        seq = event["seq"]
        if seq <= self.seq:
            return False
        takeover = (event["type"], event.get("kind")) == _TAKEOVER and event["detail"]["from"] == self.seq
        if seq != self.seq + 1 and not takeover:
            raise Hole(f"{event} after {self.seq}")
        if (event["type"] == "started") != (seq == 0):
            raise Hole(f"{event} as number {seq}")
        self.seq = seq
        return True

    def _fold(self, kind: str, event: Json) -> None:
        match kind:
            case "started":
                self.id, self.model = event["id"], event["model"]
            case "text":
                self.text += event["text"]
                self.pieces += 1
                self.logprobs += event.get("logprobs", [])
            case "reasoning":
                self.reasoning += event["text"]
            case "refusal":
                self.refusal += event["text"]
            case "tool_call":
                self._tool_call(event)
            case "notice":
                self.notices.append(event)
                if event["kind"] == "restart":
                    self.text, self.reasoning, self.refusal, self.calls = "", "", "", {}
            case "finished" | "failed":
                self._finish(event)

    def _tool_call(self, event: Json) -> None:
        if event["index"] not in self.calls:
            self.calls[event["index"]] = [event["call_id"], event["name"], ""]
        elif "call_id" in event or "name" in event:
            raise Hole(f"named again: {event}")
        self.calls[event["index"]][2] += event["arguments"]

    def _finish(self, event: Json) -> None:
        self.last = event
        if not self.numbered:
            return
        if event["events"] != self.events:
            raise Hole(f"the log holds {event['events']} events, received {self.events}")
        if event["sha256"] != hashlib.sha256(self.text.encode()).hexdigest():
            raise Hole(f"the digest is another one than that of {self.text!r}")


async def collect(events: Events, answer: Answer | None = None, *, stop_after: int | None = None) -> Answer:
    """Read a stream into an answer; `stop_after` leaves when this stream has brought so many text events."""
    answer = Answer() if answer is None else answer
    have = answer.pieces
    async with aclosing(events) as stream:
        async for event in stream:
            answer.take(event)
            if stop_after is not None and answer.pieces - have >= stop_after:
                return answer
    if answer.numbered and answer.last is None and answer.cut is None:
        assert answer.seq >= 0, "an answer without any event"
    return answer
