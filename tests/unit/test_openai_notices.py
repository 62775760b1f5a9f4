"""Notices go from one Polystream to the next in comments of the chat stream, which other clients skip."""

from typing import Any

import pytest

from polystream.core.events import Batch as Stored
from polystream.core.events import Event, Notice, Started, Text
from polystream.core.record import Record
from polystream.core.request import Message, Request
from polystream.dialects.chat import Chunks
from polystream.engines.openai_notices import KINDS, notices
from polystream.engines.sse import SseParser


def spelled(event: Event) -> bytes:
    """As a chat stream has it."""
    request = Request((Message("user", "hi"),))
    record = Record(id="gen_a", owner="o", request=request, model="m", engine="e", created=1)
    return b"".join(Chunks(record, False).encode(Stored(1, [event])))


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("detail", [{}, {"position": 3}, {"fields": ["seed", "ü\u2028"]}])
def test_a_notice_arrives_as_it_was_said(kind: str, detail: dict[str, Any]):
    parser, notice = SseParser(), Notice(kind, detail)
    assert parser.feed(spelled(notice)) == []
    assert notices(parser.notices) == [notice]


def test_a_notice_may_be_cut_anywhere():
    said = spelled(Notice("queued", {"position": 12})) + spelled(Text("a"))
    for at in range(len(said) + 1):
        parser = SseParser()
        events = parser.feed(said[:at]) + parser.feed(said[at:])
        assert len(events) == 1
        assert notices(parser.notices) == [Notice("queued", {"position": 12})]


@pytest.mark.parametrize(
    "comment",
    [
        b"", b"x", b"[]", b"1", b"{}", b'{"kind":"queued"}', b'{"kind":"queued","detail":1}',
        b'{"kind":"takeover","detail":{"from":1}}', b'{"kind":"restart","detail":{}}',
        b'{"kind":["queued"],"detail":{}}',
        b'{"kind":"new","detail":{}}', b'{"kind":"queued","detail":{}', b"\xff", b"[" * 10_000,
    ],
)  # fmt: skip
def test_what_is_no_notice_is_passed_over(comment: bytes):
    assert notices([comment]) == []


@pytest.mark.parametrize("line", [b": heartbeat", b":", b": notices {}", b"notice {}", b":notice {}"])
def test_other_comments_are_no_notices(line: bytes):
    parser = SseParser()
    assert parser.feed(line + b"\n\n") == []
    assert parser.notices == []


def test_notices_that_nobody_takes_are_bounded():
    parser = SseParser()
    parser.feed(spelled(Notice("queued", {"position": 1})) * 1000)
    assert len(parser.notices) == 100


def test_started_is_no_notice():
    assert b"notice" not in spelled(Started("gen_a", "m", "e", 1))
