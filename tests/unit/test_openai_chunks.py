"""Chunks of OpenAI-compatible answers become events: what servers send, and what is made of it. No I/O."""

import json
from typing import Any

import pytest

from polystream.core.events import Event, Notice, Reasoning, Refusal, Text, ToolCall, Usage
from polystream.core.ports import Ending
from polystream.engines.openai_chunks import ChatDecoder
from tests.chunks import call, chunk, decoded, events


def test_deltas_become_text_and_empty_ones_nothing() -> None:
    said = [
        {"role": "assistant", "content": ""},
        {"content": "Hel"},
        {"content": None},
        {},
        None,
        {"content": "lo"},
    ]
    assert events(*map(chunk, said)) == [Text("Hel"), Text("lo")]


def test_blanks_and_line_ends_of_unicode_are_text() -> None:
    said = ["\n\n", " ", "\t", "a\u2028b\u2029c\x85", "\r"]
    assert events(*(chunk({"content": text}) for text in said)) == [Text(text) for text in said]


def test_all_chunks_of_a_read_come_in_one_list() -> None:
    reads = [chunk({"content": "a"}), chunk({"content": "b"}), chunk({}, "stop"), b"[DONE]"]
    assert ChatDecoder().feed(reads) == [Text("a"), Text("b")]


def test_text_of_the_finish_chunk_and_after_it_is_kept() -> None:
    assert events(chunk({"content": "e light."}, "stop"), chunk({"content": "!"})) == [
        Text("e light."),
        Text("!"),
    ]


def test_text_of_other_answers_is_passed_over() -> None:
    assert events(
        chunk({"content": "x"}, index=1), chunk({"content": "a"}), chunk({"content": "y"}, index=2)
    ) == [Text("a")]


def test_only_the_first_of_several_answers_counts() -> None:
    decoder, found = decoded(
        chunk({"content": "a"}), chunk({"content": "x"}, "length", index=1), chunk({}, "stop")
    )
    assert found == [Text("a")]
    assert decoder.ending().reason == "stop"


def test_chunks_without_choices_deltas_or_index_are_harmless() -> None:
    said = [
        b'{"id":"","created":0,"model":"","choices":[]}',
        b'{"choices":[{}]}',
        b'{"choices":[{"delta":null}]}',
    ]
    said += [
        b"{}",
        b"",
        b" ",
        b'{"type":"ping"}',
        b'{"choices":null}',
        b'{"choices":[{"delta":{"content":"a"}}]}',
    ]
    assert events(*said) == [Text("a")]


def test_refusals_and_both_names_of_reasoning_are_kept_apart() -> None:
    said = [
        {"reasoning_content": "a"},
        {"reasoning": "b", "content": "c"},
        {"refusal": "d"},
        {"refusal": None},
    ]
    assert events(*map(chunk, said)) == [Reasoning("a"), Reasoning("b"), Text("c"), Refusal("d")]


def test_log_probabilities_stay_with_their_text_and_count_its_tokens() -> None:
    listed = [
        {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []},
        {"token": "b", "logprob": -1.0},
    ]
    said = chunk({"content": "ab"}, choice={"logprobs": {"content": listed, "refusal": None}})
    assert events(said) == [Text("ab", listed, 2)]
    assert events(chunk({"content": "ab"}, choice={"logprobs": {"content": None}})) == [Text("ab")]


@pytest.mark.parametrize("odd", [[], "no", 5, {"content": []}, {"content": "no"}, {"refusal": [1]}])
def test_log_probabilities_of_another_shape_are_passed_over(odd: Any) -> None:
    assert events(chunk({"content": "ab"}, choice={"logprobs": odd})) == [Text("ab")]
    assert events(chunk({"reasoning": "ab"}, choice={"logprobs": {"content": [1]}})) == [Reasoning("ab")]


@pytest.mark.parametrize(
    "part", [{}, {"text": ""}, {"text": 5}, {"thinking": 5}, {"thinking": [5, {}, {"text": ""}]}]
)
def test_parts_of_another_shape_are_passed_over(part: Any) -> None:
    assert events(chunk({"content": [part, {"text": "a"}]})) == [Text("a")]


def test_content_in_parts_is_text_and_reasoning() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]},
        {"type": "text", "text": "b"},
        {},
    ]
    assert events(chunk({"content": parts})) == [Reasoning("a"), Text("b")]


def test_reasoning_between_markers_is_split_off_when_asked() -> None:
    said = [chunk({"content": text}) for text in ("<th", "ink>secret</thi", "nk>Hello <", "b>bold", "</b>")]
    found = events(*said, split_reasoning=True)
    assert "".join(event.text for event in found if isinstance(event, Reasoning)) == "secret"
    assert "".join(event.text for event in found if isinstance(event, Text)) == "Hello <b>bold</b>"
    assert "".join(event.text for event in events(*said) if isinstance(event, Text)).startswith("<think>")


def raw(content: bytes) -> bytes:
    """A chunk with these bytes as its content's JSON string."""
    return b'{"choices":[{"index":0,"delta":{"content":"' + content + b'"}}]}'


def text_of(*chunks: bytes, split_reasoning: bool = False) -> str:
    """The joined text, which can be encoded."""
    found = events(*chunks, split_reasoning=split_reasoning)
    text = "".join(event.text for event in found if isinstance(event, Text))
    text.encode()
    return text


@pytest.mark.parametrize("split_reasoning", [False, True])
@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ((rb"hi \ud83d", rb"\ude00 ok", rb"\udc00"), "hi 😀 ok\ufffd"),
        ((rb"hi \ud83d", b"", rb"\ude00"), "hi 😀"),
        ((rb"\ud83d", b"a"), "\ufffda"),
        ((rb"\ud83d", rb"\ud83d\ude00", "é".encode()), "\ufffd😀é"),
        ((rb"a\ud83d",), "a\ufffd"),
        ((rb"\ud83d\ude00\udc00b",), "😀\ufffdb"),
    ],
)
def test_halves_of_characters_are_joined_and_single_ones_replaced(
    contents: tuple[bytes, ...], text: str, split_reasoning: bool
) -> None:
    assert text_of(*map(raw, contents), split_reasoning=split_reasoning) == text


def test_a_half_in_the_reasoning_waits_for_reasoning() -> None:
    half = rb'{"choices":[{"delta":{"reasoning_content":"\ud83d"}}]}'
    rest = rb'{"choices":[{"delta":{"reasoning_content":"\ude00"}}]}'
    assert events(half, chunk({"content": "a"}), rest) == [Text("a"), Reasoning("😀")]
    assert events(half) == [Reasoning("\ufffd")]


def test_halves_elsewhere_spoil_nothing() -> None:
    said = (
        rb'{"model":"m\ud83d","choices":[{"delta":{"content":"a","tool_calls":[{"id":"\ud83d","function":'
        rb'{"name":"\ud83d","arguments":"\ud83d"}}]},"logprobs":{"content":[{"token":"\ud83d"}]}}]}'
    )
    decoder, found = decoded(
        said, rb'{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\ude00"}}]}}]}'
    )
    text, *pieces = found
    assert text == Text("a", [{"token": "\ufffd"}], 1)
    assert pieces == [ToolCall(0, "\ufffd", "\ufffd", "😀")]
    assert decoder.ending().model == "m\ufffd"


@pytest.mark.parametrize("content", [b"ok \xf0\x9f\x98", b"ok \xc3"])
def test_bytes_that_are_no_utf_8_become_replacement_characters(content: bytes) -> None:
    assert text_of(raw(content)) == "ok \ufffd"


def test_a_control_character_in_a_string_is_forgiven() -> None:
    assert text_of(raw(b"a\tb\x01")) == "a\tb\x01"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("model_length", "length"),
        ("eos", "stop"),
    ],
)
def test_finish_reasons_are_spelled_in_our_words(said: str, reason: str) -> None:
    decoder, _ = decoded(chunk({}, said))
    assert decoder.finish == said
    assert decoder.ending().reason == reason


@pytest.mark.parametrize("said", ["abort", "error", "insufficient_system_resource"])
def test_finish_reasons_that_mean_a_broken_answer_are_errors(said: str) -> None:
    decoder, _ = decoded(chunk({"content": "a"}), chunk({}, said))
    assert decoder.finish is None
    assert decoder.error is not None
    assert decoder.error.code == "upstream_error"


def test_an_empty_finish_reason_is_none() -> None:
    assert decoded(chunk({"content": "a"}, ""))[0].finish is None


def test_done_is_noticed_and_nothing_after_it_counts() -> None:
    decoder = ChatDecoder()
    assert decoder.feed([chunk({"content": "a"}), b" [DONE] ", chunk({"content": "b"})]) == [Text("a")]
    assert decoder.done
    assert decoder.feed([chunk({"content": "c"})]) == []
    assert decoder.ending() == Ending("stop", None, "mock-1")


def test_usage_and_model_are_those_said_last() -> None:
    first = {"prompt_tokens": 9, "completion_tokens": 1}
    last = first | {"completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    last |= {"completion_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 11}
    decoder, _ = decoded(
        chunk({"content": "a"}, usage=first),
        chunk({}, "stop", usage=None),
        chunk(choices=[], usage=last, model="m-2"),
    )
    assert decoder.ending() == Ending("stop", Usage(9, 2, 4, 1), "m-2")


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"prompt_tokens": 3}, Usage(3, 0)),
        ({"completion_tokens": 3}, Usage(0, 3)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0)),
    ],
)
def test_usage_on_the_finish_chunk_counts_and_nothing_after_it_takes_it_away(said: Any, usage: Usage) -> None:
    decoder, _ = decoded(chunk({"content": "a"}, "stop", usage=said), chunk(choices=[]), chunk({}))
    assert decoder.ending().usage == usage


def test_an_answer_without_a_model_has_none_and_an_empty_one_takes_none_away() -> None:
    nameless = b'{"choices":[{"index":0,"delta":{"content":"a"}}]}'
    assert decoded(nameless)[0].ending().model is None
    empty = chunk({"content": "b"}, model="")
    assert decoded(chunk({"content": "a"}), empty, nameless)[0].ending().model == "mock-1"


@pytest.mark.parametrize(
    "usage", [{}, [], "no", {"prompt_tokens": None}, {"prompt_tokens": -1}, {"total_tokens": 3}]
)
def test_usage_without_counts_is_none(usage: Any) -> None:
    assert decoded(chunk({}, "stop", usage=usage))[0].ending().usage is None


SAFE = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"filtered": False, "detected": False}}
LOW = {"hate": {"filtered": False, "severity": "low"}}
FILTERED = {"hate": {"filtered": True, "severity": "high"}}
DETECTED = {"protected_material_code": {"filtered": False, "detected": True}}


def test_verdicts_that_all_is_safe_are_not_told() -> None:
    prompt = [{"prompt_index": 0, "content_filter_results": SAFE}]
    said = [
        chunk(choices=[], prompt_filter_results=prompt),
        chunk({"content": "a"}, choice={"content_filter_results": SAFE}),
    ]
    said += [
        chunk({}, choice={"content_filter_results": {}}),
        chunk({}, choice={"content_filter_results": LOW}),
    ]
    assert events(*said) == [Text("a")]


@pytest.mark.parametrize("name", ["prompt_filter_results", "prompt_annotations"])
@pytest.mark.parametrize("found", [LOW, FILTERED, DETECTED])
def test_a_prompt_that_is_not_all_safe_is_told_once(name: str, found: Any) -> None:
    prompt = [{"prompt_index": 0, "content_filter_results": SAFE | found}]
    said = json.dumps({"choices": [], name: prompt}).encode()
    assert events(said, said) == [Notice("filter", {"verdicts": prompt})]


def test_verdicts_on_the_prompt_may_come_with_the_first_piece() -> None:
    prompt = [{"prompt_index": 0, "content_filter_results": FILTERED}]
    said = chunk({"content": "a"}, prompt_filter_results=prompt)
    assert events(said) == [Text("a"), Notice("filter", {"verdicts": prompt})]


@pytest.mark.parametrize(
    "odd", [{"hate": True}, "no", 5, [5], [{}], [{"content_filter_results": ["no"]}], {"a": 5}]
)
def test_verdicts_of_another_shape_are_passed_over(odd: Any) -> None:
    said = chunk({"content": "a"}, prompt_filter_results=odd, choice={"content_filter_results": odd})
    assert events(said) == [Text("a")]


@pytest.mark.parametrize("found", [FILTERED, DETECTED])
def test_a_piece_that_is_filtered_or_detected_is_told_also_after_the_end(found: Any) -> None:
    note = {
        "index": 0,
        "finish_reason": None,
        "content_filter_results": found,
        "content_filter_offsets": {"x": 1},
    }
    said = json.dumps({"id": "", "object": "", "created": 0, "model": "", "choices": [note]}).encode()
    decoder, heard = decoded(chunk({"content": "a"}), chunk({}, "stop"), said, said)
    assert heard == [Text("a"), Notice("filter", {"verdicts": found})]
    assert decoder.ending() == Ending("stop", None, "mock-1")


def failed(*chunks: bytes) -> tuple[str, str, list[Event]]:
    """Code and message of the failure, and what came before it."""
    decoder = ChatDecoder()
    found = decoder.feed([chunk({"content": "so far"}), *chunks, chunk({"content": "no"}), b"[DONE]"])
    assert decoder.error is not None
    assert not decoder.done
    return decoder.error.code, decoder.error.message, found


@pytest.mark.parametrize(
    "said", [b"{", b"[]", b'"a"', b"5", b'{"choices":5}', b'{"choices":[{"delta":{"content":5}}]}']
)
def test_what_is_no_chunk_is_a_bad_chunk_and_what_came_before_stands(said: bytes) -> None:
    code, _, found = failed(said)
    assert (code, found) == ("upstream_bad_chunk", [Text("so far")])


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"choices":' + b"[" * 100_000])
def test_endless_nesting_is_a_bad_chunk(deep: bytes) -> None:
    assert failed(deep)[0] == "upstream_bad_chunk"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "x", "type": "server_error", "code": 503}, "upstream_error"),
        ({"message": "x", "type": "InternalServerError", "param": None, "code": 500}, "upstream_error"),
        ("Value error in max_tokens", "upstream_error"),
        ({"message": "x"}, "upstream_error"),
        ({"message": "x", "code": "context_length_exceeded"}, "context_length_exceeded"),
        ({"message": "x", "type": "exceed_context_size_error", "code": 400}, "context_length_exceeded"),
        (
            {"message": "the context length is 5", "type": "BadRequestError", "code": 400},
            "context_length_exceeded",
        ),
        ({"message": "x", "code": "content_filter"}, "content_filter"),
        ({"message": "x", "type": "insufficient_quota", "code": "insufficient_quota"}, "quota_exceeded"),
        ({"message": "x", "type": "requests", "code": "rate_limit_exceeded"}, "rate_limited"),
        ({"message": "x", "code": 429}, "rate_limited"),
        ({"message": "x", "code": "429"}, "rate_limited"),
        ({"message": "x", "code": 503}, "overloaded"),
        ({"message": "x", "type": "overloaded_error"}, "overloaded"),
        ({"message": "x", "code": 504}, "upstream_timeout"),
        ({"message": "x", "code": 422}, "invalid_request"),
        ({"message": "x", "type": "api_error", "code": "upstream_stalled"}, "upstream_stalled"),
        ({"message": "x", "code": "never_heard_of", "type": "nor_of_that"}, "upstream_error"),
        ({"message": "x", "code": 401}, "upstream_error"),
    ],
)
def test_an_error_in_the_stream_has_its_own_code(error: Any, code: str) -> None:
    found = failed(json.dumps({"error": error}).encode())
    assert found[0] == code
    assert found[2] == [Text("so far")]


@pytest.mark.parametrize(
    "said", [{"object": "error", "message": "gone", "code": 500}, {"type": "error", "message": "gone"}]
)
def test_an_error_without_an_error_object_is_an_error(said: Any) -> None:
    assert failed(json.dumps(said).encode())[:2] == ("upstream_error", "gone")


def test_an_error_beside_a_piece_is_an_error_behind_it() -> None:
    decoder, found = decoded(chunk({"content": "a"}, error={"message": "gone"}), chunk({"content": "b"}))
    assert found == [Text("a")]
    assert decoder.error is not None
    assert decoder.error.message == "gone"


@pytest.mark.parametrize("error", [None, "", {}, False])
def test_an_empty_error_is_none(error: Any) -> None:
    decoder, found = decoded(chunk({"content": "a"}, error=error))
    assert (decoder.error, found) == (None, [Text("a")])


def test_a_whole_answer_is_read_like_one_chunk() -> None:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "Paris.",
        "reasoning": "hm",
        "refusal": None,
        "function_call": None,
    }
    message["tool_calls"] = [call(None, "c1", "f", "{}"), call(None, "c2", "g", "[]")]
    said = chunk(choices=[{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}])
    assert events(said) == [
        Reasoning("hm"),
        Text("Paris."),
        ToolCall(0, "c1", "f", "{}"),
        ToolCall(1, "c2", "g", "[]"),
    ]
