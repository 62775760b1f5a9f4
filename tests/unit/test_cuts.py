"""Any answer, cut anywhere and any number of times: text, count and digest come out exact."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polystream.core.errors import UpstreamDisconnected
from polystream.core.events import Event, Failed, Finished, Notice, Reasoning, Text, ToolCall
from polystream.core.follower import Follower
from polystream.core.generations import Generations
from polystream.core.ports import Store
from polystream.core.request import OnDisconnect
from polystream.stores.memory import MemoryStore
from tests.clock import jumping
from tests.fakes import OWNER, HeldEngine, HeldSink, Run, digest, generations, request, stored, text_of
from tests.stores import RemoteStore

PIECES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Text, PIECES),
    st.builds(Text, PIECES, tokens=st.integers(1, 5)),
    st.builds(Reasoning, PIECES),
    st.builds(ToolCall, st.just(0), arguments=PIECES),
    st.just(Notice("restart", {"cause": "upstream_stalled"})),
    st.just(Notice("queued", {"position": 1})),
)
#: What the engine emits, one list a network read, each after a pause.
READS = st.lists(st.tuples(st.integers(0, 3), st.lists(EVENTS, max_size=5)), max_size=25)
#: What one reader does, a step each: how long it waits, and whether it then takes or leaves and comes back.
HABITS = st.tuples(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["take", "leave", "sent"])), max_size=15),
    st.one_of(st.none(), st.integers(1, 20)),
)
ENDS: list[Callable[[Run], Any]] = [
    lambda run: run.end(),
    lambda run: run.fail(UpstreamDisconnected()),
]
STORES = pytest.mark.parametrize(
    "store_of", [lambda: MemoryStore(3600), RemoteStore], ids=["memory", "remote"]
)


class Reader:
    """A client that keeps what it has and its position, over any number of connections."""

    def __init__(self, replica: Generations, id: str, high_water: int | None):
        self._replica = replica
        self._id = id
        self._high_water = high_water
        self._sink = HeldSink(high_water)
        self._follower: Follower | None = None
        self.events: list[tuple[int, Event]] = []

    async def connect(self) -> None:
        """Come (back) with the position; what was on its way to the old connection is lost."""
        after = self.events[-1][0] if self.events else None
        self._sink = HeldSink(self._high_water)
        self._follower = await self._replica.attach(self._id, after, OWNER, self._sink)

    def take(self) -> None:
        """Take what has arrived."""
        if self._follower is not None:
            known = len(self._sink.taken)
            self._sink.take(self._follower)
            for batch in self._sink.taken[known:]:
                self.events += enumerate(batch.events, batch.first_seq)

    def leave(self, how: str) -> None:
        """Leave, or be told to come back."""
        assert self._follower is not None
        if how == "sent":
            self._follower.come_back("drain")
            self.take()
        self._follower.close()

    @property
    def done(self) -> bool:
        """Whether it has the last event."""
        return bool(self.events) and isinstance(self.events[-1][1], Finished | Failed)

    async def run(self, steps: list[tuple[int, str]]) -> None:
        """Read with these habits, then to the end."""
        await self.connect()
        for wait, step in steps:
            await asyncio.sleep(wait * 0.01)
            if step != "take" and not self.done:
                self.leave(step)
                await self.connect()
            self.take()
        while not self.done:
            await asyncio.sleep(0.01)
            assert self._sink.trouble == []
            self.take()


async def say(run: Run, reads: list[tuple[int, list[Event]]], end: Callable[[Run], Any]) -> None:
    """Be the engine."""
    for pause, events in reads:
        await asyncio.sleep(pause * 0.01)
        run.emit(*events)
    end(run)


async def opened(engine: HeldEngine, store: Store, **limits: Any) -> tuple[Generations, str]:
    """A generation whose engine has been called."""
    replica = generations(engine, store, **limits)
    made = await replica.start(request(), OWNER, OnDisconnect.GRACE)
    await asyncio.sleep(0.001)
    return replica, made.id


def check(written: list[Event], events: list[tuple[int, Event]]) -> None:
    """The reader has what was written, in order, numbered from 0 on, and the last event proves it."""
    assert [seq for seq, _ in events] == list(range(len(events)))
    last: Any = events[-1][1]
    assert [event for _, event in events[1:-1]] == written
    assert (last.events, last.sha256) == (len(events), digest(text_of(event for _, event in events)))


@STORES
@settings(max_examples=80)
@given(reads=READS, habits=st.lists(HABITS, min_size=1, max_size=4), end=st.sampled_from(ENDS))
@jumping
async def test_readers_that_leave_and_come_back_have_the_exact_answer(
    store_of: Any, reads: Any, habits: Any, end: Any
):
    engine = HeldEngine()
    replica, id = await opened(engine, store_of())
    readers = [Reader(replica, id, high_water) for _, high_water in habits]
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(say(engine.run, reads, end))
        for reader, (steps, _) in zip(readers, habits, strict=True):
            tasks.create_task(reader.run(steps))
    written = [event for _, events in reads for event in events]
    for reader in readers:
        check(written, reader.events)
    assert [event for _, event in readers[0].events] == [
        event for _, event in await stored(replica.store, id)
    ]


@STORES
@settings(max_examples=60)
@given(reads=READS, moment=st.integers(0, 40), max_events=st.integers(2, 40), max_bytes=st.integers(0, 100))
@jumping
async def test_an_answer_that_is_cancelled_or_grows_too_large_is_whole_up_to_there(
    store_of: Any, reads: Any, moment: int, max_events: int, max_bytes: int
):
    engine = HeldEngine()
    replica, id = await opened(engine, store_of(), max_events=max_events, max_bytes=max_bytes)
    reader = Reader(replica, id, None)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(reader.run([]))
        tasks.create_task(say(engine.run, reads, lambda run: None))
        await asyncio.sleep(moment * 0.01)
        await replica.cancel(id, OWNER)
    written = [event for _, events in reads for event in events]
    check(written[: len(reader.events) - 2], reader.events)
    assert len(reader.events) <= max_events
    last: Any = reader.events[-1][1]
    assert (last.reason if isinstance(last, Finished) else last.error.code) in ("cancelled", "too_large")


@STORES
@settings(max_examples=60)
@given(reads=READS, cuts=st.lists(st.integers(1, 4), max_size=8))
@jumping
async def test_an_iterator_that_is_closed_and_opened_again_has_the_exact_answer(
    store_of: Any, reads: Any, cuts: list[int]
):
    engine = HeldEngine()
    replica, id = await opened(engine, store_of())
    events: list[tuple[int, Event]] = []

    async def read(most: int | None) -> None:
        after = events[-1][0] if events else None
        async with aclosing(await replica.follow(id, after, OWNER)) as batches:
            async for batch in batches:
                events.extend(enumerate(batch.events, batch.first_seq))
                most = most and most - 1
                if most == 0:
                    return

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(say(engine.run, reads, lambda run: run.end()))
        for most in [*cuts, None]:
            await read(most)
    check([event for _, events in reads for event in events], events)
