"""The engine for OpenAI, Azure OpenAI and every server that speaks their chat completions.

The rule to know: a token passes from the socket to the log in one turn of the event loop, by direct calls;
the coroutine only waits for the end. Who serves what: `openai_target` (URL, credentials), `openai_request`
(body), `http` (connections), `openai_answer` (the way back).
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from polystream.core.errors import InvalidRequest, StreamError, UpstreamUnavailable
from polystream.core.ports import Emit, Ending, Model
from polystream.core.request import Request
from polystream.engines.http import Endpoint, HttpClient
from polystream.engines.http_connection import End, Head
from polystream.engines.openai_answer import ChatAnswer
from polystream.engines.openai_request import chat_body
from polystream.engines.openai_target import OpenAITarget

logger = logging.getLogger(__name__)

#: A list of models is asked for at most that often and waited for at most that long, seconds: /readyz is
#: built on it and is asked every few seconds, with a limit of its own above this one.
MODELS_AGE_S = 5.0
MODELS_TIMEOUT_S = 2.0
_MODELS_MAX_BYTES = 1024 * 1024
_ENDPOINTS_MAX = 256
#: Statuses by which a proxy or a server that is loading says that nobody can be served.
_ABSENT = (502, 503, 504)


class OpenAIEngine:
    """See `core.ports.Engine` for what it guarantees.

    `base_url` as the SDKs have it, `/v1` included. `key` empty: no credentials are sent. `headers` are sent
    besides. `default_model` for requests that name none; empty: such requests go without. Limits in seconds:
    `connect_timeout_s` for a connection with TLS, `first_token_timeout_s` from the request to the first
    content, `stall_timeout_s` of silence after it. `api_version` and `deployment`: see `OpenAITarget`.
    `split_reasoning`: take `<think>…</think>` out of the text. `context`: checks TLS, the system's default if
    None. Raises ValueError for a URL or headers that cannot be sent.
    """

    kind = "openai"

    def __init__(
        self,
        base_url: str,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        default_model: str = "",
        connect_timeout_s: float = 5.0,
        first_token_timeout_s: float = 120.0,
        stall_timeout_s: float = 30.0,
        api_version: str = "",
        deployment: str = "",
        split_reasoning: bool = False,
        context: ssl.SSLContext | None = None,
    ):
        self._target = OpenAITarget(base_url, key, headers or {}, api_version, deployment)
        self._client = HttpClient(connect_timeout_s, context)
        self._default_model = default_model or deployment
        self._deployment = deployment
        self._first_s = first_token_timeout_s
        self._stall_s = stall_timeout_s
        self._split_reasoning = split_reasoning
        self._endpoints: dict[tuple[str, str], Endpoint] = {}
        self._models = [Model(self._default_model, "unavailable")]
        self._models_at: float | None = None
        self._asking = asyncio.Lock()
        with suppress(UpstreamUnavailable):  # a proxy we cannot use is told to each request
            self._client.endpoint("GET", base_url, headers or {})

    def check(self, request: Request) -> None:
        """Nothing: what the engine cannot do, it says itself."""

    async def generate(self, request: Request, emit: Emit) -> Ending:
        """Stream one chat completion. Raises the `StreamError` that `failures` makes of a refusal."""
        try:
            url, headers = await self._target.chat(request.model or self._default_model)
        except ValueError as error:
            raise InvalidRequest("No model can have that name.", param="model") from error
        endpoint = self._endpoint("POST", url, headers)
        body = chat_body(request, self._default_model)
        answer = ChatAnswer(emit, self._first_s, self._stall_s, self._split_reasoning)
        end: End | StreamError
        try:
            end = await self._client.fetch(endpoint, body, answer)
        except StreamError as error:
            end = error
        finally:
            answer.close()
        return answer.conclude(end)

    async def models(self) -> list[Model]:
        """What the engine lists. One that answers but has no list serves the default model.

        The default model, or what was listed last, is `unavailable` when it cannot be reached.
        """
        now = asyncio.get_running_loop().time
        async with self._asking:
            if self._models_at is None or now() - self._models_at >= MODELS_AGE_S:
                self._models = await self._ask_models()
                self._models_at = now()
            return list(self._models)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
        await self._target.close()

    async def _ask_models(self) -> list[Model]:
        page = _Page()
        try:
            async with asyncio.timeout(MODELS_TIMEOUT_S):
                url, headers = await self._target.models()
                await self._client.fetch(self._endpoint("GET", url, headers), None, page)
        except (StreamError, TimeoutError):
            page.status = 0
        except Exception:  # a health check that breaks says nothing of health
            logger.exception("listing the models broke")
            page.status = 0
        if page.status == 0 or page.status in _ABSENT:
            return [Model(model.id, "unavailable") for model in self._models]
        if page.status == 404 and not self._deployment:
            logger.warning("the engine has no list of models (404): does its URL lack /v1?")
        listed = page.status == 200 and not self._deployment  # Azure lists models, a deployment serves one
        ids = _ids(bytes(page.body)) if listed else []
        return [Model(id, "ready") for id in ids or [self._default_model]]

    def _endpoint(self, method: str, url: str, headers: Mapping[str, str]) -> Endpoint:
        endpoint = self._endpoints.get((method, url))
        if endpoint is None:
            if len(self._endpoints) >= _ENDPOINTS_MAX:
                self._endpoints.clear()
            endpoint = self._endpoints[method, url] = self._client.endpoint(method, url, headers)
        return endpoint


class _Page:
    """Receives a whole answer of moderate size."""

    def __init__(self) -> None:
        self.status = 0
        self.body = bytearray()
        self._stop: Callable[[bool], None] | None = None

    def began(self, stop: Callable[[bool], None]) -> None:
        self._stop = stop

    def head(self, head: Head) -> None:
        self.status = head.status

    def data(self, data: bytes) -> None:
        self.body += data
        if len(self.body) > _MODELS_MAX_BYTES and self._stop is not None:
            self._stop(False)


def _ids(body: bytes) -> list[str]:
    """The ids of OpenAI's `{"data": [{"id"}]}`, or of a bare list, as some servers send it."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return []
    listed = said.get("data") if isinstance(said, dict) else said
    found = (
        [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )
    return [id for id in found if isinstance(id, str) and id]
