"""The real openai SDK against a running server: failures are raised as the exceptions its users expect."""

import asyncio
import signal
from typing import Any
from uuid import uuid4

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.integration.conftest import Serve
from tests.integration.openai_sdk import asked, sdk, text
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream

pytestmark = pytest.mark.asyncio(loop_scope="session")


def failing(code: str, at: int = 0) -> dict[str, Any]:
    """A script that breaks with a code before its piece `at`."""
    return {"pieces": ["a", "b"], "fault": {"kind": "error", "at": at, "code": code, "message": "Because."}}


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("invalid_request", openai.BadRequestError),
        ("context_length_exceeded", openai.BadRequestError),
        ("content_filter", openai.BadRequestError),
        ("unauthenticated", openai.AuthenticationError),
        ("forbidden", openai.PermissionDeniedError),
        ("model_not_found", openai.NotFoundError),
        ("rate_limited", openai.RateLimitError),
        ("quota_exceeded", openai.RateLimitError),
        ("upstream_error", openai.InternalServerError),
        ("upstream_timeout", openai.InternalServerError),
        ("internal", openai.InternalServerError),
    ],
)
async def test_a_failure_before_the_first_word_is_a_status(
    code: str, error: type[Exception], scripted: Server
):
    async with sdk(scripted) as client:
        for stream in (False, True):
            with pytest.raises(error, match=r"Because\."):
                await client.chat.completions.create(stream=stream, **asked(failing(code)))


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"n": 2}, "n"), ({"temperature": -1}, "temperature"), ({"extra_body": {"bogus": 1}}, "bogus")],
)
async def test_a_wrong_request_names_its_field(fields: Any, param: str, scripted: Server):
    async with sdk(scripted) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.chat.completions.create(**asked(**fields))
    assert (raised.value.param, raised.value.type) == (param, "invalid_request_error")


async def test_a_failure_in_mid_answer_is_raised_behind_what_was_said(scripted: Server):
    async with sdk(scripted) as client:
        stream = await client.chat.completions.create(stream=True, **asked(failing("upstream_stalled", at=1)))
        chunks: list[ChatCompletionChunk] = []

        async def read() -> None:
            async for chunk in stream:
                chunks.append(chunk)

        with pytest.raises(openai.APIError, match=r"Because\.") as raised:
            await read()
    assert (text(chunks), raised.value.code) == ("a", "upstream_stalled")
    assert not isinstance(raised.value, openai.APIStatusError)


async def test_a_failure_in_mid_answer_of_a_whole_one_is_a_status(scripted: Server):
    async with sdk(scripted) as client:
        with pytest.raises(openai.InternalServerError):
            await client.chat.completions.create(**asked(failing("upstream_stalled", at=1)))


@pytest.mark.parametrize(
    ("code", "tries"), [("rate_limited", 2), ("quota_exceeded", 1), ("invalid_request", 1), ("internal", 1)]
)
async def test_only_what_may_pass_is_tried_again(code: str, tries: int, scripted: Server):
    seen: list[httpx2.Request] = []
    async with sdk(scripted, seen, max_retries=1) as client:
        with pytest.raises(openai.APIStatusError):
            await client.chat.completions.create(**asked(failing(code)))
    assert len(seen) == tries


async def test_an_answer_that_begins_anew_behind_words_never_looks_whole(scripted: Server):
    async with sdk(scripted) as client:
        script = {"pieces": ["a", {"notice": "restart"}, "b"]}
        stream = await client.chat.completions.create(stream=True, **asked(script))
        with pytest.raises(openai.APIError, match="broke off"):
            assert [chunk async for chunk in stream]


async def test_after_the_longest_hold_a_failure_comes_in_the_stream(shared: Serve):
    server = await shared(ENGINE_URL="scripted:", STATUS_HOLD_S=0.1, HEARTBEAT_S=0.1)
    async with sdk(server) as client:
        script = failing("rate_limited") | {"first_ms": 500}
        stream = await client.chat.completions.create(stream=True, **asked(script))
        with pytest.raises(openai.APIError, match=r"Because\."):
            assert [chunk async for chunk in stream]


async def test_the_same_key_with_another_request_is_a_conflict_that_is_not_tried_again(scripted: Server):
    key, seen = {"Idempotency-Key": str(uuid4())}, []  # type: ignore[var-annotated]
    async with sdk(scripted, seen, max_retries=2) as client:
        await client.chat.completions.create(extra_headers=key, **asked({"text": "a"}))
        with pytest.raises(openai.ConflictError) as raised:
            await client.chat.completions.create(extra_headers=key, **asked({"text": "b"}))
    assert (raised.value.code, len(seen)) == ("idempotency_conflict", 2)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_without_a_word_at_the_end_of_a_drain_may_be_tried_elsewhere(
    stream: bool, serve: Serve, upstream: Upstream
):
    server = await serve(ENGINE_URL=upstream.url, DRAIN_S=0.2)
    silent = upstream.stage(Reply([], end="hold", hold_ms=30_000), "silent")
    async with sdk(server) as client:
        fields = silent.request() | {"model": "any", "stream": stream}
        waiting = asyncio.ensure_future(client.chat.completions.create(**fields))
        await silent.called()
        server.signal(signal.SIGTERM)
        with pytest.raises(openai.InternalServerError) as raised:
            await asyncio.wait_for(waiting, 3)
    assert (raised.value.status_code, raised.value.code) == (503, "draining")
    assert raised.value.response.headers["x-should-retry"] == "true"
