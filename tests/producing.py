"""A producer under test, with an engine that the test drives."""

from typing import Any

from polystream.core.events import Event, Failed, Finished
from polystream.core.log import LogLimits
from polystream.core.producer import Limits, Producer
from polystream.core.record import Record
from polystream.core.request import OnDisconnect
from tests.clock import settle
from tests.fakes import HeldEngine, Run, digest, record, started, stored, text_of
from tests.stores import OtherStore


class Producing:
    """A producer of one generation, which nobody reads, over stores and engines of the test's choice."""

    def __init__(self, engine: HeldEngine | None = None, store: OtherStore | None = None, **fields: Any):
        self.engine = engine or HeldEngine()
        self.store = store or OtherStore()
        self.record: Record = record(**({"on_disconnect": OnDisconnect.CONTINUE} | fields))
        self.over: list[str] = []

    async def begin(self, max_events: int = 100, max_bytes: int = 1000, max_s: float = 3600) -> Producer:
        """The producer, its engine not yet called."""
        await self.store.create(self.record, started(self.record))
        limits = Limits(LogLimits(max_events, max_bytes), generation_max_s=max_s, orphan_grace_s=60)
        self.producer = Producer(
            self.store, self.engine, self.record, started(self.record), limits, self.over.append
        )
        return self.producer

    async def run(self, **limits: Any) -> Run:
        """The engine's call, begun."""
        await self.begin(**limits)
        await settle()
        return self.engine.run

    async def events(self) -> list[Event]:
        """The log's events, once everything has happened; it is whole, and nothing is left running."""
        await settle()
        assert self.over == [self.record.id]
        assert self.producer._task.done()
        events = [event for _, event in await stored(self.store, self.record.id)]
        assert [isinstance(event, Finished | Failed) for event in events].count(True) == 1
        last: Any = events[-1]
        assert (last.events, last.sha256) == (len(events), digest(text_of(events)))
        return events

    async def last(self) -> Any:
        """The last event, once everything has happened."""
        return (await self.events())[-1]
