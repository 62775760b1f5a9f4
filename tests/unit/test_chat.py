"""OpenAI chat's answers: chunks and completions byte for byte, and as openai-python's own types read them."""

import json
import re
from typing import Any

import pytest
from openai.types import Model as OpenAIModel
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion import ChoiceLogprobs

from polystream.core.errors import BY_CODE, TABLE, UpstreamDisconnected
from polystream.core.events import (
    REASONS,
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
from polystream.dialects import chat
from tests.fakes import record

RECORD = record(id="gen_x/é", model='m"1', created=7)
HEAD = '{"id":"chatcmpl-x/\\u00e9","object":"chat.completion.chunk","created":7,"model":"m\\"1","choices":['
STARTED = Started("gen_x/é", 'm"1', "e", 7)
RESTART = Notice("restart", {"cause": "upstream_disconnected"})
LOGPROBS: list[dict[str, Any]] = [{"token": "a", "logprob": -0.5, "bytes": None, "top_logprobs": []}]
USAGE = (
    '{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,'
    '"completion_tokens_details":{"reasoning_tokens":3},"prompt_tokens_details":{"cached_tokens":4}}'
)
BROKE = (
    'data: {"error":{"message":"The engine broke off in mid-answer.","type":"api_error","param":null,'
    '"code":"upstream_disconnected"}}\n\n'
)
CALLS: list[Event] = [
    ToolCall(0, "call_a", "weather", ""),
    ToolCall(0, arguments='{"city":'),
    ToolCall(1, "call_b", "time", "{}"),
    ToolCall(0, arguments='"Zürich"}'),
]
EVERYTHING: list[Event] = [
    STARTED,
    Reasoning("hm"),
    Text("Hel"),
    Text("lo\u2028", LOGPROBS, 1),
    Refusal("no"),
    *CALLS,
    Notice("seam", {}),
    Finished("tool_calls", Usage(12, 5, 4, 3)),
]


def written(*events: Event, usage: bool = False, form: chat.Chunks | None = None) -> str:
    """What a log's events are written as."""
    form = form or chat.Chunks(RECORD, usage)
    batch = Batch(0, list(events))
    pieces = form.encode(batch)
    form.breaks(batch)
    return b"".join(pieces).decode("ascii")


def chunk(delta: str, reason: str = "null", logprobs: str = "null") -> str:
    """The chunk of one delta."""
    choice = f'{{"index":0,"delta":{delta},"logprobs":{logprobs},"finish_reason":{reason}}}'
    return f"data: {HEAD}{choice}]}}\n\n"


def objects(text: str) -> list[Any]:
    """The data of an event stream; every event is one data line. Clients skip comments."""
    events = [event for event in text.removesuffix("\n\n").split("\n\n") if not event.startswith(":")]
    assert all(event.startswith("data: ") and "\n" not in event for event in events)
    return [json.loads(event[6:]) for event in events if event != "data: [DONE]"]


def whole(*events: Event) -> ChatCompletion:
    """The completion that a log folds into, through the SDK's own type."""
    completion = chat.Completion(RECORD)
    completion.add(events)
    return ChatCompletion.model_validate_json(json.dumps(completion.fields()), strict=True)


# ---- chunks ----


@pytest.mark.parametrize(
    ("event", "spelled"),
    [
        (STARTED, chunk('{"role":"assistant","content":"","refusal":null}')),
        (Text('a"é🌍\n'), chunk('{"content":"a\\"\\u00e9\\ud83c\\udf0d\\n"}')),
        (
            Text("a", LOGPROBS, 1),
            chunk(
                '{"content":"a"}',
                logprobs='{"content":[{"token":"a","logprob":-0.5,"bytes":null,"top_logprobs":[]}],"refusal":null}',
            ),
        ),
        (Text("a", tokens=2), chunk('{"content":"a"}')),
        (Reasoning("hm"), chunk('{"reasoning_content":"hm"}')),
        (Refusal("no"), chunk('{"refusal":"no"}')),
        (
            CALLS[0],
            chunk(
                '{"tool_calls":[{"index":0,"id":"call_a","type":"function",'
                '"function":{"name":"weather","arguments":""}}]}'
            ),
        ),
        (CALLS[1], chunk('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"city\\":"}}]}')),
        (Notice("seam", {"from": "a"}), ': notice {"kind":"seam","detail":{"from":"a"}}\n\n'),
    ],
)
def test_an_event_is_one_chunk(event: Event, spelled: str):
    assert written(event) == spelled


@pytest.mark.parametrize("reason", [reason for reason in REASONS if reason != "cancelled"])
def test_the_reason_stands_in_a_chunk_of_its_own_before_the_end(reason: str):
    spelled = "length" if reason == "budget" else reason
    assert written(Finished(reason, Usage(1, 1))) == chunk("{}", f'"{spelled}"') + "data: [DONE]\n\n"


def test_usage_is_told_only_when_asked_for_and_null_everywhere_else():
    last = Finished("stop", Usage(12, 5, 4, 3))
    assert "usage" not in written(STARTED, Text("a"), Text("b", LOGPROBS), last)
    *chunks, usage, done, rest = written(STARTED, Text("a"), Text("b", LOGPROBS), last, usage=True).split(
        "\n\n"
    )
    assert all(line.endswith('],"usage":null}') and '"choices":[{' in line for line in chunks)
    assert (usage, done, rest) == (f'data: {HEAD}],"usage":{USAGE}}}', "data: [DONE]", "")


def test_usage_that_nobody_knows_is_zero():
    zero = re.sub(r"\d+", "0", USAGE)
    assert chat.usage_fields(None) == chat.usage_fields(Usage(0, 0)) == json.loads(zero)


@pytest.mark.parametrize("usage", [False, True])
def test_openai_python_reads_every_chunk(usage: bool):
    chunks = objects(written(*EVERYTHING, usage=usage))
    read = [ChatCompletionChunk.model_validate_json(json.dumps(made), strict=True) for made in chunks]
    assert {(made.id, made.created, made.model, made.object) for made in read} == {
        ("chatcmpl-x/é", 7, 'm"1', "chat.completion.chunk")
    }
    choices = [made.choices[0] for made in read if made.choices]
    assert choices[0].delta.role == "assistant"
    assert [choice.finish_reason for choice in choices] == [None] * (len(choices) - 1) + ["tool_calls"]
    assert choices[-1].delta.model_dump(exclude_unset=True) == {}
    assert "".join(choice.delta.content or "" for choice in choices) == "Hello\u2028"
    assert [choice.delta.model_extra for choice in choices if choice.delta.model_extra] == [
        {"reasoning_content": "hm"}
    ]
    assert not any(made.model_extra for made in read)
    assert read[-1].choices == [] if usage else read[-1].usage is None


def test_a_tool_calls_id_and_name_come_with_its_first_piece_only():
    pieces = [made["choices"][0]["delta"]["tool_calls"][0] for made in objects(written(*CALLS))]
    assert ["id" in piece for piece in pieces] == ["type" in piece for piece in pieces]
    assert ["id" in piece for piece in pieces] == ["name" in piece["function"] for piece in pieces]
    assert ["id" in piece for piece in pieces] == [True, False, True, False]


def test_a_failure_is_one_error_event_and_no_done():
    error = Error("rate_limited", "Später.", True, "model")
    said = '{"message":"Sp\\u00e4ter.","type":"rate_limit_error","param":"model","code":"rate_limited"}'
    assert written(Text("a"), Failed(error)) == chunk('{"content":"a"}') + f'data: {{"error":{said}}}\n\n'


def test_a_cancelled_answer_ends_as_an_error():
    made = objects(written(Finished("cancelled", Usage(1, 1)), usage=True))
    assert made == [
        {
            "error": {
                "message": "The generation was cancelled.",
                "type": "api_error",
                "param": None,
                "code": "cancelled",
            }
        }
    ]


@pytest.mark.parametrize("code", TABLE)
def test_an_error_has_the_type_and_code_of_its_row(code: str):
    fields = json.loads(chat.error_json(BY_CODE[code]().as_event()))["error"]
    assert (fields["type"], fields["code"]) == (TABLE[code].openai_type, TABLE[code].openai_code)
    assert list(fields) == ["message", "type", "param", "code"]


def test_a_cut_is_an_error_event():
    assert chat.Chunks(RECORD, True).cut(UpstreamDisconnected().as_event()) == BROKE.encode()


def test_a_restart_before_any_word_is_not_seen():
    form = chat.Chunks(RECORD, False)
    first, later = Batch(0, [STARTED, Notice("queued", {"position": 1})]), Batch(2, [RESTART, Text("a")])
    for batch in (first, later):
        assert "error" not in b"".join(form.encode(batch)).decode()
        assert not form.breaks(batch)


@pytest.mark.parametrize("word", [Text("a"), Reasoning("a"), Refusal("a"), ToolCall(0, "a", "b")])
def test_a_restart_behind_words_is_an_error_that_breaks_off(word: Event):
    form = chat.Chunks(RECORD, False)
    assert not form.breaks(Batch(0, [STARTED, word]))
    batch = Batch(2, [Notice("seam", {}), RESTART, Text("b"), Finished("stop")])
    assert b"".join(form.encode(batch)).decode() == ': notice {"kind":"seam","detail":{}}\n\n' + BROKE
    assert form.breaks(batch)


def test_a_restart_behind_words_of_the_same_batch_breaks_off_too():
    form = chat.Chunks(RECORD, False)
    batch = Batch(0, [STARTED, Text("a"), RESTART, Text("b"), Finished("stop")])
    made = objects(b"".join(form.encode(batch)).decode())
    assert [made[1]["choices"][0]["delta"]["content"], made[2]["error"]["code"]] == [
        "a",
        "upstream_disconnected",
    ]
    assert len(made) == 3
    assert form.breaks(batch)


def test_a_reader_of_chunks_has_a_heartbeat_and_no_way_back():
    form = chat.Chunks(RECORD, False)
    assert form.heartbeat == b": heartbeat\n\n"
    assert form.come_back("drain", 200) is form.lost(1) is None
    assert not form.resumable
    assert form.key != chat.Chunks(RECORD, True).key


# ---- whole completions ----


def test_a_whole_completion_is_what_openai_python_knows():
    made = whole(*EVERYTHING)
    assert (made.id, made.object, made.created, made.model) == ("chatcmpl-x/é", "chat.completion", 7, 'm"1')
    assert made.model_extra == {}
    message, calls = made.choices[0].message, made.choices[0].message.tool_calls
    assert (message.role, message.content, message.refusal) == ("assistant", "Hello\u2028", "no")
    assert message.model_extra == {"reasoning_content": "hm"}
    assert calls is not None
    assert [call.model_dump() for call in calls] == [
        {
            "id": "call_a",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city":"Zürich"}'},
        },
        {"id": "call_b", "type": "function", "function": {"name": "time", "arguments": "{}"}},
    ]
    assert (made.choices[0].index, made.choices[0].finish_reason) == (0, "tool_calls")
    assert made.choices[0].logprobs == ChoiceLogprobs.model_validate({"content": LOGPROBS, "refusal": None})
    assert made.usage is not None
    assert json.loads(USAGE) == made.usage.model_dump(exclude_unset=True)


def test_a_completion_without_tool_calls_has_a_text_and_one_with_them_may_have_none():
    assert whole(STARTED, Finished("stop")).choices[0].message.content == ""
    made = whole(STARTED, *CALLS, Finished("budget")).choices[0]
    assert (made.message.content, made.logprobs, made.finish_reason) == (None, None, "length")


def test_a_restart_voids_what_was_said_before():
    before: list[Event] = [Text("a", LOGPROBS), Reasoning("b"), Refusal("c"), *CALLS]
    choice = whole(STARTED, *before, RESTART, Text("d"), Finished("stop")).choices[0]
    said = choice.message.model_dump(exclude_unset=True)
    assert said == {"role": "assistant", "content": "d", "refusal": None}
    assert choice.logprobs is None


@pytest.mark.parametrize("events", [[STARTED, Text("a")], [STARTED, Failed(Error("internal", "", False))]])
def test_a_log_without_its_good_end_is_no_completion(events: list[Event]):
    with pytest.raises(UpstreamDisconnected):
        whole(*events)


def test_models_are_listed_as_openai_python_reads_them():
    made = chat.models_fields([Model("a", "ready"), Model("b", "unavailable")], 7)
    assert made["object"] == "list"
    rows = [OpenAIModel.model_validate_json(json.dumps(row), strict=True) for row in made["data"]]
    assert [(row.id, row.created, row.object, row.owned_by) for row in rows] == [
        ("a", 7, "model", "polystream"),
        ("b", 7, "model", "polystream"),
    ]
