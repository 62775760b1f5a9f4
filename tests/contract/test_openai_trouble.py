"""The engine for OpenAI-compatible servers that refuse, break, fall silent, or are something else."""

import asyncio
import json
import os
import socket
import time

import pytest

from polystream.core.events import Event, Reasoning
from polystream.core.ports import Model
from polystream.engines.openai import OpenAIEngine
from tests.asking import ASK, DONE, Heard, answered, ask, engine_for, said
from tests.engine_server import CHUNKED, LAST, Script, Wire, answering, counted, framed, on_every_loop
from tests.fakes import until


@on_every_loop
async def test_an_error_in_the_stream_is_raised_behind_what_came_before() -> None:
    error = b'data: {"error":{"message":"worker lost","type":"server_error","code":503}}\n\n'
    heard = await answered(CHUNKED + framed(said("so", " far") + error + DONE) + LAST)
    assert (heard.text, heard.end) == ("so far", "upstream_error")
    assert heard.error is not None
    assert heard.error.message == "worker lost"


@on_every_loop
async def test_an_error_ends_the_answer_although_the_stream_goes_on() -> None:
    error = b'data: {"error":{"message":"worker lost"}}\n\n'
    async with engine_for(silent_after(error, every_s=0.05, then=b": ping\n\n")) as (engine, _):
        async with asyncio.timeout(5):
            assert (await ask(engine)).end == "upstream_error"


@on_every_loop
async def test_a_chunk_that_cannot_be_read_is_raised_behind_what_came_before() -> None:
    heard = await answered(
        CHUNKED + framed(said("so far") + b"data: {oops\n\n" + said("no", finish="stop")) + LAST
    )
    assert (heard.text, heard.end) == ("so far", "upstream_bad_chunk")


@on_every_loop
async def test_an_endless_event_is_given_up() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(b"data: "))
        while True:
            await wire.send(framed(b"x" * 100_000))

    async with engine_for(script) as (engine, _):
        assert (await ask(engine)).end == "upstream_bad_chunk"


@pytest.mark.parametrize(
    ("status", "code"),
    [("400 Bad", "invalid_request"), ("429 Slow", "rate_limited"), ("500 Oops", "upstream_error")],
)
@on_every_loop
async def test_a_refusal_is_raised_with_its_words_and_leaves_the_connection_usable(
    status: str, code: str
) -> None:
    body = json.dumps({"error": {"message": "slow down", "type": "x", "param": "p"}}).encode()
    answers = [counted(body, status, "content-type: application/json", "retry-after: 2")] * 2
    answers += [CHUNKED + framed(said("ok now", finish="stop") + DONE) + LAST]
    async with engine_for(answering(*answers)) as (engine, server):
        for _ in range(2):
            error = (await ask(engine)).error
            assert error is not None
            assert (error.code, error.retry_after_s) == (code, 2.0)
            assert "slow down" in error.message
        assert (await ask(engine)).text == "ok now"
        assert len(server.wires) == 1


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "text/event-stream", "text/html"])
@on_every_loop
async def test_a_refusals_words_are_read_in_any_content_type(kind: str) -> None:
    body = b'data: {"error":"no room"}\n\n' if "event" in kind else b"no room"
    error = (await answered(counted(body, "500 Oops", f"content-type: {kind}"))).error
    assert error is not None
    assert (error.code, error.message) == ("upstream_error", "The engine answered 500: no room")


@on_every_loop
async def test_many_refused_requests_leave_no_connection_behind() -> None:
    async with engine_for(answering(counted(b"{}", "503 No", "connection: close"))) as (engine, server):
        ends = await asyncio.gather(*(ask(engine) for _ in range(40)))
        assert {heard.end for heard in ends} == {"overloaded"}
        await until(lambda: all(wire.over.is_set() for wire in server.wires))
        assert not engine._client._known


@on_every_loop
async def test_an_endless_refusal_is_read_in_part() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 429 Slow\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            await wire.send(framed(b"slow down " * 1000))

    async with engine_for(script) as (engine, _):
        error = (await ask(engine)).error
        assert error is not None
        assert error.code == "rate_limited"
        assert error.message.startswith("slow down slow down")


ODD = {
    "a page": (counted(b"<html>hello</html>", "200 OK", "content-type: text/html"), "text/html"),
    "something unnamed": (counted(b"data: {}\n\n", "200 OK", "x: y"), "no content type"),
    "compressed": (CHUNKED[:-2] + b"content-encoding: gzip\r\n\r\n", "gzip"),
    "JSON of another kind": (counted(b'{"ok":true}'), "no chat answer"),
    "JSON that is none": (counted(b"{"), "cannot be read"),
    "no HTTP": (b"220 mail ready\r\n", "HTTP/1.1"),
}


@pytest.mark.parametrize(("answer", "words"), ODD.values(), ids=ODD.keys())
@on_every_loop
async def test_an_answer_of_another_kind_is_told_in_words(answer: bytes, words: str) -> None:
    error = (await answered(answer)).error
    assert error is not None
    assert error.code == "upstream_bad_chunk"
    assert words in error.message


@on_every_loop
async def test_a_redirect_is_not_followed() -> None:
    heard = await answered(counted(b"", "307 Elsewhere", "location: http://127.0.0.1:1/"))
    assert heard.end == "upstream_error"
    assert heard.error is not None
    assert "redirects are not followed" in heard.error.message


@on_every_loop
async def test_an_engine_that_is_not_there_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    engine = OpenAIEngine(f"http://127.0.0.1:{port}/v1", default_model="m")
    assert (await ask(engine)).end == "upstream_unavailable"
    assert await engine.models() == [Model("m", "unavailable")]
    await engine.close()


@on_every_loop
async def test_a_connection_closed_before_any_answer_is_unavailable() -> None:
    assert (await answered(b"")).end == "upstream_unavailable"


@on_every_loop
async def test_what_emit_raises_is_ours() -> None:
    def emit(events: list[Event]) -> None:
        raise KeyError("ours")

    async with engine_for(answering(CHUNKED + framed(said("a")))) as (engine, server):
        with pytest.raises(KeyError):
            await engine.generate(ASK, emit)
        await server.wires[0].over.wait()


def silent_after(*pieces: bytes, every_s: float = 0.0, then: bytes = b"") -> Script:
    """Sends the pieces, then `then` again and again, then nothing until the client leaves."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(*pieces) if pieces else CHUNKED)
        gone = asyncio.ensure_future(wire.gone())
        while then and not gone.done():
            await wire.send(framed(then))
            await asyncio.wait([gone], timeout=every_s)
        await gone

    return script


FILTERED = (
    b'data: {"choices":[],"prompt_filter_results":[{"content_filter_results":{"a":{"filtered":true}}}]}\n\n'
)


@pytest.mark.parametrize("then", [b"", b": ping\n\n", said({"role": "assistant", "content": ""}), FILTERED])
@on_every_loop
async def test_the_first_token_has_a_limit_that_nothing_but_content_meets(then: bytes) -> None:
    async with engine_for(silent_after(every_s=0.05, then=then), first_token_timeout_s=0.3) as (
        engine,
        server,
    ):
        heard = await ask(engine)
        assert heard.end == "upstream_timeout"
        await server.wires[0].over.wait()


@on_every_loop
async def test_an_engine_without_a_word_has_the_same_limit() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.gone()

    async with engine_for(script, first_token_timeout_s=0.2) as (engine, server):
        assert (await ask(engine)).end == "upstream_timeout"
        await server.wires[0].over.wait()


@on_every_loop
async def test_silence_after_the_first_token_is_a_stall() -> None:
    async with engine_for(silent_after(said("tick", " tock")), stall_timeout_s=0.2) as (engine, server):
        heard = await ask(engine)
        assert (heard.text, heard.end) == ("tick tock", "upstream_stalled")
        await server.wires[0].over.wait()


@on_every_loop
async def test_comments_are_no_silence() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(said("a")))
        for _ in range(8):
            await asyncio.sleep(0.1)  # below the limit each, above it together
            await wire.send(framed(b": ping\r\n\r\n"))
        await wire.send(framed(said(" b", finish="stop") + DONE) + LAST)

    async with engine_for(script, stall_timeout_s=0.5) as (engine, _):
        heard = await ask(engine)
        assert (heard.text, heard.end) == ("a b", "stop")


@on_every_loop
async def test_bytes_that_waited_while_the_process_stood_still_are_no_silence() -> None:
    rest = framed(said(" b", finish="stop") + DONE) + LAST

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(said("a")))
        await until(lambda: heard.text == "a")
        os.write(wire.writer.get_extra_info("socket").fileno(), rest)  # past the loop, which stands still
        time.sleep(0.5)  # noqa: ASYNC251 - above the limit
        await wire.gone()

    heard = Heard()
    async with engine_for(script, stall_timeout_s=0.2) as (engine, _):
        await ask(engine, heard=heard)
        assert (heard.text, heard.end) == ("a b", "stop")


@on_every_loop
async def test_silence_after_the_finish_reason_takes_nothing_away() -> None:
    async with engine_for(silent_after(said("a", finish="length")), stall_timeout_s=0.2) as (engine, server):
        heard = await ask(engine)
        assert (heard.text, heard.end) == ("a", "length")
        await server.wires[0].over.wait()


@on_every_loop
async def test_a_refusal_that_does_not_end_is_still_a_refusal() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(b'HTTP/1.1 429 Slow\r\ncontent-length: 500\r\n\r\n{"error":')
        await wire.gone()

    async with engine_for(script, first_token_timeout_s=0.2) as (engine, _):
        assert (await ask(engine)).end == "rate_limited"


@on_every_loop
async def test_cancelling_closes_the_connection_and_nothing_is_emitted_after() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED)
        gone = asyncio.ensure_future(wire.gone())
        while not gone.done():
            await wire.send(framed(said("a")))
            await asyncio.wait([gone], timeout=0.01)
        closed.set()

    heard, closed = Heard(), asyncio.Event()
    async with engine_for(script) as (engine, _):
        task = asyncio.ensure_future(ask(engine, heard=heard))
        await until(lambda: len(heard.events) > 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        count = len(heard.events)
        async with asyncio.timeout(1):
            await closed.wait()
        assert len(heard.events) == count


@on_every_loop
async def test_reasoning_is_split_off_when_the_setting_says_so() -> None:
    body = said("<th", "ink>plan A", " plan B", finish="length") + DONE
    heard = await answered(CHUNKED + framed(body) + LAST, split_reasoning=True)
    assert (heard.text, heard.end) == ("", "length")
    assert "".join(event.text for event in heard.events if isinstance(event, Reasoning)) == "plan A plan B"


@on_every_loop
async def test_what_was_held_back_is_delivered_before_a_cut_is_told() -> None:
    heard = await answered(CHUNKED + framed(said("a <thi")), split_reasoning=True)
    assert (heard.text, heard.end) == ("a <thi", "upstream_disconnected")
    heard = await answered(CHUNKED + framed(said("a <thi")) + b"zz\r\n", split_reasoning=True)
    assert (heard.text, heard.end) == ("a <thi", "upstream_bad_chunk")
