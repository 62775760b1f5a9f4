"""Stop strings: however a text is cut into pieces, what is let out is what the whole text would give."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polystream.engines.stop import StopStrings

#: Few letters, so that stop strings occur, overlap and repeat themselves.
FEW = st.tuples(
    st.lists(st.text("ab", max_size=6), max_size=8),
    st.lists(st.text("ab", min_size=1, max_size=4), max_size=3).map(tuple),
)
ANY = st.tuples(
    st.lists(st.text(max_size=5), max_size=6),
    st.lists(st.text(min_size=1, max_size=4), max_size=4).map(tuple),
)


def said(pieces: list[str], stops: tuple[str, ...]) -> tuple[list[str], bool]:
    """What comes out of each piece and at the end, and whether a stop string came."""
    filtered = StopStrings(stops)
    out = [filtered.feed(piece) for piece in pieces]
    return [*out, filtered.close()], filtered.hit


def expected(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """The text before the stop string that is whole first; of those that end with it, the longest."""
    for end in range(1, len(text) + 1):
        if ended := [stop for stop in stops if text[:end].endswith(stop)]:
            return text[: end - max(map(len, ended))], True
    return text, False


@settings(max_examples=500)
@given(FEW | ANY)
@example((["abc"], ("abc", "b")))
@example((["ab", "c"], ("abc", "b")))
@example((["a", "a", "ab"], ("aab",)))
def test_any_cutting_of_a_text_gives_what_the_whole_text_would(case: tuple[list[str], tuple[str, ...]]):
    pieces, stops = case
    out, hit = said(pieces, stops)
    assert ("".join(out), hit) == expected("".join(pieces), stops)


@given(FEW | ANY)
def test_nothing_is_held_back_but_the_beginning_of_a_stop_string(case: tuple[list[str], tuple[str, ...]]):
    pieces, stops = case
    filtered, let_out, text = StopStrings(stops), "", ""
    for piece in pieces:
        let_out += filtered.feed(piece)
        text += piece
        if filtered.hit:
            return
        held = text[len(let_out) :]
        assert text == let_out + held
        assert held == "" or any(stop.startswith(held) and stop != held for stop in stops)


@pytest.mark.parametrize(
    ("pieces", "stops", "out"),
    [
        (["Hello"], (), ["Hello", ""]),
        (["Hel", "lo"], ("x",), ["Hel", "lo", ""]),
        (["a\n", "\nb"], ("\n\n",), ["a", "", ""]),
        (["a\n", "b"], ("\n\n",), ["a", "\nb", ""]),
        (["a\n"], ("\n\n",), ["a", "\n"]),
        (["a", "b", "c"], ("b",), ["a", "", "", ""]),
        (["ab"], ("ab", "b"), ["", ""]),
        (["xaab"], ("aab",), ["x", ""]),
        (["a🌍", "b"], ("🌍b",), ["a", "", ""]),
    ],
)
def test_what_comes_out_comes_as_early_as_it_can(pieces: list[str], stops: tuple[str, ...], out: list[str]):
    assert said(pieces, stops)[0] == out


def test_after_a_stop_string_nothing_is_let_out():
    filtered = StopStrings(("x",))
    assert filtered.feed("ax b") == "a"
    assert filtered.hit
    assert (filtered.feed("c"), filtered.close()) == ("", "")


def test_what_was_held_back_is_given_once():
    filtered = StopStrings(("ab",))
    assert (filtered.feed("a"), filtered.close(), filtered.close()) == ("", "a", "")
