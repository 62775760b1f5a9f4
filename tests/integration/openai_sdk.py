"""The real openai SDK as a client of a server under test, and answers that a script sets."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.integration.server import Server

HI: list[Any] = [{"role": "user", "content": "hi there"}]


@asynccontextmanager
async def sdk(
    server: Server, seen: list[httpx2.Request] | None = None, max_retries: int = 0
) -> AsyncIterator[AsyncOpenAI]:
    """The SDK's client of a server; `seen` gets the requests it sends."""

    async def see(request: httpx2.Request) -> None:
        if seen is not None:
            seen.append(request)

    http = httpx2.AsyncClient(event_hooks={"request": [see]}, timeout=30)
    async with AsyncOpenAI(
        base_url=f"{server.rest}/v1", api_key="any", http_client=http, max_retries=max_retries
    ) as client:
        yield client


def asked(script: Any = None, **more: Any) -> dict[str, Any]:
    """The arguments of `create` for an answer that a script sets."""
    fields: dict[str, Any] = {"model": "any", "messages": HI} | more
    return fields if script is None else fields | {"metadata": {"script": json.dumps(script)}}


def text(chunks: list[ChatCompletionChunk]) -> str:
    """The content of some chunks."""
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
