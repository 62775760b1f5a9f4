"""Chat templates are rendered as transformers does, and a stranger's template harms nobody."""

import re
from datetime import datetime
from typing import Any

import pytest

from polystream.models import chat_template
from polystream.models.chat_template import ChatTemplate
from polystream.models.errors import TemplateError

CHATML = """{% for message in messages %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""
TRIMMING = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}"
HELLO = [{"role": "user", "content": "Hello <b>'you'</b>"}]


def render(source: str, messages: list[dict[str, Any]] | None = None, **options: Any) -> str:
    return ChatTemplate(source, "<s>", "</s>").render(messages if messages is not None else HELLO, **options)


def test_a_template_spells_the_messages() -> None:
    assert render(CHATML) == "<|im_start|>user\nHello <b>'you'</b><|im_end|>\n<|im_start|>assistant\n"
    assert render(CHATML, add_generation_prompt=False) == "<|im_start|>user\nHello <b>'you'</b><|im_end|>\n"


def test_a_template_knows_the_special_tokens_and_further_variables() -> None:
    source = "{{ bos_token }}{{ eos_token }}{{ enable_thinking }}{{ tools | length }}"

    assert render(source, extra={"enable_thinking": False}, tools=[{}, {}]) == "<s></s>False2"
    assert ChatTemplate("[{{ bos_token }}]{{ tools is none }}", None, None).render(HELLO) == "[]True"


def test_blocks_are_trimmed() -> None:
    assert render("{% if true %}\n  a\n    {% endif %}\nb") == "  a\nb"


def test_json_is_not_escaped() -> None:
    assert render("{{ messages | tojson }}", [{"a": "<é'&>"}]) == """[{"a": "<é'&>"}]"""
    assert render("{{ messages[0] | tojson(indent=2) }}", [{"a": 1}]) == '{\n  "a": 1\n}'


def test_loops_may_break_and_training_marks_do_nothing() -> None:
    source = (
        "{% for n in range(9) %}{% if n == 2 %}{% break %}{% endif %}"
        "{% generation %}{{ n }}{% endgeneration %}{% endfor %}"
    )

    assert render(source) == "01"


def test_a_template_knows_the_date() -> None:
    assert render("{{ strftime_now('%Y') }}") == str(datetime.now().year)


@pytest.mark.parametrize("content", ["The answer", "a", "ends with blanks  ", "\n", "assistant", ""])
def test_the_last_message_is_continued_right_after_its_text(content: str) -> None:
    messages = [*HELLO, {"role": "assistant", "content": content}]

    told = render(CHATML, messages, continue_final_message=True)

    assert told == f"<|im_start|>user\nHello <b>'you'</b><|im_end|>\n<|im_start|>assistant\n{content}"
    assert messages[-1] == {"role": "assistant", "content": content}


def test_a_template_that_trims_is_continued_after_the_trimmed_text() -> None:
    messages = [*HELLO, {"role": "assistant", "content": "  Well "}]

    assert (
        render(TRIMMING, messages, continue_final_message=True)
        == "[user]Hello <b>'you'</b></s>[assistant]Well"
    )


def test_of_a_message_in_parts_the_last_text_is_continued() -> None:
    source = "{% for m in messages %}{% for part in m.content %}({{ part.text }}){% endfor %}{% endfor %}"
    content = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

    assert (
        render(source, [{"role": "assistant", "content": content}], continue_final_message=True)
        == "(one)(two"
    )


@pytest.mark.parametrize(
    ("source", "messages", "words"),
    [
        (CHATML, [], "there is no message to continue"),
        (CHATML, [{"role": "assistant", "content": None}], "the last message has no text to continue"),
        ("{{ messages[0].content }}", [*HELLO, *HELLO],
         "the chat template leaves the last message out, so it cannot be continued"),
    ],
)  # fmt: skip
def test_what_cannot_be_continued_is_told(source: str, messages: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(TemplateError, match=f"^{re.escape(words)}$"):
        render(source, messages, continue_final_message=True)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ raise_exception('Roles must alternate') }}",
         "the chat template refuses the messages: Roles must alternate"),
        ("{{ messages[0]['tool'] + 'x' }}", "the chat template fails: .*has no attribute 'tool'"),
        ("{{ messages[9].content }}", "the chat template fails: .*"),
        ("{{ ''.__class__.__mro__ }}", "the chat template fails: .*unsafe"),
        ("{{ messages.append(1) }}", "the chat template fails: .*not safely callable|.*unsafe"),
        ("{{ cycler.__init__.__globals__.os.system('true') }}", "the chat template fails: .*unsafe"),
        ("{% for n in range(200000) %}{% endfor %}", "the chat template fails: Range too big.*"),
        ("{{ 'a' * 10000000 }}", r"the chat template fails: \* is too large"),
        ("{{ 9 ** 9 ** 9 }}", r"the chat template fails: \*\* is too large"),
        ("{% for a in range(50000) %}{{ messages }}{{ 'a' * 1000 }}{% endfor %}",
         "the chat template says too much"),
        ("{% include '/etc/passwd' %}", "the chat template fails: .*"),
    ],
)  # fmt: skip
def test_a_template_that_fails_or_misbehaves_is_stopped(source: str, words: str) -> None:
    with pytest.raises(TemplateError, match=f"^(?:{words})"):
        render(source)


def test_a_template_has_only_so_much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template, "_MAX_SECONDS", 0.05)

    with pytest.raises(TemplateError, match=r"^the chat template takes too long$"):
        render("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")


def test_a_source_that_is_no_template_is_told_at_once() -> None:
    with pytest.raises(TemplateError, match=r"^the chat template cannot be read: "):
        ChatTemplate("{% for %}", None, None)


def test_errors_are_value_errors() -> None:
    assert issubclass(TemplateError, ValueError)
