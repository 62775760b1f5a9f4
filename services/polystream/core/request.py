"""The request every dialect is parsed into and every engine is called with.

An absent field is None and is not sent to the engine, whose own default holds.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class OnDisconnect(StrEnum):
    """What happens to a generation when its last reader has left."""

    CANCEL = "cancel"
    GRACE = "grace"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Message:
    """One message, shaped as in OpenAI chat.

    `extra`: further fields of that shape, handed to the engine as they are.
    """

    role: str
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks for.

    `prompt`: the model's input as it is, in place of messages: no chat template is applied to it. Engines
    that only take messages send it as one message of the user. `extra`: OpenAI chat fields that only an
    OpenAI-compatible engine understands.
    """

    messages: tuple[Message, ...]
    model: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logprobs: int | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    response_format: dict[str, Any] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None

    def digest(self) -> str:
        """Hex SHA-256 of the parsed request: equal requests are equal however their JSON was written."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
