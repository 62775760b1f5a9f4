"""Every knob, typed, one sentence each; nothing else reads the environment.

`.env.example` lists exactly these fields, in this order, with the same sentences; a test compares them.
"""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from polystream.core.events import ATTEMPT_SPAN

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Port = Annotated[int, Field(ge=0, le=65_535)]
Count = Annotated[int, Field(gt=0)]


#: RFC 9110 5.1 and 5.5, as far as every server takes it.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:[ \t]*([\x20-\x7e]*)")


class Settings(BaseSettings):
    """The environment, checked at start."""

    model_config = SettingsConfigDict(env_prefix="", extra="ignore", env_ignore_empty=True)

    host: str = Field("127.0.0.1", description="Address to listen on; 0.0.0.0 in a pod.")
    port: Port = Field(8080, description="Port of the front door that `polystream up` serves everything on.")
    rest_port: Port = Field(5000, description="Port of REST and SSE; 0 takes a free one.")
    websocket_port: Port = Field(5001, description="Port of WebSocket; 0 takes a free one.")
    grpc_port: Port = Field(50051, description="Port of gRPC; 0 takes a free one.")
    model_port: Port = Field(
        5100, description="Port of the embedded model's own service; 0 takes a free one."
    )

    engine_url: str = Field(
        "",
        description="Base URL of an OpenAI-compatible server (…/v1) or an Azure OpenAI resource, or "
        "ctranslate2: for MODEL in this process, or scripted: with options; empty means the OPENAI_ "
        "variables' endpoint, else MODEL as a process of its own under `polystream up`, scripted: elsewhere.",
    )
    engine_key: SecretStr = Field(SecretStr(""), description="Key for the engine; none is sent when empty.")
    engine_headers: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict,
        description="Further headers for the engine, as Name: value, several parted by ;.",
    )
    default_model: str = Field(
        "", description="Model of a request that names none; empty takes the first that the engine lists."
    )
    openai_api_version: str = Field(
        "", description="Version of Azure OpenAI's API; makes the engine an Azure one."
    )
    openai_api_base: str = Field("", description="Endpoint of Azure OpenAI, where ENGINE_URL is empty.")
    openai_api_key: SecretStr = Field(
        SecretStr(""), description="Key of Azure OpenAI, where ENGINE_URL and ENGINE_KEY are empty."
    )
    openai_chat_engine: str = Field(
        "", description="Deployment at Azure OpenAI, where DEFAULT_MODEL is empty."
    )
    split_reasoning: bool = Field(
        False, description="Take <think>…</think> out of the answer and pass it on as reasoning."
    )

    model: str = Field(
        "",
        description="The embedded model: a GGUF file of the llama or qwen2 architecture, or a folder that "
        "`polystream convert` made; empty means the small one that `make run` installs.",
    )
    models_dir: str = Field(
        "", description="Where converted models are kept; empty means polystream/models in the user's cache."
    )
    engine_threads: Annotated[int, Field(ge=0, le=256)] = Field(
        0, description="Threads that compute a batch of the embedded model; 0 takes what was measured best."
    )
    engine_workers: Annotated[int, Field(ge=0, le=64)] = Field(
        0, description="Batches that the embedded model computes at once; 0 takes what was measured best."
    )
    engine_batch: Annotated[int, Field(gt=0, le=256)] = Field(
        8, description="Most waiting requests that the embedded model decodes together."
    )
    engine_queue: Annotated[int, Field(ge=0, le=100_000)] = Field(
        64, description="Requests that wait for the embedded model; further ones are refused as overloaded."
    )
    engine_max_prompt: Annotated[int, Field(ge=0)] = Field(
        2048,
        description="Longest prompt of the embedded model, tokens; 0 means its whole context. Reading one "
        "takes its time before FIRST_TOKEN_TIMEOUT_S ends.",
    )
    instruct_template: str = Field(
        "",
        description="Prompt of POST /instruct with {instruction} in it, for a base model; empty means the "
        "model's own chat template.",
    )

    store_url: SecretStr = Field(
        SecretStr(""),
        description="The store of the logs, shared by replicas: redis://user:password@host:port/db, or "
        "rediss: for TLS; its maxmemory-policy must be noeviction. Empty means this process's memory.",
    )
    store_ca: str = Field(
        "", description="File of the CA that vouches for a rediss: store; empty means the system's."
    )
    store_outage_buffer: Count = Field(
        10_000,
        description="Most events of a generation that wait for a store that is away; further ones are asked "
        "of its producer again.",
    )
    connect_timeout_s: Seconds = Field(
        5, description="Longest wait for a connection to the engine or the store."
    )
    first_token_timeout_s: Seconds = Field(
        120, description="Longest wait for the engine's first token; above its slowest prefill."
    )
    stall_timeout_s: Seconds = Field(
        30, description="Longest silence of the engine in mid-answer; above its own keep-alive."
    )
    status_hold_s: Seconds = Field(
        10, description="How long the OpenAI doors wait for the engine's first word before they answer 200."
    )

    heartbeat_s: Seconds = Field(
        10,
        description="A sign of life after this long without other bytes; below every proxy's idle time-out.",
    )
    reader_stall_s: Seconds = Field(
        30, description="A reader that takes no byte for this long is closed and has left."
    )
    request_max_bytes: Count = Field(1_048_576, description="Largest request body or frame, bytes.")

    log_max_events: Annotated[int, Field(gt=1, lt=ATTEMPT_SPAN)] = Field(
        100_000, description="Most events a log holds; below 2^20, the numbers an attempt has."
    )
    log_max_bytes: Count = Field(8_388_608, description="Most bytes of text and the like that a log holds.")
    generation_max_s: Seconds = Field(
        3600, description="Longest run of a generation, which then ends as budget."
    )
    retention_s: Seconds = Field(3600, description="Life of a log after its last event.")
    orphan_grace_s: Seconds = Field(60, description="How long a grace generation runs without a reader.")
    drain_s: Seconds = Field(
        300,
        description="How long answers that cannot resume go on after SIGTERM; below the pod's grace period.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What is logged.")

    @field_validator("engine_headers", mode="before")
    @classmethod
    def _parse_headers(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        headers = {}
        for number, line in enumerate(filter(None, map(str.strip, value.split(";"))), 1):
            if not (match := _HEADER.fullmatch(line)):  # its words are not repeated: they may be a key
                raise ValueError(f"entry {number} is not of the form Name: value, in printable ASCII")
            headers[match[1]] = match[2]
        return headers

    @field_validator("engine_url", "openai_api_base")
    @classmethod
    def _check_url(cls, value: str, info: ValidationInfo) -> str:
        engine = info.field_name == "engine_url"
        if engine and (value.startswith("scripted:") or value == "ctranslate2:"):
            return value
        if value and not _names_a_server(value):
            form = "must be http://host… or https://host…, without blanks and query"
            raise ValueError(f"{form}, or ctranslate2:, or scripted:" if engine else form)
        return value.rstrip("/")

    @field_validator("instruct_template")
    @classmethod
    def _check_template(cls, value: str) -> str:
        if value and value.count("{instruction}") != 1:
            raise ValueError("must hold {instruction} once")
        return value

    @field_validator("store_url")
    @classmethod
    def _check_store(cls, value: SecretStr) -> SecretStr:
        if (url := value.get_secret_value()) and not _names_a_redis(url):  # not repeated: it holds a password
            raise ValueError("must be redis://host… or rediss://host…, with a number as path or none")
        return value

    @model_validator(mode="after")
    def _take_openai_variables(self) -> Self:
        """Azure's usual variables name the same things otherwise; ours win."""
        azure = not self.engine_url  # a key that is meant for another host must not travel to ENGINE_URL's
        self.engine_url = self.engine_url or self.openai_api_base
        self.default_model = self.default_model or self.openai_chat_engine
        if azure and not self.engine_key.get_secret_value():
            self.engine_key = self.openai_api_key
        return self


def _names_a_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port_is_one = parts.port != 0
    except ValueError:  # a port that is no number or too large, half an IPv6 address
        return False
    named = parts.scheme in ("http", "https") and bool(parts.hostname) and port_is_one
    return named and url.isprintable() and not set(" ?#") & set(url)


def _names_a_redis(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port_is_one = parts.port != 0
    except ValueError:
        return False
    named = parts.scheme in ("redis", "rediss") and bool(parts.hostname) and port_is_one
    plain = url.isascii() and url.isprintable() and not set(" ?#") & set(url)
    return named and plain and re.fullmatch(r"/?|/[0-9]{1,4}", parts.path) is not None


def load() -> Settings:
    """Read the environment. Raises `SystemExit` that names the variable and what is wrong with it."""
    try:
        return Settings()
    except ValidationError as error:
        names = ["_".join(map(str, item["loc"])).upper() or "settings" for item in error.errors()]
        told = [item["msg"].removeprefix("Value error, ") for item in error.errors()]
        lines = [f"{name}: {what}" for name, what in zip(names, told, strict=True)]
        raise SystemExit("\n".join(lines)) from None
