"""A fast answer costs React one commit a frame at the most, however many tokens come."""

import os
import sys
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.chat import Chat
from tests.integration.conftest import Serve

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: A second has 200. `SPEED_TOKENS=20000` makes it the long answer of docs/performance.md.
PACE_MS = 5
TOKENS = int(os.environ.get("SPEED_TOKENS", "2000"))
SENTENCE = "The quick brown fox jumps over the lazy dog and **streams** on "
#: Of a hundred frames so many may have a second commit: readiness is asked for, and answers end, between.
OTHERS = 1

#: React tells its developer tools of each commit; what is in the page before React hears it in their place.
_COUNT = """
  window.begin = () => {
    window.seen = { commits: 0, frames: 0, most: 0, over: 0, slow: 0, longest: 0 };
  };
  begin();
  let since = 0, last = 0;
  const nothing = () => {};
  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    supportsFiber: true, isDisabled: false, renderers: new Map(), inject: () => 1, checkDCE: nothing,
    onCommitFiberUnmount: nothing, onPostCommitFiberRoot: nothing, onScheduleFiberRoot: nothing,
    onCommitFiberRoot() { seen.commits += 1; since += 1; },
  };
  const frame = (now) => {
    seen.frames += 1;
    seen.most = Math.max(seen.most, since);
    if (since > 1) seen.over += 1;
    if (last && now - last > 50) seen.slow += 1;
    if (last) seen.longest = Math.max(seen.longest, Math.round(now - last));
    last = now;
    since = 0;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
"""


async def test_a_frame_has_one_commit_at_200_tokens_a_second(shared: Serve, person: Any):
    text = paragraphs(TOKENS)
    script = "scripted:?" + urlencode({"text": text, "pace_ms": PACE_MS})
    front = await (await shared(ENGINE_URL=script)).front()
    context = await person()
    await context.add_init_script(_COUNT)
    page = await context.new_page()
    await page.goto(front.rest)
    chat = Chat(page)
    await chat.ask("Hello")
    await chat.until_it_says("quick")
    await page.evaluate("begin()")
    await page.get_by_text("verified").first.wait_for(timeout=TOKENS * PACE_MS * 3 + 30_000)
    seen = await page.evaluate("seen")
    print(f"{TOKENS} tokens: {seen}", file=sys.stderr)
    assert seen["frames"] > TOKENS * PACE_MS / 1000 * 10
    assert seen["commits"] <= seen["frames"]
    assert seen["over"] <= seen["frames"] * OTHERS / 100, seen
    assert await chat.text() == text


def paragraphs(tokens: int) -> str:
    """So many words, with a paragraph after each hundred or so."""
    words = (SENTENCE * (tokens // 12 + 1)).split()[:tokens]
    return "\n\n".join(" ".join(words[start : start + 120]) for start in range(0, tokens, 120))
