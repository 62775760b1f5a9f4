"""The digest by which two starts under one idempotency key are told apart."""

from dataclasses import fields, replace
from typing import Any

import pytest

from polystream.core.request import Message, OnDisconnect, Request

MESSAGE = Message("user", "hello")
#: For each field two values that ask for different things, besides its default.
OTHERS: dict[str, tuple[Any, Any]] = {
    "messages": ((Message("user", "other"),), (MESSAGE, MESSAGE)),
    "model": ("a", "b"),
    "max_tokens": (0, 1),
    "temperature": (0.0, 1.0),
    "top_p": (0.0, 1.0),
    "top_k": (0, 1),
    "stop": (("a", "b"), ("ab",)),
    "seed": (0, 1),
    "presence_penalty": (0.0, 1.0),
    "frequency_penalty": (0.0, 1.0),
    "repetition_penalty": (0.0, 1.0),
    "logprobs": (0, 1),
    "tools": ([], [{"type": "function"}]),
    "tool_choice": ("auto", {"type": "function"}),
    "response_format": ({}, {"type": "text"}),
    "metadata": ({"a": "1"}, {"a": "2"}),
    "extra": ({"n": 1}, {"n": 2}),
    "prompt": ("", "hello"),
}
MESSAGES: dict[str, tuple[Any, Any]] = {
    "role": ("assistant", "tool"),
    "content": (None, [{"type": "text", "text": "hello"}]),
    "name": ("", "ann"),
    "tool_calls": ([], [{"id": "a"}]),
    "tool_call_id": ("", "a"),
    "extra": ({"x": 1}, {"x": None}),
}


@pytest.mark.parametrize("name", [field.name for field in fields(Request)])
def test_every_field_of_a_request_counts(name: str):
    made = Request((MESSAGE,))
    digests = {replace(made, **{name: value}).digest() for value in OTHERS[name]} | {made.digest()}
    assert len(digests) == 3


@pytest.mark.parametrize("name", [field.name for field in fields(Message)])
def test_every_field_of_a_message_counts(name: str):
    digests = {Request((replace(MESSAGE, **{name: value}),)).digest() for value in MESSAGES[name]}
    assert len(digests | {Request((MESSAGE,)).digest()}) == 3


def test_the_order_of_keys_does_not_count():
    one = Request((MESSAGE,), tools=[{"a": 1, "b": {"c": 2, "d": 3}}], metadata={"k": "v", "l": "w"})
    other = Request((MESSAGE,), tools=[{"b": {"d": 3, "c": 2}, "a": 1}], metadata={"l": "w", "k": "v"})
    assert one.digest() == other.digest()


def test_the_order_of_messages_counts():
    answer = Message("assistant", "hi")
    assert Request((MESSAGE, answer)).digest() != Request((answer, MESSAGE)).digest()


def test_any_text_has_a_digest():
    digests = {Request((Message("user", text),)).digest() for text in ("", "é\u2028🦜", "\ud800", "\x00")}
    assert len(digests) == 4
    assert all(len(digest) == 64 for digest in digests)


def test_the_values_of_on_disconnect_are_spelled_as_on_the_wire():
    assert list(OnDisconnect) == ["cancel", "grace", "continue"]
