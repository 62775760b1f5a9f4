"""Settings: every default, every variable, and nonsense refused by its variable before anything starts."""

from typing import Any

import pytest
from pydantic import SecretStr

from polystream.settings import Settings, load

#: Variable → values as the environment has them, and what they become.
TAKEN: dict[str, list[tuple[str, Any]]] = {
    "HOST": [("0.0.0.0", "0.0.0.0")],
    "PORT": [("8080", 8080)],
    "REST_PORT": [("0", 0), ("65535", 65_535)],
    "MODEL_PORT": [("0", 0)],
    "WEBSOCKET_PORT": [("1", 1)],
    "GRPC_PORT": [(" 1 ", 1)],
    "ENGINE_URL": [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("https://user:key@host/v1/", "https://user:key@host/v1"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("scripted:", "scripted:"),
        ("ctranslate2:", "ctranslate2:"),
        ("scripted:?text=a b/&pace_ms=20", "scripted:?text=a b/&pace_ms=20"),
    ],
    "ENGINE_KEY": [("sk", SecretStr("sk"))],
    "ENGINE_HEADERS": [
        ("X-A: b", {"X-A": "b"}),
        (" X-A:b ; X-B : c: d ;; X-C:", {"X-A": "b", "X-B": "c: d", "X-C": ""}),
    ],
    "DEFAULT_MODEL": [("m", "m")],
    "OPENAI_API_VERSION": [("2026-01-01", "2026-01-01")],
    "OPENAI_API_BASE": [("https://x.openai.azure.com/", "https://x.openai.azure.com")],
    "OPENAI_API_KEY": [("sk", SecretStr("sk"))],
    "OPENAI_CHAT_ENGINE": [("d", "d")],
    "SPLIT_REASONING": [("true", True), ("1", True), ("no", False)],
    "MODEL": [("/a/b.gguf", "/a/b.gguf")],
    "MODELS_DIR": [("/a", "/a")],
    "ENGINE_THREADS": [("0", 0), ("4", 4)],
    "ENGINE_WORKERS": [("0", 0), ("4", 4)],
    "ENGINE_BATCH": [("1", 1)],
    "ENGINE_QUEUE": [("0", 0)],
    "ENGINE_MAX_PROMPT": [("0", 0)],
    "INSTRUCT_TEMPLATE": [("U: {instruction}\nS: ", "U: {instruction}\nS: ")],
    "STORE_URL": [
        (url, SecretStr(url))
        for url in (
            "redis://localhost",
            "redis://:secret@h:6380/3",
            "rediss://user:p%40ss@[::1]/",
            "redis://user@h/0",
        )
    ],
    "STORE_CA": [("/a/ca.pem", "/a/ca.pem")],
    "STORE_OUTAGE_BUFFER": [("1", 1)],
    "LOG_MAX_EVENTS": [("2", 2), (str(2**20 - 1), 2**20 - 1)],
    "LOG_LEVEL": [(level, level) for level in ("debug", "info", "warning", "error")],
}
REFUSED: dict[str, list[str]] = {
    "REST_PORT": ["-1", "65536", "http", "1.5"],
    "WEBSOCKET_PORT": ["65536"],
    "GRPC_PORT": ["65536"],
    "ENGINE_URL": [
        "localhost:8000", "ftp://host", "http://", "https:///v1", "http://a b", "http://host:0",
        "http://[::1", "ctranslate2:/a/b", "http://host:99999", "http://host:x", "http://host/v1?a=b", "http://host/v1#a",
        "http://host/\n",
    ],
    "ENGINE_HEADERS": ["X-A", ": b", "X A: b", "X-Ä: b", "X-A: ä", "X-A: b\r\nX-B: c", "X-A: b; sk-secret"],
    "ENGINE_THREADS": ["-1", "257", "x"],
    "ENGINE_WORKERS": ["-1", "65"],
    "ENGINE_BATCH": ["0", "257"],
    "ENGINE_QUEUE": ["-1"],
    "ENGINE_MAX_PROMPT": ["-1"],
    "MODEL_PORT": ["65536"],
    "PORT": ["65536"],
    "INSTRUCT_TEMPLATE": ["x", "{instruction}{instruction}"],
    "STORE_URL": [
        "memory:", "localhost:6379", "redis://", "redis:///0", "redis://h:0", "redis://h:x", "redis://h/a", "redis://h/0/1",
        "redis://h?db=1", "redis://h a", "unix:///redis.sock", "redis://ü",
    ],
    "STORE_OUTAGE_BUFFER": ["0", "-1", "x"],
    "OPENAI_API_BASE": ["scripted:", "host", "http://"],
    "SPLIT_REASONING": ["maybe"],
    "LOG_MAX_EVENTS": ["1", str(2**20), "x"],
    "LOG_LEVEL": ["loud"],
}  # fmt: skip
SECONDS = [name.upper() for name in Settings.model_fields if name.endswith("_s")]
BYTES = [name.upper() for name in Settings.model_fields if name.endswith("_bytes")]
TAKEN |= {name: [("0.5", 0.5), ("86400", 86_400)] for name in SECONDS} | {name: [("1", 1)] for name in BYTES}
REFUSED |= {name: ["0", "-1", "86401", "nan", "inf", "soon"] for name in SECONDS}
REFUSED |= {name: ["0", "-1", "1.5", "1k"] for name in BYTES}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No setting is set."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def refusal() -> str:
    """What is said at start."""
    with pytest.raises(SystemExit) as raised:
        load()
    return str(raised.value.code)


def test_an_empty_environment_gives_the_documented_defaults():
    knobs = load().model_dump()
    secrets = [knobs.pop(name) for name in ("engine_key", "openai_api_key", "store_url")]
    assert secrets == [SecretStr("")] * 3
    assert knobs == {
        "host": "127.0.0.1", "port": 8080, "rest_port": 5000, "websocket_port": 5001, "grpc_port": 50051,
        "model_port": 5100, "engine_url": "", "engine_headers": {}, "default_model": "",
        "openai_api_version": "",
        "openai_api_base": "", "openai_chat_engine": "", "split_reasoning": False,
        "model": "", "models_dir": "", "engine_threads": 0, "engine_workers": 0, "engine_batch": 8,
        "engine_queue": 64, "engine_max_prompt": 2048, "instruct_template": "", "store_ca": "",
        "store_outage_buffer": 10_000,
        "connect_timeout_s": 5, "first_token_timeout_s": 120, "stall_timeout_s": 30, "status_hold_s": 10,
        "heartbeat_s": 10, "reader_stall_s": 30, "request_max_bytes": 2**20, "log_max_events": 100_000,
        "log_max_bytes": 8 * 2**20, "generation_max_s": 3600, "retention_s": 3600, "orphan_grace_s": 60,
        "drain_s": 300, "log_level": "info",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "taken"), [(name, *pair) for name in TAKEN for pair in TAKEN[name]]
)
def test_a_variable_sets_its_field(name: str, value: str, taken: Any, environment: pytest.MonkeyPatch):
    environment.setenv(name, value)
    assert getattr(load(), name.lower()) == taken


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_nonsense_is_refused_by_the_variable(name: str, value: str, environment: pytest.MonkeyPatch):
    environment.setenv(name, value)
    said = refusal()
    assert said.startswith(f"{name}: ")
    assert "\n" not in said


def test_every_field_is_tried():
    assert set(TAKEN) == {name.upper() for name in Settings.model_fields}
    free = {
        "HOST",
        "DEFAULT_MODEL",
        "MODEL",
        "MODELS_DIR",
        "ENGINE_KEY",
        "OPENAI_API_KEY",
        "OPENAI_API_VERSION",
        "OPENAI_CHAT_ENGINE",
        "STORE_CA",
    }
    assert set(REFUSED) == set(TAKEN) - free


@pytest.mark.parametrize("name", TAKEN)
def test_an_empty_variable_is_as_good_as_none(name: str, environment: pytest.MonkeyPatch):
    plain = load()
    environment.setenv(name, "")
    assert load() == plain


def test_all_nonsense_is_named_at_once(environment: pytest.MonkeyPatch):
    environment.setenv("REST_PORT", "x")
    environment.setenv("DRAIN_S", "0")
    assert [line.partition(":")[0] for line in refusal().split("\n")] == ["REST_PORT", "DRAIN_S"]


@pytest.mark.parametrize("value", ["Authorization Bearer sk-secret", "X-A: b; sk-secret", "sk-secret\n: b"])
def test_a_header_that_is_refused_is_not_repeated_because_it_may_be_a_key(
    value: str, environment: pytest.MonkeyPatch
):
    environment.setenv("ENGINE_HEADERS", value)
    assert "secret" not in refusal()


def test_a_key_is_not_shown(environment: pytest.MonkeyPatch):
    environment.setenv("ENGINE_KEY", "sk-secret")
    environment.setenv("OPENAI_API_KEY", "sk-other")
    assert "sk-" not in repr(load())


def test_variables_of_others_are_no_business_of_ours(environment: pytest.MonkeyPatch):
    environment.setenv("PORTS", "x")
    environment.setenv("ENGINE", "x")
    load()


# ---- the four variables of the article's Secret ----

ARTICLE = {
    "OPENAI_API_VERSION": "2023-05-15",
    "OPENAI_API_BASE": "https://x.openai.azure.com/",
    "OPENAI_API_KEY": "sk-article",
    "OPENAI_CHAT_ENGINE": "deployment",
}


def test_the_articles_variables_name_an_endpoint(environment: pytest.MonkeyPatch):
    for name, value in ARTICLE.items():
        environment.setenv(name, value)
    knobs = load()
    assert (knobs.engine_url, knobs.default_model) == ("https://x.openai.azure.com", "deployment")
    assert (knobs.engine_key.get_secret_value(), knobs.openai_api_version) == ("sk-article", "2023-05-15")


@pytest.mark.parametrize(
    ("name", "value", "article"),
    [
        ("engine_url", "http://localhost/v1", "OPENAI_API_BASE"),
        ("engine_key", SecretStr("sk-ours"), "OPENAI_API_KEY"),
        ("default_model", "ours", "OPENAI_CHAT_ENGINE"),
    ],
)
def test_our_own_variables_win(name: str, value: Any, article: str, environment: pytest.MonkeyPatch):
    environment.setenv(article, ARTICLE[article])
    environment.setenv(name.upper(), value.get_secret_value() if isinstance(value, SecretStr) else value)
    assert getattr(load(), name) == value


def test_a_key_for_azure_does_not_travel_to_another_engine(environment: pytest.MonkeyPatch):
    environment.setenv("OPENAI_API_KEY", "sk-article")
    environment.setenv("ENGINE_URL", "http://localhost/v1")
    assert load().engine_key.get_secret_value() == ""


def test_the_password_of_the_store_is_shown_nowhere(environment: pytest.MonkeyPatch):
    environment.setenv("STORE_URL", "redis://:s3cret@host")
    assert "s3cret" not in repr(load()) + str(load())
    environment.setenv("STORE_URL", "redis://:s3cret@host/x")
    assert "s3cret" not in refusal()
