"""The native dialect as protobuf: the same requests and the same events as in JSON."""

import json
import math
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2, text_format

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
from polystream.dialects import native, proto
from polystream.dialects.json import decode
from polystream.proto.polystream.v1 import streams_pb2 as pb

SHA = "ab" * 32
#: In protobuf's text format.
SPELLED: list[tuple[Event, str]] = [
    (
        Started("gen_x", "m", "e", 1796057692),
        'started {id: "gen_x" model: "m" engine: "e" created: 1796057692}',
    ),
    (Text("é\u2028"), 'text {text: "é\u2028"}'),
    (Text("a", tokens=0), 'text {text: "a" tokens: 0}'),
    (
        Text("a", [{"logprob": -0.5, "bytes": None}], 1),
        'text {text: "a" logprobs {fields {key: "logprob" value {number_value: -0.5}} '
        'fields {key: "bytes" value {null_value: NULL_VALUE}}} tokens: 1}',
    ),
    (Reasoning("a"), 'reasoning {text: "a"}'),
    (Refusal("a"), 'refusal {text: "a"}'),
    (ToolCall(2, "c", "n", "{"), 'tool_call {index: 2 call_id: "c" name: "n" arguments: "{"}'),
    (ToolCall(0, arguments="}"), 'tool_call {arguments: "}"}'),
    (
        Notice("takeover", {"from": 3}),
        'notice {kind: "takeover" detail {fields {key: "from" value {number_value: 3}}}}',
    ),
    (Notice("restart", {}), 'notice {kind: "restart" detail {}}'),
    (
        Finished("stop", Usage(12, 5, 0, 3, True, [Attempt("a", 12, 5)]), "m", 6, SHA),
        'finished {reason: "stop" usage {input_tokens: 12 output_tokens: 5 cached_tokens: 0 '
        'reasoning_tokens: 3 estimated: true attempts {target: "a" input_tokens: 12 output_tokens: 5}} '
        f'model: "m" events: 6 sha256: "{SHA}"}}',
    ),
    (
        Finished("cancelled", None, None, 2, SHA),
        f'finished {{reason: "cancelled" events: 2 sha256: "{SHA}"}}',
    ),
    (
        Failed(Error("internal", "é", False, "stop", 3), Usage(1, 2), 6, SHA),
        'failed {error {code: "internal" message: "é" param: "stop"} usage {input_tokens: 1 output_tokens: 2}'
        f' events: 6 sha256: "{SHA}"}}',
    ),
    (
        Failed(Error("upstream_error", "a", True)),
        'failed {error {code: "upstream_error" message: "a" retryable: true}}',
    ),
]
FIELDS: dict[str, Any] = {
    "model": "a",
    "max_tokens": 5,
    "temperature": 0.7,
    "top_p": 1,
    "top_k": 0,
    "stop": ["a", "b"],
    "seed": -(2**63),
    "presence_penalty": -2,
    "frequency_penalty": 0,
    "repetition_penalty": 1.1,
    "logprobs": 0,
    "tools": [
        {"type": "function", "function": {"name": "f", "strict": None, "parameters": {"a": [1, 0.5, {}, []]}}}
    ],
    "tool_choice": {"type": "function", "function": {"name": ""}},
    "response_format": {"type": "json_schema", "json_schema": {"schema": {"maximum": 9007199254740992}}},
    "metadata": {"k": "", "é": "v"},
}
MESSAGES: list[Any] = [
    {"role": "user", "content": "hi", "name": "ann"},
    {"role": "user", "content": ""},
    {"role": "user", "content": [{"type": "text", "text": "", "n": 2}]},
    {"role": "assistant", "tool_calls": [{"id": "c", "index": 0, "function": {"arguments": "{}"}}]},
    {"role": "tool", "content": "4", "tool_call_id": "c"},
]


def start(**fields: Any) -> native.StartFields:
    """The fields of a start that a gRPC client sends."""
    return proto.start_fields(pb.StartRequest(**fields).SerializeToString())


def refused(**fields: Any) -> InvalidRequest:
    """The error that a gRPC client's start is refused with."""
    with pytest.raises(InvalidRequest) as raised:
        start(**fields).request()
    return raised.value


# ---- events ----


@pytest.mark.parametrize(("event", "spelled"), SPELLED)
def test_an_event_is_the_message_of_its_type(event: Event, spelled: str):
    read = pb.Event.FromString(proto.Messages().encode(Batch(1048576, [event]))[0])
    assert read == text_format.Parse(f"seq: 1048576 {spelled}", pb.Event())


def test_every_type_of_event_is_spelled():
    assert {type(event) for event, _ in SPELLED} == set(events.Event.__args__)


def test_a_batch_is_a_message_an_event_numbered_on():
    pieces = proto.Messages().encode(Batch(0, [Text("a"), Text("b"), Finished("stop")]))
    read = [pb.Event.FromString(piece) for piece in pieces]
    assert [(event.HasField("seq"), event.seq) for event in read] == [(True, 0), (True, 1), (True, 2)]


@pytest.mark.parametrize(
    ("piece", "spelled"),
    [
        (proto.Messages().heartbeat, pb.Event(heartbeat=pb.Heartbeat())),
        (
            proto.Messages().come_back("drain", 200),
            pb.Event(come_back=pb.ComeBack(retry_after_ms=200, reason="drain")),
        ),
        (proto.Messages().lost(12), pb.Event(lost=pb.Lost(after=12))),
        (proto.Messages().lost(-1), pb.Event(lost=pb.Lost(after=0))),
    ],
)
def test_what_is_no_event_has_no_number(piece: bytes, spelled: pb.Event):
    read = pb.Event.FromString(piece)
    assert read == spelled
    assert not read.HasField("seq")


def test_the_status_says_the_end_so_that_nothing_breaks_off():
    form = proto.Messages()
    assert form.resumable
    assert form.cut(Error("draining", "", True)) is None
    assert not form.breaks(Batch(0, [Failed(Error("internal", "", False))]))


# ---- requests ----


@pytest.mark.parametrize("names", [*([name] for name in FIELDS), list(FIELDS), []])
def test_a_start_is_the_same_request_as_in_json(names: list[str]):
    body = {"messages": MESSAGES} | {name: FIELDS[name] for name in names}
    sent = json_format.ParseDict(body, pb.StartRequest()).SerializeToString()
    said = decode(json.dumps(body).encode(), native.StartFields).request()
    asked = proto.start_fields(sent).request()
    assert asked == said
    assert asked.digest() == said.digest()


@pytest.mark.parametrize("mode", ["cancel", "grace", "continue"])
def test_what_happens_when_readers_leave_is_the_same_word(mode: str):
    assert start(prompt="hi", on_disconnect=mode).on_disconnect == mode


def test_every_field_of_a_start_is_known():
    names = {field.name for field in pb.StartRequest.DESCRIPTOR.fields}
    assert (
        names == set(native.StartFields.__struct_fields__) == {*FIELDS, "messages", "prompt", "on_disconnect"}
    )
    assert {field.name for field in pb.Message.DESCRIPTOR.fields} == set(
        native.MessageFields.__struct_fields__
    )


def test_an_empty_text_means_absent_but_an_empty_prompt_is_one():
    assert start(prompt="hi", model="", on_disconnect="").request() == start(prompt="hi").request()
    assert start(prompt="").request().messages[0].content == ""
    message = pb.Message(role="user", name="", tool_call_id="", content=struct_pb2.Value(string_value="hi"))
    assert start(messages=[message]).request() == start(prompt="hi").request()


@pytest.mark.parametrize("content", [struct_pb2.Value(), struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)])
def test_a_value_that_says_nothing_is_absent(content: struct_pb2.Value):
    assert refused(messages=[pb.Message(role="user", content=content)]).param == "messages[0].content"
    assert start(prompt="hi", tool_choice=content).tool_choice is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "messages"),
        ({"prompt": "a", "messages": [pb.Message(role="user")]}, "messages"),
        ({"messages": [pb.Message()]}, "messages[0].role"),
        ({"messages": [pb.Message(role="robot")]}, "messages[0].role"),
        (
            {"messages": [pb.Message(role="user", content=struct_pb2.Value(number_value=1))]},
            "messages[0].content",
        ),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens"),
        ({"prompt": "a", "max_tokens": 2**31}, "max_tokens"),
        ({"prompt": "a", "top_p": 1.5}, "top_p"),
        ({"prompt": "a", "stop": ["b", ""]}, "stop[1]"),
        ({"prompt": "a", "logprobs": 21}, "logprobs"),
        ({"prompt": "a", "on_disconnect": "later"}, "on_disconnect"),
        ({"prompt": "a", "tool_choice": struct_pb2.Value(bool_value=True)}, "tool_choice"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(fields: Any, param: str):
    assert refused(**fields).param == param


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["temperature", "top_p", "presence_penalty", "repetition_penalty"])
def test_a_number_that_json_cannot_say_is_refused(name: str, number: float):
    assert refused(**{"prompt": "a", name: number}).param == name


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_such_a_number_is_refused_in_free_data_too(number: float):
    value = struct_pb2.Value(number_value=number)
    free = struct_pb2.Struct(
        fields={"a": struct_pb2.Value(struct_value=struct_pb2.Struct(fields={"b": value}))}
    )
    assert refused(prompt="a", tools=[{}, free]).param == "tools[1]"
    assert refused(prompt="a", tool_choice=value).param == "tool_choice"
    assert refused(prompt="a", response_format=free).param == "response_format"
    assert refused(messages=[{}, pb.Message(role="user", content=value)]).param == "messages[1].content"
    assert refused(messages=[pb.Message(tool_calls=[free])]).param == "messages[0].tool_calls[0]"


@pytest.mark.parametrize("message", [b"\xff", b"\x0a\x05a", b"\x0a\x01\xff"])
def test_bytes_that_are_no_message_are_refused(message: bytes):
    with pytest.raises(InvalidRequest, match=r"The message is no StartRequest: "):
        proto.start_fields(message)
    with pytest.raises(InvalidRequest, match=r"The message is no FollowRequest: "):
        proto.parse(message, pb.FollowRequest)


def test_other_messages_are_parsed_as_they_are():
    message = pb.FollowRequest(id="gen_x", after=0)
    assert proto.parse(message.SerializeToString(), pb.FollowRequest) == message
