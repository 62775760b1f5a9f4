"""HTTP's errors: status and words from the one table, in each door's own dialect, and nothing of ours."""

import asyncio
import json
import logging
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from polystream.core.errors import BY_CODE, TABLE, InvalidRequest, TooLarge
from polystream.core.events import Error
from polystream.protocols.http import (
    door,
    error_response,
    handle_errors,
    idempotency_key,
    json_response,
    read_body,
)

CHAT = "/v1/chat/completions"
NATIVE = "/v1/streams"


def fields(response: Any) -> Any:
    """The error object of an answer."""
    body = bytes(response.body) if isinstance(response, Response) else response.content
    assert response.headers["content-type"] == "application/json"
    assert body.isascii()
    return json.loads(body)["error"]


# ---- answers ----


@pytest.mark.parametrize("code", TABLE)
def test_a_native_error_has_the_status_of_its_row_and_says_its_code(code: str):
    response = error_response(NATIVE, BY_CODE[code]("Wäre.", param="stop").as_event())
    assert response.status_code == TABLE[code].http
    assert fields(response) == {
        "code": code,
        "message": "Wäre.",
        "param": "stop",
        "retryable": TABLE[code].retryable,
    }
    assert "x-should-retry" not in response.headers
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", [CHAT, "/v1/models", "/v1/models/a/b"])
@pytest.mark.parametrize("code", TABLE)
def test_openais_doors_say_it_in_openais_words_and_whether_to_try_again(path: str, code: str):
    row = TABLE[code]
    response = error_response(path, BY_CODE[code]("Wäre.", param="stop").as_event())
    assert response.status_code == row.http
    assert fields(response) == {
        "message": "Wäre.",
        "type": row.openai_type,
        "param": "stop",
        "code": row.openai_code,
    }
    assert response.headers["x-should-retry"] == ("true" if row.retryable else "false")


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1", NATIVE, "/v1/streams/gen_x"])
def test_every_other_path_is_native(path: str):
    assert "retryable" in fields(error_response(path, InvalidRequest().as_event()))


@pytest.mark.parametrize(
    ("code", "said", "header"),
    [
        ("rate_limited", None, "1"),
        ("overloaded", None, "1"),
        ("draining", 0.2, "1"),
        ("store_unavailable", None, "1"),
        ("rate_limited", 1.2, "2"),
        ("upstream_unavailable", 30, "30"),
        ("upstream_unavailable", None, None),
        ("quota_exceeded", None, None),
        ("invalid_request", None, None),
    ],
)
def test_a_client_is_told_how_long_to_wait_where_that_helps(
    code: str, said: float | None, header: str | None
):
    error = BY_CODE[code](retry_after_s=said).as_event()
    assert error_response(NATIVE, error).headers.get("retry-after") == header


def test_a_status_of_http_itself_is_kept():
    assert error_response(NATIVE, Error("invalid_request", "", False), 406).status_code == 406


def test_an_answer_in_json_is_ascii_and_nobody_keeps_it():
    response = json_response({"a": "é\u2028", "b": None}, 202, {"Location": "/x"})
    assert (response.status_code, response.body) == (202, b'{"a":"\\u00e9\\u2028","b":null}')
    assert (response.headers["cache-control"], response.headers["location"]) == ("no-store", "/x")
    assert response.headers["content-type"] == "application/json"


# ---- exceptions ----


def doors(error: BaseException) -> FastAPI:
    """Doors that raise."""
    app = FastAPI()
    handle_errors(app)

    async def answer() -> None:
        raise error

    for path in (NATIVE, CHAT):
        app.add_api_route(path, answer, methods=["GET"])
    return app


async def ask(app: FastAPI, path: str = NATIVE, method: str = "GET") -> httpx2.Response:
    """Ask an application without a network."""
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.request(method, path)


async def test_an_error_of_ours_is_answered_in_the_doors_dialect():
    app = doors(TooLarge("That is much.", param="messages"))
    native, chat = await ask(app), await ask(app, CHAT)
    assert (native.status_code, chat.status_code) == (413, 413)
    assert (fields(native)["code"], fields(chat)["type"]) == ("too_large", "invalid_request_error")
    assert fields(native)["param"] == fields(chat)["param"] == "messages"


@pytest.mark.parametrize("path", [NATIVE, CHAT])
async def test_what_nobody_expected_is_internal_and_tells_nothing(
    path: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.CRITICAL):
        answer = await ask(doors(RuntimeError("secret")), path)
    assert answer.status_code == 500
    assert fields(answer)["code"] == "internal"
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("path", "method", "status", "code", "message"),
    [
        ("/v1/nothing", "GET", 404, "not_found", "There is no such path."),
        (NATIVE, "PUT", 405, "invalid_request", "Method Not Allowed"),
    ],
)
async def test_https_own_errors_keep_their_status(
    path: str, method: str, status: int, code: str, message: str
):
    answer = await ask(doors(InvalidRequest()), path, method)
    assert answer.status_code == status
    assert fields(answer) == {"code": code, "message": message, "retryable": False}
    assert status != 405 or answer.headers["allow"] == "GET"


async def test_an_unknown_path_of_openais_doors_is_said_in_openais_words():
    assert fields(await ask(doors(InvalidRequest()), "/v1/chat/nothing"))["type"] == "invalid_request_error"


async def test_what_accept_forbids_is_said_with_406():
    answer = await ask(doors(HTTPException(406, "Accept something.")))
    assert (answer.status_code, fields(answer)["message"]) == (406, "Accept something.")


async def test_a_client_that_left_is_no_fault_of_ours():
    assert (await ask(doors(ClientDisconnect()))).status_code == 499


async def test_each_method_of_a_path_has_its_own_endpoint_and_head_runs_none():
    ran: list[str] = []

    async def endpoint(request: Request) -> Response:
        ran.append(request.method)
        return json_response({})

    app = FastAPI()
    handle_errors(app)
    app.router.routes.append(door(NATIVE, GET=endpoint, POST=endpoint))
    statuses = [(await ask(app, NATIVE, method)).status_code for method in ("GET", "POST", "HEAD", "DELETE")]
    assert (statuses, ran) == ([200, 200, 405, 405], ["GET", "POST"])
    allowed = (await ask(app, NATIVE, "DELETE")).headers["allow"]
    assert sorted(allowed.split(", ")) == ["GET", "POST"]


# ---- requests ----


def request(*pieces: bytes, **headers: str) -> Request:
    """A request whose body comes in pieces."""
    coming = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages = iter([*coming, {"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        await asyncio.sleep(0)
        return next(messages)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": raw}, receive)


@pytest.mark.parametrize("pieces", [(), (b"",), (b"ab", b"c"), (b"abc",)])
async def test_a_body_up_to_the_limit_is_read_whole(pieces: tuple[bytes, ...]):
    assert await read_body(request(*pieces, content_length="3"), 3) == b"".join(pieces)


@pytest.mark.parametrize(
    "headers", [{}, {"content_length": "x"}, {"content_length": "2"}, {"content_length": ""}]
)
async def test_a_body_above_the_limit_is_not_read_to_its_end(headers: Any):
    made = request(b"ab", b"cd", b"never", **headers)
    with pytest.raises(TooLarge, match="larger than 3 bytes"):
        await read_body(made, 3)
    assert [message async for message in made.stream()] == [b"never", b""]


async def test_a_body_that_says_it_is_too_large_is_not_read_at_all():
    made = request(b"abcd", content_length="4")
    with pytest.raises(TooLarge):
        await read_body(made, 3)
    assert [piece async for piece in made.stream()] == [b"abcd", b""]


@pytest.mark.parametrize(
    ("headers", "key"), [({}, None), ({"idempotency_key": ""}, None), ({"idempotency_key": "k"}, "k")]
)
async def test_an_idempotency_key_is_a_header(headers: Any, key: str | None):
    assert idempotency_key(request(**headers)) == key


async def test_a_key_that_is_too_long_is_refused_by_its_header():
    with pytest.raises(InvalidRequest) as raised:
        idempotency_key(request(idempotency_key="k" * 256))
    assert raised.value.param == "Idempotency-Key"
