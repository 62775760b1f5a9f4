"""A request as the embedded model reads it: what is refused, what is ignored and said so, and the prompt."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polystream.core.errors import ContextLengthExceeded, InvalidRequest
from polystream.core.request import Message, Request
from polystream.engines import ctranslate2_prompt as prompt
from polystream.engines.ctranslate2_job import Sampling
from polystream.models.chat_template import ChatTemplate
from polystream.models.folder import ModelFolder

TEMPLATE = ChatTemplate(
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}{% if loud %}!{% endif %}",
    "<s>",
    "</s>",
)
DEFAULTS = SimpleNamespace(temperature=0.2, top_p=0.9, top_k=0, repetition_penalty=1.1, max_tokens=100)


def folder(template: ChatTemplate | None = TEMPLATE) -> ModelFolder:
    """As much of a model as is looked at: a token a character, but for `<s>`."""

    def encode(text: str, *, special: bool) -> list[str]:
        text.encode()
        return ["<s>", *text.removeprefix("<s>")]

    fields = {
        "path": Path(),
        "template": template,
        "defaults": DEFAULTS,
        "pieces": [b"abcd"] * 100,
        "encode": encode,
    }
    return cast(ModelFolder, SimpleNamespace(**fields))


def asked(*messages: Message, **fields: Any) -> Request:
    """A request; one word of a user's if nothing is said."""
    return Request(messages or (Message("user", "hi"),), **fields)


USER, ASSISTANT = Message("user", "hi"), Message("assistant", "so f")
PICTURE = {"type": "image_url", "image_url": {"url": "data:"}}


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (asked(tools=[{"type": "function"}]), "tools"),
        (asked(response_format={"type": "json_object"}), "response_format"),
        (asked(extra={"guided_json": {"a": 1}}), "guided_json"),
        (asked(extra={"grammar": "x"}), "grammar"),
        (asked(Message("user", [{"type": "text", "text": "a"}, PICTURE])), "messages[0].content[1]"),
        (asked(Message("user", [{"type": "text", "text": 1}])), "messages[0].content[0]"),
        (asked(extra={"continue_final_message": True}), "continue_final_message"),
        (asked(USER, ASSISTANT, extra={"continue_final_message": True, "add_generation_prompt": True}),
         "add_generation_prompt"),
        (asked(extra={"continue_final_message": "yes"}), "continue_final_message"),
        (asked(extra={"min_tokens": "2"}), "min_tokens"),
        (asked(extra={"min_tokens": -1}), "min_tokens"),
        (asked(extra={"min_tokens": True}), "min_tokens"),
        (asked(extra={"min_tokens": 2**40}), "min_tokens"),
        (asked(extra={"chat_template_kwargs": {"messages": []}}), "chat_template_kwargs"),
        (asked(extra={"chat_template_kwargs": []}), "chat_template_kwargs"),
    ],
)  # fmt: skip
def test_what_cannot_be_left_out_is_refused_by_its_name(request_: Request, param: str):
    with pytest.raises(InvalidRequest) as refused:
        prompt.check(request_)
    assert refused.value.param == param


@pytest.mark.parametrize(
    "request_",
    [
        asked(), asked(tools=[]), asked(response_format={"type": "text"}), asked(seed=1, logprobs=2),
        asked(USER, ASSISTANT, extra={"continue_final_message": True, "add_generation_prompt": False}),
        asked(Message("user", [{"type": "text", "text": "a"}]), Message("assistant")),
    ],
)  # fmt: skip
def test_what_can_be_done_is_let_in(request_: Request):
    prompt.check(request_)


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        (asked(temperature=1, top_p=0.5, top_k=3, stop=("a",), repetition_penalty=1.0, logprobs=1), []),
        (asked(seed=0), ["seed"]),
        (
            asked(seed=7, presence_penalty=0.5, frequency_penalty=-1),
            ["seed", "presence_penalty", "frequency_penalty"],
        ),
        (asked(presence_penalty=0, frequency_penalty=0), []),
        (asked(extra={"user": "u", "min_p": 0.1, "logit_bias": {"1": 2}}), ["min_p", "logit_bias"]),
        (asked(extra={"ignore_eos": False, "min_tokens": 2, "continue_final_message": False}), []),
    ],
)
def test_what_ctranslate2_has_no_means_for_is_named(request_: Request, names: list[str]):
    assert prompt.ignored(request_) == names


def test_absent_fields_are_the_model_s_defaults():
    assert prompt.sampling(asked(), folder()) == Sampling(0.2, 0, 0.9, 1.1, 0, False)


def test_given_fields_win_even_when_they_are_0():
    given = asked(temperature=0, top_p=1, top_k=-1, repetition_penalty=1, logprobs=0, extra={"min_tokens": 3})
    assert prompt.sampling(given, folder()) == Sampling(0, 0, 1, 1, 3, True)


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"temperature": 0.001}, Sampling(0, 0, 0.9, 1.1, 0, False)),
        ({"top_p": 0}, Sampling(0, 0, 1, 1.1, 0, False)),
        ({"top_k": 99}, Sampling(0.2, 99, 0.9, 1.1, 0, False)),
        ({"top_k": 2**31 - 1}, Sampling(0.2, 0, 0.9, 1.1, 0, False)),
        ({"repetition_penalty": 1e-300}, Sampling(0.2, 0, 0.9, 1e-6, 0, False)),
    ],
)
def test_values_at_the_edge_mean_what_they_come_to(fields: dict[str, Any], taken: Sampling):
    assert prompt.sampling(asked(**fields), folder()) == taken


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (asked(), "<s><user>hi<a>"),
        (asked(Message("developer", "d"), USER), "<s><system>d<user>hi<a>"),
        (
            asked(Message("user", [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}])),
            "<s><user>ab<a>",
        ),
        (asked(USER, ASSISTANT, extra={"continue_final_message": True}), "<s><user>hi<assistant>so f"),
        (asked(extra={"add_generation_prompt": False}), "<s><user>hi"),
        (asked(extra={"chat_template_kwargs": {"loud": True}}), "<s><user>hi<a>!"),
    ],
)
def test_the_template_makes_the_prompt(request_: Request, text: str):
    assert prompt.rendered(request_, folder()) == text


def test_b114_the_beginning_is_marked_once():
    tokens = prompt.tokens(asked(), folder(), 100)
    assert tokens.count("<s>") == 1


def test_a_model_without_a_template_goes_on_with_the_one_message():
    assert prompt.rendered(asked(Message("user", "Once")), folder(None)) == "Once"
    with pytest.raises(InvalidRequest, match="no chat template") as refused:
        prompt.rendered(asked(USER, USER), folder(None))
    assert refused.value.param == "messages"


def test_what_the_template_refuses_is_said():
    refusing = folder(ChatTemplate("{{ raise_exception('roles must alternate') }}", "", ""))
    with pytest.raises(InvalidRequest, match="roles must alternate") as refused:
        prompt.tokens(asked(), refusing, 100)
    assert refused.value.param == "messages"


@pytest.mark.parametrize("size", [93, 10_000_000])
def test_a_prompt_above_the_limit_is_refused(size: int):
    with pytest.raises(ContextLengthExceeded, match="the model takes 100 tokens") as refused:
        prompt.tokens(asked(Message("user", "a" * size)), folder(), 100)
    assert refused.value.param == "messages"


def test_a_prompt_at_the_limit_is_taken():
    text = prompt.rendered(asked(), folder())
    assert len(prompt.tokens(asked(), folder(), len(text) - 2)) == len(text) - 2


def test_half_a_character_is_refused():
    with pytest.raises(InvalidRequest, match="half a character"):
        prompt.tokens(asked(Message("user", "\ud83d")), folder(), 100)


def test_a_bare_prompt_meets_no_chat_template():
    request = Request((), prompt="Q: <s>hi\nA:")
    prompt.check(request)
    assert prompt.rendered(request, folder()) == "Q: <s>hi\nA:"
