"""The one timer of all readers: heartbeats for the silent, and the end of those that take nothing."""

import asyncio
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from polystream.core.events import Batch, Text
from polystream.dialects import chat, native
from polystream.dialects.forms import Frames, Ndjson, Sse
from polystream.dialects.proto import Messages
from polystream.dialects.text import PlainText
from polystream.edge.pulse import Pulse
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.protocols.grpc import CallSink, _pump
from polystream.protocols.websocket import Session
from tests.clock import jumping, settle
from tests.fakes import HeldEngine, generations, record

RECORD = record()
FORMS: dict[str, Any] = {
    "ndjson": Ndjson,
    "frames": lambda: Frames("a"),
    "sse": Sse,
    "text": PlainText,
    "proto": Messages,
    "chat": lambda: chat.Chunks(RECORD, False),
}


class Ticks:
    """Notes the ticks it gets."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.limits: set[tuple[float, float]] = set()

    def tick(self, now: float, heartbeat_s: float, stall_s: float) -> None:
        self.times.append(now)
        self.limits.add((heartbeat_s, stall_s))


def batch(text: str = "a", seq: int = 1) -> Batch:
    """One text event."""
    return Batch(seq, [Text(text)])


def times(count: int, every: float, start: float = 0) -> Any:
    """So many ticks."""
    return pytest.approx([start + every * number for number in range(1, count + 1)])


# ---- the timer ----


@pytest.mark.parametrize(("heartbeat_s", "stall_s", "every"), [(10, 30, 0.5), (60, 2, 0.1)])
@jumping
async def test_it_ticks_twenty_times_in_the_shorter_time(heartbeat_s: float, stall_s: float, every: float):
    pulse, ticks = Pulse(heartbeat_s, stall_s), Ticks()
    pulse.add(ticks)
    await asyncio.sleep(20.5 * every)
    assert ticks.times == times(20, every)
    assert ticks.limits == {(heartbeat_s, stall_s)}
    pulse.discard(ticks)


@jumping
async def test_all_readers_share_one_timer():
    pulse, one, other = Pulse(10, 30), Ticks(), Ticks()
    pulse.add(one)
    await asyncio.sleep(0.75)
    pulse.add(other)
    pulse.add(other)
    await asyncio.sleep(1)
    assert one.times == times(3, 0.5)
    assert other.times == one.times[1:]
    pulse.discard(one)
    pulse.discard(other)


@jumping
async def test_nobody_is_ticked_after_leaving_and_leaving_twice_is_nothing():
    pulse, one, other = Pulse(10, 30), Ticks(), Ticks()
    pulse.add(one)
    pulse.add(other)
    await asyncio.sleep(0.75)
    pulse.discard(one)
    pulse.discard(one)
    await asyncio.sleep(1)
    assert (len(one.times), len(other.times)) == (1, 3)
    pulse.discard(other)


@jumping
async def test_the_pulse_rests_while_there_is_nobody_and_beats_again_for_the_next():
    pulse, ticks = Pulse(10, 30), Ticks()
    pulse.add(ticks)
    pulse.discard(ticks)
    await asyncio.sleep(5)
    assert pulse._timer is None
    pulse.add(ticks)
    await asyncio.sleep(1.25)
    assert ticks.times == times(2, 0.5, 5)
    pulse.discard(ticks)


@jumping
async def test_readers_may_come_and_go_within_a_tick():
    pulse, come = Pulse(10, 30), Ticks()

    class Leaving(Ticks):
        def tick(self, now: float, heartbeat_s: float, stall_s: float) -> None:
            super().tick(now, heartbeat_s, stall_s)
            pulse.discard(self)
            pulse.add(come)

    leaving = Leaving()
    pulse.add(leaving)
    await asyncio.sleep(1.25)
    assert (leaving.times, come.times) == (times(1, 0.5), times(1, 0.5, 0.5))
    pulse.discard(come)


# ---- a reader ----


@pytest.mark.parametrize("name", FORMS)
@jumping
async def test_a_silent_reader_gets_a_heartbeat_where_the_form_has_room_for_one(name: str):
    sink, form = BufferSink(FORMS[name]()), FORMS[name]()
    woken = sink.wake()
    sink.tick(9.9, 10, 30)
    assert not woken.done()
    sink.tick(10, 10, 30)
    assert woken.done() == (form.heartbeat is not None)
    assert sink.take() == ([] if form.heartbeat is None else [form.heartbeat])


@jumping
async def test_a_heartbeat_comes_after_silence_not_by_the_clock():
    sink = BufferSink(Ndjson())
    sink.write(batch())
    sink.take()
    sink.wake()
    for now, beats in ((7, 0), (16.9, 0), (17, 1)):
        sink.tick(now, 10, 30)
        assert sink.pieces == [native.heartbeat() + b"\n"] * beats


@jumping
async def test_heartbeats_do_not_gather_while_nobody_takes_them():
    sink = BufferSink(Ndjson())
    sink.wake()
    for now in range(10, 30):
        sink.tick(now, 10, 30)
    assert len(sink.pieces) == 1


@jumping
async def test_heartbeats_that_are_taken_come_as_often_as_they_should():
    sink, beats = BufferSink(Ndjson()), []
    for now in range(1, 31):
        sink.wake()
        sink.tick(now, 10, 30)
        beats += [now] * len(sink.take())
    assert beats == [10, 20, 30]


@jumping
async def test_a_reader_at_its_end_gets_no_heartbeat():
    sink = BufferSink(Ndjson())
    sink.wake()
    sink.ended = True
    sink.tick(100, 10, 30)
    assert sink.pieces == []


@jumping
async def test_a_reader_that_waits_is_never_stalled():
    sink, stalls = BufferSink(PlainText()), []
    sink.stalled = lambda: stalls.append(1)
    sink.wake()
    sink.tick(1000, 10, 30)
    assert stalls == []


@jumping
async def test_a_reader_that_takes_nothing_for_too_long_is_stalled():
    sink, stalls = BufferSink(Ndjson()), []
    sink.stalled = lambda: stalls.append(1)
    sink.wake()
    sink.write(batch())
    for now, count in ((29.9, 0), (30, 1), (59.9, 1), (60, 2)):
        sink.tick(now, 10, 30)
        assert len(stalls) == count
    assert sink.pieces != []


@jumping
async def test_a_reader_that_does_not_even_take_a_heartbeat_is_stalled_after_it():
    sink, stalls = BufferSink(Ndjson()), []
    sink.stalled = lambda: stalls.append(1)
    sink.wake()
    for now, count in ((10, 0), (11, 0), (40.9, 0), (41, 1)):
        sink.tick(now, 10, 30)
        assert len(stalls) == count


@jumping
async def test_a_take_is_a_move():
    sink, stalls = BufferSink(Ndjson()), []
    sink.stalled = lambda: stalls.append(1)
    sink.write(batch())
    sink.tick(20, 10, 30)
    sink.take()
    for now, count in ((21, 0), (50.9, 0), (51, 1)):
        sink.tick(now, 10, 30)
        assert len(stalls) == count


@jumping
async def test_bytes_that_the_connection_still_sends_are_a_move():
    sink, stalls, unsent = BufferSink(Ndjson()), [], [5000]
    sink.stalled = lambda: stalls.append(1)
    sink.unsent = lambda: unsent[0]
    sink.write(Batch(0, [Text("x" * 5000)]))
    sink.take()
    for now in (29, 58, 87):
        sink.tick(now, 10, 30)
        unsent[0] -= 100
    assert stalls == []
    sink.tick(90, 10, 30)
    sink.tick(119, 10, 30)
    assert stalls == []
    sink.tick(120, 10, 30)
    assert stalls == [1]


# ---- a socket and a call ----


class Connection:
    """A socket that notes what is sent, until it is gone."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.gone = False

    async def send(self, message: bytes, text: bool) -> None:
        if self.gone:
            raise ConnectionClosedError(None, None)
        self.sent.append(message)


def session(connection: Any) -> Session:
    """A session in which answers run."""
    made = Session(connection, Readers(generations(HeldEngine()), Pulse(10, 30)))
    made._sinks = {"a": BufferSink(Ndjson()), "b": BufferSink(Ndjson())}  # type: ignore[dict-item]
    return made


@jumping
async def test_a_socket_has_one_heartbeat_for_all_its_answers():
    connection = Connection()
    made = session(connection)
    for beats in (0, 1, 1, 2):
        await asyncio.sleep(5)
        made.tick(made._loop.time(), 10, 30)
        await settle()
        assert connection.sent == [native.heartbeat()] * beats


@jumping
async def test_a_socket_on_which_nothing_runs_has_none():
    connection = Connection()
    made = session(connection)
    made._sinks = {}
    made.tick(100, 10, 30)
    await settle()
    assert connection.sent == []


@jumping
async def test_a_heartbeat_for_a_socket_that_has_gone_is_no_trouble():
    connection = Connection()
    made = session(connection)
    connection.gone = True
    made.tick(10, 10, 30)
    await settle()
    assert made._tasks == set()


@jumping
async def test_a_call_that_takes_its_messages_one_by_one_is_not_stalled():
    class Slow:
        async def write(self, message: bytes) -> None:
            await asyncio.sleep(20)

    sink, stalls = CallSink(Messages()), []
    sink.stalled = lambda: stalls.append(1)
    sink.write(Batch(1, [Text("a"), Text("b"), Text("c")]))
    pumping = asyncio.ensure_future(_pump(sink, Slow()))  # type: ignore[arg-type]
    for now in range(5, 60, 5):
        await asyncio.sleep(5)
        sink.tick(now, 10, 30)
    assert (stalls, len(sink.pieces), sink.waiting > 0) == ([], 0, True)
    pumping.cancel()
