"""What OpenAI's clients may ask for: every field of their SDK, ours and other servers' besides, no other."""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, completion_create_params
from pydantic import BaseModel

from polystream.core.errors import InvalidRequest
from polystream.core.events import Event, Finished, Reasoning, Started, Text, ToolCall
from polystream.core.request import Message, Request
from polystream.dialects import chat, chat_request
from polystream.dialects.json import decode
from tests.fakes import record

MESSAGES = {"messages": [{"role": "user", "content": "hi"}]}
#: Field → values that are taken, values that are refused.
FIELDS: dict[str, tuple[list[Any], list[Any]]] = {
    "model": (["a"], [1]),
    "stream": ([True, False], [1, "true"]),
    "n": ([1], [0, 2, 1.5, "1"]),
    "max_tokens": ([1], [0, 1.5]),
    "max_completion_tokens": ([1], [0, 2**31]),
    "temperature": ([0, 2], [-1]),
    "top_p": ([0, 1], [2]),
    "top_k": ([-1, 5], [-2]),
    "seed": ([1], [0.5]),
    "presence_penalty": ([-2, 2], [3]),
    "frequency_penalty": ([-2, 2], [3]),
    "repetition_penalty": ([1.1], [0]),
    "stop": (["a", ["a", "b"], []], ["", [""], 1]),
    "logprobs": ([True, False], [1, 0]),
    "top_logprobs": ([0, 20], [-1, 21]),
    "tools": ([[{"type": "function"}]], [{}]),
    "tool_choice": (["auto", {"type": "function"}], [1]),
    "response_format": ([{"type": "json_object"}], ["json"]),
    "metadata": ([{"k": "v"}], [{"k": 1}]),
    "messages": (
        [[{"role": "user", "content": "hi"}]],
        [[], {}, [{"role": "user"}], [{"role": "user", "x": 1}]],
    ),
}


def parse(fields: Any) -> Any:
    """A body's fields."""
    return decode(json.dumps(fields).encode(), chat_request.ChatFields)


def asked(**fields: Any) -> Request:
    """A request with one message besides."""
    return chat_request.request(parse(MESSAGES | fields))


def refused(**fields: Any) -> str | None:
    """The field for which a request is refused."""
    with pytest.raises(InvalidRequest) as raised:
        asked(**fields)
    return raised.value.param


def answer(*events: Event) -> ChatCompletion:
    """The completion of a log, as the SDK has it."""
    completion = chat.Completion(record())
    completion.add([Started("gen_x", "m", "e", 1), *events])
    return ChatCompletion.model_validate(completion.fields())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in FIELDS for value in FIELDS[name][0]])
def test_a_right_value_is_taken(name: str, value: Any):
    asked(**{name: value})


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in FIELDS for value in FIELDS[name][1]])
def test_a_wrong_value_is_refused_by_its_name(name: str, value: Any):
    named = refused(**{name: value})
    assert named is not None
    assert named.partition("[")[0] == name


@pytest.mark.parametrize(
    "name", [name for name in FIELDS if name != "messages"] + ["stream_options", *chat_request.PASSED_ON]
)
def test_a_null_is_as_good_as_no_field(name: str):
    assert asked(**{name: None}) == asked()


@pytest.mark.parametrize("name", ["model", "temperature", "top_p", "top_k", "seed", "tools", "metadata"])
def test_a_shared_field_keeps_its_name_in_the_core(name: str):
    value = FIELDS[name][0][-1]
    assert getattr(asked(**{name: value}), name) == value


@pytest.mark.parametrize(
    "fields", [{"max_tokens": 5}, {"max_completion_tokens": 5}, {"max_tokens": 9, "max_completion_tokens": 5}]
)
def test_the_newer_name_of_max_tokens_wins(fields: Any):
    assert asked(**fields).max_tokens == 5


@pytest.mark.parametrize(("said", "stop"), [("a", ("a",)), (["a", "b"], ("a", "b")), ([], ()), (None, ())])
def test_stop_may_be_one_text_or_several(said: Any, stop: tuple[str, ...]):
    assert asked(stop=said).stop == stop


@pytest.mark.parametrize(
    ("fields", "alternatives"),
    [
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 3}, 3),
        ({"logprobs": False, "top_logprobs": 3}, None),
        ({}, None),
    ],
)
def test_logprobs_are_a_number_of_alternatives(fields: Any, alternatives: int | None):
    assert asked(**fields).logprobs == alternatives


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, chat_request.Options(False, False)),
        ({"stream": False}, chat_request.Options(False, False)),
        ({"stream": True}, chat_request.Options(True, False)),
        ({"stream": True, "stream_options": {}}, chat_request.Options(True, False)),
        ({"stream": True, "stream_options": {"include_usage": True}}, chat_request.Options(True, True)),
        ({"stream": True, "stream_options": {"include_usage": False}}, chat_request.Options(True, False)),
        (
            {"stream": True, "stream_options": {"include_obfuscation": False}},
            chat_request.Options(True, False),
        ),
    ],
)
def test_how_the_answer_is_spelled_stands_in_the_request(fields: Any, options: chat_request.Options):
    assert chat_request.options(parse(MESSAGES | fields)) == options


def test_how_the_answer_is_spelled_is_no_other_request():
    plain, streamed = asked(), asked(stream=True, stream_options={"include_usage": True}, n=1)
    assert plain.digest() == streamed.digest()


@pytest.mark.parametrize("stream", [None, False])
def test_stream_options_need_a_stream(stream: bool | None):
    assert refused(stream=stream, stream_options={"include_usage": True}) == "stream_options"


def test_an_unknown_stream_option_is_refused_by_its_name():
    assert refused(stream=True, stream_options={"usage": True}) == "stream_options.usage"


@pytest.mark.parametrize("name", ["prompt", "on_disconnect", "idempotency_key", "Stream", "bogus"])
def test_an_unknown_field_is_refused_by_its_name(name: str):
    assert refused(**{name: "a"}) == name


def test_the_name_that_was_used_for_max_tokens_is_kept_for_the_engine():
    assert asked(max_tokens=9, max_completion_tokens=5).extra == {"max_completion_tokens": 5}
    assert asked(max_tokens=9).extra == {}


def test_metadata_is_handed_on_with_a_completion_that_the_engine_shall_store():
    assert asked(store=True, metadata={"k": "v"}).extra == {"store": True, "metadata": {"k": "v"}}
    assert asked(store=True).extra == {"store": True, "metadata": {}}
    assert asked(store=False, metadata={"k": "v"}).extra == {"store": False}


@pytest.mark.parametrize("name", [name for name in chat_request.PASSED_ON if name != "store"])
def test_a_field_for_the_engine_is_handed_on_as_it_is(name: str):
    values: list[Any] = [0, False, "", [], {"a": [None, 1.5]}]
    for value in values:
        assert asked(**{name: value}).extra == {name: value}


def test_every_field_that_openai_python_can_send_is_known():
    sent = set(completion_create_params.CompletionCreateParamsStreaming.__annotations__)
    sent |= set(completion_create_params.CompletionCreateParamsBase.__annotations__)
    assert sent <= set(chat_request.ChatFields.__struct_fields__)


def test_every_known_field_is_tried():
    known = set(chat_request.ChatFields.__struct_fields__)
    assert known == {*FIELDS, *chat_request.PASSED_ON, "stream_options"}


# ---- what clients send back of an answer ----


@pytest.mark.parametrize("unset", [False, True])
def test_an_answer_is_taken_back_as_openai_python_dumps_it(unset: bool):
    said = answer(Reasoning("hm"), Text("Hello"), ToolCall(0, "call_a", "f", "{}"), Finished("tool_calls"))
    echo = said.choices[0].message.model_dump(exclude_unset=unset)
    taken = asked(messages=[*MESSAGES["messages"], echo]).messages[1]
    calls = [{"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    assert taken == Message("assistant", "Hello", tool_calls=calls, extra={"reasoning_content": "hm"})


@pytest.mark.parametrize("unset", [False, True])
def test_a_plain_answer_is_taken_back_too(unset: bool):
    echo = answer(Text("Hello"), Finished("stop")).choices[0].message.model_dump(exclude_unset=unset)
    assert asked(messages=[echo]).messages == (Message("assistant", "Hello"),)


def test_an_answer_that_openai_python_parsed_is_taken_back_without_what_it_parsed():
    class Shape(BaseModel):
        a: int

    message = answer(Text('{"a":1}'), Finished("stop")).choices[0].message
    echo = message.model_dump() | {"parsed": Shape(a=1).model_dump()}
    assert asked(messages=[echo]).messages == (Message("assistant", '{"a":1}'),)


def test_further_fields_of_a_message_are_handed_on():
    extra = {
        "refusal": "no",
        "reasoning": "hm",
        "reasoning_content": "hm",
        "annotations": [{"type": "url_citation"}],
        "audio": {"id": "a"},
        "function_call": {"name": "f", "arguments": "{}"},
    }
    taken = asked(messages=[{"role": "assistant", "content": None} | extra]).messages[0]
    assert taken == Message("assistant", None, extra=extra)


def test_an_unknown_field_of_a_message_is_refused_by_its_place():
    assert (
        refused(messages=[{"role": "user", "content": "a"}, {"role": "user", "bogus": 1}])
        == "messages[1].bogus"
    )
