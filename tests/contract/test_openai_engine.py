"""The engine for OpenAI-compatible servers: what an answer is when it is whole, cut, or not streamed."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystream.core.events import Event, Reasoning, Text, ToolCall, Usage
from polystream.core.ports import Ending
from polystream.engines import http_connection
from polystream.engines.http_connection import End, Head
from polystream.engines.openai_answer import ChatAnswer
from tests.asking import DONE, Heard, answered, ask, engine_for, said
from tests.chunks import call, chunk
from tests.engine_server import CHUNKED, LAST, Wire, counted, framed, on_every_loop
from tests.fakes import until


@on_every_loop
async def test_an_answer_is_delivered_with_its_reason_usage_and_model() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    last = b"data: " + chunk(choices=[], usage=usage) + b"\n\n"
    body = said({"role": "assistant", "content": ""}, "five", " six", finish="stop") + last + DONE
    heard = await answered(CHUNKED + framed(body) + LAST)
    assert (heard.text, heard.ending) == ("five six", Ending("stop", Usage(9, 2), "mock-1"))
    assert heard.lists == 1


ENDS = {
    "with all": (said("a", finish="length") + DONE, "length"),
    "without [DONE]": (said("a", finish="length"), "length"),
    "without a finish reason": (said("a") + DONE, "stop"),
    "with neither": (said("a"), "upstream_incomplete"),
    "without its last blank line": (said("a", finish="length")[:-1], "length"),
    "without the blank line of [DONE]": (said("a") + DONE[:-2], "stop"),
    "within an event": (said("a") + said("b", finish="stop")[:-40], "upstream_incomplete"),
}


@pytest.mark.parametrize(("body", "end"), ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("head", [CHUNKED, CHUNKED.replace(b"Transfer-Encoding: chunked\r\n", b"")])
@on_every_loop
async def test_an_answer_that_ends_properly(body: bytes, end: str, head: bytes) -> None:
    heard = await answered(head + (framed(body) + LAST if b"chunked" in head else body))
    assert (heard.text[:1], heard.end) == ("a", end)


CUTS = {
    "in mid-answer": (said("so", " far"), "upstream_disconnected"),
    "within an event": (said("so", " far") + b'data: {"choi', "upstream_disconnected"),
    "after the finish reason": (said("so", " far", finish="length"), "length"),
    "after [DONE]": (said("so", " far") + DONE, "stop"),
}


@pytest.mark.parametrize(("body", "end"), CUTS.values(), ids=CUTS.keys())
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@on_every_loop
async def test_an_answer_that_is_cut(body: bytes, end: str, reset: bool) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(body))
        await until(lambda: heard.text == "so far")
        if reset:
            wire.reset()

    heard = Heard()
    async with engine_for(script) as (engine, server):
        await ask(engine, heard=heard)
        assert (heard.text, heard.end) == ("so far", end)
        assert len(server.requests) == 1


@on_every_loop
async def test_faulty_framing_after_the_words_takes_nothing_away() -> None:
    heard = await answered(CHUNKED + framed(said("a", finish="stop")) + b"zz\r\n")
    assert (heard.text, heard.end) == ("a", "stop")
    assert (await answered(CHUNKED + framed(said("a")) + b"zz\r\n")).end == "upstream_bad_chunk"


@on_every_loop
async def test_an_engine_that_keeps_the_socket_open_after_done_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_connection, "LINGER_S", 0.1)

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(said("quick", finish="stop") + DONE))
        await wire.gone()

    async with engine_for(script) as (engine, server):
        async with asyncio.timeout(1):
            heard = await ask(engine)
        assert (heard.text, heard.end) == ("quick", "stop")
        await server.wires[0].over.wait()


@on_every_loop
async def test_a_connection_is_kept_although_its_last_chunk_comes_after_the_answer() -> None:
    async def script(wire: Wire) -> None:
        for _ in range(2):
            ended.clear()
            await wire.request()
            await wire.send(CHUNKED + framed(said("a", finish="stop") + DONE))
            await ended.wait()
            await wire.send(LAST)
        await wire.gone()

    ended = asyncio.Event()
    async with engine_for(script) as (engine, server):
        for _ in range(2):
            assert (await ask(engine)).end == "stop"
            ended.set()
            await until(lambda: any(engine._client._idle.values()))
        assert len(server.wires) == 1


@on_every_loop
async def test_each_read_is_one_list_of_events() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(said("a"), said("b", "c")))
        await until(lambda: heard.lists == 1)
        await wire.send(framed(said("d", finish="stop") + DONE) + LAST)

    heard = Heard()
    async with engine_for(script) as (engine, _):
        await ask(engine, heard=heard)
        assert (heard.text, heard.lists) == ("abcd", 2)


async def received(reads: list[bytes]) -> tuple[list[Event], Ending]:
    """An answer whose body comes in these reads, without a network."""
    heard = Heard()
    answer = ChatAnswer(heard.emit, 10, 10, False)
    answer.began(lambda linger: None)
    answer.head(Head(200, {"content-type": "Text/Event-Stream; charset=utf-8"}))
    for read in reads:
        answer.data(read)
    answer.close()
    return heard.events, answer.conclude(End.COMPLETE)


WHOLE = (
    b": ping\r\n\r\n"
    + said("Gr\u00fc\u00df", "e \U0001f99c\u2028")
    + said({"reasoning": "hm"}, {"tool_calls": [call(0, "c1", "f", "{}")]})
    + b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\r\n\r\n'
    + b'data: {"choices":[{"delta":{"content":"\\ude00 \xc3\xa9"}}]}\n\n'
    + said(finish="stop")
    + DONE
)


@given(places=st.lists(st.integers(0, len(WHOLE)), max_size=30))
def test_where_the_bytes_are_cut_makes_no_difference(places: list[int]) -> None:
    ends = sorted({0, *places, len(WHOLE)})
    events, ending = asyncio.run(received([WHOLE[begin:end] for begin, end in pairwise(ends)]))
    assert "".join(event.text for event in events if isinstance(event, Text)) == "Grüße 🦜\u2028😀 é"
    assert [event for event in events if not isinstance(event, Text)] == [
        Reasoning("hm"),
        ToolCall(0, "c1", "f", "{}"),
    ]
    assert ending == Ending("stop", None, "mock-1")


def whole(**message: Any) -> bytes:
    """A whole answer, as JSON."""
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": "stop"}
    return chunk(choices=[choice], usage={"prompt_tokens": 43, "completion_tokens": 8})


@on_every_loop
async def test_an_answer_that_is_not_streamed_is_read_as_a_whole() -> None:
    heard = await answered(counted(whole(content="Paris.", reasoning="hm")))
    assert heard.events == [Reasoning("hm"), Text("Paris.")]
    assert heard.ending == Ending("stop", Usage(43, 8), "mock-1")


@on_every_loop
async def test_a_whole_answer_that_is_cut_or_an_error_is_no_answer() -> None:
    cut = counted(whole(content="Paris."))[:-5]
    assert (await answered(cut)).end == "upstream_disconnected"
    error = (await answered(counted(b'{"error":{"message":"no","code":"context_length_exceeded"}}'))).error
    assert error is not None
    assert (error.code, error.message) == ("context_length_exceeded", "no")


@on_every_loop
async def test_an_endless_whole_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polystream.engines.openai_answer.EVENT_MAX_BYTES", 1000)
    heard = await answered(counted(whole(content="x" * 2000)))
    assert (heard.text, heard.end) == ("", "upstream_bad_chunk")
