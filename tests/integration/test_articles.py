"""The articles' doors, each by the client that was printed for it, directly and through the front door."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import grpc as grpcio
import pytest
import pytest_asyncio
from websockets.exceptions import ConnectionClosedError

from tests.clients import Broken, Refused, articles, http
from tests.integration.conftest import Serve
from tests.integration.front import Front
from tests.integration.server import Server
from tests.integration.upstream import Reply, Stage, Upstream, says, writes
from tests.integration.waiting import closed_within, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXTS = {
    "plain": ["Streams", " are", " logs."],
    "scripts": ["こん", "にちは", "、", "🌍", "👩‍💻", " שלום"],
    "line breaks": ["a\n", "\n", "b\nc", "\n\nd", "\u2028e\u0085"],
    "cuts": ["to: ", "a : b", ": ", ":", " c", "data: d", "event: end", "Response x"],
    "blanks": [" ", "x", "   y", "\t"],
    "nothing": [],
}
#: What the engine says where a test looks at something else.
SHORT = ["One", " two."]


@dataclass
class Doors:
    """See `tests.clients.articles.Doors`."""

    http: str
    websocket: str
    grpc: str


def doors_of(place: Any) -> Doors:
    """Of a server or a front door."""
    return Doors(place.rest, place.websocket, place.grpc)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def front(shared: Serve, upstream: Upstream) -> AsyncIterator[Front]:
    """nginx and Envoy before the server of `direct`."""
    async with Front(await _relay(shared, upstream)) as running:
        yield running


async def _relay(shared: Serve, upstream: Upstream) -> Server:
    return await shared(ENGINE_URL=upstream.url, DEFAULT_MODEL=upstream.models[0])


@pytest_asyncio.fixture(params=["direct", "front"], loop_scope="session")
async def doors(request: pytest.FixtureRequest, relay: Server, front: Front) -> Doors:
    """Addresses of the doors, before the mock engine."""
    return doors_of(relay if request.param == "direct" else front)


@dataclass
class Shown:
    """What a page shows, and how it knows that this is all."""

    text: str
    end: str  #: `end`, `failed …`, or `` where only the connection tells


Ask = Callable[[articles.Doors, str], Any]


async def fastapi(doors: articles.Doors, prompt: str) -> Shown:
    return _shown(await _all(articles.streaming(doors, "fastapi", prompt)), articles.fastapi)


async def starlette(doors: articles.Doors, prompt: str) -> Shown:
    return _shown(await _all(articles.streaming(doors, "starlette", prompt)), articles.starlette)


async def socket(doors: articles.Doors, prompt: str) -> Shown:
    *frames, last = [frame async for frame in articles.frames(doors, prompt)]
    assert "".join(map(articles.socket, [last])) == ("" if "event:end" in last else articles.socket(last))
    return Shown("".join(map(articles.socket, frames)), articles.events(last)[0][0])


async def grpc(doors: articles.Doors, prompt: str) -> Shown:
    contents = [content async for content in articles.responses(doors, prompt)]
    return Shown("".join(map(articles.response, contents)), "")


async def instruct(doors: articles.Doors, prompt: str) -> Shown:
    return Shown(await _all(articles.instruct(doors, prompt)), "")


async def curl(doors: articles.Doors, prompt: str) -> Shown:
    return Shown(await _all(articles.curl(doors, prompt)), "")


async def generate(doors: articles.Doors, prompt: str) -> Shown:
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt}).encode(), articles.JSON)
    assert await browser.source() == 204
    ((name, _),) = browser.ends
    return Shown(browser.shown, name)


ASKS: dict[str, Ask] = {
    ask.__name__: ask for ask in (fastapi, starlette, socket, grpc, instruct, curl, generate)
}
#: Doors whose client has the answer in one body, which breaks off where the answer does.
BODIES = ("fastapi", "starlette", "instruct", "curl")
STREAMING = ("fastapi", "starlette")


def _shown(body: str, script: Callable[[str], str]) -> Shown:
    """`end` is named at one door, and an empty message at the other."""
    name, data = articles.events(body)[-1]
    assert (name, data) in (("end", ""), ("message", ""))
    return Shown(script(body), "end")


async def _all(texts: Any) -> str:
    return "".join([text async for text in texts])


@pytest.fixture(params=ASKS)
def name(request: pytest.FixtureRequest) -> str:
    """A door."""
    return str(request.param)


def prompt_of(stage: Stage) -> str:
    """A prompt that this stage answers."""
    return f"stage {stage.key} こんにちは"


# --- what is shown ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deltas", TEXTS.values(), ids=TEXTS)
async def test_the_printed_client_shows_the_text(
    doors: Doors, upstream: Upstream, name: str, deltas: list[str]
):
    stage = upstream.stage(Reply(says(*deltas)))
    shown = await ASKS[name](doors, prompt_of(stage))
    text = "".join(deltas)
    wanted = text.replace("\n", "") if name in STREAMING else text  # they cut lines away
    assert shown == Shown(wanted, "" if name in ("grpc", "instruct", "curl") else "end")
    assert len(stage.calls) == 1


async def test_empty_deltas_show_nothing(doors: Doors, upstream: Upstream, name: str):
    deltas: list[Any] = [{"content": "a"}, {"content": ""}, {"content": None}, {}, {"content": "b"}]
    stage = upstream.stage(Reply(writes(*deltas)))
    assert (await ASKS[name](doors, prompt_of(stage))).text == "ab"


@pytest.mark.parametrize("kind", STREAMING)
async def test_an_event_stream_reader_has_every_line_at_the_fetched_doors(
    doors: Doors, upstream: Upstream, kind: str
):
    stage = upstream.stage(Reply(says("a\n", "\n", "b\nc", "\n\nd: e")))
    body = await _all(articles.streaming(doors, kind, prompt_of(stage)))
    assert "".join(data for _, data in articles.events(body)) == "a\n\nb\nc\n\nd: e"


async def test_two_browsers_at_once_have_their_own_answers(doors: Doors, upstream: Upstream, name: str):
    texts = [[f"{who}{number} " for number in range(10)] for who in "ab"]
    stages = [upstream.stage(Reply(says(*said, delay_ms=10))) for said in texts]
    both = await asyncio.gather(*(ASKS[name](doors, prompt_of(stage)) for stage in stages))
    assert [shown.text for shown in both] == ["".join(said) for said in texts]


async def test_text_comes_as_it_is_made(doors: Doors, upstream: Upstream, name: str):
    """The engine says the second half only once the first one has been shown."""
    stage = upstream.stage(Reply(says("first", finish_reason=None), end="hold", hold_ms=20_000))
    async with asyncio.timeout(10), aclosing(first_of(name, doors, prompt_of(stage))) as pieces:
        seen = ""
        async for piece in pieces:
            seen += piece
            if "first" in seen:
                break


async def test_a_client_that_leaves_stops_the_engine_within_a_second(
    doors: Doors, upstream: Upstream, name: str
):
    if name == "generate":
        pytest.skip("its browser may come back")
    stage = upstream.stage(Reply(says(*["word "] * 2000, delay_ms=20)))
    async with aclosing(first_of(name, doors, prompt_of(stage))) as pieces:
        await anext(pieces)
    await closed_within(stage, time.monotonic(), 1000)


def first_of(name: str, doors: articles.Doors, prompt: str) -> articles.Texts:
    """What a door sends, as it comes."""
    match name:
        case "fastapi" | "starlette":
            return articles.streaming(doors, name, prompt)
        case "socket":
            return articles.frames(doors, prompt)
        case "grpc":
            return articles.responses(doors, prompt)
        case "instruct":
            return articles.instruct(doors, prompt)
        case "curl":
            return articles.curl(doors, prompt)
    return _source(doors, prompt)


async def _source(doors: articles.Doors, prompt: str) -> articles.Texts:
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt}).encode(), articles.JSON)
    await browser.connect(leave_after=1)
    yield browser.shown


# --- failures -----------------------------------------------------------------------------------------------


async def gather(got: list[str], texts: articles.Texts) -> None:
    """Keep what came before the end, whatever that is."""
    async for text in texts:
        got.append(text)


@pytest.fixture
def broken(upstream: Upstream) -> Stage:
    """An engine that breaks in mid-answer."""
    return upstream.stage(Reply(says("Hello", " wor", finish_reason=None, delay_ms=20), end="rst"))


@pytest.mark.parametrize("name", BODIES)
async def test_a_body_breaks_off_where_the_answer_does(doors: Doors, broken: Stage, name: str):
    got: list[str] = []
    with pytest.raises(Broken):
        await gather(got, first_of(name, doors, prompt_of(broken)))
    if name in STREAMING:
        *texts, (last, data) = articles.events("".join(got))
        assert "".join(said for _, said in texts) == "Hello wor"
        assert (last, json.loads(data)["error"]["code"]) == ("failed", "upstream_disconnected")
    else:
        assert "".join(got) == "Hello wor"


async def test_a_failure_is_a_frame_and_the_socket_goes_on(doors: Doors, upstream: Upstream, broken: Stage):
    stage = upstream.stage(Reply(says(*SHORT)))
    async with articles.opened(doors) as socket_:
        await socket_.send(prompt_of(broken))
        await socket_.send(prompt_of(stage))
        *frames, last = [frame async for frame in articles.answer(socket_)]
        assert "".join(map(articles.socket, frames)) == "Hello wor"
        ((event, data),) = articles.events(last)
        assert (event, json.loads(data)["error"]["code"]) == ("failed", "upstream_disconnected")
        *frames, _ = [frame async for frame in articles.answer(socket_)]
        assert "".join(map(articles.socket, frames)) == "".join(SHORT)


async def test_a_failure_is_the_status_of_the_call(doors: Doors, broken: Stage):
    got: list[str] = []
    with pytest.raises(grpcio.aio.AioRpcError) as failed:
        await gather(got, articles.responses(doors, prompt_of(broken)))
    assert "".join(map(articles.response, got)) == "Hello wor"
    assert failed.value.code() == grpcio.StatusCode.UNAVAILABLE


async def test_a_failure_stops_the_event_source(doors: Doors, broken: Stage):
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt_of(broken)}).encode(), articles.JSON)
    assert await browser.source() == 204
    ((event, data),) = browser.ends
    assert browser.shown == "Hello wor"
    assert (event, json.loads(data)["error"]["code"]) == ("failed", "upstream_disconnected")


@pytest.mark.parametrize("name", [*BODIES, "whole"])
async def test_a_refusal_before_the_first_word_is_a_status(doors: Doors, upstream: Upstream, name: str):
    refusal = json.dumps({"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}})
    stage = upstream.stage(
        Reply([{"text": refusal}], status=429, headers={"content-type": "application/json"})
    )
    prompt = prompt_of(stage)
    whole = articles.streaming(doors, "fastapi", prompt, stream=False)
    with pytest.raises(Refused) as refused:
        await _all(whole if name == "whole" else first_of(name, doors, prompt))
    assert (refused.value.status, refused.value.code) == (429, "rate_limited")


async def test_the_bodies_of_another_ending_are_not_shortened(doors: Doors, upstream: Upstream):
    """Half an end mark is text when nothing follows; a whole one never shows, however it is cut."""
    stage = upstream.stage(Reply(says("a </", "s", "> b</s></", "s")))
    assert (await instruct(doors, prompt_of(stage))).text == "a  b</s"


# --- requests -----------------------------------------------------------------------------------------------


async def test_what_the_page_asks_for_reaches_the_engine(doors: Doors, upstream: Upstream):
    stage = upstream.stage(Reply(says(*SHORT)))
    await _all(articles.streaming(doors, "fastapi", prompt_of(stage), temperature=0.5))
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
    told = await _all(articles.instruct(doors_of(relay), prompt_of(stage), prefix))
    assert told == "".join(SHORT)


@pytest.mark.parametrize("kind", STREAMING)
async def test_a_whole_answer_comes_at_once_in_the_same_form(doors: Doors, upstream: Upstream, kind: str):
    stage = upstream.stage(Reply(says("a\n", "b: ", "日本")))
    body = await _all(articles.streaming(doors, kind, prompt_of(stage), stream=False))
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


# --- /start and /generate -----------------------------------------------------------------------------------

FORM = "application/x-www-form-urlencoded"
BOUNDARY = "multipart/form-data; boundary=x7"


@pytest.mark.parametrize("kind", ["json", "none", "text", "form", "multipart"])
async def test_a_start_takes_json_and_forms(doors: Doors, upstream: Upstream, kind: str):
    stage = upstream.stage(Reply(says(*SHORT)))
    prompt = f"stage {stage.key}"
    raw = json.dumps({"prompt": prompt}).encode()
    media = {"json": "application/json", "text": "text/plain;charset=UTF-8", "form": FORM}
    if kind == "form":
        raw = f"prompt={prompt.replace(' ', '+')}".encode()
    if kind == "multipart":
        part = f'Content-Disposition: form-data; name="prompt"\r\n\r\n{prompt}'
        raw = f"--x7\r\n{part}\r\n--x7--\r\n".encode()
    types = {"Content-Type": media.get(kind, BOUNDARY)} if kind != "none" else {}
    browser = articles.Browser(doors)
    told = await browser.start(raw, types)
    assert list(browser.cookies.values()) == [told["id"]]
    assert await browser.source() == 204
    assert browser.shown == "".join(SHORT)
    assert stage.calls[0].body["messages"] == [{"role": "user", "content": prompt}]


async def test_a_start_without_a_body_has_a_prompt_of_its_own(scripted: Server):
    browser = articles.Browser(doors_of(scripted))
    await browser.start()
    assert await browser.source() == 204
    assert browser.shown.startswith("Polystream keeps one numbered log")
    assert browser.ends == [("end", "")]


async def test_a_start_of_another_media_type_is_refused(doors: Doors):
    url, headers = f"{doors.http}/start", {"Content-Type": "application/xml"}
    answer = await http.request("POST", url, headers, b"<prompt/>")
    assert (await http.refuse(answer)).status == 415
    answer.close()


async def test_the_cookie_is_for_no_script_and_no_other_site(doors: Doors, upstream: Upstream):
    stage = upstream.stage(Reply(says(*SHORT)))
    raw = json.dumps({"prompt": prompt_of(stage)}).encode()
    answer, said = await http.fetch("POST", f"{doors.http}/start", articles.JSON, raw)
    id = json.loads(said)["id"]
    assert answer.headers["set-cookie"] == f"polystream_generation={id}; Path=/; HttpOnly; SameSite=Lax"
    assert answer.headers["cache-control"] == "no-store"
    await http.fetch("DELETE", f"{doors.http}/v1/streams/{id}")


@pytest.mark.parametrize("leave_after", [1, 3, 9])
async def test_an_event_source_that_comes_back_goes_on(doors: Doors, upstream: Upstream, leave_after: int):
    deltas = [f"line {number}\n" for number in range(9)]
    stage = upstream.stage(Reply(says(*deltas, delay_ms=10)))
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt_of(stage)}).encode(), articles.JSON)
    while await browser.connect(leave_after=leave_after) == 200:
        pass
    assert browser.shown == "".join(deltas)
    assert browser.ends == [("end", "")]
    assert browser.connections > 9 // leave_after
    assert len(stage.calls) == 1


async def test_the_tabs_of_one_browser_are_told_apart_when_they_come_back(doors: Doors, upstream: Upstream):
    """They share the cookie, which is the later tab's."""
    tabs: list[articles.Browser] = []
    stages = []
    for who in "ab":
        stages.append(upstream.stage(Reply(says(*[f"{who}{number} " for number in range(20)], delay_ms=20))))
        tabs.append(articles.Browser(doors, tabs[0].cookies if tabs else {}))
        told = await tabs[-1].start(json.dumps({"prompt": prompt_of(stages[-1])}).encode(), articles.JSON)
        await tabs[-1].connect(f"?id={told['id']}" if who == "a" else "", leave_after=2)
    assert await asyncio.gather(*(tab.source() for tab in tabs)) == [204, 204]
    for who, tab in zip("ab", tabs, strict=True):
        assert tab.shown == "".join(f"{who}{number} " for number in range(20))


@pytest.mark.parametrize("position", ["gen_x:1", "7", "gen_x:-1", "gen_x"])
async def test_a_position_that_is_none_stops_the_event_source(doors: Doors, position: str):
    answer = await http.request("GET", f"{doors.http}/generate", {"Last-Event-ID": position})
    refused = await http.refuse(answer)
    answer.close()
    assert refused.status == (404 if position == "gen_x:1" else 400)


# --- /ws ----------------------------------------------------------------------------------------------------


async def test_prompts_on_one_socket_are_answered_one_after_the_other(doors: Doors, upstream: Upstream):
    texts = [[f"{who}{number} " for number in range(5)] for who in "abc"]
    stages = [upstream.stage(Reply(says(*said, delay_ms=10))) for said in texts]
    async with articles.opened(doors) as socket_:
        for stage in stages:
            await socket_.send(prompt_of(stage))
        for said in texts:
            *frames, last = [frame async for frame in articles.answer(socket_)]
            assert "".join(map(articles.socket, frames)) == "".join(said)
            assert last == "event:end\ndata: \n\n"


async def test_an_empty_prompt_is_refused_in_its_turn(doors: Doors, upstream: Upstream):
    stage = upstream.stage(Reply(says(*SHORT)))
    async with articles.opened(doors) as socket_:
        await socket_.send("")
        await socket_.send(prompt_of(stage))
        (refused,) = [frame async for frame in articles.answer(socket_)]
        error = json.loads(articles.events(refused)[0][1])["error"]
        assert (error["code"], error["param"]) == ("invalid_request", "prompt")
        *frames, _ = [frame async for frame in articles.answer(socket_)]
        assert "".join(map(articles.socket, frames)) == "".join(SHORT)


@pytest.mark.parametrize(
    ("frames", "code"),
    [([b"binary"], 1003), (["a" * 1_048_577], 1009), (["wait"] * 18, 1013)],
    ids=["binary", "too big", "too many"],
)
async def test_a_frame_that_is_none_closes_the_socket_and_ends_the_answer(
    doors: Doors, upstream: Upstream, frames: list[Any], code: int
):
    stage = upstream.stage(Reply(says(*["word "] * 2000, delay_ms=20)))
    async with asyncio.timeout(20), articles.opened(doors) as socket_:
        await socket_.send(prompt_of(stage))
        await socket_.recv()
        for frame in frames:
            await socket_.send(frame)
        with pytest.raises(ConnectionClosedError):
            async for _ in socket_:
                pass  # what was on its way
    assert socket_.close_code == code
    await closed_within(stage, time.monotonic(), 1000)


# --- silence and drain --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STREAMING)
async def test_a_silent_engine_is_bridged_by_what_shows_nothing(shared: Serve, upstream: Upstream, kind: str):
    """From the headers on, which come before the first word where that is late."""
    server = await shared(ENGINE_URL=upstream.url, HEARTBEAT_S=0.2, STATUS_HOLD_S=0.1)
    stage = upstream.stage(Reply(says("a", "b", delay_ms=1500)))
    body = await _all(articles.streaming(doors_of(server), kind, prompt_of(stage)))
    beat = {"fastapi": ": \n\n", "starlette": ":\n\n"}[kind]
    assert body.startswith(beat)
    before, _, after = body.partition("data: a\n\n")
    assert min(before.count(beat), after.count(beat)) >= 2
    assert {"fastapi": articles.fastapi, "starlette": articles.starlette}[kind](body) == "ab"


async def test_a_silent_engine_is_bridged_for_the_event_source_too(shared: Serve, upstream: Upstream):
    server = await shared(ENGINE_URL=upstream.url, HEARTBEAT_S=0.2, STATUS_HOLD_S=0.1)
    stage = upstream.stage(Reply(says("a", delay_ms=1500)))
    raw = json.dumps({"prompt": prompt_of(stage)}).encode()
    told = json.loads((await http.fetch("POST", f"{server.rest}/start", articles.JSON, raw))[1])
    _, body = await http.fetch("GET", f"{server.rest}/generate?id={told['id']}")
    assert body.startswith(b": heartbeat\n\n: heartbeat\n\n")


async def test_a_drain_lets_answers_go_on_to_their_ends(serve: Serve, upstream: Upstream):
    server = await serve(ENGINE_URL=upstream.url, DRAIN_S=15)
    doors = doors_of(server)
    names = [name for name in ASKS if name != "generate"]
    stages = [upstream.stage(Reply(says(*["word "] * 20, delay_ms=50))) for _ in names]
    work = [
        asyncio.ensure_future(ASKS[name](doors, prompt_of(stage)))
        for name, stage in zip(names, stages, strict=True)
    ]
    await until(lambda: all(stage.calls and stage.calls[0].written > 3 for stage in stages), 10, "asked")
    server.signal(signal.SIGTERM)
    assert [(await shown).text for shown in work] == ["word " * 20] * len(names)
    assert await server.ended() == 0


async def test_a_socket_with_nothing_under_way_is_closed_by_a_drain(serve: Serve):
    server = await serve()
    async with asyncio.timeout(20), articles.opened(doors_of(server)) as socket_:
        await socket_.send("hi")
        assert [frame async for frame in articles.answer(socket_)][-1].startswith("event:end")
        server.signal(signal.SIGTERM)
        await socket_.wait_closed()
    assert socket_.close_code == 1012
