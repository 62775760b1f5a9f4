"""What the articles' doors are asked, and what they refuse."""

from typing import Any

import pytest

from tests.clients import articles, http
from tests.integration.articles import SHORT, STREAMING, Doors, doors_of, instruct, prompt_of, whole_text
from tests.integration.conftest import Serve
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream, says

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_what_the_page_asks_for_reaches_the_engine(doors: Doors, upstream: Upstream):
    stage = upstream.stage(Reply(says(*SHORT)))
    await whole_text(articles.streaming(doors, "fastapi", prompt_of(stage), temperature=0.5))
    asked = stage.calls[0].body
    assert asked["messages"] == [{"role": "user", "content": prompt_of(stage)}]
    assert (asked["max_tokens"], asked["seed"], asked["temperature"]) == (50, 42, 0.5)
    assert asked["model"] == upstream.models[0]


async def test_a_template_makes_the_prompt_of_an_instruction(shared: Serve, upstream: Upstream):
    """A server of chats gets it as the one message."""
    template = "ユーザー: {instruction}\nシステム: "
    server = await shared(ENGINE_URL=upstream.url, INSTRUCT_TEMPLATE=template)
    stage = upstream.stage(Reply(says(*SHORT)))
    assert (await instruct(doors_of(server), prompt_of(stage))).text == "".join(SHORT)
    filled = template.replace("{instruction}", prompt_of(stage))
    assert stage.calls[0].body["messages"] == [{"role": "user", "content": filled}]


async def test_an_instruction_may_come_through_a_proxy_that_leaves_its_path(
    relay: Server, upstream: Upstream
):
    stage = upstream.stage(Reply(says(*SHORT)))
    prefix = "/driver-proxy-api/o/1/2/7777"
    told = await whole_text(articles.instruct(doors_of(relay), prompt_of(stage), prefix))
    assert told == "".join(SHORT)


@pytest.mark.parametrize("kind", STREAMING)
async def test_a_whole_answer_comes_at_once_in_the_same_form(doors: Doors, upstream: Upstream, kind: str):
    stage = upstream.stage(Reply(says("a\n", "b: ", "日本")))
    body = await whole_text(articles.streaming(doors, kind, prompt_of(stage), stream=False))
    end = "event:end\ndata: \n\n" if kind == "fastapi" else "end:\ndata:\n\n"
    assert body == f"data: a\n\ndata:\ndata: b: 日本\n\n{end}"


WRONG: list[tuple[str, Any, str]] = [
    ("/streaming/fastapi/", {}, "prompt"),
    ("/streaming/fastapi/", {"prompt": ""}, "prompt"),
    ("/streaming/fastapi/", {"prompt": "a", "messages": []}, "messages"),
    ("/streaming/starlette/", {"prompt": "a", "max_tokens": 0}, "max_tokens"),
    ("/streaming/starlette/", {"prompt": "a", "temperature": -1}, "temperature"),
    ("/streaming/starlette/", {"prompt": "a", "stream": "yes"}, "stream"),
    ("/instruct", {"prompt": "a"}, "prompt"),
    ("/instruct", {}, "instruction"),
    ("/start", {}, "prompt"),
    ("/start", {"prompt": "a", "user": "b"}, "user"),
]


@pytest.mark.parametrize(("path", "fields", "param"), WRONG)
async def test_a_senseless_body_is_refused_by_the_name_of_its_field(
    doors: Doors, path: str, fields: Any, param: str
):
    answer = await articles.post(doors.http + path, fields)
    refused = await http.refuse(answer)
    answer.close()
    assert (refused.status, refused.code) == (400, "invalid_request")
    assert refused.body["param"] == param


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/streaming/fastapi/", 405),
        ("PUT", "/streaming/starlette/", 405),
        ("GET", "/instruct", 405),
        ("GET", "/start", 405),
        ("POST", "/generate", 405),
        ("GET", "/generate", 404),
        ("GET", "/generate?id=gen_unknown", 404),
        ("GET", "/generate?after=1", 400),
        ("GET", "/?prompt=a&user=b", 400),
        ("GET", "/?prompt=a&prompt=b", 400),
        ("GET", "/?prompt=", 400),
        ("GET", "/", 404),
        ("GET", "/?q=a", 404),
    ],
)
async def test_what_is_no_door_is_refused(relay: Server, method: str, path: str, status: int):
    answer = await http.request(method, relay.rest + path)
    refused = await http.refuse(answer)
    answer.close()
    assert refused.status == status
    assert refused.code == ("not_found" if status == 404 else "invalid_request")
