"""One answer over several connections: whatever happens on the way, the text is whole and proven so."""

import asyncio
import re

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.e2e.chat import PROTOCOLS, Chat
from tests.e2e.conftest import Open
from tests.e2e.texts import EVENTS, PARAGRAPHS, TEXT
from tests.integration.front import Front
from tests.integration.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: Each protocol and the one after it; between them they are left and entered once each.
SWITCHES = tuple(zip(PROTOCOLS, PROTOCOLS[1:] + PROTOCOLS[:1], strict=True))
#: Where an answer is left: in the second of four paragraphs.
WHERE = "beta3"
#: Whether the browser keeps a part of the answer already, which it does once a second.
STORED = """new Promise((resolve) => {
  const opening = indexedDB.open("polystream");
  opening.onsuccess = () => {
    const read = opening.result.transaction("conversations").objectStore("conversations").getAll();
    read.onsuccess = () => {
      opening.result.close();
      resolve(read.result[0].turns[0].answer.position > 0);
    };
  };
})"""
WITHIN_S = 15


async def is_whole(chat: Chat) -> None:
    """The answer is all there, shown as it was said, and its digest is right."""
    await chat.until_verified()
    await expect(chat.answer).to_contain_text(f"{EVENTS} events")
    assert await chat.text() == TEXT
    assert await chat.paragraphs() == PARAGRAPHS


@pytest.mark.parametrize(("first", "second"), SWITCHES)
async def test_the_protocol_is_switched_in_mid_answer(first: str, second: str, slow: Front, visit: Open):
    chat = Chat(await visit(slow.rest))
    await chat.ask("Hello", over=first)
    await chat.until_it_says(WHERE)
    await chat.choose(second)
    await is_whole(chat)
    (seam,) = await chat.seams()
    assert re.fullmatch(rf"Switched at event \d+, continued over {second}", seam)
    figures = chat.answer.get_by_role("list").last
    await expect(figures).to_contain_text(re.compile(f"{first}.*→.*{second}"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_dropped_connection_loses_nothing(protocol: str, slow: Front, visit: Open):
    chat = Chat(await visit(slow.rest))
    await chat.ask("Hello", over=protocol)
    await chat.until_it_says(WHERE)
    await chat.drop.click()
    await is_whole(chat)
    (seam,) = await chat.seams()
    assert re.fullmatch(rf"Connection dropped at event \d+, continued over {protocol}", seam)


async def test_events_that_an_event_source_brings_go_on_after_a_drop(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await page.get_by_role("button", name="Settings").click()
    await page.get_by_role("radio", name="EventSource").check()
    await page.get_by_role("button", name="Close").click()
    await chat.ask("Hello", over="SSE")
    await chat.until_it_says(WHERE)
    await chat.drop.click()
    await is_whole(chat)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_reload_in_mid_answer_picks_it_up_again(protocol: str, slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.ask("Hello", over=protocol)
    await chat.until_it_says(WHERE)
    await until(lambda: page.evaluate(STORED), WITHIN_S, "a part of the answer to be stored")
    generation = await chat.generation()
    await page.reload()
    await is_whole(chat)
    assert await chat.generation() == generation
    (seam,) = await chat.seams()
    assert re.fullmatch(rf"Picked up again at event \d+, continued over {protocol}", seam)


async def test_a_second_tab_follows_the_same_answer(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.ask("Hello")
    await chat.until_it_says("alpha5")
    other = await second_tab(page)
    await other.until_it_says(WHERE)
    await asyncio.gather(other.until_verified(), chat.until_verified())
    await page.bring_to_front()
    await is_whole(chat)
    await other.page.bring_to_front()
    await is_whole(other)
    assert await other.generation() == await chat.generation()


async def test_an_answer_that_was_begun_in_one_tab_is_stopped_in_another(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.ask("Hello")
    await chat.until_it_says("alpha5")
    other = await second_tab(page)
    await other.stop.click()
    await expect(other.answer).to_contain_text("stopped")
    await page.bring_to_front()
    await expect(chat.answer).to_contain_text("stopped")


async def test_a_network_that_goes_away_and_comes_back_loses_nothing(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.ask("Hello", over="SSE")
    await chat.until_it_says(WHERE)
    await page.context.set_offline(True)
    await chat.drop.click()
    await expect(chat.answer).to_contain_text("reconnecting")
    await page.context.set_offline(False)
    await is_whole(chat)
    assert len(await chat.seams()) == 1


async def second_tab(page: Page) -> Chat:
    """The same conversation in another tab of the same browser."""
    context: BrowserContext = page.context
    other = await context.new_page()
    await other.goto(page.url)
    return Chat(other)
