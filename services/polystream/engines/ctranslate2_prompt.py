"""A request as the embedded model reads it: which fields it can honour, the sampling, and the prompt's
tokens.

What it cannot honour is refused by its name where the answer would be wrong without it, and otherwise named
in a notice.
"""

from typing import Any

from polystream.core.errors import ContextLengthExceeded, InvalidRequest
from polystream.core.request import Message, Request
from polystream.engines.ctranslate2_job import Sampling
from polystream.models.folder import ModelFolder

#: Fields of `Request.extra` that are honoured, or say nothing about the answer's words.
_UNDERSTOOD = frozenset({
    "add_generation_prompt", "chat_template_kwargs", "continue_final_message", "max_completion_tokens",
    "metadata", "min_tokens", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "safety_identifier", "service_tier", "stream_options", "user",
})  # fmt: skip
#: Fields without which the answer would be another thing altogether than was asked for.
_NEEDED = ("tools", "functions", "response_format", "structured_outputs", "guided_json", "guided_regex",
           "guided_choice", "guided_grammar", "grammar", "audio")  # fmt: skip
#: What `extra` holds is not looked at before.
_TYPES = {
    "add_generation_prompt": bool, "chat_template_kwargs": dict, "continue_final_message": bool,
    "min_tokens": int,
}  # fmt: skip
#: A temperature below it is none.
_COLDEST = 0.01
#: Smaller penalties are 0 in the library's numbers, which it refuses.
_LEAST = 1e-6
#: What a chat template is given by us.
_OURS = ("messages", "tools", "add_generation_prompt", "bos_token", "eos_token")
#: Answers that ask for nothing more than text.
_PLAIN: tuple[Any, ...] = ([], {}, {"type": "text"})


def check(request: Request) -> None:
    """Raises `InvalidRequest` for what the model cannot do and that cannot be left out."""
    for name, kind in _TYPES.items():
        if not isinstance(request.extra.get(name, kind()), kind):
            raise InvalidRequest(f"{name}: must be of the type {kind.__name__}.", param=name)
    if not 0 <= request.extra.get("min_tokens", 0) < 2**31 or request.extra.get("min_tokens") is True:
        raise InvalidRequest("min_tokens: must be a whole number of 0 or more.", param="min_tokens")
    if ours := [name for name in _OURS if name in request.extra.get("chat_template_kwargs", {})]:
        raise InvalidRequest(
            f"chat_template_kwargs: {ours[0]} is not yours to set.", param="chat_template_kwargs"
        )
    for name in _NEEDED:
        value = getattr(request, name, None) or request.extra.get(name)
        if value is not None and value not in _PLAIN:
            raise InvalidRequest(f"{name}: the embedded model cannot do that.", param=name)
    if request.extra.get("continue_final_message") and request.extra.get("add_generation_prompt"):
        raise InvalidRequest(
            "continue_final_message and add_generation_prompt exclude each other.",
            param="add_generation_prompt",
        )
    if request.extra.get("continue_final_message") and request.messages[-1].role != "assistant":
        raise InvalidRequest("Only an assistant's message can be continued.", param="continue_final_message")
    for number, message in enumerate(request.messages):
        _text(message, f"messages[{number}].content")


def ignored(request: Request) -> list[str]:
    """Names of the fields that CTranslate2 has no means for, in the request's order."""
    names = [name for name in ("seed", "presence_penalty", "frequency_penalty") if getattr(request, name)]
    if request.seed == 0:
        names.insert(0, "seed")
    return names + [name for name, value in request.extra.items() if name not in _UNDERSTOOD and value]


def sampling(request: Request, folder: ModelFolder) -> Sampling:
    """The request's sampling, over the model's defaults."""
    defaults = folder.defaults
    temperature = _first(request.temperature, defaults.temperature)
    top_p = _first(request.top_p, defaults.top_p)
    top_k = _first(request.top_k, defaults.top_k)
    return Sampling(
        # So cold, or with the likeliest token alone to choose from, it is greedy; the library would divide by
        # 0.
        temperature=0 if temperature < _COLDEST or top_p == 0 else temperature,
        top_k=top_k if 0 < top_k < len(folder.pieces) else 0,  # -1 means all, as with vLLM
        top_p=top_p or 1,
        repetition_penalty=max(_LEAST, _first(request.repetition_penalty, defaults.repetition_penalty)),
        min_tokens=request.extra.get("min_tokens", 0),
        logprobs=request.logprobs is not None,
    )


def tokens(request: Request, folder: ModelFolder, limit: int) -> list[str]:
    """The prompt's tokens. Slow for long prompts: not for the event loop.

    Raises `ContextLengthExceeded` for more than `limit`, `InvalidRequest` for what the template refuses.
    """
    text = rendered(request, folder)
    if len(text.encode("utf-8", "replace")) > limit * max(map(len, folder.pieces)):
        raise _too_long(f"{len(text)} characters", limit)
    try:
        found = folder.encode(text, special=folder.template is not None and request.prompt is None)
    except UnicodeEncodeError:
        raise InvalidRequest(
            "The messages hold half a character (a lone surrogate).", param="messages"
        ) from None
    if len(found) > limit:
        raise _too_long(f"{len(found)} tokens", limit)
    return found


def rendered(request: Request, folder: ModelFolder) -> str:
    """The prompt as text, by the model's chat template; a model without one continues the one message.

    A request that has a prompt of its own is not touched.
    """
    if request.prompt is not None:
        return request.prompt
    messages = [_fields(message, number) for number, message in enumerate(request.messages)]
    if folder.template is None:
        if len(messages) > 1:
            raise InvalidRequest("This model has no chat template: it takes one message.", param="messages")
        return str(messages[0]["content"])
    extra = request.extra
    continued = extra.get("continue_final_message", False)
    asked = extra.get("add_generation_prompt")
    try:
        return folder.template.render(
            messages,
            add_generation_prompt=not continued if asked is None else asked,
            continue_final_message=continued,
            extra=extra.get("chat_template_kwargs", {}),
        )
    except ValueError as error:
        raise InvalidRequest(f"The model's chat template: {error}", param="messages") from None


def begins(request: Request) -> bool:
    """Whether the answer begins a message, and does not go on with one."""
    return not request.extra.get("continue_final_message")


def _first(asked: Any, default: Any) -> Any:
    return default if asked is None else asked


def _too_long(size: str, limit: int) -> ContextLengthExceeded:
    return ContextLengthExceeded(f"The prompt has {size}; the model takes {limit} tokens.", param="messages")


def _fields(message: Message, number: int) -> dict[str, Any]:
    """A message as chat templates know it, all text."""
    role = "system" if message.role == "developer" else message.role
    return {"role": role, "content": _text(message, f"messages[{number}].content")}


def _text(message: Message, where: str) -> str:
    """The text of a message. Raises `InvalidRequest` for pictures, sounds and files."""
    if not isinstance(message.content, list):
        return message.content or ""
    texts = []
    for at, part in enumerate(message.content):
        text = part.get("text")
        if part.get("type") not in ("text", "input_text") or not isinstance(text, str):
            place = f"{where}[{at}]"
            raise InvalidRequest(f"{place}: the embedded model reads text only.", param=place)
        texts.append(text)
    return "".join(texts)
