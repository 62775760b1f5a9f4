"""Chat templates: Jinja programs that come with a model and spell messages as its prompt.

They are rendered as Hugging Face's `apply_chat_template` does (transformers,
`utils/chat_template_utils.py`), in a sandbox. A template is a stranger's program: what it may call, say and
take is bounded, as far as Jinja can be.
"""

import copy
import json
import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from polystream.models.errors import TemplateError

#: A prompt is far shorter than this many characters; a loop that does not end is not.
_MAX_OUTPUT = 16 * 1024 * 1024
_MAX_SECONDS = 10.0
#: The variable that says when its time is over; no name that a template could spell.
_ENDS = "ends at"
#: Longest sequence that a template may make by `*`, and largest number.
_MAX_PRODUCT = 1_000_000


class ChatTemplate:
    """One template. `bos_token` and `eos_token` are what it may spell by those names."""

    def __init__(self, source: str, bos_token: str | None, eos_token: str | None):
        """Raises `TemplateError` for a source that Jinja cannot read."""
        self.source = source
        self._special = {"bos_token": bos_token or "", "eos_token": eos_token or ""}
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise TemplateError(f"the chat template cannot be read: {error}") from None

    def render(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        """The prompt. `extra` are further variables, which win over all others.

        With `continue_final_message` it ends right after the last message's content, whatever the template
        puts behind it, and `add_generation_prompt` does not count. Raises `TemplateError`.
        """
        if continue_final_message:
            marker = f"{secrets.token_hex(16)} "
            prompt = self._run(_marked(messages, marker), tools, False, extra or {})
            return _cut(prompt, marker)
        return self._run(messages, tools, add_generation_prompt, extra or {})

    def _run(
        self,
        messages: list[dict[str, Any]],
        tools: Any,
        add_generation_prompt: bool,
        extra: Mapping[str, Any],
    ) -> str:
        ends = time.monotonic() + _MAX_SECONDS
        variables = self._special | {
            "messages": messages,
            "tools": tools,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            **extra,
            _ENDS: ends,
        }
        parts, size = [], 0
        try:
            for part in self._template.generate(variables):
                size += len(part)
                if size > _MAX_OUTPUT:
                    raise TemplateError("the chat template says too much")
                _check_time(ends)
                parts.append(part)
        except TemplateError:
            raise
        except Exception as error:  # a program of someone else: it may raise anything
            raise TemplateError(f"the chat template fails: {error}") from None
        return "".join(parts)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Also keeps templates from filling the memory in one step, and looks at the clock now and then."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        sizes = [len(side) if hasattr(side, "__len__") else abs(side) for side in (left, right)]
        if max(sizes) > 64 if operator == "**" else sizes[0] * sizes[1] > _MAX_PRODUCT:
            raise jinja2.TemplateRuntimeError(f"{operator} is too large")
        return super().call_binop(context, operator, left, right)

    def call(self, context: jinja2.runtime.Context, called: Any, *values: Any, **named: Any) -> Any:
        _check_time(context.parent[_ENDS])
        return super().call(context, called, *values, **named)


class _Generation(Extension):
    """`{% generation %}` marks what a model said, for training; here it is as if it were not there."""

    tags = {"generation"}  # noqa: RUF012 - Jinja declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _check_time(ends: float) -> None:
    if time.monotonic() > ends:
        raise TemplateError("the chat template takes too long")


def _environment() -> ImmutableSandboxedEnvironment:
    environment = _Sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _now
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own escapes <, >, & and ', which would come as such before the model."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise(message: str) -> None:
    raise TemplateError(f"the chat template refuses the messages: {message}")


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _marked(messages: list[dict[str, Any]], marker: str) -> list[dict[str, Any]]:
    """The messages, the last one's text followed by the marker."""
    if not messages:
        raise TemplateError("there is no message to continue")
    last = copy.deepcopy(messages[-1])
    content = last.get("content")
    if isinstance(content, str):
        last["content"] = content + marker
        return [*messages[:-1], last]
    for part in reversed(content if isinstance(content, list) else []):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            part["text"] += marker
            return [*messages[:-1], last]
    raise TemplateError("the last message has no text to continue")


def _cut(prompt: str, marker: str) -> str:
    """Up to the marker. A template that trims contents has eaten the marker's blank: then ours goes too."""
    at = prompt.rfind(marker.rstrip())
    if at < 0:
        raise TemplateError("the chat template leaves the last message out, so it cannot be continued")
    return prompt[:at] if prompt.startswith(marker, at) else prompt[:at].rstrip()
