"""The embedded model, at temperature 0, read over each protocol: the same text as any other client gets."""

import json

import pytest
from playwright.async_api import expect

from tests.clients import rest
from tests.clients.answer import Answer, collect
from tests.e2e.chat import END_MS, PROTOCOLS, Chat
from tests.e2e.conftest import Open
from tests.integration.up import Up

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROMPT = "What is the capital of France?"
MAX_TOKENS = 24
#: Greedy, and short; as one would set it in the settings.
SETTINGS = {"sampling": {"temperature": 0, "max_tokens": MAX_TOKENS}}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_models_answer_is_the_same_over_every_protocol(protocol: str, real: Up, visit: Open):
    request = {"messages": [{"role": "user", "content": PROMPT}], **SETTINGS["sampling"]}
    expected = await collect(rest.start(real, request), Answer())
    page = await visit(real.rest)
    chat = Chat(page)
    await expect(page.get_by_role("button", name="1 model ready")).to_be_visible(timeout=END_MS)
    kept = json.dumps(SETTINGS)
    await page.evaluate("kept => localStorage.setItem('polystream.settings', kept)", kept)
    await page.reload()
    await chat.ask(PROMPT, over=protocol)
    await chat.until_verified()
    assert await chat.text() == expected.text
    assert "Paris" in expected.text
    await expect(page.get_by_role("complementary", name="This answer")).to_contain_text("smollm2")
