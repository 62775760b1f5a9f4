"""The real openai SDK against a running server: what its users write works, also leaving and joining."""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from tests.clients import rest
from tests.integration.openai_sdk import HI, asked, sdk, text
from tests.integration.server import Server
from tests.integration.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLOW = {"pieces": ["token "] * 500, "pace_ms": 20}
CALLS = [
    {"tool_call": {"index": 0, "call_id": "call_a", "name": "weather", "arguments": ""}},
    {"tool_call": {"index": 0, "arguments": '{"city":'}},
    {"tool_call": {"index": 0, "arguments": '"Zürich"}'}},
]
TOOLS: list[Any] = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


class City(BaseModel):
    """What a model is asked to fill in."""

    city: str


async def cancelled(server: Server, id: str) -> None:
    """Wait until the generation behind a completion's id was cancelled."""

    async def ended() -> bool:
        state = await rest.status(server, id.replace("chatcmpl-", "gen_"))
        return bool(state.get("reason") == "cancelled")

    await until(ended, 5, "the generation is cancelled")


# ---- answers ----


async def test_a_stream_is_iterated_to_its_end(scripted: Server):
    async with sdk(scripted) as client:
        stream = await client.chat.completions.create(stream=True, **asked({"text": "Hello 🌍 wörld"}))
        chunks = [chunk async for chunk in stream]
    assert text(chunks) == "Hello 🌍 wörld"
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert all(chunk.usage is None for chunk in chunks)


async def test_usage_comes_in_a_last_chunk_when_asked_for(scripted: Server):
    async with sdk(scripted) as client:
        options: Any = {"include_usage": True}
        stream = await client.chat.completions.create(
            stream=True, stream_options=options, **asked({"text": "a b"})
        )
        chunks = [chunk async for chunk in stream]
    *others, last = chunks
    assert (last.choices, all(chunk.usage is None for chunk in others)) == ([], True)
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.total_tokens) == (2, 2, 4)


async def test_a_whole_answer_is_one_completion(scripted: Server):
    async with sdk(scripted) as client:
        made = await client.chat.completions.create(**asked({"text": "Hello"}, model="x"))
    assert (made.choices[0].message.content, made.choices[0].finish_reason, made.model) == (
        "Hello",
        "stop",
        "x",
    )
    assert made.usage is not None
    assert made.usage.total_tokens == 3


async def test_the_synchronous_client_works_alike(scripted: Server):
    def run() -> tuple[str, str | None]:
        with OpenAI(base_url=f"{scripted.rest}/v1", api_key="any") as client:
            stream = client.chat.completions.create(stream=True, **asked({"text": "Hello you"}))
            whole = client.chat.completions.create(**asked({"text": "Hello you"}))
            return text(list(stream)), whole.choices[0].message.content

    assert await asyncio.to_thread(run) == ("Hello you", "Hello you")


async def test_a_limit_and_stop_strings_are_obeyed(scripted: Server):
    async with sdk(scripted) as client:
        create = client.chat.completions.create
        limited = await create(max_completion_tokens=2, **asked({"text": "a b c"}))
        stopped = await create(stop="b", **asked({"text": "a b c"}))
    assert [
        (made.choices[0].message.content, made.choices[0].finish_reason) for made in (limited, stopped)
    ] == [
        ("a b", "length"),
        ("a ", "stop"),
    ]


async def test_a_tool_is_called_and_its_result_sent_back(scripted: Server):
    async with sdk(scripted) as client:
        script = {"pieces": [{"reasoning": "hm"}, *CALLS], "finish": "tool_calls"}
        async with client.chat.completions.stream(**asked(script, tools=TOOLS)) as stream:
            streamed = (await stream.get_final_completion()).choices[0]
        whole = (await client.chat.completions.create(**asked(script, tools=TOOLS))).choices[0]
        for choice in (streamed, whole):
            assert choice.finish_reason == "tool_calls"
            assert choice.message.tool_calls is not None
            call: Any = choice.message.tool_calls[0]
            assert (call.id, call.function.name, json.loads(call.function.arguments)) == (
                "call_a",
                "weather",
                {"city": "Zürich"},
            )
            result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
            for echo in (choice.message, choice.message.model_dump()):
                more = await client.chat.completions.create(
                    **asked({"text": "ok"}, messages=[*HI, echo, result])
                )
                assert more.choices[0].message.content == "ok"


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the SDK's own, of its `parsed`
async def test_a_parsed_answer_may_be_sent_back(scripted: Server):
    async with sdk(scripted) as client:
        made = await client.chat.completions.parse(
            response_format=City, **asked({"text": '{"city":"Zürich"}'})
        )
        message = made.choices[0].message
        assert message.parsed == City(city="Zürich")
        more = await client.chat.completions.create(**asked({"text": "ok"}, messages=[*HI, message]))
    assert more.choices[0].message.content == "ok"


async def test_models_are_listed_and_found(scripted: Server):
    async with sdk(scripted) as client:
        models = [model.id async for model in client.models.list()]
        assert models == ["scripted"]
        assert (await client.models.retrieve("scripted")).owned_by == "polystream"
        with pytest.raises(openai.NotFoundError) as raised:
            await client.models.retrieve("a/b")
    assert raised.value.code == "model_not_found"


# ---- leaving, cancelling, joining ----


async def leave_response(client: AsyncOpenAI) -> str:
    """Close a streaming response after its first lines."""
    create = client.chat.completions.with_streaming_response.create
    async with create(stream=True, **asked(SLOW)) as response:
        async for line in response.iter_lines():
            if "token" in line:
                break
        return response.headers["stream-id"]


async def leave_stream(client: AsyncOpenAI) -> str:
    """Close a stream after its first chunks."""
    stream = await client.chat.completions.create(stream=True, **asked(SLOW))
    async with stream:
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                return chunk.id
    raise AssertionError("no content came")


@pytest.mark.parametrize("leave", [leave_response, leave_stream])
async def test_a_client_that_leaves_cancels_its_generation(leave: Callable[..., Any], scripted: Server):
    async with sdk(scripted) as client:
        await cancelled(scripted, await leave(client))


async def test_a_generation_cancelled_from_elsewhere_is_an_error_here(scripted: Server):
    async with sdk(scripted) as client:
        stream = await client.chat.completions.create(stream=True, **asked(SLOW))
        first = await anext(stream)
        await rest.cancel(scripted, first.id.replace("chatcmpl-", "gen_"))
        with pytest.raises(openai.APIError, match="cancelled") as raised:
            assert [chunk async for chunk in stream]
    assert raised.value.code == "cancelled"


async def test_the_same_key_joins_the_answer_that_runs(scripted: Server):
    key = {"Idempotency-Key": str(uuid4())}
    request = asked({"text": "a b c d", "pace_ms": 100})
    async with sdk(scripted) as client:
        create = client.chat.completions.create
        stream = await create(stream=True, extra_headers=key, **request)
        async with stream:
            first = await anext(stream)
        joined = [chunk async for chunk in await create(stream=True, extra_headers=key, **request)]
        whole = await create(extra_headers=key, **request)
    assert {chunk.id for chunk in joined} == {first.id, whole.id}
    assert (text(joined), whole.choices[0].message.content) == ("a b c d", "a b c d")
