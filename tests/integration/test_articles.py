"""The articles' doors, each by the client that was printed for it, directly and through the front door."""

import asyncio
import json
import time
from contextlib import aclosing
from typing import Any

import grpc as grpcio
import pytest

from polystream.proto import stream_pb2 as pb
from polystream.proto.stream_pb2_grpc import ResponseStreamingServiceStub
from tests.clients import Broken, Refused, articles, grpcweb, http
from tests.integration.articles import (
    ASKS,
    BODIES,
    SHORT,
    STREAMING,
    Doors,
    Shown,
    first_of,
    instruct,
    prompt_of,
    whole_text,
)
from tests.integration.front import Front
from tests.integration.server import Server
from tests.integration.upstream import Reply, Stage, Upstream, says, writes
from tests.integration.waiting import closed_within

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXTS = {
    "plain": ["Streams", " are", " logs."],
    "scripts": ["こん", "にちは", "、", "🌍", "👩‍💻", " שלום"],
    "line breaks": ["a\n", "\n", "b\nc", "\n\nd", "\u2028e\u0085"],
    "cuts": ["to: ", "a : b", ": ", ":", " c", "data: d", "event: end", "Response x"],
    "blanks": [" ", "x", "   y", "\t"],
    "nothing": [],
}


@pytest.fixture(params=ASKS)
def name(request: pytest.FixtureRequest) -> str:
    """A door."""
    return str(request.param)


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
    body = await whole_text(articles.streaming(doors, kind, prompt_of(stage)))
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


@pytest.mark.parametrize("name", [name for name in ASKS if name != "generate"])  # its browser may come back
@pytest.mark.parametrize("silent", [False, True], ids=["talking", "silent"])
async def test_a_client_that_leaves_stops_the_engine_within_a_second(
    doors: Doors, upstream: Upstream, name: str, silent: bool
):
    talking = Reply(says(*["word "] * 2000, delay_ms=20))
    waiting = Reply(says("word ", finish_reason=None), end="hold", hold_ms=20_000)
    stage = upstream.stage(waiting if silent else talking)
    async with aclosing(first_of(name, doors, prompt_of(stage))) as pieces:
        await anext(pieces)
    await closed_within(stage, time.monotonic(), 1000)


# --- failures -------------------------------------------------------------------------------------------


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
        await whole_text(whole if name == "whole" else first_of(name, doors, prompt))
    assert (refused.value.status, refused.value.code) == (429, "rate_limited")


async def test_the_bodies_of_another_ending_are_not_shortened(doors: Doors, upstream: Upstream):
    """Half an end mark is text when nothing follows; a whole one never shows, however it is cut."""
    stage = upstream.stage(Reply(says("a </", "s", "> b</s></", "s")))
    assert (await instruct(doors, prompt_of(stage))).text == "a  b</s"


async def test_a_cancel_from_elsewhere_is_no_good_end(relay: Server, upstream: Upstream):
    """A call that ended with OK, or a body that ended properly, would look whole."""
    stages = [upstream.stage(Reply(says(*["word "] * 2000, delay_ms=20))) for _ in "ab"]
    answer = await articles.post(f"{relay.rest}/streaming/fastapi/", {"prompt": prompt_of(stages[0])})
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpcio.aio.insecure_channel(relay.grpc, options=options) as channel:
        stub: Any = ResponseStreamingServiceStub(channel)
        call = stub.stream(pb.UserRequest(prompt=prompt_of(stages[1])), timeout=20)
        ids = [answer.headers["stream-id"], dict(await call.initial_metadata())["stream-id"]]
        for id in ids:
            await http.fetch("DELETE", f"{relay.rest}/v1/streams/{id}")
        assert await call.code() == grpcio.StatusCode.CANCELLED
    got: list[str] = []
    with pytest.raises(Broken):
        await gather(got, articles.body(answer))
    last, data = articles.events("".join(got))[-1]
    assert (last, json.loads(data)["error"]["code"]) == ("failed", "cancelled")


async def test_the_grpc_page_in_a_browser_shows_the_text(front_relay: Front, upstream: Upstream):
    """gRPC-Web, by Envoy."""
    stage = upstream.stage(Reply(says("こん", "に ちは\n")))
    asked = grpcweb.frame(pb.UserRequest(prompt=prompt_of(stage)).SerializeToString())
    url = f"{await front_relay.web()}/stream.ResponseStreamingService/stream"
    _, raw = await http.fetch("POST", url, grpcweb.head(), asked)
    shown = ""
    while raw[0] == 0:
        size = int.from_bytes(raw[1:5], "big")
        shown += articles.response(pb.LlmResponse.FromString(raw[5 : 5 + size]).llm_content)
        raw = raw[5 + size :]
    assert shown == "こんに ちは\n"
    assert b"grpc-status:0" in raw
