"""Token ids become exactly the text whose bytes they stand for, whatever character they cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from polystream.engines.detokenizer import Detokenizer

#: Case B20: SentencePiece's marks of words are blanks in running text.
WORDS = [b" The", b" cat", b" s", b"at", b" ", b" down", b"."]


def read(pieces: list[bytes], *, drop_first_space: bool = False) -> list[str]:
    """What each piece lets out, one after the other."""
    detokenizer = Detokenizer(pieces, drop_first_space)
    return [detokenizer.feed(number) for number in range(len(pieces))]


def test_b20_blanks_between_words_stay():
    assert "".join(read(WORDS, drop_first_space=True)) == "The cat sat  down."
    assert "".join(read(WORDS)) == " The cat sat  down."


def test_only_one_blank_and_only_the_first_is_the_mark_of_a_word():
    assert read([b"", b"  a", b" b"], drop_first_space=True) == ["", " a", " b"]
    assert read([b"a", b" b"], drop_first_space=True) == ["a", " b"]


def test_a_character_waits_until_it_is_whole():
    assert read([b"\xf0\x9f", b"\x90", b"\x8b!"]) == ["", "", "🐋!"]


def test_half_a_character_at_the_end_is_no_text():
    assert read([b"a", b"\xe3\x81"]) == ["a", ""]


def test_bytes_that_are_no_text_are_replaced():
    assert "".join(read([b"a\xff", b"b"])) == "a\ufffdb"


@given(st.text(), st.lists(st.integers(min_value=0, max_value=400)), st.booleans())
def test_any_text_cut_anywhere_is_the_same_text(text: str, cuts: list[int], drop: bool):
    encoded = text.encode("utf-8", "surrogatepass")
    if "\ufffd" in encoded.decode("utf-8", "replace"):
        return
    places = sorted({0, len(encoded), *(cut for cut in cuts if cut < len(encoded))})
    pieces = [encoded[begin:end] for begin, end in pairwise(places)]
    assert "".join(read(pieces, drop_first_space=drop)) == (text.removeprefix(" ") if drop else text)
