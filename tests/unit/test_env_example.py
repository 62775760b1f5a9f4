""".env.example lists exactly the settings, in their order, with their sentences and defaults."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from polystream.settings import Settings

ROOT = Path(__file__).parents[2]


def written(default: Any) -> str:
    """A default as an environment has it; secrets and empty values are empty."""
    if isinstance(default, SecretStr) or default in ("", None) or default == {}:
        return ""
    return str(default).lower() if isinstance(default, bool) else f"{default}"


def expected() -> list[str]:
    """For each setting a comment and an assignment."""
    lines = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        lines += [f"# {field.description}", f"{name.upper()}={written(default)}"]
    return lines


def settings_in(text: str) -> list[str]:
    """The lines that matter: a file may have blank lines, and a head that ends with the first of them."""
    head, blank, rest = text.partition("\n\n")
    assert blank, "a head and a blank line come first"
    assert all(line.startswith("#") for line in head.splitlines())
    return [line for line in rest.splitlines() if line]


@pytest.fixture
def example() -> str:
    """The file."""
    return (ROOT / ".env.example").read_text()


def test_the_example_lists_the_settings(example: str):
    assert settings_in(example) == expected()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("REST_PORT=5000\n", ""),
        ("REST_PORT=5000", "REST_PORT=5001"),
        ("REST_PORT=5000", "REST_PORTS=5000"),
        ("# Port of REST", "# The port of REST"),
        ("DRAIN_S=300\n", "DRAIN_S=300\n# Something else.\nELSE=1\n"),
    ],
)
def test_a_drift_is_seen(example: str, old: str, new: str):
    assert example.count(old) == 1
    assert settings_in(example.replace(old, new)) != expected()


def test_another_order_is_a_drift(example: str):
    lines = settings_in(example)
    assert [*lines[2:], *lines[:2]] != expected()


def test_the_example_is_an_environment_in_which_the_service_starts(
    example: str, monkeypatch: pytest.MonkeyPatch
):
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    plain = Settings()
    for line in settings_in(example)[1::2]:
        monkeypatch.setenv(*line.split("=", 1))
    assert Settings() == plain


def test_every_setting_says_in_a_sentence_what_it_does():
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description[0].isupper(), name
        assert field.description.endswith("."), name
