"""The forms of the native dialect: lines, messages and server-sent events, byte for byte."""

from typing import Any

import pytest

from polystream.core.events import Batch, Error, Event, Failed, Finished, Notice, Started, Text
from polystream.dialects.forms import Frames, Ndjson, Sse

TEXT = b'{"seq":4,"type":"text","text":"a\\n\\u2028"}'
LAST = b'{"seq":5,"type":"finished","reason":"stop","events":6,"sha256":""}'
COME_BACK = b'{"type":"come_back","retry_after_ms":200,"reason":"drain"}'
LOST = b'{"type":"lost","after":12}'
FORMS: list[Any] = [Ndjson(), Frames("r%d"), Frames("s"), Sse(), Sse("gen_x")]


def batch(count: int = 2) -> Batch:
    """The last events of a log."""
    events: list[Event] = [Text("a\n\u2028"), Finished("stop", events=6)]
    return Batch(4, events[:count])


def test_ndjson_is_an_event_a_line():
    assert Ndjson().encode(batch(1)) == [TEXT + b"\n"]
    assert Ndjson().encode(batch()) == [TEXT + b"\n" + LAST + b"\n"]


def test_ndjson_says_what_is_no_event_in_lines_too():
    form = Ndjson()
    assert form.heartbeat == b'{"type":"heartbeat"}\n'
    assert form.come_back("drain", 200) == COME_BACK + b"\n"
    assert form.lost(12) == LOST + b"\n"


@pytest.mark.parametrize(("ref", "head"), [("a", b'{"ref":"a",'), ('%d "é"', b'{"ref":"%d \\"\\u00e9\\"",')])
def test_a_frame_is_the_event_under_its_ref(ref: str, head: bytes):
    assert Frames(ref).encode(batch()) == [head + TEXT[1:], head + LAST[1:]]
    assert Frames(ref).encode(batch(1)) == [head + TEXT[1:]]
    assert Frames(ref).encode(Batch(4, [Text("a"), Text("b")])) == [
        head + b'"seq":4,"type":"text","text":"a"}',
        head + b'"seq":5,"type":"text","text":"b"}',
    ]


def test_a_frame_may_be_what_is_no_event():
    form = Frames("a")
    assert form.heartbeat is None
    assert form.come_back("drain", 200) == b'{"ref":"a",' + COME_BACK[1:]
    assert form.lost(12) == b'{"ref":"a",' + LOST[1:]


def test_an_event_stream_has_id_type_and_data():
    text = b"id: 4\nevent: text\ndata: " + TEXT + b"\n\n"
    last = b"id: 5\nevent: finished\ndata: " + LAST + b"\n\n"
    assert Sse().encode(batch(1)) == [text]
    assert Sse().encode(batch()) == [text + last]


def test_every_type_of_event_is_the_events_name():
    events: list[Event] = [
        Started("gen_x", "m", "e", 1),
        Notice("restart", {}),
        Failed(Error("internal", "", False)),
    ]
    lines = Sse().encode(Batch(0, events))[0].split(b"\n")
    assert lines[1::4] == [b"event: started", b"event: notice", b"event: failed"]


def test_the_ids_of_a_stream_that_an_event_source_started_name_the_generation():
    assert Sse("gen_x").encode(batch(1)) == [b"id: gen_x:4\nevent: text\ndata: " + TEXT + b"\n\n"]


@pytest.mark.parametrize("form", [Sse(), Sse("gen_x")])
def test_what_is_no_event_has_no_id_so_that_the_browser_keeps_its_position(form: Sse):
    assert form.come_back("drain", 200) == b"event: come_back\nretry: 200\ndata: " + COME_BACK + b"\n\n"
    assert form.lost(12) == b"event: lost\ndata: " + LOST + b"\n\n"


def test_a_heartbeat_in_an_event_stream_is_a_comment():
    assert Sse().heartbeat == b": heartbeat\n\n"


def test_forms_with_other_bytes_have_other_keys():
    assert len({form.key for form in FORMS}) == len(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_every_end_has_words_so_that_no_form_breaks_off(form: Any):
    assert form.resumable
    assert not form.breaks(Batch(3, [Text("a"), Notice("restart", {}), Finished("cancelled")]))
    assert not form.breaks(Batch(3, [Failed(Error("internal", "", False))]))


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_has_no_words_because_the_end_of_a_log_is_its_producers(form: Any):
    assert form.cut(Error("draining", "", True)) is None
