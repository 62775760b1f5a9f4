"""A reader's buffer: encoded once a dialect, one wake-up, bounded, and an end that looks like no other."""

from typing import Any

import pytest

from polystream.core.events import Batch, Error, Event, Failed, Finished, Notice, Text
from polystream.core.follower import Follower
from polystream.core.record import Record
from polystream.dialects import chat
from polystream.dialects.forms import Frames, Ndjson, Sse
from polystream.dialects.proto import Messages
from polystream.dialects.text import PlainText
from polystream.edge.sink import HIGH_WATER, BufferSink
from tests.clock import jumping, settle
from tests.fakes import record

ERROR = Error("draining", "Later.", True)
RECORD: Record = record()
FORMS: dict[str, Any] = {
    "ndjson": Ndjson,
    "frames": lambda: Frames("a"),
    "sse": Sse,
    "text": PlainText,
    "proto": Messages,
    "chat": lambda: chat.Chunks(RECORD, False),
}


class Words(Ndjson):
    """A form that counts its encodings."""

    def __init__(self, key: str = "words"):
        self.key = key
        self.encoded = 0

    def encode(self, batch: Batch) -> list[bytes]:
        self.encoded += 1
        return [event.text.encode() for event in batch.events if isinstance(event, Text)]


class RoomFollower(Follower):
    """Counts how often it hears that there is room."""

    def __init__(self) -> None:  # of the real one nothing is wanted
        self.rooms = 0

    def drained(self) -> None:
        self.rooms += 1


def batch(text: str = "a", seq: int = 1) -> Batch:
    """One text event."""
    return Batch(seq, [Text(text)])


# ---- writing and taking ----


@jumping
async def test_a_batch_is_encoded_once_for_all_readers_of_a_dialect():
    form, other, made = Words(), Words("other"), batch()
    for key in (form, form, other):
        BufferSink(key).write(made)
    assert (form.encoded, other.encoded) == (1, 1)
    assert set(made.encodings) == {"words", "other"}


@jumping
async def test_two_readers_do_not_share_what_they_hold():
    one, other, made = BufferSink(Words()), BufferSink(Words()), batch()
    one.write(made)
    one.write(batch("b", 2))
    other.write(made)
    assert (one.take(), other.take()) == ([b"a", b"b"], [b"a"])
    assert made.encodings["words"] == [b"a"]


@jumping
async def test_everything_that_has_gathered_is_taken_at_once_oldest_first():
    sink = BufferSink(Words())
    sink.write(Batch(1, [Text("a"), Text("b")]))
    sink.write(batch("c", 3))
    assert sink.take() == [b"a", b"b", b"c"]
    assert sink.take() == []


@jumping
async def test_a_reader_is_woken_once_by_any_number_of_batches():
    sink = BufferSink(Words())
    woken = sink.wake()
    await settle()
    assert not woken.done()
    sink.write(batch())
    sink.write(batch("b", 2))
    assert woken.done()
    assert sink.take() == [b"a", b"b"]
    assert not sink.wake().done()


@jumping
async def test_a_reader_that_comes_to_something_or_to_the_end_does_not_wait():
    sink = BufferSink(Words())
    sink.write(batch())
    assert sink.wake().done()
    sink.take()
    sink.abandon()
    assert sink.wake().done()


@jumping
async def test_an_empty_batch_of_bytes_wakes_too_so_that_the_end_is_seen():
    sink = BufferSink(Words())
    woken = sink.wake()
    sink.write(Batch(1, [Finished("stop")]))
    assert woken.done()
    assert sink.ended
    assert sink.take() == []


@jumping
async def test_a_sink_is_full_only_above_its_high_water_mark():
    sink = BufferSink(Words())
    assert not sink.full
    sink.write(batch("x" * (HIGH_WATER - 1)))
    sink.write(batch("y", 2))
    assert not sink.full
    sink.write(batch("z", 3))
    assert sink.full
    sink.take()
    sink.write(batch("x" * HIGH_WATER, 4))
    assert not sink.full


@jumping
async def test_the_log_hears_of_room_only_when_there_was_none():
    sink = BufferSink(Words())
    sink.follower = follower = RoomFollower()
    sink.write(batch("x" * HIGH_WATER))
    sink.take()
    assert follower.rooms == 0
    sink.write(batch("x" * (HIGH_WATER + 1), 2))
    sink.take()
    assert follower.rooms == 1
    sink.take()
    assert follower.rooms == 1


# ---- ends ----


@pytest.mark.parametrize("last", [Finished("stop"), Failed(ERROR), Finished("cancelled")])
@jumping
async def test_the_last_event_ends_the_reader_and_is_kept(last: Event):
    sink, made = BufferSink(Words()), Batch(1, [Text("a"), last])
    sink.write(made)
    assert (sink.ended, sink.broken, sink.last, sink.take()) == (True, False, made, [b"a"])


@jumping
async def test_a_log_that_goes_on_ends_nothing():
    sink = BufferSink(Words())
    sink.write(batch())
    assert (sink.ended, sink.broken, sink.last) == (False, False, None)


@pytest.mark.parametrize("name", FORMS)
@jumping
async def test_told_to_come_back_or_lost_it_ends_with_words_or_breaks_off(name: str):
    for call in ("come_back", "lost"):
        sink = BufferSink(FORMS[name]())
        woken = sink.wake()
        arguments: Any = ("drain", 200) if call == "come_back" else (7,)
        getattr(sink, call)(*arguments)
        words = getattr(FORMS[name](), call)(*arguments)
        assert (sink.ended, sink.broken, woken.done()) == (True, words is None, True)
        assert sink.take() == ([] if words is None else [words])


@pytest.mark.parametrize("name", FORMS)
@jumping
async def test_a_cut_breaks_off_in_every_form_behind_an_error_where_there_are_words(name: str):
    sink = BufferSink(FORMS[name]())
    sink.write(batch())
    sink.take()
    sink.cut(ERROR)
    words = FORMS[name]().cut(ERROR)
    assert (sink.ended, sink.broken) == (True, True)
    assert sink.take() == ([] if words is None else [words])


@jumping
async def test_only_the_first_end_counts():
    sink = BufferSink(Ndjson())
    sink.write(Batch(1, [Finished("stop", events=2)]))
    held = list(sink.pieces)
    sink.come_back("drain", 200)
    sink.lost(1)
    sink.cut(ERROR)
    assert (sink.broken, sink.take()) == (False, held)


@jumping
async def test_nothing_is_written_behind_an_end_that_the_form_made():
    sink = BufferSink(FORMS["chat"]())
    sink.write(batch())
    sink.write(Batch(2, [Notice("restart", {})]))
    said = b"".join(sink.take())
    sink.write(Batch(3, [Text("b"), Finished("stop")]))
    assert (sink.ended, sink.broken, sink.take()) == (True, True, [])
    assert said.endswith(b'"code":"upstream_disconnected"}}\n\n')


@jumping
async def test_a_reader_that_wants_no_more_forgets_what_has_gathered():
    sink = BufferSink(Words())
    sink.write(batch())
    sink.abandon()
    sink.write(batch("b", 2))
    assert (sink.ended, sink.broken, sink.take()) == (True, False, [])


@jumping
async def test_a_reader_that_waits_learns_that_it_is_no_longer_wanted():
    sink = BufferSink(Words())
    woken = sink.wake()
    sink.abandon()
    assert woken.done()


@pytest.mark.parametrize("name", FORMS)
@jumping
async def test_whether_a_reader_can_come_back_is_its_forms(name: str):
    assert BufferSink(FORMS[name]()).resumable == (name not in ("text", "chat"))
