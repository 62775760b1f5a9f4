"""Plain text: the words alone, and a body that breaks off at every end but a good one."""

import pytest

from polystream.core.events import (
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
)
from polystream.dialects.text import PlainText

RESTART = Notice("restart", {"cause": "upstream_disconnected"})
STARTED = Started("gen_x", "m", "e", 1)


def breaks(*batches: list[Event]) -> list[bool]:
    """Whether the body breaks off behind each batch of one log."""
    form, seq, said = PlainText(), 0, []
    for events in batches:
        said.append(form.breaks(Batch(seq, events)))
        seq += len(events)
    return said


def test_the_text_of_a_batch_is_one_piece_of_utf8():
    assert PlainText().encode(Batch(0, [STARTED, Text("é\n"), Text("🌍")])) == ["é\n🌍".encode()]


def test_nothing_but_text_is_shown():
    silent: list[Event] = [
        STARTED,
        Reasoning("a"),
        Refusal("b"),
        ToolCall(0, "c", "d", "e"),
        Finished("stop"),
    ]
    assert PlainText().encode(Batch(0, silent)) == []


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_but_a_cancel_ends_the_body_properly(reason: str):
    assert breaks([STARTED, Text("a")], [Finished(reason)]) == [False, reason == "cancelled"]


def test_a_failure_breaks_off():
    assert breaks([STARTED, Text("a")], [Text("b"), Failed(Error("internal", "", False))]) == [False, True]


def test_a_restart_before_any_text_does_not_break_off():
    assert (
        breaks([STARTED, RESTART], [Reasoning("a")], [RESTART], [Text("a")], [Finished("stop")])
        == [False] * 5
    )


def test_a_restart_behind_text_breaks_off():
    assert breaks([STARTED], [Text("a")], [RESTART]) == [False, False, True]


def test_a_restart_behind_text_of_the_same_batch_breaks_off():
    assert breaks([STARTED, Text("a"), RESTART, Text("b")]) == [True]
    assert breaks([STARTED, RESTART, Text("b")]) == [False]


def test_another_notice_breaks_nothing_off():
    assert breaks([Text("a"), Notice("takeover", {"from": 0}), Notice("seam", {})]) == [False]


def test_each_reader_has_spoken_for_itself():
    one, other = PlainText(), PlainText()
    one.breaks(Batch(1, [Text("a")]))
    batch = Batch(2, [RESTART])
    assert one.breaks(batch)
    assert not other.breaks(batch)


def test_it_has_no_words_for_anything_else_and_cannot_resume():
    form = PlainText()
    assert form.heartbeat is form.come_back("drain", 200) is form.lost(1) is None
    assert form.cut(Error("draining", "", True)) is None
    assert not form.resumable
