"""Chunks of OpenAI-compatible answers, made and decoded for tests."""

import json
from typing import Any

from polystream.core.events import Event
from polystream.engines.openai_chunks import ChatDecoder


def chunk(delta: Any = None, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    """A chunk as OpenAI sends it."""
    choice = {"index": index, "delta": delta, "finish_reason": finish} | more.pop("choice", {})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "mock-1"}
    return json.dumps(head | {"choices": [choice]} | more).encode()


def call(
    index: int | None = None, id: str | None = None, name: str | None = None, arguments: str | None = None
) -> Any:
    """A chunk's tool call, without what is None."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    said = (("index", index), ("id", id), ("function", function))
    return {key: value for key, value in said if value is not None}


def decoded(*chunks: bytes, split_reasoning: bool = False) -> tuple[ChatDecoder, list[Event]]:
    """The decoder after one read for each chunk and the end, and all events."""
    decoder = ChatDecoder(split_reasoning)
    events = [event for data in chunks for event in decoder.feed([data])]
    return decoder, events + decoder.close()


def events(*chunks: bytes, split_reasoning: bool = False) -> list[Event]:
    """All events."""
    return decoded(*chunks, split_reasoning=split_reasoning)[1]
