"""Reasoning that an engine leaves in the text between markers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystream.core.events import Event, Reasoning, Text
from polystream.engines.reasoning import ReasoningSplitter


def split(*pieces: str) -> tuple[str, str]:
    """Answer and reasoning of the pieces, each joined."""
    splitter = ReasoningSplitter()
    events: list[Event] = [event for piece in pieces for event in splitter.feed(piece)] + splitter.close()
    assert all(isinstance(event, Text | Reasoning) and event.text for event in events)
    text = "".join(event.text for event in events if isinstance(event, Text))
    return text, "".join(event.text for event in events if isinstance(event, Reasoning))


@given(
    parts=st.lists(
        st.sampled_from(["<think>", "</think>", "<thi", "nk>", "<", "/", "a", " \n", "<b>"]), max_size=12
    ),
    cuts=st.lists(st.integers(0, 80)),
)
def test_where_the_text_is_cut_makes_no_difference(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert split(*(text[begin:end] for begin, end in pairwise(places))) == split(text)


def test_what_stands_between_the_markers_is_reasoning() -> None:
    assert split("<think>secret</think>Hello <b>bold</b>") == ("Hello <b>bold</b>", "secret")


def test_markers_cut_between_pieces_do_not_leak() -> None:
    assert split("<th", "ink>secret</thi", "nk>Hello <", "b>bold", "</b>") == ("Hello <b>bold</b>", "secret")


def test_reasoning_that_breaks_off_is_no_answer() -> None:
    assert split("<think>", "plan A", " plan B") == ("", "plan A plan B")
    assert split("<think>plan A</thin") == ("", "plan A</thin")


def test_a_beginning_that_becomes_no_marker_is_text() -> None:
    assert split("a <thi") == ("a <thi", "")
    assert split("<", "<think>b") == ("<", "b")


def test_a_model_may_think_twice() -> None:
    assert split("<think>a</think>b<think>c</think>d") == ("bd", "ac")


def test_a_closing_marker_alone_is_text() -> None:
    assert split("a</think>b") == ("a</think>b", "")


def test_blanks_around_the_markers_stay() -> None:
    assert split("<think>\na\n</think>\n\nb") == ("\n\nb", "\na\n")


@pytest.mark.parametrize("piece", ["plain", "1 < 2 ", "x"])
def test_text_that_begins_no_marker_is_not_held_back(piece: str) -> None:
    assert ReasoningSplitter().feed(piece) == [Text(piece)]
