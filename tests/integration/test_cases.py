"""Every reported fault that needs no special client: one body, over each protocol the case names."""

import time
from typing import Any

import pytest

from tests.clients.answer import Answer
from tests.integration.cases import Case, ask, load, start
from tests.integration.conftest import Serve
from tests.integration.expectations import Run, check
from tests.integration.front import Front
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream, writes
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")


def named(case: Case) -> str:
    """The case and the doors it runs over, for the test's name."""
    return "-".join([case.id, *case.doors])


@pytest.mark.parametrize("case", [case for case in load().values() if case.plain], ids=named)
async def test_a_reported_fault_comes_out_right_over_every_protocol(
    case: Case, upstream: Upstream, shared: Serve
):
    server = await shared(**case.settings(upstream))
    runs = await at_once(*(play(case, door, server, upstream) for door in case.doors), names=case.doors)
    for run in runs:
        try:
            check(run)
        except AssertionError as error:
            error.add_note(f"over {run.door}; last event {run.answer.last}; text {run.answer.text!r}")
            raise


async def play(case: Case, door: str, server: Server, upstream: Upstream) -> Run:
    """Run a case over one door to its end, whatever that is."""
    stage = None if case.scripted else case.stage(upstream)
    options = {"include_usage": True} if door == "chat" and case.params.get("include_usage") else {}
    wire: dict[str, Any] = {}
    events: list[dict[str, Any]] = []
    answer = Answer(numbered=door != "chat")
    async for event in start(door, server, case.request(stage), wire=wire, **options):
        events.append(event)
        answer.take(event)
    return Run(case, door, answer, events, wire, stage.calls if stage else [], time.monotonic())


async def test_a_failure_in_mid_answer_reaches_a_browser_B107(front: Front, upstream: Upstream):
    """As a last event and as a status in the frame of trailers, since browsers show no HTTP trailers."""
    case = load()["B107"]
    wire: dict[str, Any] = {}
    answer = Answer()
    origin = {"Origin": "http://page.example"}
    events = [event async for event in start("grpc-web", front, case.request(), wire=wire, headers=origin)]
    for event in events:
        answer.take(event)
    check(Run(case, "grpc-web", answer, events, wire, [], time.monotonic()))


@pytest.mark.parametrize("door", load()["B32"].doors)
async def test_think_tags_stay_in_the_answer_when_not_split_B32(door: str, relay: Server, upstream: Upstream):
    case = load()["B32"]
    answer = await ask(door, relay, case.request(case.stage(upstream)))
    assert answer.text == case.expect["text_when_split_off"]
    assert answer.reasoning == ""


@pytest.mark.parametrize("door", load()["B30"].doors)
async def test_reasoning_that_is_cut_short_is_no_answer_B30(door: str, relay: Server, upstream: Upstream):
    """The same case told by an engine that parts reasoning from text itself, under either name."""
    case = load()["B30"]
    deltas = [{"reasoning_content": "plan A"}, {"reasoning": " plan B"}]
    stage = upstream.stage(Reply(writes(*deltas, finish_reason="length")), case.id)
    answer = await ask(door, relay, stage.request())
    assert (answer.text, answer.reasoning) == (case.expect["text"], case.expect["reasoning"])
    assert answer.reason == case.expect["finish_reason"]


@pytest.mark.parametrize("door", load()["B112"].doors)
async def test_the_engine_is_stopped_soon_after_a_stop_string_B112(door: str, scripted: Server):
    """Fifty more pieces would follow, 10 ms apart."""
    case = load()["B112"]
    began = time.monotonic()
    answer = await ask(door, scripted, case.request())
    assert answer.reason == "stop"
    assert time.monotonic() - began < 0.4
    assert answer.usage
    assert answer.usage["output_tokens"] <= 4 + case.expect["engine_steps_after_stop_max"]
