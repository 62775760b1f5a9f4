"""A core request as an OpenAI-compatible server gets it."""

import json
from typing import Any

from polystream.core.request import Message, Request
from polystream.engines.openai_request import chat_body


def body(request: Request, default_model: str = "") -> dict[str, Any]:
    """The request's JSON."""
    said: dict[str, Any] = json.loads(chat_body(request, default_model))
    return said


def test_what_a_client_left_out_is_not_sent() -> None:
    assert body(Request((Message("user", "hi"),), metadata={"k": "v"})) == {
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_every_field_has_its_openai_name() -> None:
    request = Request(
        (
            Message("assistant", None, "n", [{"id": "c"}], None, {"refusal": None}),
            Message("tool", "1", tool_call_id="c"),
        ),
        "m", 5, 0.0, 1.0, 3, ("a",), 0, 0.0, 0.5, 1.1, 0, [{"type": "function"}], "auto", {"type": "text"},
        extra={"n": 2, "user": "u", "stream_options": {"include_obfuscation": False}, "stream": False},
    )  # fmt: skip
    assert body(request, "other") == {
        "messages": [
            {"role": "assistant", "name": "n", "tool_calls": [{"id": "c"}], "refusal": None},
            {"role": "tool", "content": "1", "tool_call_id": "c"},
        ],
        "model": "m", "max_tokens": 5, "temperature": 0.0, "top_p": 1.0, "top_k": 3, "stop": ["a"], "seed": 0,
        "presence_penalty": 0.0, "frequency_penalty": 0.5, "repetition_penalty": 1.1, "logprobs": True,
        "top_logprobs": 0, "tools": [{"type": "function"}], "tool_choice": "auto",
        "response_format": {"type": "text"},
        "n": 2, "user": "u", "stream": True,
        "stream_options": {"include_obfuscation": False, "include_usage": True},
    }  # fmt: skip


def test_content_in_parts_is_sent_as_it_is() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
    ]
    assert body(Request((Message("user", parts),)), "m")["messages"] == [{"role": "user", "content": parts}]
    assert body(Request((Message("user", "a"),)), "m")["model"] == "m"


def test_half_a_character_in_a_prompt_is_sent_as_an_escape() -> None:
    assert body(Request((Message("user", "a\ud83d"),)))["messages"][0]["content"] == "a\ud83d"


def test_a_bare_prompt_is_sent_as_one_message_of_the_user() -> None:
    """Chat completions know no other: the server's own template is applied to it."""
    assert body(Request((), prompt="Q: hi\nA:"))["messages"] == [{"role": "user", "content": "Q: hi\nA:"}]
