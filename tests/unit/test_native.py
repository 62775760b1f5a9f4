"""The native dialect byte by byte against docs/protocol.md, and every field of a start, right and wrong."""

import json
from typing import Any

import pytest

from polystream.core import events
from polystream.core.errors import InvalidRequest
from polystream.core.events import (
    Attempt,
    Batch,
    Error,
    Event,
    Failed,
    Finished,
    Notice,
    Reasoning,
    Refusal,
    Started,
    Text,
    ToolCall,
    Usage,
)
from polystream.core.ports import Model
from polystream.core.record import State
from polystream.core.request import Message, OnDisconnect, Request
from polystream.dialects import native
from polystream.dialects.json import decode
from tests.fakes import record, request

SHA = "ab" * 32
LOGPROBS: list[dict[str, Any]] = [{"token": "Hel", "logprob": -0.25, "bytes": [72], "top_logprobs": []}]
FULL = Usage(12, 5, cached_tokens=0, reasoning_tokens=3, estimated=True, attempts=[Attempt("a", 12, 5)])
SPELLED: list[tuple[Event, str]] = [
    (
        Started("gen_x", "smollm2", "ctranslate2", 1796057692),
        '"type":"started","id":"gen_x","model":"smollm2","engine":"ctranslate2","created":1796057692',
    ),
    (Text("Hel"), '"type":"text","text":"Hel"'),
    (Text("é\u2028🌍\n\x00"), '"type":"text","text":"\\u00e9\\u2028\\ud83c\\udf0d\\n\\u0000"'),
    (
        Text("Hel", LOGPROBS, 1),
        '"type":"text","text":"Hel","logprobs":[{"token":"Hel","logprob":-0.25,"bytes":[72],"top_logprobs":[]}]'
        ',"tokens":1',
    ),
    (Text("Hel", tokens=0), '"type":"text","text":"Hel","tokens":0'),
    (Reasoning("hm"), '"type":"reasoning","text":"hm"'),
    (Refusal("no"), '"type":"refusal","text":"no"'),
    (
        ToolCall(0, "call_a", "weather", '{"ci'),
        '"type":"tool_call","index":0,"call_id":"call_a","name":"weather","arguments":"{\\"ci"',
    ),
    (ToolCall(1, arguments=""), '"type":"tool_call","index":1,"arguments":""'),
    (
        Notice("seam", {"from": "a", "to": "b", "cause": "upstream_disconnected"}),
        '"type":"notice","kind":"seam","detail":{"from":"a","to":"b","cause":"upstream_disconnected"}',
    ),
    (Notice("restart", {}), '"type":"notice","kind":"restart","detail":{}'),
    (
        Finished("stop", Usage(12, 5), "smollm2", 6, SHA),
        '"type":"finished","reason":"stop","usage":{"input_tokens":12,"output_tokens":5},"model":"smollm2",'
        f'"events":6,"sha256":"{SHA}"',
    ),
    (
        Finished("budget", None, None, 2, SHA),
        f'"type":"finished","reason":"budget","events":2,"sha256":"{SHA}"',
    ),
    (
        Failed(Error("upstream_stalled", "It fell silent.", True, retry_after_s=9), Usage(1, 0), 6, SHA),
        '"type":"failed","error":{"code":"upstream_stalled","message":"It fell silent.","retryable":true},'
        f'"usage":{{"input_tokens":1,"output_tokens":0}},"events":6,"sha256":"{SHA}"',
    ),
    (
        Failed(Error("invalid_request", "é", False, "stop"), FULL, 6, SHA),
        '"type":"failed","error":{"code":"invalid_request","message":"\\u00e9","param":"stop","retryable":false},'
        '"usage":{"input_tokens":12,"output_tokens":5,"cached_tokens":0,"reasoning_tokens":3,"estimated":true,'
        '"attempts":[{"target":"a","input_tokens":12,"output_tokens":5}]},' + f'"events":6,"sha256":"{SHA}"',
    ),
]
MESSAGES = {"messages": [{"role": "user", "content": "hi"}]}
#: Field → values that are taken, values that are refused.
FIELDS: dict[str, tuple[list[Any], list[Any]]] = {
    "model": (["a", "é/b:c"], [1, ["a"]]),
    "max_tokens": ([1, 2**31 - 1], [0, -1, 1.5, "1", True, 2**31]),
    "temperature": ([0, 0.7, 2], [-0.1, "1", True]),
    "top_p": ([0, 0.5, 1], [-0.1, 1.1, "1"]),
    "top_k": ([-1, 0, 40, 2**31 - 1], [-2, 0.5, 2**31]),
    "seed": ([0, -(2**63), 2**63 - 1], [-(2**63) - 1, 2**63, 0.5, "1"]),
    "presence_penalty": ([-2, 0.5, 2], [-2.1, 2.1]),
    "frequency_penalty": ([-2, 0.5, 2], [-2.1, 2.1]),
    "repetition_penalty": ([0.1, 1, 3], [0, -1]),
    "logprobs": ([0, 20], [-1, 21, True, 1.5]),
    "stop": ([[], ["a", "b"]], ["a", [""], [1], {}]),
    "tools": ([[], [{"type": "function"}]], [{}, [1], "a"]),
    "tool_choice": (["auto", {"type": "function"}], [1, []]),
    "response_format": ([{"type": "text"}], ["text", []]),
    "on_disconnect": (["cancel", "grace", "continue"], ["later", 1, ""]),
    "metadata": ([{}, {"k": "v"}], [{"k": 1}, {"k": None}, [], "a"]),
}
BAD_MESSAGES: list[tuple[Any, str]] = [
    ([], "messages"),
    ({}, "messages"),
    (["hi"], "messages[0]"),
    ([{"content": "hi"}], "messages[0].role"),
    ([{"role": "robot", "content": "hi"}], "messages[0].role"),
    ([{"role": "user"}], "messages[0].content"),
    ([{"role": "tool", "content": None}], "messages[0].content"),
    ([{"role": "user", "content": 1}], "messages[0].content"),
    ([{"role": "user", "content": ["hi"]}], "messages[0].content[0]"),
    ([{"role": "user", "content": [{"type": "text"}, {"text": "hi"}]}], "messages[0].content[1].type"),
    ([{"role": "user", "content": "hi", "refusal": "no"}], "messages[0].refusal"),
    ([{"role": "user", "content": "hi"}, {"role": "user", "content": "hi", "x": 1}], "messages[1].x"),
    ([{"role": "assistant", "tool_calls": [1]}], "messages[0].tool_calls[0]"),
    ([{"role": "tool", "content": "hi", "tool_call_id": 1}], "messages[0].tool_call_id"),
]


def parse(fields: Any) -> Request:
    """A body as the core's request."""
    return decode(json.dumps(fields).encode(), native.StartFields).request()


def param(fields: Any) -> str | None:
    """The field for which a body is refused."""
    with pytest.raises(InvalidRequest) as raised:
        parse(fields)
    return raised.value.param


# ---- events ----


@pytest.mark.parametrize(("event", "spelled"), SPELLED)
def test_an_event_is_spelled_byte_for_byte_as_documented(event: Event, spelled: str):
    assert native.event_json(1048576, event) == f'{{"seq":1048576,{spelled}}}'.encode()


def test_every_type_of_event_is_spelled():
    assert {type(event) for event, _ in SPELLED} == set(events.Event.__args__)


@pytest.mark.parametrize(("event", "spelled"), SPELLED)
def test_no_event_holds_a_null_a_blank_or_anything_but_ascii(event: Event, spelled: str):
    line = native.event_json(0, event)
    assert line.isascii()
    assert b"null" not in line
    assert json.dumps(json.loads(line), separators=(",", ":")).encode() == line


def test_a_batch_is_numbered_on_and_encoded_once():
    batch = Batch(7, [Text("a"), Text("b"), Finished("stop", None, None, 3, SHA)])
    first = native.encode(batch)
    assert [json.loads(line)["seq"] for line in first] == [7, 8, 9]
    assert native.encode(batch) is first


def test_messages_that_are_no_events_have_no_number():
    assert native.heartbeat() == b'{"type":"heartbeat"}'
    assert native.come_back("drain", 200) == b'{"type":"come_back","retry_after_ms":200,"reason":"drain"}'
    assert native.lost(12) == b'{"type":"lost","after":12}'


def test_an_error_is_an_object_of_its_own():
    error = Error("too_large", "é", False, "messages")
    spelled = b'"code":"too_large","message":"\\u00e9","param":"messages","retryable":false'
    assert native.error_json(error) == b'{"error":{' + spelled + b"}}"


# ---- status and models ----


def test_the_status_of_a_running_generation_leaves_out_what_it_has_not():
    made = record(id="gen_x", events=3, last_seq=2)
    assert list(native.status_fields(made).items()) == [
        ("id", "gen_x"),
        ("model", "m"),
        ("state", "running"),
        ("events", 3),
        ("last_seq", 2),
        ("created", 1796057692),
    ]


def test_the_status_of_an_ended_generation_says_how_it_ended():
    asked = request(metadata={"k": "v"})
    made = record(state=State.FINISHED, reason="stop", request=asked, last_seq=0)
    assert list(native.status_fields(made))[3:] == ["events", "last_seq", "created", "reason", "metadata"]
    error = Error("internal", "No.", False)
    failed = native.status_fields(record(state=State.FAILED, error=error))
    assert failed["error"] == {"code": "internal", "message": "No.", "retryable": False}
    assert (failed["state"], "reason" in failed, "last_seq" in failed) == ("failed", False, False)


def test_a_model_has_an_id_and_a_state():
    assert native.models_fields([Model("m", "ready")]) == [{"id": "m", "state": "ready"}]


# ---- requests ----


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in FIELDS for value in FIELDS[name][0]])
def test_a_right_value_is_taken_as_it_is(name: str, value: Any):
    if name == "on_disconnect":
        fields = decode(json.dumps(MESSAGES | {name: value}).encode(), native.StartFields)
        assert fields.on_disconnect is OnDisconnect(value)
    else:
        taken = getattr(parse(MESSAGES | {name: value}), name)
        assert taken == (tuple(value) if name == "stop" else value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in FIELDS for value in FIELDS[name][1]])
def test_a_wrong_value_is_refused_by_its_name(name: str, value: Any):
    named = param(MESSAGES | {name: value})
    assert named is not None
    assert named.partition("[")[0] == name


def test_every_field_of_a_start_is_tried():
    assert set(native.StartFields.__struct_fields__) == {*FIELDS, "messages", "prompt"}


@pytest.mark.parametrize("name", FIELDS)
def test_a_null_is_as_good_as_no_field(name: str):
    assert parse(MESSAGES | {name: None}) == parse(MESSAGES)


def test_an_absent_field_is_the_engines_to_decide():
    assert parse(MESSAGES) == Request((Message("user", "hi"),))


def test_a_prompt_is_one_message_of_the_user():
    assert parse({"prompt": "hi"}) == parse(MESSAGES)
    assert parse({"prompt": ""}).messages == (Message("user", ""),)


@pytest.mark.parametrize("fields", [{}, {"model": "a"}, {"messages": None}, MESSAGES | {"prompt": "hi"}])
def test_messages_or_a_prompt_is_required_and_never_both(fields: Any):
    assert param(fields) == "messages"
    with pytest.raises(InvalidRequest, match="both" if "prompt" in fields else "neither"):
        parse(fields)


def test_messages_are_shaped_as_in_openai_chat():
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "hi"},
        {"type": "image_url", "image_url": {"url": "data:"}},
    ]
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    said = [
        {"role": "developer", "content": "be brief", "name": "ann"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "4", "tool_call_id": "a"},
    ]
    assert parse({"messages": said}).messages == (
        Message("developer", "be brief", "ann"),
        Message("user", parts),
        Message("assistant", None, tool_calls=calls),
        Message("tool", "4", tool_call_id="a"),
    )


@pytest.mark.parametrize(("messages", "place"), BAD_MESSAGES)
def test_a_wrong_message_is_refused_by_its_place(messages: Any, place: str):
    assert param({"messages": messages}) == place


@pytest.mark.parametrize(
    "name", ["n", "stream", "max_completion_tokens", "MODEL", "é", "user", "idempotency_key"]
)
def test_an_unknown_field_is_refused_by_its_name(name: str):
    assert param(MESSAGES | {name: 1}) == name


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ],
)
def test_a_prefix_says_where_the_request_stands(fields: Any, place: str):
    body = decode(json.dumps(fields).encode(), native.StartFields)
    with pytest.raises(InvalidRequest) as raised:
        body.request("request.")
    assert raised.value.param == f"request.{place}"


def test_an_idempotency_key_is_none_when_empty_and_bounded():
    assert native.idempotency_key(None, "key") is native.idempotency_key("", "key") is None
    assert native.idempotency_key("k" * 255, "key") == "k" * 255
    with pytest.raises(InvalidRequest, match="at most 255") as raised:
        native.idempotency_key("k" * 256, "key")
    assert raised.value.param == "key"
