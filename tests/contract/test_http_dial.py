"""The ways to an engine: directly, by TLS, through the environment's proxies, and those that lead nowhere."""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trustme

from polystream.core.errors import UpstreamUnavailable
from polystream.engines.http import HttpClient
from polystream.engines.http_connection import End
from polystream.engines.http_dial import Origin, Route, route_to
from tests.contract.test_http_client import fetched
from tests.engine_server import (
    CHUNKED,
    LAST,
    EngineServer,
    Wire,
    answering,
    engine_server,
    framed,
    on_every_loop,
)

ANSWER = CHUNKED + framed(b"hi") + LAST
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class Authority:
    """A certificate authority, a context of a server it vouches for, and one of a client that trusts it."""

    def __init__(self) -> None:
        authority = trustme.CA()
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("engine.test", "127.0.0.1").configure_cert(self.server)
        self.client = ssl.create_default_context()
        authority.configure_trust(self.client)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


async def refused(client: HttpClient, url: str) -> str:
    """The message of the failure to reach `url`."""
    with pytest.raises(UpstreamUnavailable) as caught:
        await fetched(client, url)
    return caught.value.message


# Directly.


@on_every_loop
async def test_a_closed_port_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "refused" in (await refused(HttpClient(5), f"http://127.0.0.1:{port}")).lower()


@pytest.mark.parametrize("host", ["a" * 64 + ".test", "no-such-engine.invalid"])
@on_every_loop
async def test_a_name_nobody_has_is_told(host: str) -> None:
    assert await refused(HttpClient(5), f"http://{host}")


@on_every_loop
async def test_connecting_has_a_limit_that_covers_the_handshake() -> None:
    async def script(wire: Wire) -> None:
        await wire.gone()

    async with engine_server(script) as server:
        message = await refused(HttpClient(0.2), server.url.replace("http:", "https:"))
        assert "within 0.2 s" in message


@on_every_loop
async def test_tls_is_checked_against_the_given_authority(authority: Authority) -> None:
    async with engine_server(answering(ANSWER), authority.server) as server:
        client = HttpClient(5, authority.client)
        for _ in range(2):
            end, kept = await fetched(client, server.url)
            assert (end, kept.body) == (End.COMPLETE, b"hi")
        assert len(server.wires) == 1
        await client.close()


@on_every_loop
async def test_a_client_that_trusts_an_authority_also_speaks_without_tls(authority: Authority) -> None:
    async with engine_server(answering(ANSWER)) as server:
        client = HttpClient(5, authority.client)
        assert (await fetched(client, server.url))[1].body == b"hi"
        await client.close()


@on_every_loop
async def test_a_certificate_nobody_vouches_for_is_refused(authority: Authority) -> None:
    async with engine_server(answering(ANSWER), authority.server) as server:
        assert "TLS failed" in await refused(HttpClient(5), server.url)
        assert "TLS failed" in await refused(
            HttpClient(5, authority.client), server.url.replace("127.0.0.1", "localhost")
        )
        assert server.requests == []


@on_every_loop
async def test_a_tls_connection_that_is_cut_delivers_first(authority: Authority) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(b"hi"))

    async with engine_server(script, authority.server) as server:
        client = HttpClient(5, authority.client)
        end, kept = await fetched(client, server.url)
        assert (end, kept.body) == (End.BROKEN, b"hi")
        await client.close()


@pytest.mark.parametrize("url", ["ftp://engine.test/", "engine.test", "http://", "http:///x", "unix:/tmp/x"])
def test_only_http_urls_are_taken(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        HttpClient(5).endpoint("GET", url, {})


def test_an_address_of_version_6_stands_in_brackets() -> None:
    endpoint = HttpClient(5).endpoint("GET", "http://[::1]:8000/v1", {})
    assert endpoint.head == b"GET /v1 HTTP/1.1\r\nhost: [::1]:8000\r\n"
    assert (endpoint.origin.host, endpoint.origin.authority) == ("::1", "[::1]:8000")


@pytest.mark.parametrize(
    "headers", [{"x": "a\r\nb: c"}, {"x": "a\rb: c"}, {"x\n": "a"}, {"x": "a\0"}, {"x": "€"}]
)
def test_a_header_that_would_become_another_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"header|latin-1"):
        HttpClient(5).endpoint("GET", "http://engine.test/", headers)


# Through proxies.

PLAIN, SECURE = Origin(False, "engine.test", 80), Origin(True, "engine.test", 443)
PROXY = Route("proxy.test", 3128, True)


@pytest.mark.parametrize(
    ("environment", "plain", "secure"),
    [
        ({}, None, None),
        ({"HTTP_PROXY": "http://proxy.test:3128"}, PROXY, None),
        ({"http_proxy": "proxy.test:3128"}, PROXY, None),
        ({"HTTPS_PROXY": "http://proxy.test:3128/"}, None, PROXY),
        ({"ALL_PROXY": "http://proxy.test:3128"}, PROXY, PROXY),
        (
            {"all_proxy": "http://proxy.test", "https_proxy": "http://proxy.test:3128"},
            Route("proxy.test", 80, True),
            PROXY,
        ),
        ({"ALL_PROXY": "http://proxy.test:3128", "NO_PROXY": "other.test,.test"}, None, None),
        ({"ALL_PROXY": "http://proxy.test:3128", "no_proxy": "*"}, None, None),
        ({"ALL_PROXY": "http://proxy.test:3128", "NO_PROXY": "engine.test:443"}, PROXY, None),
        ({"ALL_PROXY": "http://proxy.test:3128", "NO_PROXY": "ngine.test"}, PROXY, PROXY),
    ],
)
def test_the_environments_proxies_are_used_by_its_rules(
    environment: dict[str, str], plain: Route | None, secure: Route | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert route_to(PLAIN) == (plain or Route("engine.test", 80))
    assert route_to(SECURE) == (secure or Route("engine.test", 443))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_an_engine_on_this_machine_needs_no_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.test:3128")
    assert route_to(Origin(False, host, 80)) == Route(host, 80)


@pytest.mark.parametrize("proxy", ["socks5://proxy.test:1080", "https://proxy.test", "http://"])
def test_a_proxy_of_another_kind_is_refused_in_words(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(UpstreamUnavailable, match="only http:// proxies"):
        route_to(PLAIN)


@on_every_loop
async def test_a_plain_request_goes_to_the_proxy_with_its_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine_server(answering(ANSWER)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:p%40ss@127.0.0.1:{proxy.port}")
        client = HttpClient(5)
        for _ in range(2):
            end, kept = await fetched(client, "http://engine.test/v1")
            assert (end, kept.body) == (End.COMPLETE, b"hi")
        asked = proxy.requests[0]
        assert asked.target == "http://engine.test:80/v1/x?y=1"
        assert asked.headers["host"] == "engine.test"
        assert asked.headers["proxy-authorization"] == "Basic " + base64.b64encode(b"user:p@ss").decode()
        assert len(proxy.wires) == 1
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        await fetched(client, "http://other.test/v1")
        assert "proxy-authorization" not in proxy.requests[-1].headers
        await client.close()


@asynccontextmanager
async def tunnelling(port: int) -> AsyncIterator[EngineServer]:
    """A proxy that opens a tunnel to `port`, whatever it is asked for."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(pump(wire.reader, writer), pump(reader, wire.writer))
        finally:
            writer.transport.abort()

    async with engine_server(script) as proxy:
        yield proxy


@on_every_loop
async def test_a_tls_request_goes_through_a_tunnel(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_server(answering(ANSWER), authority.server) as server, tunnelling(server.port) as proxy:
        monkeypatch.setenv("https_proxy", f"http://user@127.0.0.1:{proxy.port}")
        client = HttpClient(5, authority.client)
        for _ in range(2):
            end, kept = await fetched(client, "https://engine.test/v1")
            assert (end, kept.body) == (End.COMPLETE, b"hi")
        [asked] = proxy.requests
        assert (asked.method, asked.target) == ("CONNECT", "engine.test:443")
        assert asked.headers["host"] == "engine.test:443"
        assert asked.headers["proxy-authorization"] == "Basic " + base64.b64encode(b"user:").decode()
        assert server.requests[0].target == "/v1/x?y=1"
        assert "proxy-authorization" not in server.requests[0].headers
        await client.close()


NOT_OPENED = {
    "refused": (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answered 'HTTP/1.1 407 Proxy"),
    "another protocol": (b"SSH-2.0-2 x\r\n\r\n", "answered 'SSH-2.0-2 x'"),
    "followed by something": (b"HTTP/1.1 200 OK\r\n\r\nearly", "answered 'HTTP/1.1 200 OK'"),
    "without an end": (b"x" * 300_000, "answered 'xxx"),
}


@pytest.mark.parametrize(("words", "told"), NOT_OPENED.values(), ids=NOT_OPENED.keys())
@on_every_loop
async def test_a_tunnel_that_is_not_opened_is_told_and_closed(
    words: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(words)
        await wire.gone()

    async with engine_server(script) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert told in await refused(HttpClient(20), "https://engine.test")
        [wire] = proxy.wires
        await wire.over.wait()


@on_every_loop
async def test_a_proxy_that_leaves_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 ")

    async with engine_server(script) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert "the proxy closed the connection" in await refused(HttpClient(20), "https://engine.test")


@on_every_loop
async def test_a_tunnel_to_the_wrong_server_is_refused(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_server(answering(ANSWER), authority.server) as server, tunnelling(server.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert "TLS failed" in await refused(HttpClient(5, authority.client), "https://other.test")


@on_every_loop
async def test_a_silent_proxy_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(wire: Wire) -> None:
        await wire.gone()

    async with engine_server(script) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert "within 0.2 s" in await refused(HttpClient(0.2), "https://engine.test")
