"""Race: one prompt over four protocols at once, and what a proxy on the way does to them."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from tests.e2e.buffering import Buffering
from tests.e2e.chat import END_MS, PROTOCOLS
from tests.e2e.conftest import Open
from tests.e2e.texts import EVENTS, TEXT
from tests.integration.front import Front
from tests.integration.upstream import Call, Reply, Upstream, says, writes

pytestmark = pytest.mark.asyncio(loop_scope="session")

LANES = ("REST stream", "SSE", "WebSocket", "gRPC-Web")


def lane(page: Page, name: str) -> Locator:
    """A protocol's lane."""
    return page.get_by_role("article", name=name, exact=True)


async def run(page: Page, prompt: str = "Hello") -> None:
    """Start a race."""
    await page.get_by_role("textbox", name="Prompt").fill(prompt)
    await page.get_by_role("button", name=re.compile("^Run")).click()


async def test_four_protocols_bring_the_same_text(slow: Front, visit: Open):
    page = await visit(f"{slow.rest}/#/race")
    await run(page)
    for name in LANES:
        await expect(lane(page, name)).to_contain_text("streaming")
    for name in LANES:
        await expect(lane(page, name)).to_contain_text("verified", timeout=END_MS)
        text = await lane(page, name).get_by_role("group", name=name).text_content()
        assert text == TEXT
    await expect(page.get_by_text("Race finished, 4 of 4 answers verified")).to_be_attached()
    await expect(page.get_by_role("button", name="Run again")).to_be_visible()
    table = page.get_by_role("table")
    await page.get_by_text("Figures as a table").click()
    for protocol in PROTOCOLS:
        row = table.get_by_role("row").filter(has_text=protocol)
        await expect(row.get_by_role("cell").last).to_have_text(str(EVENTS))
    await expect(page.get_by_role("img", name=re.compile("^Arrivals: "))).to_be_visible()
    await expect(page.get_by_text("is buffering")).to_have_count(0)


async def test_a_race_is_stopped_in_all_lanes(slow: Front, visit: Open):
    page = await visit(f"{slow.rest}/#/race")
    await run(page)
    await expect(lane(page, "gRPC-Web")).to_contain_text("alpha5")
    await page.get_by_role("button", name="Stop", exact=True).click()
    for name in LANES:
        await expect(lane(page, name)).to_contain_text("stopped")


async def test_a_race_goes_on_while_another_view_is_looked_at(slow: Front, visit: Open):
    page = await visit(f"{slow.rest}/#/race")
    await run(page)
    await expect(lane(page, "SSE")).to_contain_text("alpha2")
    await page.get_by_role("link", name="Chat", exact=True).click()
    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    await page.get_by_role("link", name="Race", exact=True).click()
    for name in LANES:
        await expect(lane(page, name)).to_contain_text("verified", timeout=END_MS)


async def test_a_lane_that_fails_says_why_and_the_others_run_on(
    front_relay: Front, upstream: Upstream, visit: Open
):
    def choose(call: Call) -> Reply:
        if call.number == 0:
            return Reply(writes({"content": "So far"}, finish_reason=None), end="rst")
        return Reply(says(*(f"word{number} " for number in range(20)), delay_ms=20))

    stage = upstream.stage(choose)
    page = await visit(f"{front_relay.rest}/#/race")
    await run(page, f"stage {stage.key}")
    articles = page.get_by_role("article")
    await expect(articles.filter(has_text="verified")).to_have_count(3, timeout=END_MS)
    failed = articles.filter(has_text="upstream_disconnected")
    await expect(failed).to_have_count(1)
    await expect(failed).to_contain_text("So far")
    await expect(failed.get_by_role("alert")).to_be_visible()


async def test_a_proxy_that_buffers_is_named_from_the_gaps_alone(slow: Front, visit: Open):
    async with Buffering(slow.rest) as proxy:
        page = await visit(f"{proxy.rest}/#/race")
        await run(page)
        notice = page.get_by_role("note")
        await expect(notice).to_contain_text("A proxy is buffering the REST stream.", timeout=END_MS)
        await expect(notice).to_contain_text("the other three arrive one by one")
        for name in LANES:
            await expect(lane(page, name)).to_contain_text("verified", timeout=END_MS)
        arrivals = page.get_by_role("img", name=re.compile("^Arrivals: "))
        await expect(arrivals).to_have_accessible_name(
            re.compile("SSE, WebSocket,? and gRPC-Web arrive evenly, REST in bursts about [34]\\d0 ms apart")
        )
