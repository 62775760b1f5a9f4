"""What the HTTP doors share: bodies within bounds, answers that are errors, the choice of a form."""

import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from polystream.core.errors import TABLE, Internal, StreamError, TooLarge
from polystream.core.events import Error
from polystream.dialects import chat, native
from polystream.dialects.json import whole

#: For every answer that is no stream.
NO_STORE = {"Cache-Control": "no-store"}


def door(path: str, **endpoints: Callable[[Request], Awaitable[Response]]) -> Route:
    """One path with its methods, each its own endpoint; a plain route, for what it answers is bytes.

    No HEAD: Starlette would have it run GET, and a HEAD must start nothing.
    """

    async def answer(request: Request) -> Response:
        return await endpoints[request.method](request)

    route = Route(path, answer, methods=list(endpoints))
    assert route.methods is not None
    route.methods.intersection_update(endpoints)
    return route


async def read_body(request: Request, limit: int) -> bytes:
    """The request's body. Raises `TooLarge` as soon as it is above `limit` bytes."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise TooLarge(f"The body is larger than {limit} bytes.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")
    return bytes(body)


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header, None when absent or empty. Raises `InvalidRequest`."""
    return native.idempotency_key(request.headers.get("idempotency-key"), "Idempotency-Key")


def choose(accept: str, offered: tuple[str, ...]) -> str | None:
    """The media type to answer with, by RFC 9110 12.5.1: highest q, a named type before a wildcard, then our
    order.
    """
    ranges = [_range(item) for item in (accept or "*/*").split(",") if item.strip()]
    ranked = []
    for order, offer in enumerate(offered):
        specific = {"*/*": 0, f"{offer.partition('/')[0]}/*": 1, offer: 2}
        fitting = [(specific[media], q) for media, q in ranges if media in specific]
        if fitting:
            spec, q = max(fitting)
            if q > 0:
                ranked.append((-q, spec < 2, order, offer))
    return min(ranked)[-1] if ranked else None


def _range(item: str) -> tuple[str, float]:
    """A media range and its q."""
    media, *parameters = [part.strip().lower() for part in item.split(";")]
    q = 1.0
    for parameter in parameters:
        if match := re.fullmatch(r"q=(0(\.\d{0,3})?|1(\.0{0,3})?)", parameter):
            q = float(match[1])
    return media, q


def error_response(path: str, error: Error, status: int | None = None) -> Response:
    """An answer that is an error, in the words of the path's dialect."""
    row = TABLE[error.code]
    status, headers = status or row.http, dict(NO_STORE)
    if path.startswith(("/v1/chat", "/v1/models")):
        body = chat.error_json(error)
        headers["x-should-retry"] = str(error.retryable).lower()  # else the SDKs also retry a conflict
    else:
        body = native.error_json(error)
    if error.retry_after_s is not None or (error.retryable and status in (429, 503)):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s or 1)))
    return Response(body, status, headers, "application/json")


def handle_errors(app: FastAPI) -> None:
    """Translate every exception once, here."""

    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, StreamError)
        return error_response(request.url.path, error.as_event())

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = "not_found" if error.status_code == 404 else "invalid_request"
        message = "There is no such path." if error.status_code == 404 else error.detail
        response = error_response(request.url.path, Error(code, message, False), error.status_code)
        response.headers.update(error.headers or {})
        return response

    async def gone(request: Request, error: Exception) -> Response:
        return Response(status_code=499)

    async def unknown(request: Request, error: Exception) -> Response:
        return error_response(request.url.path, Internal().as_event())

    app.add_exception_handler(StreamError, known)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unknown)


def json_response(
    fields: Mapping[str, Any], status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A JSON answer that nobody may keep, ASCII like all of our JSON."""
    body = whole(fields).encode()
    return Response(body, status, NO_STORE | (headers or {}), "application/json")
