"""The real model, as `make run` has it: what it answers, and how exactly it goes on where one was cut."""

import asyncio
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.clients import chat, rest
from tests.clients.answer import Answer
from tests.integration.cases import ask
from tests.integration.conftest import MODELS, Serve
from tests.integration.up import Up
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = {"prompt": "What is the capital of France?", "temperature": 0}
STORY = "Tell me a story about a whale, a bell and the number 1024."
#: Cuts tried; each goes on to the answer's end.
CUTS = 8


@pytest.fixture(scope="session")
def convert() -> Callable[[str], Path]:
    """The default model, converted to a precision."""

    def converted(quantization: str) -> Path:
        command = [sys.executable, "-m", "polystream", "convert", "--models-dir", str(MODELS)]
        made = subprocess.run(
            [*command, "--quantization", quantization],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=300,
        )
        return Path(made.stdout.strip())

    return converted


async def test_it_knows_the_capital_of_france_through_the_front_door(real: Up):
    behind = SimpleNamespace(
        rest=real.rest, websocket=real.websocket, grpc=real.rest.partition("://")[2], web=real.web
    )
    doors = ("ndjson", "sse", "websocket", "grpc", "grpc-web", "chat")
    for answer in await at_once(*(ask(door, behind, QUESTION) for door in doors), names=doors):
        assert "Paris" in answer.text
        assert (answer.reason, answer.model) == ("stop", "smollm2")
    text = "".join([event["text"] async for event in rest.start(behind, QUESTION, form=rest.TEXT)])
    assert "Paris" in text


async def test_requests_at_once_are_decoded_together_and_end_each_in_its_time(
    serve: Serve, convert: Callable[[str], Path]
):
    server = await serve(
        command="model", MODEL=convert("int8"), MODEL_PORT=0, ENGINE_THREADS=1, ENGINE_WORKERS=1
    )
    lengths = (5, 10, 15, 20, 25, 30)
    asked = ({"prompt": STORY, "temperature": 0, "max_tokens": length} for length in lengths)
    answers: list[Answer] = await asyncio.gather(*(ask("ndjson", server, request) for request in asked))
    assert [answer.usage and answer.usage["output_tokens"] for answer in answers] == list(lengths)
    assert {answer.reason for answer in answers} == {"length"}


async def test_it_goes_on_exactly_where_an_answer_was_cut(serve: Serve, convert: Callable[[str], Path]):
    """At float32, greedy, as vLLM's `continue_final_message` has it: the joined text is the uncut one's."""
    server = await serve(command="model", MODEL=convert("float32"), MODEL_PORT=0, ENGINE_THREADS=1)
    user = {"role": "user", "content": STORY}
    asked = {"messages": [user], "temperature": 0, "repetition_penalty": 1, "max_tokens": 40}
    whole = await ask("chat", server, asked)
    pieces = [event async for event in chat.start(server, asked)]
    texts = [event["text"] for event in pieces if event["type"] == "text"]
    assert "".join(texts) == whole.text
    for cut in random.Random(8).sample(range(1, len(texts)), CUTS):
        said = {"role": "assistant", "content": "".join(texts[:cut])}
        more = {"messages": [user, said], "continue_final_message": True, "add_generation_prompt": False}
        end = await ask("chat", server, asked | more | {"max_tokens": 40 - cut})
        assert said["content"] + end.text == whole.text, f"cut behind {cut} tokens"
