"""An engine with no model: a set text with a set pace and set faults, to try clients, doors and deployments.

Set by the target's URL (`scripted:?text=Hi&pace_ms=20`) and per request by `metadata.script`, a JSON object
of the same fields, which wins whole. Honours `stop` and `max_tokens` (a piece counts as a token) and has no
sampling.
"""

import asyncio
import codecs
import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import parse_qsl

import msgspec

from polystream.core.errors import BY_CODE, InvalidRequest, StreamError, UpstreamError, UpstreamIncomplete
from polystream.core.events import Event, Notice, Reasoning, Refusal, Text, ToolCall, Usage
from polystream.core.ports import Emit, Ending, Model
from polystream.core.request import Request
from polystream.engines.stop import StopStrings

BUILT_IN = "Polystream keeps one numbered log per answer, so that you can leave, come back and miss nothing."
#: Pieces a turn of the event loop when no pace is set.
_BURST = 16

Base64 = bytes  # in a script's JSON, as msgspec reads bytes
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=3_600_000)]


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A fragment of a tool call."""

    index: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""


class Piece(msgspec.Struct, forbid_unknown_fields=True):
    """One piece: text, reasoning, refusal, tool_call, notice, or `bytes` (base64, may cut characters); none
    of them says nothing.

    `wait_ms`: a pause before it, besides the pace.
    """

    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_call: Call | None = None
    notice: str | None = None
    bytes: Base64 | None = None
    wait_ms: Milliseconds = 0

    def __post_init__(self) -> None:
        names = ("text", "reasoning", "refusal", "tool_call", "notice", "bytes")
        if sum(getattr(self, name) is not None for name in names) > 1:
            raise ValueError("A piece is one thing only")


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    """What breaks in place of piece `at`.

    `error` fails with `code`; `raise` is an exception of ours; `stall` goes silent for ever; `dead` fails and
    leaves the
    engine unready from then on; `incomplete` ends without saying so.
    """

    kind: Literal["error", "raise", "stall", "dead", "incomplete"]
    at: Annotated[int, msgspec.Meta(ge=0)] = 0
    code: str = "upstream_error"
    message: str = ""


class Script(msgspec.Struct, forbid_unknown_fields=True):
    """What to answer.

    `text` is cut before each blank; `first_ms` and `pace_ms`: pauses before the first and later.
    """

    text: str | None = None
    pieces: list[str | Piece] | None = None
    pace_ms: Milliseconds = 0
    first_ms: Milliseconds = 0
    finish: Literal["stop", "length", "tool_calls", "content_filter"] = "stop"
    fault: Fault | None = None

    def cut(self) -> list[Piece]:
        """The pieces in order."""
        if self.pieces is not None:
            return [Piece(text=piece) if isinstance(piece, str) else piece for piece in self.pieces]
        text = BUILT_IN if self.text is None else self.text
        return [Piece(text=word) for word in re.findall(r"\s*\S+|\s+$", text)]


class ScriptedEngine:
    """See `core.ports.Engine`. `options`: what follows `scripted:?` in the target's URL.

    Raises `InvalidRequest` for options or a script that cannot be read.
    """

    kind = "scripted"

    def __init__(self, options: str = "", model: str = "scripted"):
        fields = {
            name: _decode(value, "ENGINE_URL") if name in ("pieces", "fault") else value
            for name, value in parse_qsl(options, keep_blank_values=True)
        }
        self._script = _convert(fields, "ENGINE_URL")
        self._model = model
        self._dead = False

    def check(self, request: Request) -> None:
        """Refuse a script that cannot be read."""
        self._script_for(request)

    async def generate(self, request: Request, emit: Emit) -> Ending:
        """Play the script."""
        if self._dead:
            raise UpstreamError("The scripted engine is dead.")
        script = self._script_for(request)
        return await _Play(self, script, request, emit).run()

    def die(self) -> None:
        """Be unready from now on."""
        self._dead = True

    async def models(self) -> list[Model]:
        """Its one model."""
        return [Model(self._model, "unavailable" if self._dead else "ready")]

    async def close(self) -> None:
        """Nothing to give back."""

    def _script_for(self, request: Request) -> Script:
        script = request.metadata.get("script")
        if script is None:
            return self._script
        return _convert(_decode(script, "metadata.script"), "metadata.script")


class _Play:
    """One run of a script."""

    def __init__(self, engine: ScriptedEngine, script: Script, request: Request, emit: Emit):
        self._engine = engine
        self._script = script
        self._request = request
        self._emit = emit
        self._stops = StopStrings(request.stop)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._spoken = 0

    async def run(self) -> Ending:
        """Every piece at its time."""
        script, loop = self._script, asyncio.get_running_loop()
        limit, fault = self._request.max_tokens, script.fault
        due = loop.time() + script.first_ms / 1000
        for number, piece in enumerate(script.cut()):
            due += piece.wait_ms / 1000
            if due > loop.time() or number % _BURST == 0:
                await asyncio.sleep(max(0, due - loop.time()))
            if fault is not None and number == fault.at:
                await self._break(fault)
            if self._spoken == limit:
                return self._end("length")
            self._say(piece)
            if self._stops.hit:
                return self._end("stop")
            due += script.pace_ms / 1000
        if fault is not None:
            await self._break(fault)
        return self._end(script.finish)

    def _say(self, piece: Piece) -> None:
        self._spoken += 1
        if events := list(self._events(piece)):
            self._emit(events)

    def _events(self, piece: Piece) -> Iterator[Event]:
        text = piece.text or ""
        if piece.bytes is not None:
            text = self._decode(piece.bytes)
        if text := self._stops.feed(text):
            yield Text(text)
        if piece.reasoning:
            yield Reasoning(piece.reasoning)
        if piece.refusal:
            yield Refusal(piece.refusal)
        if (call := piece.tool_call) is not None:
            yield ToolCall(call.index, call.call_id, call.name, call.arguments)
        if piece.notice:
            yield Notice(piece.notice, {})

    def _end(self, reason: str) -> Ending:
        rest = "" if self._stops.hit else self._stops.feed(self._decode(b"", True)) + self._stops.close()
        if rest:
            self._emit([Text(rest)])
        contents = [self._request.prompt, *(message.content for message in self._request.messages)]
        words = sum(len(str(content or "").split()) for content in contents)
        return Ending(reason, Usage(words, self._spoken), self._request.model)

    async def _break(self, fault: Fault) -> None:
        match fault.kind:
            case "stall":
                await asyncio.get_running_loop().create_future()
            case "raise":
                raise RuntimeError(fault.message)
            case "incomplete":
                raise UpstreamIncomplete(fault.message)
            case "dead":
                self._engine.die()
        raise BY_CODE.get(fault.code, UpstreamError)(fault.message)


def _decode(text: str, where: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidRequest(f"The script is not JSON: {error}", param=where) from None


def _convert(fields: object, where: str) -> Script:
    try:
        script = msgspec.convert(fields, Script, strict=False)
        script.cut()
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidRequest(f"{where}: {error}", param=where) from None
    if script.fault is not None and not issubclass(BY_CODE.get(script.fault.code, object), StreamError):
        raise InvalidRequest(f"There is no error code {script.fault.code!r}.", param=where)
    return script
