"""OpenAI chat completions read raw, chunk by chunk, told in the native form; this door has no `follow`."""

import json
from collections.abc import AsyncIterator
from typing import Any

from tests.clients import Addresses, Broken, Events, Headers, Json, Wire, http
from tests.clients.event import body

SSE = "text/event-stream"
#: Fields of the native request that chat has no word for.
_NATIVE_ONLY = ("prompt", "on_disconnect", "logprobs")


def start(
    server: Addresses,
    request: Json,
    *,
    idempotency_key: str | None = None,
    include_usage: bool = False,
    headers: Headers | None = None,
    wire: Wire | None = None,
) -> Events:
    """Start a streamed completion of a native request; `wire`: status, headers, raw bytes, chunks."""
    asked = to_chat(request) | {"stream": True}
    if include_usage:
        asked["stream_options"] = {"include_usage": True}
    fields = {"Content-Type": "application/json"} | (headers or {})
    if idempotency_key is not None:
        fields["Idempotency-Key"] = idempotency_key
    return _events(server, fields, asked, include_usage, {} if wire is None else wire)


async def complete(
    server: Addresses, request: Json, headers: Headers | None = None
) -> tuple[Json, dict[str, str]]:
    """A completion that is not streamed: the object and the answer's headers."""
    fields = {"Content-Type": "application/json"} | (headers or {})
    answer = await http.request("POST", f"{server.rest}/v1/chat/completions", fields, body(to_chat(request)))
    try:
        if answer.status != 200:
            raise await http.refuse(answer)
        return json.loads(await answer.read()), answer.headers
    finally:
        answer.close()


def to_chat(request: Json) -> Json:
    """The chat request that asks for the same as a native one."""
    asked = {key: value for key, value in request.items() if key not in _NATIVE_ONLY}
    if "prompt" in request:
        asked["messages"] = [{"role": "user", "content": request["prompt"]}]
    if "logprobs" in request:
        asked |= {"logprobs": True, "top_logprobs": request["logprobs"]}
    return asked


async def _events(
    server: Addresses, headers: Headers, asked: Json, include_usage: bool, wire: Wire
) -> Events:
    answer = await http.request("POST", f"{server.rest}/v1/chat/completions", headers, body(asked))
    wire.update(status=answer.status, headers=answer.headers, raw=answer.raw, chunks=[])
    reader = _Chunks(include_usage)
    try:
        if answer.status != 200:
            raise await http.refuse(answer)
        assert answer.headers["content-type"].startswith(SSE), answer.headers
        async for data in _data(answer):
            if data is not None and not reader.over:
                wire["chunks"].append(data)
            for event in reader.read(data):
                yield event
        if not reader.over:
            raise Broken("the body ended without [DONE] and without an error")
    except Broken:
        if not reader.failed:  # behind an error event the answer may be aborted
            raise
    finally:
        answer.close()


async def _data(answer: http.Answer) -> AsyncIterator[bytes | None]:
    """What each event carries; None for a keep-alive comment. A notice is a comment too, and passed over."""
    pending = False
    async for line in answer.lines():
        line = line.removesuffix(b"\r")
        if line.startswith(b": notice {"):
            json.loads(line.removeprefix(b": notice "))
        elif line.startswith(b":"):
            yield None
        elif line:
            assert line.startswith(b"data: "), f"more than data: {line!r}"
            assert not pending, f"two data lines in one event: {line!r}"
            pending = True
            yield line.removeprefix(b"data: ")
        else:
            pending = False
    assert not pending, "the last event is not ended by a blank line"


class _Chunks:
    """Reads the chunks of one answer and asserts what the format promises of each."""

    def __init__(self, include_usage: bool):
        self._include_usage = include_usage
        self._common: tuple[Any, ...] | None = None
        self._reason: str | None = None
        self._usage: Json | None = None
        self._named: set[int] = set()
        self.over = self.failed = False

    def read(self, data: bytes | None) -> list[Json]:
        """The native events of one chunk."""
        if data is None:
            return [{"type": "heartbeat"}]
        if data == b"[DONE]":
            return self._done()
        assert not self.over, f"after the end: {data!r}"
        chunk = json.loads(data)
        if "error" in chunk:
            self.over = self.failed = True
            assert {"message", "type", "code"} <= set(chunk["error"]), chunk
            return [{"type": "failed", "error": chunk["error"]}]
        return self._chunk(chunk)

    def _done(self) -> list[Json]:
        if self.failed:
            return []
        assert not self.over, "[DONE] twice"
        assert self._reason, "[DONE] without a finish reason"
        assert (self._usage is not None) == self._include_usage, f"usage: {self._usage}"
        self.over = True
        usage = {"usage": self._usage} if self._usage else {}
        return [{"type": "finished", "reason": self._reason} | usage]

    def _chunk(self, chunk: Json) -> list[Json]:
        assert chunk["object"] == "chat.completion.chunk", chunk
        common = chunk["id"], chunk["created"], chunk["model"]
        assert self._common in (None, common), f"id, created or model changed: {chunk}"
        assert all(common), f"id, created or model empty: {chunk}"
        assert ("usage" in chunk) == self._include_usage, f"usage asked: {self._include_usage}, got: {chunk}"
        if not chunk["choices"]:
            assert self._include_usage, f"no choices: {chunk}"
            assert self._reason, f"no choices, before the end: {chunk}"
            self._usage = chunk["usage"]
            return []
        assert chunk.get("usage") is None, f"usage beside choices: {chunk}"
        (choice,) = chunk["choices"]
        assert choice["index"] == 0, chunk
        delta, reason = choice["delta"], choice["finish_reason"]
        if self._common is None:
            self._common = common
            said = {name: value for name, value in delta.items() if value is not None}
            assert said == {"role": "assistant", "content": ""}, f"the first chunk: {chunk}"
            assert reason is None, chunk
            return [{"type": "started", "id": common[0], "created": common[1], "model": common[2]}]
        assert self._reason is None, f"a choice after the finish reason: {chunk}"
        self._reason = reason
        assert (delta == {}) == (reason is not None), f"finish reason and text share a chunk: {chunk}"
        return self._delta(delta, choice)

    def _delta(self, delta: Json, choice: Json) -> list[Json]:
        events: list[Json] = []
        for name, kind in (("reasoning_content", "reasoning"), ("content", "text"), ("refusal", "refusal")):
            if delta.get(name):
                events.append({"type": kind, "text": delta[name]})
        if choice.get("logprobs"):
            events[-1]["logprobs"] = choice["logprobs"]["content"]
        return events + [self._tool_call(call) for call in delta.get("tool_calls", [])]

    def _tool_call(self, call: Json) -> Json:
        index, function = call["index"], call["function"]
        event = {"type": "tool_call", "index": index}
        if index not in self._named:
            self._named.add(index)
            assert call["type"] == "function", call
            event |= {"call_id": call["id"], "name": function["name"]}
        else:
            assert not {"id", "type"} & set(call), f"id on a later piece: {call}"
            assert "name" not in function, f"name on a later piece: {call}"
        return event | {"arguments": function["arguments"]}
