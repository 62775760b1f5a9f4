"""Spells a core request as the body of an OpenAI-compatible chat completion.

What the client left out is left out; only the streaming and the usage at its end are always asked for.
"""

import json
from typing import Any

import msgspec

from polystream.core.request import Message, Request

#: Fields with the same name and meaning on both sides. `top_k` and `repetition_penalty` are vLLM's, TGI's and
#: others'.
_SAME = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "tools",
    "tool_choice",
    "response_format",
)


def chat_body(request: Request, default_model: str) -> bytes:
    """JSON of the request. `extra` comes along as it is; `metadata` is ours and is not sent.

    Without any model name the field is left out, as servers of a single model allow.
    """
    body: dict[str, Any] = dict(request.extra)
    body.update({name: value for name in _SAME if (value := getattr(request, name)) is not None})
    if "max_completion_tokens" in request.extra:
        body.pop("max_tokens", None)  # the same limit by the name that the client knows its engine to take
    if model := request.model or default_model:
        body["model"] = model
    if request.stop:
        body["stop"] = list(request.stop)
    if request.logprobs is not None:
        body["logprobs"] = True
        body["top_logprobs"] = request.logprobs
    messages = request.messages if request.prompt is None else (Message("user", request.prompt),)
    body["messages"] = [_message(message) for message in messages]
    body["stream"] = True
    options = request.extra.get("stream_options")
    body["stream_options"] = (options if isinstance(options, dict) else {}) | {"include_usage": True}
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # half a character in a client's text: as an escape it is valid JSON
        return json.dumps(body).encode()


def _message(message: Message) -> dict[str, Any]:
    said = {"role": message.role, "content": message.content, "name": message.name}
    said |= {"tool_calls": message.tool_calls, "tool_call_id": message.tool_call_id}
    return {name: value for name, value in said.items() if value is not None} | dict(message.extra)
