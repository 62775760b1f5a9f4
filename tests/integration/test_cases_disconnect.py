"""Clients that leave: the engine is stopped at once, what was said is kept, and nobody else notices."""

import asyncio
import time
from typing import Any

import pytest

from tests.clients import Broken, Wire, rest
from tests.clients.answer import Answer, collect
from tests.integration.cases import Case, ask, load, native_id, start
from tests.integration.server import Server
from tests.integration.upstream import Reply, Stage, Upstream
from tests.integration.waiting import at_once, closed_within, until

pytestmark = pytest.mark.asyncio(loop_scope="session")


def leaving(case: Case, stage: Stage, door: str) -> dict[str, Any]:
    """The request of a client whose leaving ends the generation (which is chat's default)."""
    return case.request(stage, **({} if door == "chat" else {"on_disconnect": "cancel"}))


@pytest.mark.parametrize("door", load()["B63"].doors)
async def test_the_engine_stops_when_the_client_has_left_B63(door: str, relay: Server, upstream: Upstream):
    case = load()["B63"]
    stage = case.stage(upstream)
    answer = await ask(door, relay, leaving(case, stage, door), leave_after=case.client["leave_after_tokens"])
    await closed_within(stage, time.monotonic(), case.expect["upstream_closed_within_ms"])
    state = await until(lambda: _ended(relay, answer), 2, "the generation has ended")
    assert (state["state"], state["reason"]) == ("finished", case.expect["status"])


@pytest.mark.parametrize("door", load()["B65"].doors)
async def test_what_was_said_is_counted_and_kept_after_the_client_has_left_B65(
    door: str, relay: Server, upstream: Upstream
):
    """The store of this case answers slowly; that half comes with a store that is not in memory."""
    case = load()["B65"]
    stage, row = case.stage(upstream), case.expect["usage_row"]
    left = await ask(door, relay, leaving(case, stage, door), leave_after=case.client["leave_after_tokens"])
    await closed_within(stage, time.monotonic(), case.expect["upstream_closed_within_ms"])
    await until(lambda: _ended(relay, left), 2, "the generation has ended")
    kept = await collect(rest.follow(relay, native_id(left)))
    assert kept.reason == row["status"]
    assert kept.text.startswith(left.text)
    assert row["tokens_min"] <= kept.pieces <= row["tokens_max"]
    assert kept.usage
    assert kept.usage["output_tokens"] == kept.pieces


async def test_one_client_leaving_does_not_disturb_the_others_B68(relay: Server, upstream: Upstream):
    case = load()["B68"]
    who_leaves = case.client["leave"]["stream"]

    async def one(door: str, number: int) -> None:
        leave_after = case.client["leave"]["after_tokens"] if number == who_leaves else None
        answer = Answer(numbered=door != "chat")
        gap, before = 0.0, time.monotonic()
        events = start(door, relay, leaving(case, case.stage(upstream), door))
        async for event in events:
            answer.take(event)
            gap, before = max(gap, time.monotonic() - before), time.monotonic()
            if answer.pieces == leave_after:
                await events.aclose()
                return
        assert answer.text == case.expect["text_of_others"]
        assert gap * 1000 <= case.expect["max_gap_ms"]

    runs = [(door, number) for door in case.doors for number in range(1, case.client["parallel"] + 1)]
    await at_once(*(one(*run) for run in runs), names=tuple(map(str, runs)))


async def test_streams_nobody_finished_use_up_no_connections_B74(relay: Server, upstream: Upstream):
    case = load()["B74"]

    async def over(door: str) -> None:
        stage = case.stage(upstream)
        for _ in range(case.client["repeat"]):
            await ask(door, relay, leaving(case, stage, door), leave_after=case.client["leave_after_tokens"])
        began = time.monotonic()
        await ask(door, relay, leaving(case, stage, door), leave_after=1)
        assert (time.monotonic() - began) * 1000 <= case.expect["final_request_first_token_ms"]
        await until(
            lambda: upstream.busy(stage) == case.expect["upstream_open_sockets"],
            2,
            "all connections are closed",
        )
        assert len(stage.calls) == case.client["repeat"] + 1

    await at_once(*map(over, case.doors), names=case.doors)


async def test_a_deadline_is_a_client_that_leaves_B58(relay: Server, upstream: Upstream):
    case = load()["B58"]
    stage, answer = case.stage(upstream), Answer()
    wire: Wire = {}
    request = leaving(case, stage, "grpc")
    with pytest.raises(Broken):
        await collect(
            start("grpc", relay, request, deadline_s=case.client["deadline_ms"] / 1000, wire=wire), answer
        )
    await closed_within(stage, time.monotonic(), case.expect["upstream_closed_within_ms"])
    assert wire["status"] in case.expect["grpc_code"]
    assert case.expect["tokens_min"] <= answer.pieces <= case.expect["tokens_max"]
    state = await until(lambda: _ended(relay, answer), 2, "the generation has ended")
    assert state["reason"] == case.expect["status"]


async def test_a_client_that_leaves_before_the_first_token_stops_the_engine(
    relay: Server, upstream: Upstream
):
    """B63 once more, where nobody would notice by writing: the engine has said nothing yet."""

    async def over(door: str) -> None:
        stage = upstream.stage(Reply([], end="hold", hold_ms=30_000), "silent")
        request = leaving(load()["B63"], stage, door)
        reading = asyncio.ensure_future(ask(door, relay, request))
        await stage.called()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await closed_within(stage, time.monotonic(), 1000)

    doors = load()["B63"].doors
    await at_once(*map(over, doors), names=doors)


async def _ended(server: Server, answer: Answer) -> dict[str, Any] | None:
    state = await rest.status(server, native_id(answer))
    return None if state["state"] == "running" else state
