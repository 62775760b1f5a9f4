"""What every store answers to appends, and what its watchers hear (`core.ports.Store.append`, `watch`)."""

from typing import Any

import pytest

from polystream.core.events import ATTEMPT_SPAN, Batch, Event, Finished, Notice, Text
from polystream.core.ports import Store, Verdict
from polystream.core.record import Record
from tests.fakes import OWNER, Answer, append, numbered, record, started, stored, texts, until

OK, FENCED, BEHIND, GONE = Verdict.OK, Verdict.FENCED, Verdict.BEHIND, Verdict.GONE


async def opened(store: Store, **fields: Any) -> Record:
    """A log that holds `started` alone."""
    made = record(**fields)
    await store.create(made, started(made))
    return made


async def said(store: Store, made: Record) -> str:
    """The text of the log."""
    return "".join(event.text for _, event in await stored(store, made.id) if isinstance(event, Text))


async def test_an_append_is_answered_with_the_number_of_the_last_event(store: Store):
    made = await opened(store)
    assert await append(store, made.id, 1, texts("a", "b")) == Answer(OK, 2)
    assert await append(store, made.id, 3, texts("c")) == Answer(OK, 3)
    assert await said(store, made) == "abc"


async def test_the_same_append_again_is_ok_and_adds_nothing(store: Store):
    made = await opened(store)
    for _ in range(3):
        assert await append(store, made.id, 1, texts("a", "b")) == Answer(OK, 2)
    assert await said(store, made) == "ab"
    assert (await store.record(made.id, OWNER)).events == 3


async def test_an_older_append_again_is_ok_and_adds_nothing(store: Store):
    made = await opened(store)
    await append(store, made.id, 1, texts("a"))
    await append(store, made.id, 2, texts("b"))
    assert await append(store, made.id, 1, texts("a")) == Answer(OK, 2)
    assert await said(store, made) == "ab"


async def test_an_append_that_overlaps_adds_only_what_is_missing(store: Store):
    made = await opened(store)
    await append(store, made.id, 1, texts("a", "b"))
    assert await append(store, made.id, 1, texts("a", "b", "c")) == Answer(OK, 3)
    assert await append(store, made.id, 3, texts("c", "d")) == Answer(OK, 4)
    assert await said(store, made) == "abcd"
    assert (await store.record(made.id, OWNER)).events == 5


async def test_an_append_of_nothing_tells_how_things_stand(store: Store):
    made = await opened(store)
    assert await append(store, made.id, 1, []) == Answer(OK, 0)
    await store.cancel(made.id, OWNER)
    assert await append(store, made.id, 1, []) == Answer(OK, 0, cancel=True)


async def test_an_append_behind_a_hole_is_refused_with_the_place_to_go_on_from(store: Store):
    made = await opened(store)
    await append(store, made.id, 1, texts("a"))
    assert await append(store, made.id, 3, texts("c")) == Answer(BEHIND, 1)
    assert await said(store, made) == "a"
    assert await append(store, made.id, 2, texts("b", "c")) == Answer(OK, 3)


async def test_an_attempt_begins_at_its_own_number(store: Store):
    made = await opened(store, attempt=2)
    takeover = Notice("takeover", {"from": 0})
    first = 2 * ATTEMPT_SPAN
    assert await append(store, made.id, first, [takeover], attempt=2) == Answer(OK, first)
    assert await append(store, made.id, first, [takeover, Text("a")], attempt=2) == Answer(OK, first + 1)
    assert [seq for seq, _ in await stored(store, made.id)] == [0, first, first + 1]
    kept = await store.record(made.id, OWNER)
    assert (kept.events, kept.last_seq) == (3, first + 1)


async def test_an_attempt_that_skips_its_first_event_is_behind(store: Store):
    made = await opened(store, attempt=1)
    answer = await append(store, made.id, ATTEMPT_SPAN + 1, texts("a"), attempt=1)
    assert answer == Answer(BEHIND, ATTEMPT_SPAN - 1)


@pytest.mark.parametrize(("attempt", "first_seq"), [(0, 1), (2, 2 * ATTEMPT_SPAN)])
async def test_an_attempt_that_does_not_own_the_generation_is_fenced(
    store: Store, attempt: int, first_seq: int
):
    made = await opened(store, attempt=1)
    answer = await append(store, made.id, first_seq, texts("a"), attempt)
    assert answer.verdict is FENCED
    assert [seq for seq, _ in await stored(store, made.id)] == [0]


async def test_an_append_to_a_log_that_is_not_there_is_gone(store: Store):
    assert (await append(store, "gen_never", 1, texts("a"))).verdict is GONE


async def test_the_last_event_again_is_ok(store: Store):
    made = await opened(store)
    events: list[Event] = [Text("a"), Finished("stop")]
    for _ in range(2):
        assert await append(store, made.id, 1, events) == Answer(OK, 2)
    assert await append(store, made.id, 2, events[1:]) == Answer(OK, 2)


async def test_nothing_is_added_behind_the_last_event(store: Store):
    made = await opened(store)
    await append(store, made.id, 1, [Finished("stop")])
    late: list[tuple[int, list[Event]]] = [
        (1, [Finished("stop"), Text("late")]),
        (2, texts("late")),
        (5, texts("x")),
    ]
    for first_seq, events in late:
        assert (await append(store, made.id, first_seq, events)).verdict is FENCED
    assert [seq for seq, _ in await stored(store, made.id)] == [0, 1]


async def test_every_answer_carries_the_cancel_flag(store: Store):
    made = await opened(store)
    assert not (await append(store, made.id, 1, texts("a"))).cancel
    await store.cancel(made.id, OWNER)
    answers = [
        await append(store, made.id, 2, texts("b")),
        await append(store, made.id, 9, texts("x")),
        await append(store, made.id, ATTEMPT_SPAN, texts("x"), attempt=1),
    ]
    assert [(answer.verdict, answer.cancel) for answer in answers] == [
        (OK, True),
        (BEHIND, True),
        (FENCED, True),
    ]


async def test_a_watcher_hears_what_is_stored_before_the_producer_does(store: Store):
    made = await opened(store)
    heard: list[object] = []
    await store.watch(made.id, OWNER, lambda batch: heard.extend(numbered([batch])))
    store.append(made.id, 0, 1, texts("a"), lambda *said: heard.append(Answer(*said)))
    await until(lambda: len(heard) == 2)
    assert heard == [(1, Text("a")), Answer(OK, 1)]


async def test_a_watcher_hears_only_what_was_added(store: Store):
    made = await opened(store)
    heard: list[Batch] = []
    await store.watch(made.id, OWNER, heard.append)
    await append(store, made.id, 1, texts("a", "b"))
    await append(store, made.id, 1, texts("a", "b"))
    await append(store, made.id, 2, texts("b", "c"))
    await append(store, made.id, 9, texts("x"))
    await append(store, made.id, ATTEMPT_SPAN, texts("x"), attempt=1)
    await append(store, made.id, 4, [Finished("stop")])
    await until(lambda: heard and heard[-1].last)
    assert numbered(heard) == [(1, Text("a")), (2, Text("b")), (3, Text("c")), (4, Finished("stop"))]


@pytest.mark.parametrize("attempt", [0, 1])
async def test_what_a_watcher_heard_does_not_change_when_the_log_grows(store: Store, attempt: int):
    made = await opened(store, attempt=attempt)
    heard: list[Batch] = []
    await store.watch(made.id, OWNER, heard.append)
    first = attempt * ATTEMPT_SPAN or 1
    await append(store, made.id, first, [Notice("takeover", {"from": 0})], attempt)
    await append(store, made.id, first + 1, texts("a"), attempt)
    await until(lambda: heard and heard[-1].last_seq == first + 1)
    assert [seq for seq, _ in numbered(heard)] == [first, first + 1]


async def test_watchers_hear_their_own_log_only_and_each_of_them_all_of_it(store: Store):
    one, other = await opened(store), await opened(store)
    heard: list[list[Batch]] = [[], [], []]
    for made, batches in zip((one, one, other), heard, strict=True):
        await store.watch(made.id, OWNER, batches.append)
    await append(store, one.id, 1, texts("a"))
    await append(store, other.id, 1, texts("b"))
    await until(lambda: all(heard))
    assert [numbered(batches) for batches in heard] == [[(1, Text("a"))], [(1, Text("a"))], [(1, Text("b"))]]


async def test_a_watcher_that_stopped_hears_nothing_more(store: Store):
    made = await opened(store)
    heard: list[Batch] = []
    others: list[Batch] = []
    unwatch = await store.watch(made.id, OWNER, heard.append)
    await store.watch(made.id, OWNER, others.append)
    await append(store, made.id, 1, texts("a"))
    await until(lambda: heard)
    unwatch()
    unwatch()
    await append(store, made.id, 2, texts("b"))
    await until(lambda: len(others) == 2)
    assert [seq for seq, _ in numbered(heard)] == [1]
