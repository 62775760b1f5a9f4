"""The doors of the articles, on their way in: which fields each request may have, and what they mean.

Their clients name no model and say at most how long and how wild the answer may be.
"""

from typing import Annotated, TypeVar

import msgspec

from polystream.core.errors import InvalidRequest
from polystream.core.request import Message, Request
from polystream.dialects.json import convert, decode
from polystream.dialects.native import NonEmpty, Positive
from polystream.dialects.proto import parse
from polystream.proto import stream_pb2 as pb

#: What `POST /start` asks where it has no body: the page of the article sends none.
START_PROMPT = "Tell me a short story about a river."

S = TypeVar("S", bound=msgspec.Struct)


class PromptFields(msgspec.Struct, forbid_unknown_fields=True):
    """A prompt, and perhaps a model: `GET /`, `POST /start`, and alone in a frame of `/ws`."""

    prompt: NonEmpty
    model: str | None = None

    def request(self) -> Request:
        """As the core knows it."""
        return Request((Message("user", self.prompt),), self.model or "")


class StreamingFields(PromptFields, forbid_unknown_fields=True):
    """The body of `POST /streaming/fastapi/` and `POST /streaming/starlette/`."""

    max_tokens: Positive | None = None
    seed: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    stream: bool | None = None

    def request(self) -> Request:
        """As the core knows it."""
        return Request(
            (Message("user", self.prompt),),
            self.model or "",
            max_tokens=self.max_tokens,
            seed=self.seed,
            temperature=self.temperature,
        )

    @property
    def streamed(self) -> bool:
        """Whether the text comes as it is made: unless `stream` is false."""
        return self.stream is not False


class InstructFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /instruct`."""

    instruction: NonEmpty
    model: str | None = None

    def request(self, template: str) -> Request:
        """As the core knows it. A template makes it the prompt of a base model, in which nobody chats."""
        if not template:
            return Request((Message("user", self.instruction),), self.model or "")
        filled = template.replace("{instruction}", self.instruction)
        return Request((), self.model or "", prompt=filled)


def body(raw: bytes, shape: type[S]) -> S:
    """The fields of a JSON body. Raises `InvalidRequest` that names the field."""
    return decode(raw, shape)


def fields(pairs: list[tuple[str, str]]) -> PromptFields:
    """The fields of a query or a form. Raises `InvalidRequest` that names the field."""
    named = dict(pairs)
    if len(named) < len(pairs):
        name = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise InvalidRequest(f"{name}: given twice.", param=name)
    return convert(named, PromptFields)


def prompt(text: str) -> PromptFields:
    """A frame of `/ws`. Raises `InvalidRequest`."""
    return convert({"prompt": text}, PromptFields)


def message(raw: bytes) -> PromptFields:
    """A serialized `UserRequest`. Raises `InvalidRequest`."""
    return prompt(parse(raw, pb.UserRequest).prompt)
