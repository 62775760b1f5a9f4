"""The gateway that tutorials show: FastAPI, the openai SDK, StreamingResponse."""

import os
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI

app = FastAPI()
client = AsyncOpenAI(base_url=os.environ["UPSTREAM"] + "/v1", api_key="sk-bench")


@app.get("/health")
async def health() -> dict[str, bool]:
    """Readiness."""
    return {"ok": True}


@app.post("/v1/chat/completions")
async def chat(request: Request) -> StreamingResponse:
    """Relay one streaming completion through the SDK's objects."""
    body = await request.json()
    stream = await client.chat.completions.create(model=body["model"], messages=body["messages"], stream=True)

    async def events() -> AsyncIterator[str]:
        async for chunk in stream:
            yield f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
