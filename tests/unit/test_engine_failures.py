"""What an engine's refusal becomes in our list of codes, and what clients are shown of its words."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from polystream.engines import failures


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, "context_length_exceeded"),
        (
            400,
            {"error": {"code": 400, "message": "x", "type": "exceed_context_size_error"}},
            "context_length_exceeded",
        ),
        (400, {"error": {"message": "x", "param": "input_tokens", "code": 400}}, "context_length_exceeded"),
        (
            400,
            {"error": {"message": "x", "code": "content_filter", "innererror": {"code": "y"}}},
            "content_filter",
        ),
        (400, {"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}, "content_filter"),
        (400, {"detail": "pinned to another model"}, "invalid_request"),
        (
            422,
            {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}]},
            "invalid_request",
        ),
        (401, {"error": {"message": "Incorrect API key provided: sk-1234"}}, "upstream_error"),
        (403, {}, "upstream_error"),
        (404, {"error": {"message": "x", "code": "model_not_found"}}, "model_not_found"),
        (
            404,
            {"error": {"message": "The model `x` does not exist.", "type": "NotFoundError"}},
            "model_not_found",
        ),
        (404, {"error": {"message": "x", "param": "model", "code": 404}}, "model_not_found"),
        (404, {"detail": "Not Found"}, "upstream_error"),
        (404, {}, "upstream_error"),
        (408, {}, "upstream_timeout"),
        (413, {}, "too_large"),
        (429, {"error": {"message": "slow down", "type": "rate_limit"}}, "rate_limited"),
        (429, {"error": {"message": "x", "type": "insufficient_quota"}}, "quota_exceeded"),
        (500, {"error": {"message": "x", "code": "context_length_exceeded"}}, "upstream_error"),
        (
            502,
            {"error": {"message": "x", "type": "api_error", "code": "upstream_stalled"}},
            "upstream_stalled",
        ),
        (503, {"error": {"message": "x", "type": "server_error"}}, "overloaded"),
        (504, {}, "upstream_timeout"),
        (307, {}, "upstream_error"),
        (418, {}, "upstream_error"),
    ],
)
def test_a_refusal_has_the_code_of_our_list(status: int, body: Any, code: str) -> None:
    error = failures.from_response(status, {}, json.dumps(body).encode())
    assert error.code == code
    assert "sk-1234" not in error.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"message":"slow down"}}', "slow down"),
        (b'{"error":"slow down"}', "slow down"),
        (b'{"detail":"slow down"}', "slow down"),
        (b'[{"error":{"message":"slow down"}}]', "slow down"),
        (b'{"object":"error","message":"slow down"}', "slow down"),
        (b'data: {"error":"slow down"}\n\n', "slow down"),
        (b'data: {"error":"slow down"}', "slow down"),
        (b'"slow down"', "slow down"),
        (b"slow\r\n\0 down ", "slow down"),
        (b"slow down\nTraceback (most recent call last):\n  File '/srv/secret.py'", "slow down"),
        (b"<!DOCTYPE html><html>", "an HTML page, which some proxy in between may have written"),
        (b"", "Too many requests; try again later."),
        (b"[]", "Too many requests; try again later."),
        (b'{"error":{"message":["slow","down"]}}', "Too many requests; try again later."),
        (b'{"error":{"message":"' + b"x" * 5000 + b'"}}', "x" * 399 + "…"),
    ],
)
def test_a_refusals_words_are_found_in_whatever_shape_and_kept_short(body: bytes, message: str) -> None:
    assert failures.from_response(429, {}, body).message == message


@pytest.mark.parametrize(
    ("status", "words", "code"),
    [
        (400, "the context window is full", "context_length_exceeded"),
        (422, "maximum context length is 5", "context_length_exceeded"),
        (404, "no context window here", "upstream_error"),
        (400, "no such thing", "invalid_request"),
    ],
)
def test_words_decide_only_about_a_bad_request(status: int, words: str, code: str) -> None:
    assert failures.from_response(status, {}, words.encode()).code == code


@pytest.mark.parametrize(("body", "words"), [(b"oops", "oops"), (b"", "no reason given")])
def test_a_failure_of_the_engine_names_its_status(body: bytes, words: str) -> None:
    assert failures.from_response(500, {}, body).message == f"The engine answered 500: {words}"


def test_validation_errors_name_their_field() -> None:
    body = b'{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]}'
    assert failures.from_response(422, {}, body).message == "body.messages: Field required"


def test_the_parameter_at_fault_is_passed_on() -> None:
    error = failures.from_response(400, {}, b'{"error":{"message":"x","param":"temperature"}}')
    assert (error.code, error.param) == ("invalid_request", "temperature")
    assert failures.from_response(400, {}, b'{"error":{"message":"x","param":5}}').param is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 -0000"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_as_the_sdks_read_it(headers: dict[str, str], seconds: float | None) -> None:
    assert failures.from_response(429, headers, b"").retry_after_s == seconds


def test_a_date_to_wait_for_becomes_seconds() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    wait = failures.from_response(503, {"retry-after": date}, b"").retry_after_s
    assert wait is not None
    assert 50 < wait <= 100
