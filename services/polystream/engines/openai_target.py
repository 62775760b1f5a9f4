"""Where and how an OpenAI or Azure OpenAI endpoint is called, by the word of the `openai` package.

The package's client is asked off the hot path: it sends each kind of request once, into a transport of ours
that only looks at it (`http_client` and `httpx2.MockTransport`, all public). URL and credentials are taken
from there; from then on our own client sends the likes of it.
"""

import logging
import re
from collections.abc import Mapping

import httpx2
import openai

from polystream import __version__

#: Azure's URLs carry the deployment, so there is one for each model that clients name. More are made anew.
_CACHE_MAX = 256
#: Stands for a key where there is none; the header that carries it is not sent.
_NO_KEY = "none"
#: `accept` as the SDKs have it, also for streams; compressed bodies are not read.
_HEADERS = {
    "user-agent": f"polystream/{__version__}",
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
}
#: What Azure's newer surface takes as a version; it has no dated ones.
_V1_VERSIONS = ("preview", "latest", "v1")
_AZURE = re.compile(r"(.*?)(?:/openai(?:/deployments/([^/]+))?)?")


logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would tell of requests that are never sent


class OpenAITarget:
    """One endpoint. `headers` are sent besides, and win over ours. Nothing is read from the environment.

    `api_version` makes it Azure's: `{base}/openai/deployments/{deployment, else model}` with an `api-key`
    header. Not so for a base URL that ends with `/v1`: that is Azure's newer surface, called as OpenAI's.
    """

    def __init__(
        self, base_url: str, key: str, headers: Mapping[str, str], api_version: str = "", deployment: str = ""
    ):
        if "?" in base_url or "#" in base_url:
            raise ValueError("the engine's base URL may hold no query and no fragment")
        base_url = base_url.rstrip("/")
        azure = bool(api_version) and not base_url.endswith("/v1")
        self._per_model = azure and not deployment and "/deployments/" not in base_url
        self._headers = _HEADERS | {name.lower(): value for name, value in headers.items()}
        # No more of what the SDK sends: OPENAI_CUSTOM_HEADERS comes along with it.
        self._credentials = ("api-key" if azure else "authorization") if key else ""
        self._cache: dict[str, tuple[str, dict[str, str]]] = {}
        self._seen: list[httpx2.Request] = []
        client = _azure_client if azure else _openai_client
        self._sdk = client(
            base_url, key or _NO_KEY, api_version, deployment, httpx2.MockTransport(self._look)
        )

    async def chat(self, model: str) -> tuple[str, dict[str, str]]:
        """URL and headers of a chat completion with `model`. Raises ValueError for a name no URL can hold."""
        kind = f"chat {model}" if self._per_model else "chat"
        if kind not in self._cache:
            name = model if self._per_model and model else "any"
            await self._sdk.chat.completions.with_raw_response.create(model=name, messages=[])
            self._remember(kind)
        return self._cache[kind]

    async def models(self) -> tuple[str, dict[str, str]]:
        """URL and headers of the list of models."""
        if "models" not in self._cache:
            await self._sdk.models.with_raw_response.list()
            self._remember("models")
        return self._cache["models"]

    async def close(self) -> None:
        """Close the SDK's client, which never had a connection."""
        await self._sdk.close()

    def _look(self, request: httpx2.Request) -> httpx2.Response:
        self._seen.append(request)
        return httpx2.Response(200, json={})

    def _remember(self, kind: str) -> None:
        request = self._seen.pop()
        self._seen.clear()
        if len(self._cache) >= _CACHE_MAX:
            self._cache.clear()
        told = {name: value for name, value in request.headers.items() if name == self._credentials}
        self._cache[kind] = (str(request.url), told | self._headers)


def _openai_client(
    base_url: str, key: str, api_version: str, deployment: str, transport: httpx2.MockTransport
) -> openai.AsyncOpenAI:
    """Every setting is given that the SDK would else take from OPENAI_* variables.

    The key is given twice: against a header from OPENAI_CUSTOM_HEADERS only a header wins (3.57).
    """
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        default_headers={"Authorization": f"Bearer {key}"},
        default_query={"api-version": api_version} if api_version in _V1_VERSIONS else None,
        http_client=httpx2.AsyncClient(transport=transport, trust_env=False),
        max_retries=0,
    )


def _azure_client(
    base_url: str, key: str, api_version: str, deployment: str, transport: httpx2.MockTransport
) -> openai.AsyncOpenAI:
    """As `_openai_client`, for URLs with deployments; the base URL may already name `/openai` or one."""
    found = _AZURE.fullmatch(base_url)
    endpoint, named = found.groups() if found else (base_url, None)
    return openai.AsyncAzureOpenAI(
        api_key=key,
        api_version=api_version,
        azure_endpoint=endpoint,
        azure_deployment=deployment or named,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        http_client=httpx2.AsyncClient(transport=transport, trust_env=False),
        max_retries=0,
    )
