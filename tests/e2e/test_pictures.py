"""Pictures of the views for people to look at, in build/screenshots: each must be drawn without an error."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.e2e.buffering import Buffering
from tests.e2e.chat import END_MS
from tests.e2e.conftest import Open, picture
from tests.e2e.test_access import LOOKS, MARKDOWN, WORDS, pieces
from tests.integration.front import Front
from tests.integration.upstream import Call, Reply, Upstream, says, writes

pytestmark = pytest.mark.asyncio(loop_scope="session")

SIZES = {1440: 900, 375: 812}
ASKS = {
    "en-GB": "Answers arrive in one lump behind nginx. Fix my config and compare the protocols.",
    "ja-JP": "nginxの後ろでは回答がまとめて届きます。設定を直し、プロトコルを比べてください。",
}
SPOKEN = {
    "en-GB": "nginx collects the upstream response in a buffer before it passes it on.\n\n"
    + MARKDOWN.partition("- A-word")[0],
    "ja-JP": "nginxは上流の応答をバッファーにためてから渡します。ストリーミングの経路だけ止めてください。\n\n"
    + MARKDOWN.partition("- A-word")[0],
}


class Camera:
    """Takes a page in both sizes, under a name that says how it looks."""

    def __init__(self, page: Page, locale: str, theme: str):
        self.page = page
        self.look = f"{theme}-{locale[:2]}"

    async def take(self, view: str) -> None:
        """One picture a size; the page is as wide as it was at first when it is done."""
        for width, height in reversed(SIZES.items()):
            await self.page.set_viewport_size({"width": width, "height": height})
            await self.page.evaluate("document.fonts.ready")
            path = picture(f"{view}-{width}-{self.look}")
            await self.page.screenshot(path=path, animations="disabled")
            assert path.stat().st_size > 5_000


@pytest.mark.parametrize(("locale", "theme"), LOOKS)
async def test_chat_and_wire_are_pictured(
    locale: str, theme: Any, front_relay: Front, upstream: Upstream, visit: Open
):
    words = WORDS[locale]
    answer = Reply(says(*pieces(SPOKEN[locale]), delay_ms=45))
    broken = Reply(writes({"content": "So far"}, {"content": " so good"}, finish_reason=None), end="rst")

    def choose(call: Call) -> Reply:
        return broken if call.number == 1 else answer

    stage = upstream.stage(choose)
    page = await visit(front_relay.rest, locale=locale, color_scheme=theme)
    camera = Camera(page, locale, theme)
    # What chooses the answer is said where no picture shows it.
    await page.evaluate(
        "system => localStorage.setItem('polystream.settings', JSON.stringify({ system }))",
        f"stage {stage.key}",
    )
    await page.reload()
    await camera.take("chat-empty")
    answers = page.get_by_role("article", name=words["answer"])

    async def ask() -> None:
        await page.get_by_role("textbox", name=words["field"]).fill(ASKS[locale])
        await page.get_by_role("button", name=words["send"], exact=True).click()

    await ask()
    await expect(answers.last).to_contain_text("proxy_buffering")
    await page.get_by_role("radio", name="WebSocket", exact=True).check()
    await expect(answers.last).to_contain_text("upgrade headers")
    await camera.take("chat-streaming")
    await expect(answers.last).to_contain_text(words["verified"], timeout=END_MS)
    await camera.take("chat")
    await page.get_by_role("button", name=words["settings"]).click()
    await camera.take("chat-settings")
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name=words["wire"], exact=True).click()
    await expect(page.get_by_role("grid")).to_be_visible()
    await camera.take("wire")
    await page.get_by_role("link", name=words["chat"], exact=True).click()
    await page.get_by_role("navigation").get_by_role("link", name=ASKS[locale][:12]).click()
    await ask()
    await expect(answers.last.get_by_role("alert")).to_be_visible()
    await camera.take("chat-failed")


@pytest.mark.parametrize(("locale", "theme"), LOOKS)
async def test_a_race_behind_a_proxy_that_buffers_is_pictured(
    locale: str, theme: Any, slow: Front, visit: Open
):
    words = WORDS[locale]
    async with Buffering(slow.rest) as proxy:
        page = await visit(f"{proxy.rest}/#/race", locale=locale, color_scheme=theme)
        await page.get_by_role("button", name=words["run"], exact=True).click()
        await expect(page.get_by_role("article").filter(has_text=words["verified"])).to_have_count(
            4, timeout=END_MS
        )
        await expect(page.get_by_role("note")).to_contain_text("REST")
        await Camera(page, locale, theme).take("race")
