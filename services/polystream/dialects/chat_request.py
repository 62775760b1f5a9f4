"""The OpenAI chat dialect, on its way in: which fields a request may have, and what they mean.

Follows openai-python's `types/chat`; where a stock client disagrees with a text, the client is right.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from polystream.core.errors import InvalidRequest
from polystream.core.request import Message, Request
from polystream.dialects.native import (
    MessageFields,
    NonEmpty,
    Object,
    Positive,
    Sampling,
    check_messages,
    sampling,
)

#: Fields that only an OpenAI-compatible engine understands, handed on as they are: OpenAI's own, then vLLM's,
#: llama.cpp's and TGI's.
PASSED_ON = (
    "user", "logit_bias", "parallel_tool_calls", "reasoning_effort", "service_tier", "store", "prediction",
    "verbosity", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "modalities",
    "web_search_options", "functions", "function_call", "audio", "moderation", "prompt_cache_options",
    "min_p", "min_tokens", "ignore_eos", "stop_token_ids", "include_stop_str_in_output",
    "skip_special_tokens", "spaces_between_special_tokens", "add_generation_prompt",
    "continue_final_message", "chat_template", "chat_template_kwargs", "structured_outputs", "guided_json",
    "guided_regex", "guided_choice", "guided_grammar", "include_reasoning", "bad_words", "length_penalty",
    "typical_p", "cache_prompt", "grammar", "thinking",
)  # fmt: skip
#: Fields of an assistant's message that clients send back as they got them.
_MESSAGE_EXTRA = ("refusal", "reasoning_content", "reasoning", "annotations", "audio", "function_call")


class StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    """OpenAI's `stream_options`.

    Padding against observers is not offered; a client that declines it loses nothing.
    """

    include_usage: bool | None = None
    include_obfuscation: bool | None = None
    continuous_usage_stats: bool | None = None


class ChatMessage(MessageFields, forbid_unknown_fields=True):
    """A message, with what stock clients send back of an answer.

    `parsed`: what openai-python's `parse` made of `content` itself; it is not handed on.
    """

    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    annotations: list[Any] | None = None
    audio: Object | None = None
    function_call: Object | None = None
    parsed: Any = None

    def message(self) -> Message:
        """As the core knows it."""
        values = {name: getattr(self, name) for name in _MESSAGE_EXTRA}
        extra = {name: value for name, value in values.items() if value is not None}
        return Message(self.role, self.content, self.name, self.tool_calls, self.tool_call_id, extra)


class Shared(Sampling, forbid_unknown_fields=True):
    """The fields of a chat request that we understand."""

    messages: list[ChatMessage] = msgspec.field(default_factory=list)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_completion_tokens: Positive | None = None
    n: int | None = None
    stop: NonEmpty | list[NonEmpty] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None


#: What we understand and what we hand on: any other field is refused by its name.
ChatFields = msgspec.defstruct(
    "ChatFields",
    [(name, Any, None) for name in PASSED_ON],
    bases=(Shared,),
    forbid_unknown_fields=True,
    module=__name__,
)


@dataclass(frozen=True, slots=True)
class Options:
    """How the answer is spelled."""

    stream: bool
    include_usage: bool


def request(fields: Any) -> Request:
    """A `ChatFields` as the core knows it. Raises `InvalidRequest`."""
    if fields.n not in (None, 1):
        raise InvalidRequest("n: only one choice is given.", param="n")
    if fields.stream_options is not None and not fields.stream:
        raise InvalidRequest("stream_options: only allowed when stream is true.", param="stream_options")
    stop = [fields.stop] if isinstance(fields.stop, str) else fields.stop or []
    extra = {name: value for name in PASSED_ON if (value := getattr(fields, name)) is not None}
    values = sampling(fields)
    if fields.max_completion_tokens is not None:  # OpenAI's reasoning models refuse the older name
        extra["max_completion_tokens"] = values["max_tokens"] = fields.max_completion_tokens
    if fields.store:
        extra["metadata"] = fields.metadata or {}  # of the completion that the engine is asked to store
    return Request(
        messages=tuple(item.message() for item in check_messages(fields.messages)),
        stop=tuple(stop),
        logprobs=(fields.top_logprobs or 0) if fields.logprobs else None,
        extra=extra,
        **values,
    )


def options(fields: Any) -> Options:
    """How a `ChatFields` wants its answer."""
    return Options(bool(fields.stream), bool(fields.stream_options and fields.stream_options.include_usage))
