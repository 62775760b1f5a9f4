"""The events' vocabulary, their sizes, and batches: numbers, rests, and which one a reader may take next."""

from typing import Any, get_args

import pytest

from polystream.core.events import (
    ATTEMPT_SPAN,
    REASONS,
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
    byte_size,
)

FAILED = Failed(Error("internal", "Something broke.", False))


def test_the_vocabulary_is_closed():
    names = ["started", "text", "reasoning", "refusal", "tool_call", "notice", "finished", "failed"]
    assert [event.type for event in get_args(Event)] == names


def test_the_reasons_are_closed():
    assert REASONS == ("stop", "length", "tool_calls", "content_filter", "cancelled", "budget")


def test_attempts_never_meet_whatever_a_log_may_hold():
    assert ATTEMPT_SPAN == 2**20


@pytest.mark.parametrize(
    ("event", "size"),
    [
        (Text("abc"), 3),
        (Text("é🦜\u2028"), 9),
        (Text("a", tokens=7), 1),
        (Text("a", logprobs=[{"token": "a"}]), 1 + len("[{'token': 'a'}]")),
        (Text("a", logprobs=[]), 1),
        (Reasoning("née"), 4),
        (Refusal("né"), 3),
        (ToolCall(0, "cé", "né", "ä"), 8),
        (ToolCall(0, arguments="{}"), 2),
        (Notice("seam", {"from": "a"}), len("{'from': 'a'}")),
        (Started("gen_a", "m", "e", 1), 0),
        (Finished("stop", Usage(1, 2), "m", 3, "ab"), 0),
        (FAILED, 0),
    ],
)
def test_an_event_is_as_large_as_what_it_says_in_utf8(event: Event, size: int):
    assert byte_size(event) == size


def test_a_batch_is_as_large_as_its_events():
    assert Batch(1, [Text("ab"), Reasoning("é"), Finished("stop")]).size == 4


def test_a_batch_numbers_its_events():
    batch = Batch(7, [Text("a"), Text("b"), Text("c")])
    assert (batch.first_seq, batch.last_seq) == (7, 9)


@pytest.mark.parametrize("last", [Finished("stop"), FAILED])
def test_a_batch_knows_the_generations_last_event(last: Event):
    assert Batch(1, [Text("a"), last]).last is last


def test_a_batch_in_mid_stream_has_no_last_event():
    assert Batch(1, [Text("a"), Notice("queued", {"position": 1})]).last is None


@pytest.mark.parametrize(("seq", "rest"), [(7, ["b", "c"]), (8, ["c"])])
def test_a_batch_can_be_cut_behind_a_number(seq: int, rest: list[str]):
    batch = Batch(7, [Text("a"), Text("b"), Text("c")])
    batch.encodings["native"] = [b"abc"]
    cut = batch.after(seq)
    assert (cut.first_seq, cut.events, cut.encodings) == (seq + 1, [Text(piece) for piece in rest], {})
    assert batch.last_seq == 9


@pytest.mark.parametrize(
    ("first_seq", "first", "accepted"),
    [
        (6, Text("a"), True),
        (5, Text("a"), False),
        (7, Text("a"), False),
        (ATTEMPT_SPAN, Notice("takeover", {"from": 5}), True),
        (ATTEMPT_SPAN * 3, Notice("takeover", {"from": 5}), True),
        (ATTEMPT_SPAN, Notice("takeover", {"from": 4}), False),
        (ATTEMPT_SPAN, Notice("takeover", {}), False),
        (ATTEMPT_SPAN, Notice("restart", {"from": 5}), False),
        (ATTEMPT_SPAN, Text("a"), False),
    ],
)
def test_a_reader_takes_the_next_number_or_a_takeover_from_its_own(
    first_seq: int, first: Any, accepted: bool
):
    assert Batch(first_seq, [first, Text("b")]).continues(5) is accepted
