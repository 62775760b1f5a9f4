"""Fragments of tool calls, as engines send them, become calls with our numbers."""

from typing import Any

import pytest

from polystream.core.events import ToolCall
from polystream.engines.openai_chunks import ChatDecoder
from tests.chunks import call, chunk, decoded, events


def calls(*pieces: Any) -> list[tuple[str | None, str | None, str]]:
    """Id, name and joined arguments of each call by our numbers; ids and names come first and once."""
    found: dict[int, tuple[str | None, str | None, str]] = {}
    for event in events(*(chunk({"tool_calls": [piece]}) for piece in pieces)):
        assert isinstance(event, ToolCall)
        if event.index not in found:
            assert event.index == len(found)
            assert event.call_id is not None
            found[event.index] = (event.call_id, event.name, event.arguments)
        else:
            assert event.call_id is None
            assert event.name is None
            id, name, arguments = found[event.index]
            found[event.index] = (id, name, arguments + event.arguments)
    return list(found.values())


def test_a_tool_call_is_opened_once_and_its_arguments_follow() -> None:
    pieces = [call(0, "c1", "weather", ""), call(0, arguments='{"ci'), call(0, arguments='ty":1}')]
    found = events(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls"))
    assert found == [ToolCall(0, "c1", "weather", '{"ci'), ToolCall(0, arguments='ty":1}')]


def test_parallel_calls_that_all_say_index_0_are_told_apart_by_id() -> None:
    assert calls(call(0, "c1", "f", '{"a":1}'), call(0, "c2", "f", '{"a":2}'), call(0, arguments=" ")) == [
        ("c1", "f", '{"a":1}'),
        ("c2", "f", '{"a":2} '),
    ]


def test_interleaved_fragments_go_to_the_call_of_their_index() -> None:
    pieces = [
        call(0, "ca", "f", "{1"),
        call(1, "cb", "g", "{2"),
        call(0, arguments="1}"),
        call(1, arguments="2}"),
    ]
    assert calls(*pieces) == [("ca", "f", "{11}"), ("cb", "g", "{22}")]


def test_fragments_of_two_calls_in_one_read_stay_apart() -> None:
    pieces = [
        call(0, "ca", "f", "1"),
        call(1, "cb", "g", "2"),
        call(0, arguments="3"),
        call(1, arguments="4"),
    ]
    said = [chunk({"tool_calls": [piece]}) for piece in pieces]
    assert ChatDecoder().feed([*said, chunk({"tool_calls": [call(1, arguments="5")]})]) == [
        ToolCall(0, "ca", "f", "1"),
        ToolCall(1, "cb", "g", "2"),
        ToolCall(0, arguments="3"),
        ToolCall(1, arguments="45"),
    ]


def test_calls_that_all_say_index_0_are_told_apart_before_their_arguments() -> None:
    assert calls(call(0, "c1", "f", ""), call(0, "c2", "g", "")) == [("c1", "f", ""), ("c2", "g", "")]


def test_an_id_that_comes_after_the_arguments_of_a_call_without_one_is_another_call() -> None:
    (first, *_), second = calls(call(0, None, "f", "1"), call(0, "c2", "g", "2"))
    assert str(first).startswith("call_")
    assert second == ("c2", "g", "2")


def test_a_call_without_a_name_or_a_function_is_a_call() -> None:
    assert calls(call(0, "c1", arguments="{}")) == [("c1", None, "{}")]
    assert calls({"index": 0, "id": "c1"}, call(0, None, "f", "{}")) == [("c1", "f", "{}")]


def test_ids_and_names_on_every_piece_are_said_once() -> None:
    pieces = [
        call(0, "c1", "f", "{"),
        call(0, "c1", "f", "}"),
        call(0, "c2", "g", "["),
        call(0, "c1", "f", "!"),
    ]
    assert calls(*pieces) == [("c1", "f", "{}!"), ("c2", "g", "[")]


def test_a_fragment_without_an_id_belongs_to_the_latest_call_of_its_index() -> None:
    pieces = [
        call(0, "c1", "f", "1"),
        call(0, arguments="2"),
        call(0, "c2", "g", "3"),
        call(0, arguments="4"),
    ]
    assert calls(*pieces) == [("c1", "f", "12"), ("c2", "g", "34")]


def test_empty_ids_and_names_count_as_absent() -> None:
    assert calls(call(0, "c1", "f", ""), call(0, "", "", "{"), call(0, "", "", "}")) == [("c1", "f", "{}")]


def test_one_id_at_two_indexes_is_two_calls() -> None:
    assert calls(call(0, "f", "f", "1"), call(1, "f", "f", "2")) == [("f", "f", "1"), ("f", "f", "2")]


@pytest.mark.parametrize(
    "names", [("get_", "weather"), ("get_", "get_weather"), ("get_weather", "get_weather")]
)
def test_names_in_parts_or_repeated_are_whole_when_the_call_is_opened(names: tuple[str, ...]) -> None:
    assert calls(*(call(0, "c1", name) for name in names), call(0, arguments="{}")) == [
        ("c1", "get_weather", "{}")
    ]


def test_calls_without_arguments_are_opened_too() -> None:
    assert calls(call(0, "c1", "f"), call(1, "c2", "g"), call(2, "c3", "h", "")) == [
        ("c1", "f", ""),
        ("c2", "g", ""),
        ("c3", "h", ""),
    ]


def test_calls_without_ids_get_ours() -> None:
    first, second = calls(call(0, None, "f", "1"), call(1, None, "f", "2"))
    assert first[1:] == ("f", "1")
    assert second[1:] == ("f", "2")
    assert first[0] != second[0]
    assert str(first[0]).startswith("call_")


def test_an_id_that_comes_before_the_arguments_is_taken() -> None:
    assert calls(call(0, None, "f"), call(0, "c1"), call(0, arguments="1")) == [("c1", "f", "1")]


def test_calls_without_an_index_begin_with_a_name() -> None:
    assert calls(call(None, "c1", "f", "1"), call(None, None, None, "2"), call(None, "c2", "g", "3")) == [
        ("c1", "f", "12"),
        ("c2", "g", "3"),
    ]


def test_half_a_character_in_a_name_is_replaced() -> None:
    said = rb'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f\ud83d"}}]}}]}'
    assert events(said) == [ToolCall(0, "c1", "f\ufffd")]


def test_calls_without_index_and_id_begin_with_a_name() -> None:
    pieces = [call(None, None, "f", "1"), call(None, None, None, "2"), call(None, None, "g", "3")]
    assert [said[1:] for said in calls(*pieces)] == [("f", "12"), ("g", "3")]


def test_the_old_function_call_is_a_tool_call() -> None:
    said = [
        {"function_call": {"name": "f"}},
        {"function_call": {"arguments": "{"}},
        {"function_call": {"arguments": "}"}},
    ]
    decoder, found = decoded(*map(chunk, said), chunk({}, "function_call"))
    assert [event.arguments for event in found if isinstance(event, ToolCall)] == ["{", "}"]
    assert found[0].name == "f"  # type: ignore[union-attr]
    assert decoder.ending().reason == "tool_calls"
