"""A sink, its follower and its place in the pulse are opened and closed together."""

import asyncio

import pytest

from polystream.core.errors import NotFound, PositionLost
from polystream.core.events import Batch
from polystream.core.generations import Generations
from polystream.core.record import Record
from polystream.core.request import OnDisconnect
from polystream.dialects.forms import Ndjson
from polystream.edge.pulse import Pulse
from polystream.edge.readers import Readers
from polystream.edge.sink import HIGH_WATER, BufferSink
from tests.clock import jumping, settle
from tests.fakes import OWNER, HeldEngine, generations, request


class House:
    """A replica with one generation, and the readers of one process."""

    def __init__(self) -> None:
        self.engine = HeldEngine()
        self.generations: Generations = generations(self.engine, max_bytes=10_000_000)
        self.pulse = Pulse(10, 30)
        self.readers = Readers(self.generations, self.pulse)

    async def start(self, mode: OnDisconnect = OnDisconnect.CONTINUE) -> Record:
        """A generation whose engine runs."""
        made = await self.generations.start(request(), OWNER, mode)
        await settle()
        return made

    async def open(self, id: str, after: int | None = None) -> BufferSink:
        """A reader of lines."""
        sink = BufferSink(Ndjson())
        assert await self.readers.open(id, after, OWNER, sink)
        return sink


def lines(sink: BufferSink) -> list[bytes]:
    """The lines that a reader takes now."""
    return b"".join(sink.take()).splitlines()


def texts(sink: BufferSink) -> list[bytes]:
    """The text events that a reader takes now."""
    return [line for line in lines(sink) if b'"type":"text"' in line]


@jumping
async def test_a_reader_is_fed_what_is_stored_and_what_comes():
    house = House()
    made = await house.start()
    house.engine.run.say("a")
    sink = await house.open(made.id)
    house.engine.run.say("b")
    assert texts(sink) == [b'{"seq":1,"type":"text","text":"a"}', b'{"seq":2,"type":"text","text":"b"}']
    house.readers.close(sink)


@jumping
async def test_a_reader_gets_heartbeats_from_the_moment_it_is_open():
    house = House()
    sink = await house.open((await house.start()).id)
    sink.take()
    await asyncio.wait_for(sink.wake(), 11)
    assert lines(sink) == [b'{"type":"heartbeat"}']
    house.readers.close(sink)
    sink.wake()
    await asyncio.sleep(100)
    assert sink.take() == []


@jumping
async def test_a_reader_that_has_left_is_fed_no_more():
    house = House()
    made = await house.start()
    sink = await house.open(made.id)
    sink.take()
    house.readers.close(sink)
    house.readers.close(sink)
    house.engine.run.say("a")
    assert sink.take() == []


@jumping
async def test_a_reader_leaves_once_however_often_it_is_closed():
    house = House()
    made = await house.start(OnDisconnect.CANCEL)
    one, other = await house.open(made.id), await house.open(made.id)
    house.readers.close(one)
    house.readers.close(one)
    await settle()
    assert not house.engine.run.stopped
    house.readers.close(other)
    await settle()
    assert house.engine.run.stopped


@jumping
async def test_a_full_reader_goes_on_where_it_stopped_once_it_has_taken():
    house = House()
    made = await house.start()
    sink = await house.open(made.id)
    count = 3 * HIGH_WATER // 1000
    for number in range(count):
        house.engine.run.say(f"{number} " + "x" * 1000)
    assert len(sink.pieces) < count / 2
    read: list[bytes] = []
    while len(read) < count:
        await asyncio.wait_for(sink.wake(), 1)
        read += texts(sink)
    assert [piece.split(b'"text":"')[1].split()[0] for piece in read] == [
        b"%d" % number for number in range(count)
    ]
    house.readers.close(sink)


@jumping
async def test_a_reader_at_the_end_of_an_ended_log_is_not_opened():
    house = House()
    made = await house.start()
    house.engine.run.end()
    await settle()
    sink = BufferSink(Ndjson())
    assert not await house.readers.open(made.id, 1, OWNER, sink)
    assert sink.follower is None
    assert not house.pulse._open
    house.readers.close(sink)


@pytest.mark.parametrize(("after", "error"), [(5, PositionLost), (None, NotFound)])
@jumping
async def test_a_reader_that_is_refused_is_not_in_the_pulse(after: int | None, error: type[Exception]):
    house = House()
    made = await house.start()
    with pytest.raises(error):
        await house.readers.open(made.id if after else "gen_other", after, OWNER, BufferSink(Ndjson()))
    assert not house.pulse._open


@jumping
async def test_the_reader_of_another_owner_finds_nothing():
    house = House()
    made = await house.start()
    with pytest.raises(NotFound):
        await house.readers.open(made.id, None, "mallory", BufferSink(Ndjson()))


@jumping
async def test_a_reader_of_an_ended_log_has_it_whole_at_once():
    house = House()
    made = await house.start()
    house.engine.run.say("a")
    house.engine.run.end()
    await settle()
    sink = await house.open(made.id)
    assert sink.ended
    assert isinstance(sink.last, Batch)
    assert len(lines(sink)) == 3
    house.readers.close(sink)
