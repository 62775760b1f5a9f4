"""For everybody: by keyboard alone, with axe's blessing, at any width, without jumps, in both languages."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.e2e.axe import findings
from tests.e2e.chat import Chat
from tests.e2e.conftest import Open
from tests.e2e.texts import TEXT
from tests.integration.front import Front
from tests.integration.upstream import Call, Reply, Upstream, says, writes

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: As the page says it in either language.
WORDS: dict[str, dict[str, str]] = {
    "en-GB": {
        "field": "Message",
        "send": "Send",
        "answer": "Answer",
        "verified": "verified",
        "drop": "Drop connection",
        "settings": "Settings",
        "chat": "Chat",
        "race": "Race",
        "wire": "Wire",
        "run": "Run",
        "stop": "Stop",
    },
    "ja-JP": {
        "field": "メッセージ",
        "send": "送信",
        "answer": "回答",
        "verified": "照合済み",
        "drop": "接続を切る",
        "settings": "設定",
        "chat": "チャット",
        "race": "レース",
        "wire": "通信",
        "run": "実行",
        "stop": "停止",
    },
}
LOOKS = [("en-GB", "light"), ("en-GB", "dark"), ("ja-JP", "light")]
WIDTHS = (375, 390, 720, 900, 1100, 1280, 1440)
MARKDOWN = (
    """Set it for the streaming route only:

```nginx
location /v1/streams {
    proxy_buffering    off;   # pass every byte on, however long the line is in a narrow window
}
```

| Protocol | Proxy needs | Resumes with |
| --- | --- | --- |
| SSE | buffering off | `Last-Event-ID` |
| WebSocket | upgrade headers | `follow`, `after` |

- Reload nginx, then run the prompt again in Race.
- A-word-that-is-longer-than-any-phone-is-wide-and-has-no-place-to-break: """
    + "x" * 120
)


def pieces(text: str) -> list[str]:
    """A text as tokens come."""
    return re.findall(r"\s*\S+", text)


@pytest.mark.parametrize(("locale", "theme"), LOOKS)
async def test_axe_finds_nothing_serious_in_any_view_or_state(
    locale: str, theme: Any, front_relay: Front, upstream: Upstream, visit: Open
):
    words = WORDS[locale]
    # A drawer that is still fading in has no contrast yet.
    page = await visit(front_relay.rest, locale=locale, color_scheme=theme, reduced_motion="reduce")
    seen: dict[str, list[str]] = {"empty": await findings(page)}
    answers = page.get_by_role("article", name=words["answer"])

    def choose(call: Call) -> Reply:
        broken = Reply(writes({"content": "So far"}, finish_reason=None), end="rst")
        return broken if call.number else Reply(says(*pieces(MARKDOWN), delay_ms=40))

    async def ask(text: str) -> None:
        await page.get_by_role("textbox", name=words["field"]).fill(text)
        await page.get_by_role("button", name=words["send"], exact=True).click()

    stage = upstream.stage(choose)
    await ask(f"stage {stage.key}")
    await expect(answers.last).to_contain_text("proxy_buffering")
    await page.get_by_role("button", name=words["drop"]).click()
    seen["streaming"] = await findings(page)
    await expect(answers.last).to_contain_text(words["verified"])
    seen["finished"] = await findings(page)
    await ask("And now?")
    await expect(answers.last.get_by_role("alert")).to_be_visible()
    seen["failed"] = await findings(page)
    await page.get_by_role("button", name=words["settings"]).click()
    seen["settings"] = await findings(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    seen["settings on a phone"] = await findings(page)
    await page.keyboard.press("Escape")
    seen["phone"] = await findings(page)
    await page.set_viewport_size({"width": 1440, "height": 900})
    await page.get_by_role("link", name=words["wire"], exact=True).click()
    await expect(page.get_by_role("grid")).to_be_visible()
    seen["wire"] = await findings(page)
    await page.get_by_role("link", name=words["race"], exact=True).click()
    seen["race"] = await findings(page)
    await page.get_by_role("main").get_by_role("textbox").first.fill(f"stage {stage.key}")
    await page.get_by_role("button", name=words["run"], exact=True).click()
    await expect(page.get_by_role("alert").first).to_be_visible()
    seen["race that fails"] = await findings(page)
    assert not {state: found for state, found in seen.items() if found}


async def test_a_chat_needs_no_mouse(slow: Front, visit: Open):
    """Tab, arrow keys, Enter: from the address line to a verified answer over another protocol."""
    page = await visit(slow.rest)
    chat = Chat(page)
    await tab_to(page, "textbox", "Message")
    await page.keyboard.type("Hello")
    await tab_to(page, "radio", "SSE")
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("radio", name="WebSocket", exact=True)).to_be_checked()
    await tab_to(page, "button", "Send")
    await page.keyboard.press("Enter")
    await chat.until_it_says("alpha3")
    await tab_to(page, "button", "Drop connection")
    await page.keyboard.press("Enter")
    await chat.until_verified()
    assert await chat.paragraphs() == TEXT.split("\n\n")
    await tab_to(page, "link", "Show frames")
    await page.keyboard.press("Enter")
    await tab_to(page, "grid", "Frames")
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("grid").get_by_role("row", selected=True)).to_have_count(1)


async def tab_to(page: Page, role: Any, name: str) -> None:
    """Press Tab until a control has the focus, and see that it shows."""
    wanted = page.get_by_role(role, name=name, exact=True).last
    for _ in range(60):
        if await wanted.evaluate("element => element === document.activeElement"):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach the {role} {name!r}")


async def test_focus_comes_back_to_where_a_drawer_was_opened(slow: Front, visit: Open):
    page = await visit(slow.rest)
    for width in (1440, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        button = page.get_by_role("button", name="Settings")
        await button.click()
        await expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog", name="Settings")).to_have_count(0)
        await expect(button).to_be_focused()


async def test_nothing_scrolls_sideways_at_any_width(front_relay: Front, upstream: Upstream, visit: Open):
    stage = upstream.stage(Reply(says(*pieces(MARKDOWN))))
    page = await visit(front_relay.rest)
    chat = Chat(page)
    await chat.ask(f"stage {stage.key} " + "y" * 120)
    await chat.until_verified()
    wide = {}
    for view in ("Chat", "Race", "Wire"):
        await page.get_by_role("link", name=view, exact=True).click()
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 844})
            await page.evaluate(
                "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            if outside := await page.evaluate(_OUTSIDE):
                wide[f"{view} at {width}"] = outside
    assert not wide


#: What reaches over the window's edge and is not cut off by a box of its own; the page itself, too.
_OUTSIDE = """() => {
  const width = document.documentElement.clientWidth;
  const within = (element) => element.getBoundingClientRect().right <= width + 1;
  const boxed = (element) => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
      if (getComputedStyle(box).overflowX !== "visible" && within(box)) return true;
    }
    return false;
  };
  const found = [...document.body.querySelectorAll("*")]
    .filter((element) => !within(element) && !boxed(element))
    .map((element) => element.outerHTML.slice(0, 120));
  const { scrollWidth } = document.scrollingElement;
  return scrollWidth > width ? [`the page is ${scrollWidth} wide`, ...found] : found;
}"""


@pytest.mark.parametrize("width", [375, 1440])
async def test_nothing_jumps_while_an_answer_comes(
    width: int, front_relay: Front, upstream: Upstream, visit: Open
):
    stage = upstream.stage(Reply(says(*pieces(MARKDOWN), delay_ms=30)))
    page = await visit(front_relay.rest, viewport={"width": width, "height": 900})
    chat = Chat(page)
    await chat.ask(f"stage {stage.key}")
    await chat.until_it_says("Set")
    await page.evaluate(_WATCH_JUMPS)
    await chat.until_verified()
    looks = await page.evaluate("window.looks")
    await page.wait_for_function("looks => window.looks > looks + 5", arg=looks)
    assert await page.evaluate("window.jumps") == []
    assert looks > 20


#: Each frame: blocks that have one behind them stand where they stood in the thread, and so does all around
#: it. (The browser's own measure, layout shift, also counts the figures that a growing text pushes down.)
_WATCH_JUMPS = """() => {
  const AROUND = ":is(header, form, aside, nav, [role=log]):not([role=log] *)";
  const known = new Map();
  const jumps = (window.jumps = []);
  window.looks = 0;
  const watch = (element, origin) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const place = [x - origin.x, y - origin.y, width, height].map(Math.round).join();
    const before = known.get(element) ?? place;
    known.set(element, place);
    if (before !== place) jumps.push(`${element.outerHTML.slice(0, 60)}: ${before} to ${place}`);
  };
  const look = () => {
    window.looks += 1;
    const thread = document.querySelector("[role=log] > *").getBoundingClientRect();
    const blocks = [...document.querySelectorAll("article .part > *")];
    for (const block of blocks.slice(0, -1)) watch(block, thread);
    for (const part of document.querySelectorAll(AROUND)) watch(part, { x: 0, y: 0 });
    requestAnimationFrame(look);
  };
  look();
}"""


async def test_a_reader_who_scrolls_up_is_left_where_he_is(
    front_relay: Front, upstream: Upstream, visit: Open
):
    stage = upstream.stage(Reply(says(*(f"Paragraph {number}.\n\n" for number in range(60)), delay_ms=25)))
    page = await visit(front_relay.rest, viewport={"width": 1100, "height": 600})
    chat = Chat(page)
    await chat.ask(f"stage {stage.key}")
    await chat.until_it_says("Paragraph 25.")
    log = page.get_by_role("log")
    await log.hover()
    await page.mouse.wheel(0, -300)
    latest = page.get_by_role("button", name="Jump to latest")
    await expect(latest).to_be_visible()
    stands = await log.evaluate("element => element.scrollTop")
    await chat.until_it_says("Paragraph 50.")
    assert await log.evaluate("element => element.scrollTop") == stands
    await latest.click()
    await chat.until_verified()
    await expect(chat.answer.get_by_text("Paragraph 59.")).to_be_in_viewport()


async def test_nothing_is_animated_for_who_wants_no_motion(slow: Front, visit: Open):
    page = await visit(slow.rest, reduced_motion="reduce")
    chat = Chat(page)
    await chat.ask("Hello")
    await chat.until_it_says("alpha5")
    assert await page.evaluate(_MOVING) == []
    await page.get_by_role("button", name="Settings").click()
    assert await page.evaluate(_MOVING) == []
    await page.get_by_role("button", name="Close").click()
    await chat.stop.click()


#: Animations and transitions that take time.
_MOVING = """document.getAnimations()
  .filter(({ playState, effect }) => playState === "running" && effect.getTiming().duration > 0)
  .map(({ animationName, transitionProperty }) => animationName ?? transitionProperty)"""
