"""Recorded answers of real engines, and what a client should make of their bytes, read here once more.

The reading below shares nothing with the product; it is the independent witness.
"""

import base64
import codecs
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.upstream import Reply

FOLDER = Path(__file__).parents[1] / "transcripts"
#: Set by the connection; the mock sets them itself.
_HOP = {"transfer-encoding", "content-length", "connection", "keep-alive"}


@dataclass
class Expected:
    """What comes of a transcript: the text up to a failure, then a finish reason or an error's code.

    `usage`: tokens in and out; `tokens`: those of the logprobs.
    """

    text: str = ""
    calls: dict[int, list[str]] = field(default_factory=dict)
    reason: str | None = None
    usage: tuple[int, int] | None = None
    tokens: list[str] = field(default_factory=list)
    code: str | None = None


def names() -> list[str]:
    """engine/case of every transcript."""
    return sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.glob("*/*.json"))


def load(name: str) -> dict[str, Any]:
    """One transcript."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def reply(transcript: dict[str, Any]) -> Reply:
    """The same bytes again, an HTTP chunk for each that was recorded, without the recorded pauses."""
    writes = [{"b64": chunk["bytes_base64"]} for chunk in transcript["chunks"]]
    headers = {name: value for name, value in transcript["response_headers"] if name.lower() not in _HOP}
    if transcript["end"] == "content-length":
        size = len(body(transcript))
        return Reply(
            writes, "terminate", transcript["status"], headers | {"Content-Length": str(size)}, "length"
        )
    end = {"last-chunk": "terminate", "client_disconnect": "fin_no_terminator", "reset": "rst"}[
        transcript["end"]
    ]
    return Reply(writes, end, transcript["status"], headers, keep_alive=end == "terminate")


def body(transcript: dict[str, Any]) -> bytes:
    """The whole body."""
    return b"".join(base64.b64decode(chunk["bytes_base64"]) for chunk in transcript["chunks"])


def asked(transcript: dict[str, Any]) -> dict[str, Any]:
    """What a native request must ask for to be told what the transcript tells."""
    body = transcript["request"]["body"]
    return {"logprobs": body["top_logprobs"]} if isinstance(body, dict) and "top_logprobs" in body else {}


def read(transcript: dict[str, Any]) -> Expected:
    """What its bytes mean. The recorder's own leaving is, for a client of the bytes, a cut."""
    if transcript["status"] != 200:
        return Expected(code=_refusal(transcript["status"], body(transcript)))
    found = Expected()
    if not any("event-stream" in value for _, value in transcript["response_headers"]):
        whole = json.loads(body(transcript))
        _choices(whole, "message", found)
        return found
    for line in codecs.decode(body(transcript), "utf-8").split("\n"):
        if not line.startswith("data: {"):
            continue
        event = json.loads(line.removeprefix("data: "))
        if "error" in event:
            found.code = _refusal(int(event["error"]["code"]), line.encode())
            return found
        _choices(event, "delta", found)
    if transcript["end"] == "client_disconnect" and found.reason is None:
        found.code = "upstream_disconnected"
    return found


def _choices(event: dict[str, Any], key: str, found: Expected) -> None:
    if usage := event.get("usage"):
        found.usage = usage["prompt_tokens"], usage["completion_tokens"]
    for choice in event["choices"]:
        if choice["index"] != 0:
            continue
        said = choice[key]
        found.text += said.get("content") or ""
        for call in said.get("tool_calls") or []:
            entry = found.calls.setdefault(call["index"], [call.get("id"), call["function"].get("name"), ""])
            entry[2] += call["function"].get("arguments") or ""
        found.tokens += [entry["token"] for entry in (choice.get("logprobs") or {}).get("content", [])]
        found.reason = choice.get("finish_reason") or found.reason


def _refusal(status: int, raw: bytes) -> str:
    """The error table's "From upstream", as far as these transcripts go."""
    if status == 400:
        lowered = raw.decode().lower()
        return (
            "context_length_exceeded" if "context" in lowered and "tokens" in lowered else "invalid_request"
        )
    return {503: "overloaded"}.get(status, "upstream_error")
