"""Turns the chunks of an OpenAI-compatible chat answer into events; no I/O.

The rule to know: nothing is dropped but what is empty. Text in a finish chunk, pieces after it, a half
character at the end all reach the log; an error ends the answer, whatever comes after it.
"""

import json
from typing import Any

import msgspec

from polystream.core.errors import StreamError, UpstreamBadChunk, UpstreamError
from polystream.core.events import Event, Notice, Reasoning, Refusal, Text, Usage
from polystream.core.ports import Ending
from polystream.engines import failures
from polystream.engines.openai_tools import ToolCalls
from polystream.engines.openai_wire import (
    Call,
    Choice,
    Chunk,
    Delta,
    Function,
    decode,
    decode_odd,
    decode_plain,
    usage_of,
)
from polystream.engines.reasoning import ReasoningSplitter
from polystream.engines.surrogates import SurrogateJoiner, whole

#: Finish reasons by the log's list; any other is a plain `stop`.
_REASONS = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
#: Finish reasons by which vLLM, OpenRouter and DeepSeek say that the answer is not whole.
_BROKEN = ("abort", "error", "insufficient_system_resource")


class ChatDecoder:
    """One answer: choice 0 of it, since a log has one text.

    `finish`: the engine's finish reason; `done`: `[DONE]` has come; `error`: why nothing after it counts.
    """

    __slots__ = (
        *("_halves", "_model", "_odd", "_plain", "_splitter", "_tools", "_usage", "_verdicts"),
        *("done", "error", "finish"),
    )

    def __init__(self, split_reasoning: bool = False):
        self.finish: str | None = None
        self.done = False
        self.error: StreamError | None = None
        self._splitter = ReasoningSplitter() if split_reasoning else None
        self._plain = (
            False  # whether a plain chunk may be taken as it is: not the first, which names the model
        )
        self._halves = SurrogateJoiner()
        self._odd = False  # the present chunk may hold half a character, or wait for one
        self._tools = ToolCalls()
        self._model = ""
        self._usage: Usage | None = None
        self._verdicts: Any = None

    def feed(self, chunks: list[bytes]) -> list[Event]:
        """What the chunks say, up to `[DONE]` or the first one that is an error or cannot be read."""
        events: list[Event] = []
        try:
            for data in chunks:
                if self.done or self.error is not None:
                    break
                if self._plain:
                    try:
                        events.append(Text(decode_plain(data).choices[0].delta.content))
                        continue
                    except msgspec.MsgspecError:
                        pass  # it says more, or other things
                self._read(data, events)
                self._plain = self._splitter is None and not self._halves.held
        except RecursionError:
            self.error = UpstreamBadChunk("The engine sent JSON that is nested too deeply.")
        return events

    def close(self) -> list[Event]:
        """What was held back, when the answer has ended in whatever way."""
        events: list[Event] = []
        self._odd = False
        for channel in ("reasoning", "content", "refusal"):
            self._say(channel, self._halves.close(channel), None, events)
        if self._splitter is not None:
            events += self._splitter.close()
        self._tools.close(events)
        return events

    def ending(self) -> Ending:
        """How the answer ended, in the log's words. Without a finish reason it is a plain `stop`."""
        return Ending(_REASONS.get(self.finish or "", "stop"), self._usage, whole(self._model) or None)

    def _read(self, data: bytes, events: list[Event]) -> None:
        try:
            chunk: Chunk | None = decode(data)
            self._odd = bool(self._halves.held)
        except msgspec.MsgspecError:
            chunk = self._decode_odd(data)
        if chunk is None:
            return
        for choice in chunk.choices or ():
            if not choice.index:
                self._take(choice, events)
        if chunk.model:
            self._model = chunk.model
        if not chunk.choices or chunk.usage or chunk.error or chunk.prompt_filter_results:
            self._remark(chunk, data, events)

    def _decode_odd(self, data: bytes) -> Chunk | None:
        data = data.strip()
        if not data or data == b"[DONE]":  # empty data: a ping
            self.done = bool(data)
            return None
        self._odd = True
        try:
            return decode_odd(data)
        except ValueError:
            self.error = UpstreamBadChunk()
            return None

    def _take(self, choice: Choice, events: list[Event]) -> None:
        delta = choice.delta or choice.message
        if delta is not None:
            if text := delta.reasoning_content or delta.reasoning:
                self._say("reasoning", text, None, events)
            if content := delta.content:
                if isinstance(content, str):
                    self._say("content", content, choice.logprobs, events)
                else:
                    self._say_parts(content, events)
            if text := delta.refusal:
                self._say("refusal", text, None, events)
            if delta.tool_calls or delta.function_call:
                self._call(delta, events)
        if choice.content_filter_results:
            self._judge(
                choice.content_filter_results,
                [choice.content_filter_results],
                ("filtered", "detected"),
                events,
            )
        if choice.finish_reason in _BROKEN:
            self.error = UpstreamError(f"The engine broke the answer off ({choice.finish_reason}).")
        elif choice.finish_reason:
            self.finish = choice.finish_reason

    def _say(self, channel: str, text: str, logprobs: Any, events: list[Event]) -> None:
        if self._odd:
            text = self._halves.feed(channel, text)
        if not text:
            return
        if channel == "content":
            said: list[Event] = [Text(text)] if self._splitter is None else self._splitter.feed(text)
            if logprobs:
                self._add_logprobs(logprobs, said)
            events += said
        else:
            events.append(Reasoning(text) if channel == "reasoning" else Refusal(text))

    def _say_parts(self, parts: list[dict[str, Any]], events: list[Event]) -> None:
        """Mistral's content: `{"type": "text", "text"}` and `{"type": "thinking", "thinking": [texts]}`."""
        for part in parts:
            if isinstance(text := part.get("text"), str) and text:
                self._say("content", text, None, events)
            thinking = part.get("thinking")
            for thought in thinking if isinstance(thinking, list) else ():
                if isinstance(thought, dict) and isinstance(text := thought.get("text"), str) and text:
                    self._say("reasoning", text, None, events)

    def _add_logprobs(self, logprobs: Any, said: list[Event]) -> None:
        """One entry a token. They go with the first text; those of text that is held back or reasoning are
        lost.
        """
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        text = next((event for event in said if isinstance(event, Text)), None)
        if text is not None and content and isinstance(content, list):
            text.logprobs, text.tokens = self._mended(content), len(content)

    def _call(self, delta: Delta, events: list[Event]) -> None:
        # The old form knows a single call; -1 keeps it apart from the places of the new one.
        for call in delta.tool_calls or [Call(-1, None, delta.function_call)]:
            function = call.function or Function()
            arguments = function.arguments or ""
            if self._odd:
                arguments = self._halves.feed(f"call {call.index}", arguments)
            self._tools.feed(call.index, whole(call.id or ""), whole(function.name or ""), arguments, events)

    def _remark(self, chunk: Chunk, data: bytes, events: list[Event]) -> None:
        """What is no piece: usage (the last counts), verdicts on the prompt, errors in any shape."""
        self._usage = usage_of(chunk.usage) or self._usage
        for results in (chunk.prompt_filter_results, chunk.prompt_annotations):
            if isinstance(results, list) and results:
                verdicts = [
                    result.get("content_filter_results") for result in results if isinstance(result, dict)
                ]
                self._judge(results, verdicts, ("filtered", "detected", "severity"), events)
        said = chunk.error
        if not said and chunk.choices is None:
            said = failures.error_in(json.loads(data.decode("utf-8", "replace"), strict=False))
        if said:
            self.error = failures.from_object(said)

    def _judge(self, said: Any, verdicts: list[Any], signs: tuple[str, ...], events: list[Event]) -> None:
        """A notice when a filter found something; not for answers that are all safe, nor for a repetition.

        Azure's categories are `{"filtered", "severity"?, "detected"?}`. The prompt's are told from severity
        low on, a piece's when they were filtered or detected. A verdict changes no finish reason: text that
        stands in the log was delivered, also where Azure's asynchronous filter judges it after `stop`.
        """
        found = any(
            category.get(sign) not in (None, False, "safe")
            for categories in verdicts
            for category in (categories.values() if isinstance(categories, dict) else ())
            if isinstance(category, dict)
            for sign in signs
        )
        if found and said != self._verdicts:
            self._verdicts = said
            events.append(Notice("filter", {"verdicts": self._mended(said)}))

    def _mended(self, said: Any) -> Any:
        """JSON without halves of characters, which no encoder of ours takes."""
        return json.loads(whole(json.dumps(said, ensure_ascii=False))) if self._odd else said
