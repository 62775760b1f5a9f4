"""One body over every protocol: whatever carries a generation, text, count of events and digest are the same.

The scripted engine plays; the reading side is a client that checks numbers, count and digest of what it gets.
"""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from tests.clients import Json, Refused, chat, grpc, rest, sse, websocket
from tests.clients.answer import Answer, collect
from tests.integration.server import Server

pytestmark = pytest.mark.asyncio(loop_scope="module")

NATIVE: dict[str, Any] = {"ndjson": rest, "sse": sse, "websocket": websocket, "grpc": grpc}
PIECES: dict[str, list[Any]] = {
    "plain": ["Streams ", "are ", "logs."],
    "line breaks": ["a\n", "\n\n", "b\r\n", "\r", "c", "\n"],
    "scripts": ["こんにちは", "、世界", "🌍", "👩‍💻", "🇯🇵", "שלום"],
    "line separators": ["one\u2028two", "\u2029", "\u0085", "\u2028"],
    "blanks": [" ", "x", "    ", "\t", "y", " "],
    "data-like": [
        "data: forged\n\n",
        "event: done\r",
        "id: 9\n",
        "[DONE]",
        '{"seq":0}',
        "\\u0041",
        "\x00\x1f",
    ],
    "cut characters": ["é", {"bytes": "8J+M"}, {"bytes": "jQ=="}, "!"],
    "many": [f"t{number} " for number in range(500)],
    "reasoning": [{"reasoning": "hm, "}, {"reasoning": "\n日本"}, "so: ", "42"],
    "refusal": [{"refusal": "I may "}, {"refusal": "not."}],
    "tools": [
        "look: ",
        {"tool_call": {"index": 0, "call_id": "call_a", "name": "weather", "arguments": '{"city": "'}},
        {"tool_call": {"index": 1, "call_id": "call_b", "name": "time", "arguments": ""}},
        {"tool_call": {"index": 0, "arguments": 'Zürich"}'}},
        {"tool_call": {"index": 1, "arguments": "{}"}},
    ],
    "nothing": [],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Server]:
    """All listeners over one store in memory."""
    running = Server(ENGINE_URL="scripted:")
    try:
        yield await asyncio.to_thread(running.wait_until_listening)
        await running.stop()
    finally:
        running.kill()


@pytest.fixture(autouse=True)
def _told(server: Server) -> Iterator[None]:
    """A test that fails shows what the server said meanwhile."""
    before = len(server.log)
    yield
    print(*server.log[before:], sep="\n")


@pytest.fixture(params=NATIVE)
def door(request: pytest.FixtureRequest) -> Any:
    """The client of a native door."""
    return NATIVE[request.param]


@pytest.fixture(params=PIECES)
def pieces(request: pytest.FixtureRequest) -> list[Any]:
    """What the engine says."""
    return PIECES[request.param]


def request(pieces: list[Any], **script: Any) -> Json:
    """A request that has the engine say these pieces."""
    return {"prompt": "Hi", "metadata": {"script": json.dumps({"pieces": pieces, **script})}}


def slow(number: int = 200, **script: Any) -> Json:
    """A request whose answer is still running when a test acts on it."""
    return request([f"s{n} " for n in range(number)], pace_ms=20, **script)


def id_of(answer: Answer) -> str:
    """The id, which an answer that began has."""
    assert answer.id
    return answer.id


def expected(pieces: list[Any]) -> tuple[str, str, str]:
    """Text, reasoning and refusal that these pieces come to."""
    said: dict[str, bytes] = {"text": b"", "reasoning": b"", "refusal": b""}
    for piece in pieces:
        if isinstance(piece, str):
            said["text"] += piece.encode()
        elif "bytes" in piece:
            said["text"] += base64.b64decode(piece["bytes"])
        else:
            ((kind, content),) = piece.items()
            if kind in said:
                said[kind] += content.encode()
    return said["text"].decode(), said["reasoning"].decode(), said["refusal"].decode()


# --- the same answer everywhere -----------------------------------------------------------------------------


async def test_text_count_and_digest_are_the_same_over_every_protocol(server: Server, pieces: list[Any]):
    runs = {name: await collect(client.start(server, request(pieces))) for name, client in NATIVE.items()}
    for name, answer in runs.items():
        assert (answer.text, answer.reasoning, answer.refusal) == expected(pieces), name
        assert answer.reason == "stop", name
        assert answer.last
        assert answer.last["sha256"] == hashlib.sha256(expected(pieces)[0].encode()).hexdigest(), name
        assert answer.outcome() == runs["ndjson"].outcome(), name


async def test_one_generation_reads_the_same_over_every_protocol(
    server: Server, pieces: list[Any], door: Any
):
    """Event for event, not only in sum; the follower comes while or after the log is written."""
    started = [event async for event in rest.start(server, request(pieces))]
    followed = [event async for event in door.follow(server, started[0]["id"])]
    assert followed == started


async def test_chat_and_plain_text_say_the_same_text(server: Server, pieces: list[Any]):
    text, reasoning, refusal = expected(pieces)
    told = await collect(chat.start(server, request(pieces)), Answer(numbered=False))
    assert (told.text, told.reasoning, told.refusal, told.reason) == (text, reasoning, refusal, "stop")
    native = await collect(rest.start(server, request(pieces)))
    assert told.tool_calls == native.tool_calls
    plain = await collect(rest.start(server, request(pieces), form=rest.TEXT), Answer(numbered=False))
    assert plain.text == text
    whole, _ = await chat.complete(server, request(pieces))
    assert (whole["choices"][0]["message"]["content"] or "") == text


@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "content_filter"])
async def test_the_finish_reason_is_the_same_over_every_protocol(server: Server, finish: str, door: Any):
    asked = request(["a", "b"], finish=finish)
    assert (await collect(door.start(server, asked))).reason == finish
    assert (await collect(chat.start(server, asked), Answer(numbered=False))).reason == finish


@pytest.mark.parametrize(
    "code", ["upstream_disconnected", "context_length_exceeded", "rate_limited", "overloaded"]
)
async def test_a_failure_is_the_same_over_every_protocol(server: Server, code: str, door: Any):
    fault = {"at": 2, "kind": "error", "code": code, "message": "the reason"}
    answer = await collect(door.start(server, request(["a", "b", "c"], fault=fault)))
    assert (answer.text, answer.code) == ("ab", code)
    assert answer.error
    assert answer.error["retryable"] is (code not in ("context_length_exceeded",))


# --- positions ----------------------------------------------------------------------------------------------


async def test_every_position_gives_exactly_the_rest(server: Server, door: Any):
    whole = [event async for event in rest.start(server, request(PIECES["scripts"]))]
    for after in range(len(whole)):
        rest_of_it = [event async for event in door.follow(server, whole[0]["id"], after)]
        assert rest_of_it == whole[after + 1 :], after


async def test_a_reader_may_join_while_the_answer_is_being_written(server: Server, door: Any):
    async with aclosing(rest.start(server, slow(20))) as first:
        events = [await anext(first)]
        following = asyncio.ensure_future(collect(door.follow(server, events[0]["id"])))
        events += [event async for event in first]
    assert (await following).events == len(events)


async def test_the_newest_position_of_a_running_log_waits(server: Server, door: Any):
    async with aclosing(rest.start(server, slow(3, first_ms=300))) as first:
        started = await anext(first)
        waited = [event async for event in door.follow(server, started["id"], 0)]
        assert waited == [event async for event in first]


async def test_a_position_the_log_does_not_hold_is_lost(server: Server, door: Any):
    whole = await collect(rest.start(server, request(["a"])))
    with pytest.raises(Refused) as refused:
        await collect(door.follow(server, id_of(whole), whole.seq + 1))
    assert refused.value.code == "position_lost"
    assert refused.value.status in (410, "OUT_OF_RANGE", None)


async def test_an_unknown_generation_is_not_found(server: Server, door: Any):
    for call in (collect(door.follow(server, "gen_unknown")), door.cancel(server, "gen_unknown")):
        with pytest.raises(Refused) as refused:
            await call
        assert refused.value.code == "not_found"
        assert refused.value.status in (404, "NOT_FOUND", None)


# --- cancel, status, keys, refusals -------------------------------------------------------------------------


async def test_a_cancel_from_anywhere_ends_it_for_every_reader(server: Server, door: Any):
    asked = slow()
    async with aclosing(rest.start(server, asked)) as events:
        answer = Answer()
        answer.take(await anext(events))
        answer.take(await anext(events))
        others = [
            asyncio.ensure_future(collect(other.follow(server, id_of(answer)))) for other in NATIVE.values()
        ]
        state = await door.cancel(server, id_of(answer))
        assert state["id"] == answer.id
        await collect(events, answer)
    for reader in [answer, *await asyncio.gather(*others)]:
        assert (reader.reason, reader.text) == ("cancelled", answer.text)
    again = await door.cancel(server, id_of(answer))
    assert (again["state"], again["reason"], again["last_seq"]) == ("finished", "cancelled", answer.seq)


async def test_the_status_tells_what_the_log_holds(server: Server, door: Any):
    answer = await collect(door.start(server, request(["a", "b"]) | {"metadata": {"k": "v"}}))
    state = await door.status(server, id_of(answer))
    assert state == await rest.status(server, id_of(answer))
    assert (state["state"], state["events"], state["last_seq"]) == ("finished", answer.events, answer.seq)
    assert (state["reason"], state["metadata"]) == ("stop", {"k": "v"})


async def test_the_same_key_follows_what_it_started_and_conflicts_with_another_request(
    server: Server, door: Any
):
    key = f"key of {door.__name__}"
    first = await collect(door.start(server, request(["once"]), idempotency_key=key))
    again = await collect(door.start(server, request(["once"]), idempotency_key=key))
    assert (again.id, again.outcome()) == (first.id, first.outcome())
    with pytest.raises(Refused) as refused:
        await collect(door.start(server, request(["twice"]), idempotency_key=key))
    assert refused.value.code == "conflict"
    assert refused.value.status in (409, "ALREADY_EXISTS", None)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"prompt": "a", "messages": [{"role": "user", "content": "b"}]}, None),
        ({"model": "scripted"}, None),
        ({"prompt": "a", "on_disconnect": "sometimes"}, "on_disconnect"),
        ({"prompt": "a", "metadata": {"script": "{"}}, "metadata.script"),
        ({"prompt": "a", "temperature": -1}, "temperature"),
    ],
    ids=["two prompts", "no prompt", "bad choice", "bad script", "out of range"],
)
async def test_a_senseless_request_is_refused_by_the_name_of_its_field(
    server: Server, door: Any, asked: Json, param: str | None
):
    with pytest.raises(Refused) as refused:
        await collect(door.start(server, asked))
    assert refused.value.code == "invalid_request"
    assert refused.value.status in (400, "INVALID_ARGUMENT", None)
    if param and isinstance(refused.value.body, dict):
        assert refused.value.body["param"].removeprefix("request.") == param
