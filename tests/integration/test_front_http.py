"""What the front door is besides a way through: its routes, its errors, its headers, its log."""

import asyncio
import json
import re
from typing import Any

import pytest

from tests.clients import grpc, grpcweb, http
from tests.clients.answer import collect
from tests.clients.event import body
from tests.integration.cases import FRONT_DOORS, start
from tests.integration.front import Front, ask_for, refused
from tests.integration.server import Server
from tests.integration.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMIT = 1_048_576
TYPES = {"js": "text/javascript", "css": "text/css"}
MISSING = "gen_" + "0" * 22


@pytest.mark.parametrize("door", ["ndjson", "sse", "chat", "grpc", "grpc-web"])
async def test_a_refusal_arrives_as_it_was_said(door: str, front: Front, scripted: Server):
    """400 over HTTP, INVALID_ARGUMENT over gRPC, with the field at fault."""
    request = {"prompt": "Hi", "temperature": -1}
    told = await refused(start(door, front, request))
    direct = await refused(start("grpc" if door == "grpc-web" else door, scripted, request))
    assert (told.status, told.code, told.body) == (direct.status, direct.code, direct.body)


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/v1/streams", b"{", 400),
        ("GET", f"/v1/streams/{MISSING}", b"", 404),
        ("GET", "/v1/nothing", b"", 404),
        ("PUT", "/v1/streams", b"{}", 405),
        ("GET", "/v1/models/none", b"", 404),
    ],
)
async def test_statuses_and_bodies_of_errors_are_the_services_own(
    method: str, path: str, content: bytes, status: int, front: Front, scripted: Server
):
    through = await ask_for(front, method, path, content)
    assert through == await ask_for(scripted, method, path, content)
    assert through[0] == status


@pytest.mark.parametrize("door", ["ndjson", "sse", "grpc", "grpc-web"])
async def test_a_position_that_is_lost_is_told_as_such(door: str, front: Front):
    answer = await collect(start("ndjson", front, {"prompt": "Hi"}))
    told = await refused(FRONT_DOORS[door].follow(front, answer.id, answer.seq + 1))
    expected = "OUT_OF_RANGE" if door.startswith("grpc") else 410
    assert (told.status, told.code) == (expected, "position_lost")


@pytest.mark.parametrize("door", ["ndjson", "chat", "websocket", "grpc", "grpc-web"])
async def test_a_request_that_is_too_large_is_told_so_in_the_words_of_its_door(door: str, front: Front):
    told = await refused(start(door, front, {"prompt": "x" * LIMIT}))
    if door == "websocket":
        assert told.status == 1009
    else:
        expected = "RESOURCE_EXHAUSTED" if door.startswith("grpc") else 413
        assert (told.status, told.code) == (expected, "too_large")


async def test_the_largest_request_passes(front: Front):
    request = body({"prompt": ""})
    request = request.replace(b'""', b'"' + b"x" * (LIMIT - len(request)) + b'"')
    assert len(request) == LIMIT
    answer, _ = await http.fetch("POST", f"{front.rest}/v1/streams", {}, request)
    assert answer.status == 200


@pytest.mark.parametrize("chunked", [False, True])
async def test_nginx_has_the_limit_itself(chunked: bool, scripted: Server):
    """Nothing of a body that is too large reaches the service, where its length is said."""
    size, path = 2000, "/v1/streams"
    async with Front(scripted, alone=True, request_max_bytes=1999) as front:
        if chunked:
            content = b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"x" * size)
            fields = {"Transfer-Encoding": "chunked", "Connection": "close"}
            reader, writer = await http.connect(front.rest)
            writer.write(http.head("POST", front.rest + path, fields) + content)
            answer = await reader.read()
            writer.close()
            assert answer.startswith(b"HTTP/1.1 413 ")
            told = json.loads(answer.partition(b"\r\n\r\n")[2])
        else:
            status, told = await ask_for(front, "POST", path, b"x" * size)
            assert status == 413
    assert set(told["error"]) == {"code", "message", "retryable"}
    assert (told["error"]["code"], told["error"]["retryable"]) == ("too_large", False)


async def test_only_a_websockets_upgrade_is_one(front: Front):
    """curl and Java also offer `Upgrade: h2c`; a WebSocket is upgraded where there is one."""
    handshake = {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    in_capitals = {"Upgrade": "WebSocket", "Connection": "Upgrade"}  # some write it so
    socket = await http.request("GET", f"{front.rest}/v1/streams", in_capitals | handshake)
    socket.close()
    assert socket.status == 101
    chat = {"messages": [{"role": "user", "content": "Hi"}]}
    for path, upgrade, asked in (
        ("/v1/streams", "h2c", {"prompt": "Hi"}),
        ("/v1/chat/completions", "websocket", chat),
    ):
        fields = {"Upgrade": upgrade, "Connection": "Upgrade"}
        answer, _ = await http.fetch("POST", front.rest + path, fields, body(asked))
        assert answer.status == 200


async def test_a_request_keeps_its_sane_id_and_gets_one_in_place_of_another(front: Front):
    async def id_of(headers: dict[str, str], path: str = "/v1/models") -> str:
        answer, _ = await http.fetch("GET", front.rest + path, headers)
        return answer.headers["x-request-id"]

    assert await id_of({"X-Request-Id": "trace-1/a:b"}) == "trace-1/a:b"
    assert await id_of({"X-Request-Id": "trace-2"}, "/nowhere") == "trace-2"
    for insane in ("a b", 'a"b', "x" * 129, ""):
        made = await id_of({"X-Request-Id": insane})
        assert len(made) == 32
        assert made != await id_of({})
    wire: dict[str, Any] = {}
    await collect(grpcweb.start(front, {"prompt": "Hi"}, wire=wire, headers={"X-Request-Id": "trace-3"}))
    assert wire["headers"]["x-request-id"] == "trace-3"


async def test_the_log_has_a_line_of_json_for_each_request_without_prompts(front: Front):
    for door in ("sse", "websocket", "grpc", "grpc-web"):
        await collect(start(door, front, {"prompt": "Hi"}))
    tag = {"X-Request-Id": "logged-1"}
    await http.fetch("GET", f"{front.rest}/v1/streams?prompt=secret", tag)
    await http.fetch("PUT", f"{front.rest}/nowhere?a=secret", {"X-Request-Id": "logged-2"})
    written = await until(lambda: logged(front, "logged-2"), 5, "the line")
    lines = {line["request_id"]: line for line in written}
    line = lines["logged-1"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/v1/streams", 200)
    assert line["protocol"] == "HTTP/1.1"
    assert line["bytes"] > 0
    assert float(line["upstream_s"]) >= float(line["upstream_header_s"]) >= 0
    assert (lines["logged-2"]["method"], lines["logged-2"]["status"]) == ("PUT", 404)
    assert {"http", "websocket", "grpc", "grpc-web"} <= {line["door"] for line in lines.values()}
    assert "secret" not in json.dumps(list(lines.values()))


def logged(front: Front, id: str) -> list[dict[str, Any]]:
    """All lines, once that request's is there."""
    lines = front.requests()
    return lines if any(line["request_id"] == id for line in lines) else []


async def test_a_browser_of_another_origin_may_call_grpc_web(front: Front):
    """A preflight has no content type: its method and path alone take it to Envoy."""
    asked = "content-type,x-grpc-web,x-user-agent,grpc-timeout,authorization,idempotency-key"
    fields = {"Origin": "http://page.example", "Access-Control-Request-Method": "POST"}
    answer, _ = await http.fetch(
        "OPTIONS",
        f"{front.rest}/polystream.v1.Streams/Start",
        fields | {"Access-Control-Request-Headers": asked},
    )
    assert answer.status == 200
    allowed = {name.strip() for name in answer.headers["access-control-allow-headers"].split(",")}
    assert set(asked.split(",")) <= allowed
    assert "POST" in answer.headers["access-control-allow-methods"]
    wire: dict[str, Any] = {}
    origin = {"Origin": "http://page.example"}
    answered = await collect(grpcweb.start(front, {"prompt": "Hi"}, headers=origin, wire=wire))
    assert wire["headers"]["access-control-allow-origin"] == "http://page.example"
    assert wire["headers"]["stream-id"] == answered.id
    exposed = {name.strip() for name in wire["headers"]["access-control-expose-headers"].split(",")}
    assert {"stream-id", "grpc-status", "grpc-message", "grpc-status-details-bin"} <= exposed


@pytest.mark.parametrize(
    "path", ["/v1/streams", "/v1/chat/completions", "/streaming/fastapi/", "/instruct", "/?prompt=a"]
)
async def test_over_http_1_0_nothing_can_look_whole_that_is_not(path: str, front: Front):
    """It knows no chunks, so an answer that is broken off would have an end like any other."""
    answer = await raw(front, f"POST {path} HTTP/1.0\r\nHost: a\r\nContent-Length: 2\r\n\r\n{{}}")
    assert answer.startswith(b"HTTP/1.1 505 ")
    assert b'"code":"invalid_request"' in answer


async def test_over_http_1_0_the_page_and_health_are_there(front: Front):
    for path in ("/", "/healthz"):
        assert (await raw(front, f"GET {path} HTTP/1.0\r\nHost: a\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def test_an_address_may_be_long_but_not_without_end(front: Front):
    status, told = await ask_for(front, "GET", f"/?prompt={'a' * 70_000}")
    assert (status, told["error"]["code"]) == (400, "invalid_request")
    assert (await http.fetch("GET", f"{front.rest}/?prompt={'a' * 50_000}"))[0].status == 200


async def test_only_a_get_becomes_a_websocket(front: Front):
    head = "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}"
    assert (await raw(front, f"POST /v1/streams HTTP/1.1\r\n{head}")).startswith(b"HTTP/1.1 400 ")


async def raw(front: Front, request: str) -> bytes:
    """The first bytes of an answer to what no client would send."""
    host, _, port = front.rest.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request.encode())
        async with asyncio.timeout(10):
            return await reader.read(2000)
    finally:
        writer.close()


async def test_what_is_no_door_is_the_page(front: Front):
    answer, raw = await http.fetch("GET", f"{front.rest}/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert b"<title>Polystream</title>" in raw
    assert not re.search(rb"<script[^>]*>[^<]", raw), "a script that the policy forbids"
    parts = re.findall(r'(?:src|href)="(/[^"]*\.(js|css))"', raw.decode())
    assert {kind for _, kind in parts} == {"js", "css"}
    for path, kind in parts:
        part, _ = await http.fetch("GET", front.rest + path)
        assert (part.status, part.headers["content-type"]) == (200, f"{TYPES[kind]}; charset=utf-8")
        never_changes = path.startswith("/assets/")
        assert ("immutable" in part.headers["cache-control"]) == never_changes, "only a digest in the name"
        packed, _ = await http.fetch("GET", front.rest + path, {"Accept-Encoding": "gzip"})
        assert (packed.headers.get("content-encoding") == "gzip") == never_changes, "what is worth it"
    kept, _ = await http.fetch("GET", f"{front.rest}/", {"If-None-Match": answer.headers["etag"]})
    assert kept.status == 304
    for path in ("/metrics", "/nowhere", "/v2/streams", "/.error"):
        status, told = await ask_for(front, "GET", path)
        assert (status, told["error"]["code"]) == (404, "not_found"), path


async def test_health_is_nginxs_own_and_readiness_the_services(front: Front, scripted: Server):
    assert await ask_for(front, "GET", "/healthz") == (200, {"ok": True})
    ready = await ask_for(front, "GET", "/readyz")
    assert ready == await ask_for(scripted, "GET", "/readyz")
    assert ready[1]["ready"] is True


@pytest.mark.parametrize(
    "path", ["/?prompt=Hi", "/instruct", "/start", "/generate", "/streaming/fastapi/", "/ws"]
)
async def test_the_articles_paths_are_the_services(path: str, front: Front, scripted: Server):
    """Whatever they answer, it is what they answer there."""
    through, _ = await http.fetch("GET", front.rest + path)
    direct, _ = await http.fetch("GET", scripted.rest + path)
    assert through.status == direct.status
    assert through.headers["content-type"] == direct.headers["content-type"]


async def test_a_call_that_is_neither_grpc_nor_grpc_web_is_refused(front: Front):
    path, kind = "/polystream.v1.Streams/Start", "application/json"
    status, told = await ask_for(front, "POST", path, b"{}", Content_Type=kind)
    assert (status, told["error"]["code"]) == (415, "invalid_request")


async def test_health_and_reflection_of_grpc_pass(front: Front):
    assert [model["state"] for model in await grpc.models(front)] == ["ready"]
