"""The parser of engines' event streams, against the HTML Living Standard and against any cut of the bytes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystream.core.errors import UpstreamBadChunk
from polystream.engines.sse import SseParser


def parsed(*reads: bytes) -> list[bytes]:
    """The data of all events that the reads complete."""
    parser = SseParser()
    return [data for read in reads for data in parser.feed(read)]


def by_the_book(stream: bytes) -> list[bytes]:
    """The specification's steps over a whole stream, as plainly as they can be written."""
    events: list[bytes] = []
    data = None
    lines = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    for line in lines[:-1]:
        field, _, value = line.partition(b":")
        if not line:
            events += [data[:-1]] if data is not None else []
            data = None
        elif field == b"data":
            data = (data or b"") + value.removeprefix(b" ") + b"\n"
    return events


ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
LINES = st.sampled_from(
    [
        *(
            b"",
            b"",
            b"data: {}",
            b"data:{}",
            b"data:  x",
            b"data",
            b"data:",
            b": ping",
            b":",
            b"id: 7",
            b"retry: 1",
        ),
        *(b"event: a", b"database: no", b"data : no", b"\xc3\xa9", "data: \u2028é".encode(), b"data: a: b"),
        b" data: no",
    ]
)


@given(
    lines=st.lists(st.tuples(LINES, ENDS)),
    bom=st.booleans(),
    cuts=st.lists(st.integers(0, 200)),
)
def test_any_cut_of_any_stream_gives_the_events_of_the_specification(
    lines: list[tuple[bytes, bytes]], bom: bool, cuts: list[int]
) -> None:
    stream = (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + end for line, end in lines)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reads = [stream[begin:end] for begin, end in pairwise(places)]
    assert parsed(*reads) == by_the_book(stream)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_serves_and_may_be_cut_after_every_byte(end: bytes) -> None:
    stream = end.join([b"data: one", b"", b": ping", b"data: two", b"data: three", b"", b""])
    assert parsed(stream) == [b"one", b"two\nthree"]
    assert parsed(*(stream[at : at + 1] for at in range(len(stream)))) == [b"one", b"two\nthree"]


def test_many_events_in_one_read_come_at_once() -> None:
    assert parsed(b"data: a\n\ndata: b\n\ndata: c\n\nda", b"ta: d\n\n") == [b"a", b"b", b"c", b"d"]


def test_an_event_ended_by_a_lone_cr_waits_for_no_more_bytes() -> None:
    assert parsed(b"data: a\r\n\r") == [b"a"]


def test_an_empty_read_between_cr_and_lf_changes_nothing() -> None:
    assert parsed(b"data: a\r", b"", b"\ndata: b\r\n\r\n") == [b"a\nb"]


def test_a_byte_order_mark_is_dropped_once_even_in_pieces() -> None:
    assert parsed(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == [b"a"]
    assert parsed(b"data: a\n\n", b"\xef\xbb\xbfdata: b\n\n") == [b"a"]


def test_events_without_data_and_comments_give_nothing() -> None:
    assert parsed(b"event: ping\n\nid: 7\n\nretry: 1500\n\n:\n\n: x\n\n\n\n") == []


def test_an_empty_data_field_is_an_event_with_empty_data() -> None:
    assert parsed(b"data\n\ndata:\n\ndata: \n\ndata\ndata\n\n") == [b"", b"", b"", b"\n"]


def test_only_one_space_after_the_colon_is_dropped() -> None:
    assert parsed(b"data:  a\n\ndata:b\n\n") == [b" a", b"b"]


def test_line_ends_of_unicode_are_no_line_ends() -> None:
    text = "data: a\u2028b\u2029c\x85d\x0be\x0cf\n\n".encode()
    assert parsed(text) == [text[6:-2]]


def test_a_line_that_grows_over_many_reads_is_bounded() -> None:
    parser = SseParser(max_bytes=1000)
    parser.feed(b"data: ")
    with pytest.raises(UpstreamBadChunk):
        [parser.feed(b"x" * 100) for _ in range(11)]


def test_an_event_of_many_lines_is_bounded() -> None:
    parser = SseParser(max_bytes=1000)
    with pytest.raises(UpstreamBadChunk):
        [parser.feed(b"data: " + b"x" * 90 + b"\n") for _ in range(11)]


def test_a_comment_is_bounded_too() -> None:
    parser = SseParser(max_bytes=1000)
    with pytest.raises(UpstreamBadChunk):
        [parser.feed(b":" + b"x" * 100) for _ in range(11)]


@pytest.mark.parametrize(
    "reads",
    [(b"data: hal", b"f\n\n"), (b": ping\n\n",), (b": pi", b"ng\n"), (b"data: a\n\ndata: b", b"\n\n")],
)
def test_a_long_stream_of_small_events_reaches_no_bound(reads: tuple[bytes, ...]) -> None:
    parser = SseParser(max_bytes=100)
    for _ in range(100):
        for read in reads:
            parser.feed(read)


@pytest.mark.parametrize(
    "rest", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r", b"id: 1\ndata: [DONE]\r\n"]
)
def test_an_event_without_its_blank_line_is_given_at_the_end(rest: bytes) -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\n\n" + rest) == [b"a"]
    assert parser.close() == b"[DONE]"
    assert parser.close() is None


@pytest.mark.parametrize("rest", [b"", b": ping", b"id: 8", b"\n", b"dat"])
def test_at_the_end_of_whole_events_nothing_is_left(rest: bytes) -> None:
    parser = SseParser()
    parser.feed(b"data: a\n\n" + rest)
    assert parser.close() is None
