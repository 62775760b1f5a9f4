"""What goes wrong is told in words, with what is safe and what to do; and what can be mended by itself is."""

import json
import re
from urllib.parse import urlencode

import pytest
from playwright.async_api import expect

from tests.clients import http
from tests.e2e.chat import Chat
from tests.e2e.conftest import Open
from tests.e2e.texts import SLOW, TEXT
from tests.integration.conftest import Serve
from tests.integration.front import Front
from tests.integration.upstream import MODEL, Call, Reply, Upstream, says, writes
from tests.integration.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

JSON = {"content-type": "application/json"}
#: Longer than any wait of the page before it asks a busy engine again.
AGAIN_MS = 20_000


def refusal(status: int, code: str, message: str) -> Reply:
    """An engine's error as OpenAI's servers tell it."""
    error = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Reply([{"text": json.dumps(error)}], status=status, headers=JSON)


async def gone(front: Front, generation: str) -> None:
    """Wait until the server has forgotten a generation."""

    async def forgotten() -> bool:
        answer, _ = await http.fetch("GET", f"{front.rest}/v1/streams/{generation}?after=1000")
        return answer.status == 404

    await until(forgotten, 20, f"{generation} to be forgotten")


async def test_a_failure_in_mid_answer_keeps_the_text_and_can_be_tried_again(
    front_relay: Front, upstream: Upstream, visit: Open
):
    def choose(call: Call) -> Reply:
        broken = writes({"content": "So far"}, {"content": " so good"}, finish_reason=None)
        return Reply(broken, end="rst") if call.number == 0 else Reply(says("All of it."))

    stage = upstream.stage(choose)
    page = await visit(front_relay.rest)
    chat = Chat(page)
    await chat.ask(f"stage {stage.key}")
    notice = chat.answer.get_by_role("alert")
    await expect(notice).to_contain_text("The engine broke the connection.")
    await expect(notice).to_contain_text("The 4 events above are safe.")
    await expect(notice).to_contain_text(re.compile("upstream_disconnected · gen_"))
    await expect(chat.answer).to_contain_text("So far so good")
    await expect(chat.answer).to_contain_text("incomplete")
    await notice.get_by_role("button", name="Try again").click()
    await chat.until_verified()
    assert await chat.text() == "All of it."
    await expect(chat.answer.get_by_role("alert")).to_have_count(0)


async def test_what_broke_in_the_server_is_called_so(serve: Serve, visit: Open):
    fault = {"kind": "raise", "at": 3, "message": "secret"}
    server = await serve(ENGINE_URL="scripted:?" + urlencode({"text": TEXT, "fault": json.dumps(fault)}))
    chat = Chat(await visit((await server.front()).rest))
    await chat.ask("Hello")
    notice = chat.answer.get_by_role("alert")
    await expect(notice).to_contain_text("Something broke in the server.")
    await expect(notice).to_contain_text("internal")
    await expect(notice).not_to_contain_text("secret")


async def test_an_engine_that_dies_is_told_beside_the_composer_and_in_the_bar(serve: Serve, visit: Open):
    fault = json.dumps({"kind": "dead", "at": 10})
    server = await serve(ENGINE_URL="scripted:?" + urlencode({"text": TEXT, "pace_ms": 20, "fault": fault}))
    page = await visit((await server.front()).rest)
    chat = Chat(page)
    await expect(page.get_by_role("button", name="1 model ready")).to_be_visible()
    await chat.ask("Hello")
    await expect(chat.answer.get_by_role("alert")).to_contain_text("The 12 events above are safe.")
    await expect(page.get_by_role("button", name="engine down")).to_be_visible()
    note = page.get_by_role("note").filter(has_text="The engine is not running.")
    await expect(note).to_have_text("The engine is not running. Start it, or pick another model.")
    await expect(chat.send).to_be_enabled()
    await expect(chat.answer).to_contain_text("alpha9")
    await expect(chat.answer).to_contain_text("incomplete")


async def test_a_question_to_an_engine_that_is_down_is_answered_by_what_to_do(serve: Serve, visit: Open):
    async with Upstream() as engine:
        server = await serve(ENGINE_URL=engine.url, DEFAULT_MODEL=MODEL)
        front = await server.front()

    async def is_down() -> bool:
        return bool((await http.fetch("GET", f"{front.rest}/readyz"))[0].status == 503)

    await until(is_down, 20, "the engine to be found down")
    page = await visit(front.rest)
    chat = Chat(page)
    await expect(page.get_by_role("button", name="engine down")).to_be_visible()
    await chat.ask("Hello")
    notice = chat.answer.get_by_role("alert")
    await expect(notice).to_contain_text("The engine is not running. Start it, or pick another model.")
    await expect(notice).to_contain_text("upstream_unavailable")
    await expect(notice.get_by_role("button", name="Try again")).to_be_visible()
    await expect(chat.field).to_be_editable()


async def test_a_busy_engine_is_asked_again_after_a_countdown(
    front_relay: Front, upstream: Upstream, visit: Open
):
    busy = refusal(429, "rate_limit_exceeded", "Slow down")
    stage = upstream.stage(lambda call: busy if call.number == 0 else Reply(says("Now I can.")))
    page = await visit(front_relay.rest)
    chat = Chat(page)
    await chat.ask(f"stage {stage.key}")
    countdown = re.compile(r"Too busy\. Sending again in [12] seconds?\.")
    await expect(chat.answer.get_by_role("note")).to_contain_text(countdown)
    await expect(chat.answer.get_by_role("alert")).to_have_count(0)
    await expect(chat.answer).to_contain_text("Now I can.", timeout=AGAIN_MS)
    await chat.until_verified()
    assert len(stage.calls) == 2


async def test_one_need_not_wait_for_a_busy_engine(front_relay: Front, upstream: Upstream, visit: Open):
    busy = refusal(429, "rate_limit_exceeded", "Slow down")
    stage = upstream.stage(lambda call: busy if call.number < 2 else Reply(says("Now I can.")))
    chat = Chat(await visit(front_relay.rest))
    await chat.ask(f"stage {stage.key}")
    await chat.answer.get_by_role("button", name="Send now").click()
    await chat.answer.get_by_role("button", name="Do not send").click()
    await expect(chat.answer).to_contain_text("stopped")
    await expect(chat.send).to_be_visible()


async def test_a_history_that_is_too_long_is_sent_without_its_oldest_turns(
    front_relay: Front, upstream: Upstream, visit: Open
):
    too_long = refusal(400, "context_length_exceeded", "This model's maximum context length is 3 messages.")

    def choose(call: Call) -> Reply:
        return too_long if len(call.body["messages"]) > 3 else Reply(says(f"Answer {call.number}."))

    stage = upstream.stage(choose)
    page = await visit(front_relay.rest)
    chat = Chat(page)
    for number in range(4):
        await chat.ask(f"stage {stage.key}, turn {number}")
        await expect(chat.answers).to_have_count(number + 1)
        await chat.until_verified()
    notes = page.get_by_role("note")
    await expect(notes).to_have_text(
        [
            re.compile("The oldest turn no longer fits and was not sent."),
            re.compile("The 2 oldest turns no longer fit and were not sent."),
        ]
    )
    sent = [message["content"] for message in stage.calls[-1].body["messages"]]
    assert [text.rpartition(" ")[2] for text in sent[::2]] == ["2", "3"]


async def test_a_message_that_is_too_long_alone_is_refused_in_words(
    front_relay: Front, upstream: Upstream, visit: Open
):
    stage = upstream.stage(refusal(400, "context_length_exceeded", "Too long"))
    chat = Chat(await visit(front_relay.rest))
    await chat.ask(f"stage {stage.key}")
    await expect(chat.answer.get_by_role("alert")).to_contain_text(
        "This message is too long for the model. Shorten it."
    )


async def test_an_answer_that_is_no_longer_kept_is_incomplete_and_can_be_asked_again(
    serve: Serve, visit: Open
):
    """The browser is away until the log has ended and its life is over."""
    server = await serve(ENGINE_URL=SLOW, RETENTION_S=1)
    front = await server.front()
    page = await visit(front.rest)
    chat = Chat(page)
    await chat.ask("Hello")
    await chat.until_it_says("beta3")
    generation = await chat.generation()
    await page.context.set_offline(True)
    await chat.drop.click()
    await gone(front, generation)
    await page.context.set_offline(False)
    notice = chat.answer.get_by_role("alert")
    await expect(notice).to_contain_text("The rest of this answer can no longer be fetched.")
    await expect(notice).to_contain_text("position_lost")
    await expect(chat.answer).to_contain_text("incomplete")
    await expect(chat.answer).to_contain_text("beta3")
    await notice.get_by_role("button", name="Ask again").click()
    await chat.until_verified()
    assert await chat.text() == TEXT


async def test_a_text_whose_digest_is_wrong_is_not_called_verified(slow: Front, visit: Open):
    """Somebody on the way changes a letter."""
    page = await visit(slow.rest)

    async def forge(route):
        answer = await route.fetch()
        body = (await answer.body()).replace(b"beta3", b"beta7", 1)
        await route.fulfill(response=answer, body=body)

    await page.route("**/v1/streams", forge)
    chat = Chat(page)
    await chat.ask("Hello", over="SSE")
    await expect(chat.answer).to_contain_text("not verified")
