"""The engine with no model: it says what its script says, when it says so, and breaks where it says so."""

import asyncio
import base64
import json
from typing import Any

import pytest

from polystream.core.errors import BY_CODE, InvalidRequest, UpstreamError, UpstreamIncomplete
from polystream.core.events import Event, Notice, Reasoning, Refusal, Text, ToolCall, Usage
from polystream.core.ports import Ending, Model
from polystream.core.request import Message, Request
from polystream.engines.scripted import BUILT_IN, ScriptedEngine
from tests.clock import jumping, settle

GLOBE = "🌍".encode()


class Run:
    """One run of an engine; `events` and the times they came at."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.times: list[float] = []

    def emit(self, events: list[Event]) -> None:
        """Keep them."""
        assert events
        self.events += events
        self.times.append(round(asyncio.get_running_loop().time(), 3))

    @property
    def text(self) -> list[str]:
        """The text events."""
        return [event.text for event in self.events if isinstance(event, Text)]


def asked(script: Any = None, words: str = "say hello", **fields: Any) -> Request:
    """A request that brings its script along."""
    metadata = {} if script is None else {"script": script if isinstance(script, str) else json.dumps(script)}
    return Request((Message("user", words),), metadata=metadata, **fields)


async def play(script: Any = None, options: str = "", **fields: Any) -> tuple[Run, Ending]:
    """Play a script to its end."""
    run, engine, request = Run(), ScriptedEngine(options), asked(script, **fields)
    engine.check(request)
    return run, await engine.generate(request, run.emit)


def refused(script: Any) -> str:
    """Why a script is refused before anything is played."""
    with pytest.raises(InvalidRequest) as raised:
        ScriptedEngine().check(asked(script))
    assert raised.value.param == "metadata.script"
    return raised.value.message


# ---- what is said ----


@jumping
async def test_without_a_script_it_says_its_built_in_text():
    run, ending = await play()
    assert "".join(run.text) == BUILT_IN
    assert ending == Ending("stop", Usage(2, len(run.text)), "")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a b  c", ["a", " b", "  c"]),
        (" a\n", [" a", "\n"]),
        ("", []),
        (" ", [" "]),
        ("日本 語", ["日本", " 語"]),
    ],
)
@jumping
async def test_a_text_is_cut_before_each_blank(text: str, pieces: list[str]):
    run, _ = await play({"text": text})
    assert run.text == pieces


@jumping
async def test_pieces_are_said_as_they_are():
    call = {"index": 1, "call_id": "c", "name": "f", "arguments": "{}"}
    pieces = [
        "a",
        {"text": " "},
        {"reasoning": "b"},
        {"refusal": "c"},
        {"tool_call": call},
        {"notice": "queued"},
        {},
    ]
    run, ending = await play({"pieces": [*pieces, {"tool_call": {"index": 1}}]})
    assert run.events == [
        Text("a"),
        Text(" "),
        Reasoning("b"),
        Refusal("c"),
        ToolCall(1, "c", "f", "{}"),
        Notice("queued", {}),
        ToolCall(1),
    ]
    assert ending.usage == Usage(2, 8)


@pytest.mark.parametrize("cut", range(len(GLOBE) + 1))
@jumping
async def test_bytes_may_cut_a_character_anywhere(cut: int):
    pieces = [{"bytes": base64.b64encode(part).decode()} for part in (b"a" + GLOBE[:cut], GLOBE[cut:] + b"b")]
    run, _ = await play({"pieces": pieces})
    assert "".join(run.text) == "a🌍b"


@jumping
async def test_a_character_that_never_ends_is_shown_as_broken():
    run, _ = await play({"pieces": [{"bytes": base64.b64encode(GLOBE[:2]).decode()}]})
    assert run.text == ["�"]


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter"])
@jumping
async def test_it_ends_as_its_script_says_with_the_model_that_was_asked_for(reason: str):
    _, ending = await play({"text": "a", "finish": reason}, words="one two three", model="x")
    assert ending == Ending(reason, Usage(3, 1), "x")


@pytest.mark.parametrize(
    ("limit", "text", "reason"), [(1, "a", "length"), (2, "a b", "length"), (3, "a b c", "stop")]
)
@jumping
async def test_a_piece_counts_as_a_token(limit: int, text: str, reason: str):
    run, ending = await play({"text": "a b c"}, max_tokens=limit)
    assert ("".join(run.text), ending.reason) == (text, reason)
    assert ending.usage == Usage(2, limit)


@pytest.mark.parametrize(
    ("stop", "text", "reason"),
    [
        (("c",), "a b ", "stop"),
        (("b c d",), "a ", "stop"),
        (("x",), "a b c d", "length"),
        (("c dx",), "a b c d", "length"),
        ((" ",), "a", "stop"),
    ],
)
@jumping
async def test_stop_strings_end_the_answer_before_they_are_said(
    stop: tuple[str, ...], text: str, reason: str
):
    run, ending = await play({"text": "a b c d", "finish": "length"}, stop=stop)
    assert ("".join(run.text), ending.reason) == (text, reason)


# ---- when ----


@jumping
async def test_it_keeps_its_pace():
    run, _ = await play({"text": "a b c", "first_ms": 5000, "pace_ms": 20})
    assert run.times == [5, 5.02, 5.04]


@jumping
async def test_a_piece_may_wait_besides_the_pace():
    run, _ = await play({"pieces": ["a", {"text": "b", "wait_ms": 1000}, "c"], "pace_ms": 20})
    assert run.times == [0, 1.02, 1.04]


@jumping
async def test_without_a_pace_others_get_their_turn():
    run = Run()
    playing = asyncio.ensure_future(ScriptedEngine().generate(asked({"pieces": ["a"] * 100}), run.emit))
    for _ in range(3):
        await asyncio.sleep(0)
    assert 0 < len(run.events) < 100
    await playing


@jumping
async def test_a_cancelled_run_says_nothing_more():
    run = Run()
    playing = asyncio.ensure_future(
        ScriptedEngine().generate(asked({"text": "a b", "pace_ms": 10}), run.emit)
    )
    await settle()
    playing.cancel()
    await asyncio.sleep(1)
    assert (playing.cancelled(), run.text) == (True, ["a"])


# ---- faults ----


@pytest.mark.parametrize(("at", "text"), [(0, ""), (1, "a"), (2, "a b"), (9, "a b")])
@jumping
async def test_a_fault_comes_in_place_of_its_piece_or_at_the_end(at: int, text: str):
    run = Run()
    fault = {"kind": "error", "at": at, "message": "Boom."}
    with pytest.raises(UpstreamError, match=r"^Boom\.$"):
        await ScriptedEngine().generate(asked({"text": "a b", "fault": fault}), run.emit)
    assert "".join(run.text) == text


@pytest.mark.parametrize("code", BY_CODE)
@jumping
async def test_it_fails_with_any_code_of_ours(code: str):
    with pytest.raises(BY_CODE[code]) as raised:
        await play({"fault": {"kind": "error", "code": code}})
    assert raised.value.message == BY_CODE[code].text


@pytest.mark.parametrize(("kind", "error"), [("raise", RuntimeError), ("incomplete", UpstreamIncomplete)])
@jumping
async def test_it_may_break_or_end_without_saying_so(kind: str, error: type[Exception]):
    with pytest.raises(error, match=r"^Oh$"):
        await play({"text": "a", "fault": {"kind": kind, "at": 1, "message": "Oh"}})


@jumping
async def test_it_may_fall_silent_for_ever():
    run = Run()
    script = {"text": "a b", "fault": {"kind": "stall", "at": 1}}
    playing = asyncio.ensure_future(ScriptedEngine().generate(asked(script), run.emit))
    await asyncio.sleep(100_000)
    assert (run.text, playing.done()) == (["a"], False)
    playing.cancel()


@jumping
async def test_a_dead_engine_stays_dead_and_unready():
    engine = ScriptedEngine("text=a", "x")
    assert await engine.models() == [Model("x", "ready")]
    with pytest.raises(UpstreamError):
        await engine.generate(asked({"fault": {"kind": "dead"}}), Run().emit)
    assert await engine.models() == [Model("x", "unavailable")]
    with pytest.raises(UpstreamError, match="dead"):
        await engine.generate(asked(), Run().emit)
    await engine.close()


# ---- where the script comes from ----


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("", BUILT_IN),
        ("text=a+b", "a b"),
        ("text=", ""),
        ("text=[x]", "[x]"),
        ("text=5&pace_ms=20", "5"),
        ('pieces=["a",{"text":"b"}]', "ab"),
    ],
)
@jumping
async def test_the_targets_url_sets_the_script(options: str, text: str):
    run, _ = await play(options=options)
    assert "".join(run.text) == text


@jumping
async def test_a_requests_own_script_wins_whole():
    run, ending = await play({"text": "b"}, options="text=a&finish=length&first_ms=1000")
    assert (run.text, run.times, ending.reason) == (["b"], [0], "stop")


@pytest.mark.parametrize(
    "options",
    ["bogus=1", "pace_ms=x", "pace_ms=-1", "pace_ms=nan", "pieces=[", "pieces=a", "fault={}", "finish=no"],
)
def test_options_that_make_no_sense_are_refused_by_the_variable(options: str):
    with pytest.raises(InvalidRequest) as raised:
        ScriptedEngine(options)
    assert raised.value.param == "ENGINE_URL"


@pytest.mark.parametrize("script", ["", "{", "nope", "[" * 100_000, '{"text":"\\ud800"}'])
def test_a_script_that_is_no_json_is_refused(script: str):
    assert refused(script).startswith("The script is not JSON: ")


NONSENSE: list[Any] = [
    None, [], {"bogus": 1}, {"text": 5}, {"pace_ms": 3_600_001}, {"pieces": "a"}, {"pieces": [1]},
    {"finish": "cancelled"}, {"pieces": [{"text": "a", "reasoning": "b"}]}, {"pieces": [{"bytes": "a"}]},
    {"pieces": [{"bogus": 1}]}, {"pieces": [{"bytes": "a!b="}]}, {"pieces": [{"tool_call": {}}]},
    {"fault": {"kind": "no"}}, {"pieces": [{"tool_call": {"index": -1}}]},
    {"fault": {"kind": "error", "at": -1}}, {"pieces": [{"tool_call": {"index": 0, "bogus": 1}}]},
    {"fault": {"kind": "error", "bogus": 1}}, {"fault": {"kind": "error", "code": "no"}},
]  # fmt: skip


@pytest.mark.parametrize("script", NONSENSE)
def test_a_script_that_makes_no_sense_is_refused_and_never_internal(script: Any):
    assert refused(json.dumps(script))
