"""How a generation ends when its engine ends: with exactly one last event, and the right one."""

import asyncio
import logging

import pytest

from polystream.core.errors import ContextLengthExceeded, UpstreamDisconnected
from polystream.core.events import Notice, Reasoning, Text, Usage
from polystream.core.ports import Emit, Ending
from polystream.core.producer import request_bytes
from polystream.core.request import Message, Request
from tests.clock import jumping
from tests.fakes import HeldEngine, request, text_of
from tests.producing import Producing


@jumping
async def test_an_engine_that_returns_finishes_the_generation():
    producing = Producing()
    run = await producing.run()
    run.say("Hel", "lo")
    run.emit(Reasoning("hm"))
    run.end("length", Usage(3, 2), "m-1")
    assert (await producing.events())[1:-1] == [Text("Hel"), Text("lo"), Reasoning("hm")]
    last = await producing.last()
    assert (last.reason, last.usage, last.model) == ("length", Usage(3, 2), "m-1")


@jumping
async def test_the_engine_gets_the_request_of_the_record():
    producing = Producing(request=request("Sing.", seed=3))
    assert (await producing.run()).request == producing.record.request


@jumping
async def test_an_engine_that_gives_nothing_finishes_too():
    producing = Producing()
    (await producing.run()).end()
    assert len(await producing.events()) == 2


@jumping
async def test_an_engine_that_fails_says_why_and_what_it_had_said_stands():
    producing = Producing()
    run = await producing.run()
    run.say("half")
    run.fail(UpstreamDisconnected("The engine went away.", retry_after_s=3))
    assert text_of(await producing.events()) == "half"
    assert (await producing.last()).error == UpstreamDisconnected(
        "The engine went away.", retry_after_s=3
    ).as_event()


@jumping
async def test_a_refused_field_is_named():
    producing = Producing()
    (await producing.run()).fail(ContextLengthExceeded(param="messages"))
    error = (await producing.last()).error
    assert (error.code, error.param, error.retryable) == ("context_length_exceeded", "messages", False)


@jumping
async def test_an_unforeseen_error_is_logged_whole_and_told_without_detail(caplog: pytest.LogCaptureFixture):
    producing = Producing()
    (await producing.run()).fail(ZeroDivisionError("the secret"))
    error = (await producing.last()).error
    assert (error.code, error.message) == ("internal", "Something broke on our side.")
    assert [(line.levelno, line.exc_info is not None) for line in caplog.records] == [(logging.ERROR, True)]
    assert producing.record.id in caplog.text
    assert "the secret" in caplog.text


@jumping
async def test_an_engine_that_gives_up_as_if_cancelled_has_failed(caplog: pytest.LogCaptureFixture):
    producing = Producing()
    run = await producing.run()
    run.say("half")
    run.fail(asyncio.CancelledError())
    assert (await producing.last()).error.code == "internal"


@jumping
async def test_an_engine_that_emits_nonsense_has_failed(caplog: pytest.LogCaptureFixture):
    class Nonsense(HeldEngine):
        async def generate(self, request: Request, emit: Emit) -> Ending:
            emit([Text("fine")])
            emit([Text("\ud800")])
            return Ending("stop")

    producing = Producing(Nonsense())
    await producing.begin()
    assert (await producing.last()).error.code == "internal"
    assert text_of(await producing.events()) == "fine"


@pytest.mark.parametrize("how", ["cancel", "fail", "end"])
@jumping
async def test_usage_is_estimated_when_the_engine_did_not_say(how: str):
    producing = Producing(request=request("12345678"))
    run = await producing.run()
    run.emit(Text("a"), Text("bc", tokens=2), Notice("seam", {}))
    match how:
        case "cancel":
            producing.producer.cancel()
        case "fail":
            run.fail(UpstreamDisconnected())
        case "end":
            run.end()
    assert (await producing.last()).usage == Usage(2, 3, estimated=True)


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (Message("user", "né"), 3),
        (Message("assistant", None, tool_calls=[]), 0),
        (Message("user", ""), 0),
        (Message("user", [{"a": "é"}]), len("[{'a': 'é'}]") + 1),
        (Message("user", "\ud800"), 1),
    ],
)
def test_a_request_is_as_large_as_its_words(message: Message, size: int):
    assert request_bytes(Request((message, Message("user", "four")))) == size + 4
    assert request_bytes(Request((), prompt="né")) == 3


@jumping
async def test_a_prompt_that_is_no_text_does_not_keep_a_generation_from_ending():
    producing = Producing(request=request("\ud800"))
    (await producing.run()).end()
    assert (await producing.last()).reason == "stop"
