"""The way past the buffer: an output takes pieces at once, but only while nothing is in the way."""

import struct

import pytest

from polystream.core.events import Batch, Finished, Text
from polystream.dialects.forms import Ndjson
from polystream.edge.sink import BufferSink
from polystream.protocols.websocket import text_frame
from tests.clock import jumping


class Output:
    """A connection that takes what it is given, unless it is closed."""

    def __init__(self) -> None:
        self.open = True
        self.taken: list[bytes] = []

    def __call__(self, pieces: list[bytes]) -> int:
        if not self.open:
            return 0
        self.taken += pieces
        return sum(map(len, pieces))


def connected() -> tuple[BufferSink, Output]:
    """A sink with an output."""
    sink, output = BufferSink(Ndjson()), Output()
    sink.output = output
    return sink, output


def line(seq: int, text: str) -> bytes:
    """A text event as NDJSON spells it."""
    return b'{"seq":%d,"type":"text","text":"%b"}\n' % (seq, text.encode())


@jumping
async def test_a_piece_is_written_at_once_while_the_taker_waits():
    sink, output = connected()
    waiting = sink.wake()
    sink.write(Batch(1, [Text("a")]))
    assert output.taken == [line(1, "a")]
    assert (sink.pieces, waiting.done()) == ([], False)


@jumping
async def test_a_piece_waits_for_its_turn_while_the_taker_is_busy():
    sink, output = connected()
    sink.write(Batch(1, [Text("a")]))
    assert output.taken == []
    assert sink.take() == [line(1, "a")]


@jumping
async def test_what_the_output_does_not_take_is_gathered_and_wakes_the_taker():
    sink, output = connected()
    waiting, output.open = sink.wake(), False
    sink.write(Batch(1, [Text("a")]))
    output.open = True
    sink.write(Batch(2, [Text("b")]))
    assert waiting.done()
    assert (output.taken, sink.take()) == ([], [line(1, "a"), line(2, "b")])


@jumping
async def test_the_end_wakes_the_taker_although_its_bytes_are_written():
    sink, output = connected()
    waiting = sink.wake()
    sink.write(Batch(1, [Finished("stop")]))
    assert waiting.done()
    assert (len(output.taken), sink.pieces, sink.ended) == (1, [], True)


@jumping
async def test_a_heartbeat_is_the_takers():
    sink, output = connected()
    waiting = sink.wake()
    sink.tick(10, 10, 30)
    assert waiting.done()
    assert (output.taken, sink.take()) == ([], [b'{"type":"heartbeat"}\n'])


@jumping
async def test_a_reader_whose_bytes_pile_up_in_the_connection_stands_still():
    sink, output = connected()
    stalls: list[int] = []
    sink.stalled = lambda: stalls.append(1)
    sink.unsent = lambda: sum(map(len, output.taken))
    sink.wake()
    for seq in range(1, 7):
        sink.write(Batch(seq, [Text("x")]))
        sink.tick(seq * 10, 10, 30)
    assert stalls


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_text_frame_is_spelled_as_rfc_6455_says(size: int):
    payload = b"x" * size
    frame = text_frame(payload)
    assert frame[0] == 0x81
    short, rest = frame[1], frame[2:]
    if short < 126:
        told, body = short, rest
    elif short == 126:
        told, body = struct.unpack(">H", rest[:2])[0], rest[2:]
        assert told > 125
    else:
        told, body = struct.unpack(">Q", rest[:8])[0], rest[8:]
        assert told > 65_535
    assert (told, body) == (size, payload)
