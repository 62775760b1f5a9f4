"""Coming back: with any position, or a senseless one, nothing is generated twice, doubled or left out."""

import asyncio
from contextlib import aclosing

import pytest

from tests.clients import Broken, Refused, Wire, http, rest, sse
from tests.clients.answer import Answer, collect
from tests.clients.event import body
from tests.integration.cases import DOORS, FRONT_DOORS, ask, load, native_id
from tests.integration.server import Server
from tests.integration.upstream import Upstream
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_browser_that_reconnects_does_not_ask_the_engine_again_B84(relay: Server, upstream: Upstream):
    """`EventSource` keeps its URL, the one that starts: the id of the first event makes the difference."""
    case = load()["B84"]
    stage, answer, last_id = case.stage(upstream), Answer(), None
    query = {"prompt": f"stage {stage.key}", "idempotency_key": stage.key}
    for _ in range(case.client["reconnects"]):
        wire: Wire = {}
        async with aclosing(sse.start_by_get(relay, query, last_event_id=last_id, wire=wire)) as events:
            async for event in events:
                answer.take(event)
                if event["type"] == "text":
                    break
        last_id = wire["ids"][-1] if wire["ids"] else last_id
        assert wire["status"] in case.expect["reconnect_status_any_of"]
        assert last_id == f"{answer.id}:{answer.seq}" or answer.last
    await collect(sse.start_by_get(relay, query, last_event_id=last_id), answer)
    assert answer.text == case.expect["text_total"]
    assert answer.reason == "stop"
    after_the_end: Wire = {}
    over = [
        e
        async for e in sse.start_by_get(
            relay, query, last_event_id=f"{answer.id}:{answer.seq}", wire=after_the_end
        )
    ]
    assert (over, after_the_end["status"]) == ([], 204)
    assert len(stage.calls) == case.expect["upstream_calls"]


async def test_a_fetch_that_reconnects_goes_where_the_location_says_B84(relay: Server, upstream: Upstream):
    case = load()["B84"]
    stage = case.stage(upstream)
    started = await http.request(
        "POST", f"{relay.rest}/v1/streams", {"Accept": sse.SSE}, body(case.request(stage))
    )
    location = started.headers["location"]
    started.close()
    assert location == f"/v1/streams/{started.headers['stream-id']}"
    for after in (None, 0, 1):
        answer = Answer(seq=-1 if after is None else after, events=0 if after is None else after + 1)
        answer.text = "paid" if after == 1 else ""
        await collect(sse.follow(relay, location.rpartition("/")[2], after), answer)
        assert answer.text == case.expect["text_total"]
    assert len(stage.calls) == case.expect["upstream_calls"]


async def test_a_senseless_position_is_refused_and_replays_nothing_B85(relay: Server, upstream: Upstream):
    """An empty id counts as absent: from the start. `?after=` is held to the same rule as the header."""
    case = load()["B85"]
    stage = case.stage(upstream)
    answer = await ask("sse", relay, case.request(stage), leave_after=case.client["reconnect_after_tokens"])
    for position in filter(None, case.client["last_event_id_cases"]):
        for door in (sse, rest):
            with pytest.raises(Refused) as refused:
                await collect(door.follow(relay, native_id(answer), position))
            assert (refused.value.status, refused.value.code) == (400, "invalid_request"), position
    again = asyncio.ensure_future(collect(sse.follow(relay, native_id(answer), "")))
    await collect(sse.follow(relay, native_id(answer), answer.seq), answer)
    assert answer.text == "".join(f"k{number:02} " for number in range(40))
    assert (await again).outcome() == answer.outcome()
    assert len(stage.calls) == case.expect["upstream_calls"]


async def test_a_position_the_log_does_not_hold_is_lost_B85(relay: Server, upstream: Upstream):
    case = load()["B84"]
    answer = await ask("ndjson", relay, case.request(case.stage(upstream)))
    for door in (sse, rest):
        with pytest.raises(Refused) as refused:
            await collect(door.follow(relay, native_id(answer), answer.seq + 1))
        assert (refused.value.status, refused.value.code) == (410, "position_lost")


async def test_every_reader_of_a_generation_that_broke_is_told_so_B89(scripted: Server):
    """A second reader comes in the middle; with several replicas the case comes back."""
    case = load()["B89"]

    async def over(door: str) -> None:
        request, first = case.request(), Answer()
        async with aclosing(FRONT_DOORS[door].start(scripted, request)) as events:
            first.take(await anext(events))
            readers = [
                collect(DOORS[other].follow(scripted, native_id(first))) for other in DOORS if other != "chat"
            ]
            async with asyncio.timeout(case.expect["all_readers_end_within_ms"] / 1000):
                others = await asyncio.gather(*readers)
                await collect(events, first)
        for answer in (first, *others):
            assert (answer.text, answer.code) == (case.expect["text"], "internal")

    await at_once(*map(over, case.doors), names=case.doors)


async def test_a_text_answer_that_broke_cannot_look_whole_B37(relay: Server, upstream: Upstream):
    """Plain text has no word for a failure, so its body must not end properly."""
    case = load()["B37"]
    answer = Answer(numbered=False)
    with pytest.raises(Broken):
        await collect(rest.start(relay, case.request(case.stage(upstream)), form=rest.TEXT), answer)
    assert answer.text == case.expect["text"]
