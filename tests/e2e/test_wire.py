"""Wire: the frames of an answer as they came, walked by keys, and saved as they are."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.e2e.chat import Chat
from tests.e2e.conftest import Open
from tests.e2e.texts import EVENTS, TEXT
from tests.integration.front import Front

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def dropped_answer(page: Page) -> None:
    """An answer that began over SSE and went on over WebSocket, in Wire."""
    chat = Chat(page)
    await chat.ask("Hello", over="SSE")
    await chat.until_it_says("beta3")
    await chat.choose("WebSocket")
    await chat.until_verified()
    await chat.answer.get_by_role("link", name="Show frames").click()


async def test_an_answers_frames_are_listed_by_connection(slow: Front, visit: Open):
    page = await visit(slow.rest)
    await dropped_answer(page)
    grid = page.get_by_role("grid", name="Frames")
    await expect(page.get_by_text(re.compile(r"^[\d.]+ kB$"))).to_be_visible()
    await grid.focus()
    await grid.press("Home")
    head = grid.get_by_role("row").filter(has_text="POST /v1/streams")
    await expect(head.filter(has_text="SSE")).to_be_visible()
    await expect(grid.get_by_role("row").filter(has_text='"alpha1"')).to_be_visible()
    await grid.press("End")
    last = grid.get_by_role("row", selected=True)
    await expect(last).to_contain_text("finished")
    await expect(page.get_by_role("heading", name=f"Event {EVENTS - 1}")).to_be_visible()


async def test_the_cut_between_two_connections_is_told(slow: Front, visit: Open):
    page = await visit(slow.rest)
    await dropped_answer(page)
    grid = page.get_by_role("grid", name="Frames")
    cut = grid.get_by_role("row").filter(has_text="Protocol switched by you after event")
    await grid.focus()
    await grid.press("Home")
    for _ in range(12):
        if await cut.count():
            break
        await grid.press("PageDown")
    await expect(cut).to_have_text(
        re.compile(r"Protocol switched by you after event \d+\. \d+ ms until the next event\.")
    )


async def test_a_frame_is_shown_in_full_and_the_next_is_a_key_away(slow: Front, visit: Open):
    page = await visit(slow.rest)
    await dropped_answer(page)
    grid = page.get_by_role("grid", name="Frames")
    await grid.get_by_role("row").filter(has_text='"alpha1"').click()
    detail = page.get_by_role("complementary", name="Frame")
    await expect(detail).to_contain_text('"alpha1"')
    await expect(detail.get_by_role("heading", name="Event 1", exact=True)).to_be_visible()
    await grid.press("ArrowDown")
    await expect(detail.get_by_role("heading", name="Event 2", exact=True)).to_be_visible()
    await detail.get_by_role("button", name="Previous frame").click()
    await expect(detail.get_by_role("heading", name="Event 1", exact=True)).to_be_visible()


async def test_frames_are_filtered_by_kind(slow: Front, visit: Open):
    page = await visit(slow.rest)
    await dropped_answer(page)
    grid = page.get_by_role("grid", name="Frames")
    await page.get_by_role("radio", name="Heartbeats").check()
    await expect(page.get_by_text("No heartbeats in this answer.")).to_be_visible()
    await page.get_by_role("radio", name="Text").check()
    await expect(grid.get_by_role("row").filter(has_text="started")).to_have_count(0)
    await expect(grid.get_by_role("row").filter(has_text='"alpha1"')).to_be_visible()


async def test_the_saved_frames_are_the_answer(slow: Front, visit: Open, tmp_path: Path):
    page = await visit(slow.rest)
    await dropped_answer(page)
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Export as NDJSON").click()
    path = tmp_path / "saved.ndjson"
    await (await saving.value).save_as(path)
    frames = [json.loads(line) for line in path.read_text().splitlines()]
    assert {frame["protocol"] for frame in frames} == {"sse", "websocket"}
    assert all(("text" in frame) != ("base64" in frame) for frame in frames)
    events = [frame["message"] for frame in frames if "seq" in frame.get("message", {})]
    said = {event["seq"]: event.get("text", "") for event in events}
    assert sorted(said) == list(range(EVENTS))
    assert "".join(said[seq] for seq in range(EVENTS)) == TEXT


async def test_a_page_that_has_seen_no_answer_says_where_to_get_one(slow: Front, visit: Open):
    page = await visit(f"{slow.rest}/#/wire")
    await expect(page.get_by_role("heading", name="Nothing has come over the wire yet")).to_be_visible()
    await page.get_by_role("main").get_by_role("link", name="Race").click()
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_visible()
