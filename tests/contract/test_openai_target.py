"""What OpenAI-compatible servers and Azure are sent, and how their models are known."""

import asyncio
import json
from typing import Any

import pytest

from polystream.core.ports import Model
from polystream.core.request import Message, Request
from polystream.engines import openai
from polystream.engines.openai import OpenAIEngine
from tests.asking import ASK, DONE, ask, engine_for, said
from tests.engine_server import CHUNKED, LAST, Wire, answering, counted, engine_server, framed, on_every_loop


@pytest.fixture
def _hostile_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the SDK would take from the environment."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_ADMIN_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "AZURE_OPENAI_API_KEY",
    ):
        monkeypatch.setenv(name, "stray")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "stray")
    for name in ("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.setenv(name, "http://stray.invalid")
    monkeypatch.setenv("OPENAI_API_VERSION", "stray")
    lines = ("Authorization: stray", "api-key: stray", "User-Agent: stray", "Accept: stray", "X-Stray: stray")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "\n".join(lines))


async def sent(base: str, request: Request = ASK, **settings: Any) -> tuple[str, dict[str, str], Any]:
    """Path, headers and body of what an engine for this base URL sends; `{}` stands for the server."""
    async with engine_server(answering(CHUNKED + framed(said("a", finish="stop") + DONE) + LAST)) as server:
        engine = OpenAIEngine(base.format(f"http://127.0.0.1:{server.port}"), **settings)
        assert (await ask(engine, request)).end == "stop"
        await engine.close()
        [asked] = server.requests
        assert "stray" not in str(asked.headers)
        assert int(asked.headers.pop("content-length")) == len(asked.body)
        return asked.target, asked.headers, json.loads(asked.body)


@pytest.mark.usefixtures("_hostile_environment")
@on_every_loop
async def test_a_request_is_what_openai_expects_and_no_more() -> None:
    request = Request((Message("user", "hi"),), model="m", temperature=0.5, metadata={"k": "v"})
    target, headers, body = await sent("{}/v1/", request, key="k", headers={"X-Own": "1"})
    assert target == "/v1/chat/completions"
    assert headers.pop("host").startswith("127.0.0.1:")
    assert headers.pop("user-agent").startswith("polystream/")
    assert headers == {
        "authorization": "Bearer k",
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "x-own": "1",
    }
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.usefixtures("_hostile_environment")
@on_every_loop
async def test_without_a_key_there_are_no_credentials_but_those_of_the_headers() -> None:
    assert (await sent("{}/prefix"))[0] == "/prefix/chat/completions"
    assert "authorization" not in (await sent("{}/v1"))[1]
    assert (await sent("{}/v1", headers={"Authorization": "Basic x"}))[1]["authorization"] == "Basic x"
    assert (await sent("{}/v1", key="k", headers={"AUTHORIZATION": "Basic x"}))[1][
        "authorization"
    ] == "Basic x"


AZURE: list[tuple[str, dict[str, str], str]] = [
    ("{}", {}, "/openai/deployments/m%2F1%20%C3%A9/chat/completions?api-version=2024-10-21"),
    ("{}/", {"deployment": "d"}, "/openai/deployments/d/chat/completions?api-version=2024-10-21"),
    ("{}/openai", {}, "/openai/deployments/m%2F1%20%C3%A9/chat/completions?api-version=2024-10-21"),
    ("{}/openai/deployments/e", {}, "/openai/deployments/e/chat/completions?api-version=2024-10-21"),
    (
        "{}/prefix",
        {"deployment": "d"},
        "/prefix/openai/deployments/d/chat/completions?api-version=2024-10-21",
    ),
]


@pytest.mark.usefixtures("_hostile_environment")
@pytest.mark.parametrize(("base", "settings", "path"), AZURE)
@on_every_loop
async def test_azures_urls_carry_the_deployment_and_its_key_a_header_of_its_own(
    base: str, settings: dict[str, str], path: str
) -> None:
    request = Request((Message("user", "hi"),), model="m/1 é")
    target, headers, body = await sent(base, request, key="k", api_version="2024-10-21", **settings)
    assert (target, headers["api-key"], body["model"]) == (path, "k", "m/1 é")
    assert "authorization" not in headers


@pytest.mark.usefixtures("_hostile_environment")
@on_every_loop
async def test_azures_newer_surface_is_called_as_openais() -> None:
    target, headers, _ = await sent("{}/openai/v1/", key="k", api_version="preview")
    assert target == "/openai/v1/chat/completions?api-version=preview"
    assert headers["authorization"] == "Bearer k"


@on_every_loop
async def test_each_model_has_its_azure_deployment() -> None:
    answer = CHUNKED + framed(said("a", finish="stop") + DONE) + LAST
    async with engine_server(answering(answer)) as server:
        engine = OpenAIEngine(f"http://127.0.0.1:{server.port}", key="k", api_version="1", default_model="b")
        for model in ("a", "", "a"):
            await ask(engine, Request((Message("user", "hi"),), model=model))
        paths = [asked.target.split("/")[3] for asked in server.requests]
        assert paths == ["a", "b", "a"]
        heard = await ask(engine, Request((Message("user", "hi"),), model=".."))
        assert heard.error is not None
        assert (heard.end, heard.error.param) == ("invalid_request", "model")
        await engine.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"x": "a\r\nb: c"}},
        {"base_url": "http://e/?a"},
        {"base_url": "http://e/#a"},
        {"base_url": "e"},
    ],
)
def test_what_cannot_be_sent_is_refused_at_the_start(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"header|URL"):
        OpenAIEngine(**{"base_url": "http://engine.test/v1"} | settings)


LISTS = {
    "OpenAI's list": (
        counted(b'{"object":"list","data":[{"id":"a"},{"id":"b","object":"model"}]}'),
        ["a", "b"],
        "ready",
    ),
    "a bare list": (counted(b'[{"id":"a"},{"name":"b"},5]'), ["a"], "ready"),
    "an empty list": (counted(b'{"data":[]}'), ["m"], "ready"),
    "something else": (counted(b'"hello"'), ["m"], "ready"),
    "no JSON": (counted(b"{"), ["m"], "ready"),
    "an unknown path": (counted(b"{}", "404 Not Found"), ["m"], "ready"),
    "an unwanted key": (counted(b"{}", "401 No"), ["m"], "ready"),
    "a proxy without a server": (counted(b"", "502 Bad Gateway"), ["m"], "unavailable"),
    "a server that loads": (counted(b"{}", "503 Loading"), ["m"], "unavailable"),
    "no HTTP": (b"220 mail ready\r\n", ["m"], "unavailable"),
    "nothing": (b"", ["m"], "unavailable"),
}


@pytest.mark.parametrize(("answer", "ids", "state"), LISTS.values(), ids=LISTS.keys())
@on_every_loop
async def test_the_models_are_known_whatever_the_engine_answers(
    answer: bytes, ids: list[str], state: str
) -> None:
    async def script(wire: Wire) -> None:
        asked = await wire.request()
        assert (asked.method, asked.target) == ("GET", "/v1/models")
        await wire.send(answer)

    async with engine_for(script, default_model="m", key="k") as (engine, server):
        assert await engine.models() == [Model(id, state) for id in ids]
        assert server.requests[0].headers["authorization"] == "Bearer k"


@on_every_loop
async def test_an_engine_that_went_away_is_unavailable_with_the_models_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        if len(server.requests) == 1:
            await wire.send(counted(b'{"data":[{"id":"a"}]}'))

    async with engine_for(script) as (engine, server):
        for models in await asyncio.gather(engine.models(), engine.models()):
            assert models == [Model("a", "ready")]
        assert await engine.models() == [Model("a", "ready")]
        assert len(server.requests) == 1
        monkeypatch.setattr(openai, "MODELS_AGE_S", 0)
        assert await engine.models() == [Model("a", "unavailable")]
        assert len(server.requests) == 2


@on_every_loop
async def test_a_list_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "MODELS_TIMEOUT_S", 0.2)

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\n")
        await wire.gone()

    async with engine_for(script, default_model="m") as (engine, server):
        assert await engine.models() == [Model("m", "unavailable")]
        await server.wires[0].over.wait()


@on_every_loop
async def test_closing_gives_back_idle_connections() -> None:
    async with engine_for(answering(counted(b'{"data":[]}'))) as (engine, server):
        await engine.models()
        await engine.close()
        await server.wires[0].over.wait()
