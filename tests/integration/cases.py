"""Turns a line of tests/cases/streaming.jsonl into a staged upstream or a script, settings and a request."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.clients import Addresses, Events, Json, chat, grpc, grpcweb, rest, sse, websocket
from tests.clients.answer import Answer, collect
from tests.integration.upstream import MODEL, Call, Reply, Stage, Upstream, says

FILE = Path(__file__).parents[1] / "cases" / "streaming.jsonl"
DOORS: Json = {"ndjson": rest, "sse": sse, "websocket": websocket, "grpc": grpc, "chat": chat}
#: Those of a front door: gRPC-Web needs Envoy.
FRONT_DOORS: Json = DOORS | {"grpc-web": grpcweb}
#: A case's protocol → our door.
_DOOR_OF = {"rest": "ndjson", "sse": "sse", "ws": "websocket", "grpc": "grpc", "grpc-web": "grpc-web"}
#: A case's parameter that no request has → the setting of the server under test, and what one unit is worth.
_SETTINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "stall_timeout_ms": ("STALL_TIMEOUT_S", lambda ms: ms / 1000),
    "heartbeat_ms": ("HEARTBEAT_S", lambda ms: ms / 1000),
    "send_timeout_ms": ("READER_STALL_S", lambda ms: ms / 1000),
    "split_reasoning": ("SPLIT_REASONING", str),
}
_IN_REQUEST = ("max_tokens", "temperature", "stop")


@dataclass(frozen=True)
class Case:
    """One line of the file."""

    id: str
    upstream: Json
    wanted: Json
    expect: Json

    @property
    def doors(self) -> tuple[str, ...]:
        """The doors it runs over; chat too, where the engine speaks chat and the case names REST or SSE."""
        native = tuple(_DOOR_OF[name] for name in self.wanted["protocols"] if name in _DOOR_OF)
        over_chat = self.upstream["dialect"] != "fake-engine" and {"ndjson", "sse"} & set(native)
        return (*native, "chat") if over_chat else native

    @property
    def direct(self) -> tuple[str, ...]:
        """Those of its doors that need no proxy."""
        return tuple(door for door in self.doors if door in DOORS)

    @property
    def params(self) -> Json:
        """What the request or the server is set to."""
        return self.wanted["params"]

    @property
    def client(self) -> Json:
        """What is special about the client."""
        return self.wanted.get("client", {})

    @property
    def plain(self) -> bool:
        """Whether any client on the direct path will do. (There is no gunicorn in ours.)"""
        if self.in_process:
            return False
        special = self.client or "ws_ping_interval_ms" in self.params
        return not special and self.wanted.get("path", {}).get("through") in (None, "gunicorn")

    @property
    def in_process(self) -> bool:
        """Whether it is about an engine that computes a model itself (test_cases_model.py)."""
        return self.upstream["dialect"] == "ctranslate2" or "tokenizer" in self.upstream

    @property
    def scripted(self) -> bool:
        """Whether the scripted engine plays it; a setting for upstreams' text needs an upstream."""
        return self.upstream["dialect"] == "fake-engine" and "split_reasoning" not in self.params

    def settings(self, upstream: Upstream) -> Json:
        """The settings of the server under test."""
        named = {
            _SETTINGS[name][0]: _SETTINGS[name][1](self.params[name])
            for name in self.params
            if name in _SETTINGS
        }
        if self.scripted:
            return named | {"ENGINE_URL": "scripted:"}
        return named | {"ENGINE_URL": upstream.url, "DEFAULT_MODEL": MODEL}

    def stage(self, upstream: Upstream) -> Stage:
        """Have its answer ready at the mock engine."""
        return upstream.stage(self._choose, self.id)

    def request(self, stage: Stage | None = None, **more: Any) -> Json:
        """The native request, for the stage or with the case's script."""
        fields = {name: self.params[name] for name in _IN_REQUEST if name in self.params} | more
        if stage is not None:
            return stage.request(self.wanted["prompt"], **fields)
        return {"prompt": self.wanted["prompt"], "metadata": {"script": json.dumps(self.script())}, **fields}

    def script(self) -> Json:
        """The steps of a fake engine as a script of the scripted one."""
        script: Json = {"pieces": []}
        for step in self.upstream["steps"]:
            if "finish" in step:
                script["finish"] = step["finish"]
            elif "raise" in step:
                kind = "dead" if step.get("sticky") else "raise"
                message = step.get("message", step["raise"])
                script["fault"] = {"at": len(script["pieces"]), "kind": kind, "message": message}
            else:
                said = {"bytes": step["bytes_b64"]} if "bytes_b64" in step else {"text": step["text"]}
                piece = said | {"wait_ms": step.get("sleep_ms", 0) + step.get("block_ms", 0)}
                script["pieces"] += [piece] * step.get("repeat", 1)
        return script

    def _choose(self, call: Call) -> Reply:
        upstream = self.upstream
        if upstream["dialect"] == "fake-engine":
            texts = [step["text"] for step in upstream["steps"] if "text" in step]
            return Reply(says(*texts, finish_reason=upstream["steps"][-1]["finish"]))
        if (sequence := upstream.get("sequence")) and call.number >= sequence["refuse_first"]:
            return Reply(says(sequence["then"].removeprefix("chat:")))
        if upstream.get("mode") == "echo_params_as_text":
            said = [f"{name}={call.body[name]}" for name in upstream["fields"] if name in call.body]
            return Reply(says(" ".join(said)))
        if call.number and "on_second_connection" in upstream:
            return Reply(upstream["on_second_connection"])
        headers, hold_ms = upstream["headers"], upstream.get("hold_ms", 0)
        return Reply(upstream["writes"], upstream["end"], upstream["status"], headers, hold_ms=hold_ms)


def start(door: str, server: Addresses, request: Json, **options: Any) -> Events:
    """Start a request over a door."""
    return FRONT_DOORS[door].start(server, request, **options)


async def ask(
    door: str, server: Addresses, request: Json, *, leave_after: int | None = None, **options: Any
) -> Answer:
    """Start a request over a door and read it to its end, or leave after so many pieces of text."""
    answer = Answer(numbered=door != "chat")
    return await collect(start(door, server, request, **options), answer, stop_after=leave_after)


def native_id(answer: Answer) -> str:
    """The id by which the native doors know the generation."""
    assert answer.id
    return "gen_" + answer.id.removeprefix("gen_").removeprefix("chatcmpl-")


@cache
def load() -> dict[str, Case]:
    """All cases by id."""
    lines = [json.loads(line) for line in FILE.read_text("utf-8").split("\n") if line]
    return {line["id"]: Case(line["id"], line["upstream"], line["request"], line["expect"]) for line in lines}
