"""Chat: an answer that comes, that is stopped, edited, kept and thrown away."""

import re

import pytest
from playwright.async_api import expect

from tests.e2e.chat import Chat
from tests.e2e.conftest import Open
from tests.e2e.texts import EVENTS, PARAGRAPHS, TEXT
from tests.integration.front import Front
from tests.integration.upstream import Reply, Upstream, says

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_answer_comes_word_by_word_and_is_verified(slow: Front, visit: Open):
    chat = Chat(await visit(slow.rest))
    await chat.ask("Hello")
    await chat.until_it_says("alpha5")
    assert PARAGRAPHS[-1] not in await chat.answer.inner_text()
    await chat.until_verified()
    await expect(chat.answer).to_contain_text(f"{EVENTS} events")
    await expect(chat.answer).to_contain_text(re.compile(r"first token [\d,]+ ms"))
    assert await chat.text() == TEXT
    assert await chat.paragraphs() == PARAGRAPHS


async def test_a_stopped_answer_keeps_what_it_has_said(slow: Front, visit: Open):
    chat = Chat(await visit(slow.rest))
    await chat.ask("Hello")
    await chat.until_it_says("beta3")
    await chat.stop.click()
    await expect(chat.answer).to_contain_text("stopped")
    await expect(chat.send).to_be_visible()
    said = await chat.text()
    assert "beta3" in said
    assert TEXT.startswith(said)
    assert said != TEXT


async def test_a_second_question_takes_the_whole_conversation_along(
    front_relay: Front, upstream: Upstream, visit: Open
):
    stage = upstream.stage(Reply(says("Good", " day.")))
    chat = Chat(await visit(front_relay.rest))
    for ask in (f"stage {stage.key}", "And then?"):
        await chat.ask(ask)
        await chat.until_verified()
    sent = [(message["role"], message["content"]) for message in stage.calls[1].body["messages"]]
    assert sent == [("user", f"stage {stage.key}"), ("assistant", "Good day."), ("user", "And then?")]


async def test_an_edited_question_is_asked_anew(front_relay: Front, upstream: Upstream, visit: Open):
    stage = upstream.stage(Reply(says("Good", " day.")))
    page = await visit(front_relay.rest)
    chat = Chat(page)
    await chat.ask(f"stage {stage.key}")
    await chat.until_verified()
    await page.get_by_role("button", name="Edit and send again").click()
    await expect(chat.field).to_have_value(f"stage {stage.key}")
    await expect(chat.field).to_be_focused()
    await chat.ask(f"stage {stage.key}, with other words")
    await expect(page.get_by_role("article", name="You")).to_have_text(f"stage {stage.key}, with other words")
    await chat.until_verified()
    assert len(stage.calls) == 2


async def test_a_deleted_conversation_can_be_brought_back(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.ask("Remember me")
    await chat.until_it_says("alpha1")
    await chat.stop.click()
    listed = page.get_by_role("navigation", name="Conversations")
    await listed.get_by_role("button", name="Rename, export, delete").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await expect(listed.get_by_role("link")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(listed.get_by_role("link", name="Remember me")).to_be_visible()
    await expect(chat.answer).to_contain_text("alpha1")


async def test_a_conversation_is_renamed_and_found_again_after_a_reload(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.ask("A question")
    await chat.until_it_says("alpha1")
    await chat.stop.click()
    listed = page.get_by_role("navigation", name="Conversations")
    await listed.get_by_role("button", name="Rename, export, delete").click()
    await page.get_by_role("menuitem", name="Rename").click()
    name = page.get_by_role("textbox", name="Name of the conversation")
    await name.fill("Another name")
    await name.press("Enter")
    await expect(page.get_by_role("heading", name="Another name")).to_be_visible()
    await page.reload()
    await expect(listed.get_by_role("link", name="Another name")).to_be_visible()


async def test_markdown_that_is_an_attack_stays_text(front_relay: Front, upstream: Upstream, visit: Open):
    """The page's policy would forbid it to run; it must not even become an element."""
    attack = '<img src=x onerror="document.title=1"> <script>document.title=2</script>'
    links = "[click](javascript:alert(1)) ![spy](http://tracker.example/a.png)"
    stage = upstream.stage(Reply(says(attack, "\n\n", links)))
    page = await visit(front_relay.rest)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    chat = Chat(page)
    await chat.ask(f"stage {stage.key}")
    await chat.until_verified()
    assert await chat.answer.locator("img, script").count() == 0
    assert await chat.answer.locator('a[href^="javascript:"]').count() == 0
    assert not [url for url in asked if "tracker.example" in url]


async def test_japanese_is_spoken_by_the_page_and_by_the_answer(
    front_relay: Front, upstream: Upstream, visit: Open
):
    said = ["日本", "語で", "答え", "ます。", "𠮷野家🙂"]
    stage = upstream.stage(Reply(says(*said)))
    page = await visit(front_relay.rest, locale="ja-JP")
    await expect(page.locator("html")).to_have_attribute("lang", "ja")
    await page.get_by_role("textbox", name="メッセージ").fill(f"stage {stage.key} こんにちは")
    await page.get_by_role("button", name="送信").click()
    answer = page.get_by_role("article", name="回答")
    await expect(answer).to_contain_text("照合済み")
    await expect(answer).to_contain_text("".join(said))
    await page.get_by_role("button", name="Show in English").click()
    await expect(page.get_by_role("article", name="Answer")).to_contain_text("verified")


async def test_the_enter_that_ends_an_input_of_kanji_sends_nothing(slow: Front, visit: Open):
    page = await visit(slow.rest)
    chat = Chat(page)
    await chat.field.focus()
    devtools = await page.context.new_cdp_session(page)
    composition = {"text": "日本", "selectionStart": 2, "selectionEnd": 2}
    await devtools.send("Input.imeSetComposition", composition)
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    await devtools.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    await devtools.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter})
    await devtools.send("Input.insertText", {"text": "日本"})
    await expect(chat.field).to_have_value("日本")
    await expect(chat.answers).to_have_count(0)
    await chat.field.press("Enter")
    await expect(chat.answers).to_have_count(1)
    await chat.stop.click()
