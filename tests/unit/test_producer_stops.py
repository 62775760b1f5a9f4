"""How a generation ends before its engine would: cancelled, out of budget, too large, aborted, taken over."""

import asyncio
from collections.abc import Callable

import pytest

from polystream.core.events import Finished, Text
from polystream.core.ports import Emit, Ending
from polystream.core.request import Request
from polystream.stores.memory import MemoryStore
from tests.clock import jumping, settle
from tests.fakes import HeldEngine, Run, append, record, started, stored, text_of
from tests.producing import Producing


@jumping
async def test_a_generation_cancelled_before_it_began_never_calls_the_engine():
    producing = Producing()
    (await producing.begin()).cancel()
    assert (await producing.last()).reason == "cancelled"
    assert producing.engine.runs == []


@jumping
async def test_a_generation_cancelled_in_mid_answer_stops_the_engine_and_keeps_what_was_said():
    producing = Producing()
    run = await producing.run()
    run.say("half")
    producing.producer.cancel()
    producing.producer.cancel()
    run.say(" and no more")
    assert text_of(await producing.events()) == "half"
    assert (await producing.last()).reason == "cancelled"
    assert run.stopped


@jumping
async def test_a_generation_is_over_only_when_its_engine_has_stopped():
    class Slow(HeldEngine):
        async def generate(self, request: Request, emit: Emit) -> Ending:
            try:
                return await super().generate(request, emit)
            finally:
                await asyncio.sleep(5)

    producing = Producing(Slow())
    await producing.run()
    producing.producer.cancel()
    await asyncio.sleep(4)
    assert producing.over == []
    await asyncio.sleep(2)
    assert (await producing.last()).reason == "cancelled"


@pytest.mark.parametrize("late", [lambda run: Ending("stop"), lambda run: 1 / 0])
@jumping
async def test_how_an_engine_takes_a_cancel_does_not_matter(late: Callable[[Run], Ending]):
    class Stubborn(HeldEngine):
        async def generate(self, request: Request, emit: Emit) -> Ending:
            try:
                return await super().generate(request, emit)
            except asyncio.CancelledError:
                emit([Text("too late")])
                return late(self.run)

    producing = Producing(Stubborn())
    await producing.run()
    producing.producer.cancel()
    assert (await producing.last()).reason == "cancelled"
    assert text_of(await producing.events()) == ""


@jumping
async def test_a_cancel_that_meets_the_engines_own_end_leaves_one_last_event():
    producing = Producing()
    run = await producing.run()
    run.end()
    producing.producer.cancel()
    assert (await producing.last()).reason == "cancelled"


@jumping
async def test_a_cancel_after_the_end_changes_nothing():
    producing = Producing()
    (await producing.run()).end()
    await producing.events()
    producing.producer.cancel()
    assert (await producing.last()).reason == "stop"


@jumping
async def test_a_cancel_flag_in_the_record_stops_the_engine_with_its_next_event():
    producing = Producing()
    run = await producing.run()
    run.say("a")
    await producing.store.cancel(producing.record.id, producing.record.owner)
    run.say("b")
    run.say("c")
    assert text_of(await producing.events()) == "ab"
    assert (await producing.last()).reason == "cancelled"


@jumping
async def test_a_generation_that_takes_too_long_is_out_of_budget():
    producing = Producing()
    run = await producing.run(max_s=100)
    run.say("a")
    await asyncio.sleep(99)
    assert not run.stopped
    await asyncio.sleep(2)
    assert run.stopped
    last = await producing.last()
    assert (last.reason, text_of(await producing.events())) == ("budget", "a")


@jumping
async def test_an_answer_of_too_many_events_is_too_large():
    producing = Producing()
    run = await producing.run(max_events=5)
    for piece in "abcdef":
        run.say(piece)
    events = await producing.events()
    assert (len(events), text_of(events)) == (5, "abc")
    assert (await producing.last()).error.code == "too_large"
    assert run.stopped


@jumping
async def test_an_answer_of_too_many_bytes_is_too_large():
    producing = Producing()
    run = await producing.run(max_bytes=4)
    run.say("éé")
    run.say("x")
    assert text_of(await producing.events()) == "éé"
    error = (await producing.last()).error
    assert (error.code, error.retryable) == ("too_large", False)
    assert run.stopped


@jumping
async def test_an_aborted_generation_writes_nothing_more():
    producing = Producing()
    run = await producing.run()
    run.say("a")
    producing.producer.abort()
    run.say("b")
    await settle()
    assert [seq for seq, _ in await stored(producing.store, producing.record.id)] == [0, 1]
    assert (run.stopped, producing.over) == (True, [producing.record.id])


@jumping
async def test_a_generation_that_ends_with_its_process_writes_nothing_and_breaks_nothing(
    caplog: pytest.LogCaptureFixture,
):
    producing = Producing()
    await producing.run()
    producing.producer._task.cancel()  # as `asyncio.run` does in the end
    await settle()
    assert [seq for seq, _ in await stored(producing.store, producing.record.id)] == [0]
    assert (producing.over, caplog.records) == ([producing.record.id], [])


@jumping
async def test_a_generation_aborted_while_its_cancel_is_under_way_writes_nothing():
    producing = Producing()
    await producing.run()
    producing.producer.cancel()
    producing.producer.abort()
    await settle()
    assert [seq for seq, _ in await stored(producing.store, producing.record.id)] == [0]


@jumping
async def test_a_generation_that_another_attempt_took_over_stops_and_writes_nothing_more():
    producing = Producing()
    run = await producing.run()
    run.say("a")
    taken = record(id=producing.record.id, attempt=1)
    producing.store.inner = MemoryStore(3600)
    await producing.store.create(taken, started(taken))
    run.say("b")
    run.say("c")
    await settle()
    assert run.stopped
    assert producing.over == [producing.record.id]
    assert [seq for seq, _ in await stored(producing.store, taken.id)] == [0]
    assert len(producing.store.appends) == 2


@jumping
async def test_a_generation_whose_log_was_ended_by_another_stops():
    producing = Producing()
    run = await producing.run()
    await append(producing.store, producing.record.id, 1, [Finished("cancelled")])
    run.say("unseen")
    run.say("late")
    await settle()
    assert run.stopped
    assert producing.over == [producing.record.id]
    assert len(await stored(producing.store, producing.record.id)) == 2
