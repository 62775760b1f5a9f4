"""Which form an answer has: highest q, a named type before a wildcard at equal q, then our own order."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystream.protocols.http import choose

NDJSON, SSE, TEXT = OFFERED = ("application/x-ndjson", "text/event-stream", "text/plain")


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        # nothing said, or everything taken
        ("", NDJSON),
        ("*/*", NDJSON),
        ("*/*;q=0.1", NDJSON),
        # one type
        (NDJSON, NDJSON),
        (SSE, SSE),
        (TEXT, TEXT),
        ("text/*", SSE),
        ("application/*", NDJSON),
        ("TEXT/Event-Stream", SSE),
        (" text/plain ; q=1 ", TEXT),
        ("text/plain; charset=utf-8", TEXT),
        ("text/plain;charset=utf-8;q=0.5, text/event-stream;q=0.4", TEXT),
        # what browsers and tools send
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", NDJSON),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", NDJSON),
        ("text/event-stream, */*", SSE),
        # the highest q wins
        ("text/plain;q=0.5, text/event-stream;q=0.6, application/x-ndjson;q=0.4", SSE),
        ("text/plain;q=0.001, text/event-stream;q=0", TEXT),
        ("application/x-ndjson;q=0.9, */*", SSE),
        ("application/x-ndjson;q=0.9, text/event-stream;q=0.9, */*", TEXT),
        ("text/*;q=0.9, */*;q=0.8", SSE),
        # at equal q a named type before a wildcard
        ("*/*, text/plain", TEXT),
        ("*/*;q=0.5, text/plain;q=0.5", TEXT),
        ("application/*, text/event-stream", SSE),
        ("text/*, text/plain", TEXT),
        # then our order
        ("text/plain, text/event-stream", SSE),
        ("text/event-stream;q=1, text/plain", SSE),
        ("text/event-stream;q=1.000, text/plain", SSE),
        ("text/event-stream, application/x-ndjson", NDJSON),
        ("text/*, */*", NDJSON),
        ("text/*;q=0.5, application/*;q=0.5", NDJSON),
        # a range says it for its type, whatever a wider one says
        ("*/*, application/x-ndjson;q=0", SSE),
        ("*/*, text/*;q=0", NDJSON),
        ("*/*, application/*;q=0, text/event-stream;q=0", TEXT),
        ("text/*;q=0, text/plain", TEXT),
        ("text/plain;q=0.2, text/plain;q=0.7, text/event-stream;q=0.5", TEXT),
        # a q that is none counts as 1
        ("text/plain;q=2, text/event-stream;q=0.9", TEXT),
        ("text/plain;q=, text/event-stream;q=0.9", TEXT),
    ],
)
def test_the_form_is_the_one_that_the_client_likes_best(accept: str, form: str):
    assert choose(accept, OFFERED) == form


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "text/html, image/*",
        "text/plain;q=0",
        "*/*;q=0",
        "*/*;q=0.000, text/html",
        "text/*;q=0, application/*;q=0",
        "*/plain",
        "text",
        ";",
        "application/x-ndjson2",
        "[^/]+/[^/]+",
    ],
)
def test_what_takes_none_of_ours_gets_none(accept: str):
    assert choose(accept, OFFERED) is None


@pytest.mark.parametrize("ranges", list(permutations(["text/event-stream;q=0.9", "text/plain", "*/*;q=0.1"])))
def test_the_order_of_the_ranges_says_nothing(ranges: tuple[str, ...]):
    assert choose(", ".join(ranges), OFFERED) == TEXT


@given(st.text("*/;,=q01. " + TEXT, max_size=60) | st.text(max_size=40))
def test_any_header_gives_one_of_ours_or_none(accept: str):
    assert choose(accept, OFFERED) in (*OFFERED, None)
