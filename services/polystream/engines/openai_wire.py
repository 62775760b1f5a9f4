"""The fields of an OpenAI-compatible chat answer that we read, streamed or whole, and how they are read.

Follows openai-python's `chat_completion_chunk.py`, with what vLLM, llama.cpp, Azure and Mistral send besides.
Fields that only the rare chunk carries are left untyped, so that an odd shape there spoils no answer.
"""

import json
from typing import Annotated, Any, Literal

import msgspec

from polystream.core.events import Usage


class Function(msgspec.Struct, gc=False):
    """A part of a call's name and arguments."""

    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct, gc=False):
    """A part of a tool call."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct, gc=False):
    """A piece of the message, or all of it. `content` is a list of parts at Mistral."""

    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    function_call: Function | None = None


class Choice(msgspec.Struct, gc=False):
    """One of `n` answers. `message` stands in answers that are not streamed."""

    index: int | None = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    content_filter_results: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event of the stream, or a whole answer. `prompt_annotations`: the name of older Azure versions."""

    choices: list[Choice] | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None
    prompt_filter_results: Any = None
    prompt_annotations: Any = None


class _PlainDelta(msgspec.Struct, gc=False):
    content: Annotated[str, msgspec.Meta(min_length=1)]
    reasoning_content: None = None
    reasoning: None = None
    refusal: None = None
    tool_calls: None = None
    function_call: None = None


class _PlainChoice(msgspec.Struct, gc=False):
    delta: _PlainDelta
    index: Literal[0] = 0
    finish_reason: None = None
    logprobs: None = None
    content_filter_results: None = None


class PlainChunk(msgspec.Struct, gc=False):
    """A chunk that says nothing but a piece of text, as nearly all do: what else it might say must be absent
    or null.

    So one decoding finds out, in C, what a dozen questions in Python would.
    """

    choices: tuple[_PlainChoice]
    usage: None = None
    error: None = None
    prompt_filter_results: None = None
    prompt_annotations: None = None


#: Raises `msgspec.MsgspecError` for any other chunk.
decode_plain = msgspec.json.Decoder(PlainChunk).decode

#: 0.5 µs a chunk; the SDK's objects cost 67. Raises `msgspec.MsgspecError` also for what `decode_odd` can
#: read.
decode = msgspec.json.Decoder(Chunk).decode


def decode_odd(data: bytes) -> Chunk:
    """What msgspec refuses although servers send it: halves of characters (`\\ud83d`), bytes that are no
    UTF-8.

    Strings may hold single surrogates. Raises ValueError for anything that is no chunk.
    """
    return msgspec.convert(json.loads(data.decode("utf-8", "replace"), strict=False), Chunk)


def usage_of(said: Any) -> Usage | None:
    """The usage object as the log has it; None when it holds no counts."""
    if not isinstance(said, dict):
        return None
    tokens_in, tokens_out = _count(said, "prompt_tokens"), _count(said, "completion_tokens")
    if tokens_in is None and tokens_out is None:
        return None
    cached = _count(said.get("prompt_tokens_details"), "cached_tokens")
    reasoning = _count(said.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(tokens_in or 0, tokens_out or 0, cached, reasoning)


def _count(said: Any, name: str) -> int | None:
    value = said.get(name) if isinstance(said, dict) else None
    return value if isinstance(value, int) and value >= 0 else None
