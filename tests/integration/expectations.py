"""What a case expects, checked against what a client got; an expectation nobody checks fails the test."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.clients.answer import Answer
from tests.integration.cases import Case
from tests.integration.upstream import Call


@dataclass
class Run:
    """One run of a case over one door. Times are of `time.monotonic`."""

    case: Case
    door: str
    answer: Answer
    events: list[dict[str, Any]]
    wire: dict[str, Any]
    calls: list[Call]
    ended: float

    @property
    def native(self) -> bool:
        """Whether it ran over a native door."""
        return self.door != "chat"


def check(run: Run) -> None:
    """Compare every expectation of the case. Raises AssertionError."""
    for name, value in run.case.expect.items():
        _CHECKS[name](run, value)


def _status(run: Run, value: str) -> None:
    if value == "completed":
        assert run.answer.error is None, run.answer.error
        assert run.answer.reason, "no last event"
    else:
        assert value == "error", value
        assert run.answer.error, f"ended as {run.answer.last}"


def _equals(attribute: str) -> Callable[[Run, Any], None]:
    def compare(run: Run, value: Any) -> None:
        assert getattr(run.answer, attribute) == value

    return compare


def _any_of(attribute: str) -> Callable[[Run, list[Any]], None]:
    def compare(run: Run, values: list[Any]) -> None:
        assert getattr(run.answer, attribute) in values

    return compare


def _error_code(run: Run, value: str) -> None:
    assert run.answer.code == value


def _grpc_code(run: Run, values: list[str]) -> None:
    if run.door in ("grpc", "grpc-web"):
        assert run.wire["status"] in values
        assert run.answer.code == run.wire["reason"], "event and status tell different codes"


def _usage(run: Run, value: dict[str, int]) -> None:
    have = run.answer.usage
    assert have is not None, "no usage"
    if run.native:
        have = {"prompt_tokens": have["input_tokens"], "completion_tokens": have["output_tokens"]}
        have["total_tokens"] = sum(have.values())
    assert {name: have[name] for name in value} == value


def _internal_usage(run: Run, value: dict[str, int]) -> None:
    if run.native:
        _usage(run, value)


def _empty_choices(run: Run, value: int) -> None:
    if not run.native:
        assert sum(not json.loads(chunk).get("choices") for chunk in run.wire["chunks"][:-1]) == value


def _must_not_contain(run: Run, values: list[str]) -> None:
    said = bytes(run.wire.get("raw", b"")).decode("latin-1") + json.dumps(run.events, ensure_ascii=False)
    for value in values:
        assert value not in said


def _tool_calls(run: Run, value: list[list[Any]]) -> None:
    assert [[id, name, json.loads(arguments)] for id, name, arguments in run.answer.tool_calls] == value


def _done_within(run: Run, value: float) -> None:
    assert (run.ended - run.calls[-1].last_write) * 1000 <= value


def _upstream_calls(run: Run, value: int) -> None:
    assert len(run.calls) == value


def _status_lines(run: Run, value: int) -> None:
    if "raw" in run.wire:
        assert bytes(run.wire["raw"]).count(b"HTTP/1.1 ") == value


def _response_id(run: Run, value: str) -> None:
    """The case's id is the engine's; ours is another, present and constant (the chat client saw to that)."""
    assert value
    assert run.answer.id


def _event_names(run: Run, value: list[str]) -> None:
    """The sse client knows no event but ours, and compares each name with its data."""
    assert value
    assert "forged" not in {event["type"] for event in run.events}


def _retry_changed(run: Run, value: bool) -> None:
    if run.door == "sse":
        assert (b"\nretry:" in bytes(run.wire["raw"])) == value


def _trailer_frame(run: Run, value: bool) -> None:
    assert run.wire["trailer_frame"] is value


def _expose_headers(run: Run, value: list[str]) -> None:
    """Without it a browser's script does not see them, where a call is refused before its first message."""
    exposed = run.wire["headers"]["access-control-expose-headers"].split(",")
    assert set(value) <= {name.strip() for name in exposed}


def _elsewhere(_: Run, __: Any) -> None:
    """Checked by a test of its own, named in tests/cases/README.md."""


_CHECKS: dict[str, Callable[[Run, Any], None]] = {
    "status": _status,
    "text": _equals("text"),
    "text_any_of": _any_of("text"),
    "reasoning": _equals("reasoning"),
    "finish_reason": _equals("reason"),
    "finish_reason_any_of": _any_of("reason"),
    "error_code": _error_code,
    "grpc_code": _grpc_code,
    "usage": _usage,
    "internal_usage": _internal_usage,
    "chunks_with_empty_choices_to_client": _empty_choices,
    "must_not_contain": _must_not_contain,
    "tool_calls": _tool_calls,
    "done_within_ms_after_last_write": _done_within,
    "upstream_calls": _upstream_calls,
    "status_lines_on_wire": _status_lines,
    "response_id": _response_id,
    "event_names_allowed": _event_names,
    "retry_changed": _retry_changed,
    "trailer_frame": _trailer_frame,
    "expose_headers": _expose_headers,
    "config_check": _elsewhere,
    "max_gap_ms": _elsewhere,
    "text_when_split_off": _elsewhere,
    "engine_steps_after_stop_max": _elsewhere,
}
