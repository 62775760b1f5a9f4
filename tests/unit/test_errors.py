"""The one table of errors, and that a failure survives the way through a log."""

import pytest

from polystream.core.errors import BY_CODE, TABLE, Conflict, InvalidRequest, StreamError, from_event
from polystream.core.events import Error

#: docs/protocol.md: code, HTTP, OpenAI type and code, gRPC, retryable.
DOCUMENTED = """
invalid_request          400  invalid_request_error  invalid_request          INVALID_ARGUMENT    no
unauthenticated          401  authentication_error   invalid_api_key          UNAUTHENTICATED     no
forbidden                403  permission_error       forbidden                PERMISSION_DENIED   no
not_found                404  invalid_request_error  not_found                NOT_FOUND           no
model_not_found          404  invalid_request_error  model_not_found          NOT_FOUND           no
conflict                 409  invalid_request_error  idempotency_conflict     ALREADY_EXISTS      no
position_lost            410  invalid_request_error  position_lost            OUT_OF_RANGE        no
too_large                413  invalid_request_error  too_large                RESOURCE_EXHAUSTED  no
context_length_exceeded  400  invalid_request_error  context_length_exceeded  INVALID_ARGUMENT    no
content_filter           400  invalid_request_error  content_filter           INVALID_ARGUMENT    no
rate_limited             429  rate_limit_error       rate_limited             RESOURCE_EXHAUSTED  yes
quota_exceeded           429  insufficient_quota     insufficient_quota       RESOURCE_EXHAUSTED  no
overloaded               503  overloaded_error       overloaded               UNAVAILABLE         yes
draining                 503  overloaded_error       draining                 UNAVAILABLE         yes
upstream_unavailable     502  api_error              upstream_unavailable     UNAVAILABLE         yes
upstream_error           502  api_error              upstream_error           UNAVAILABLE         yes
upstream_timeout         504  api_error              upstream_timeout         DEADLINE_EXCEEDED   yes
upstream_disconnected    502  api_error              upstream_disconnected    UNAVAILABLE         yes
upstream_incomplete      502  api_error              upstream_incomplete      UNAVAILABLE         yes
upstream_stalled         502  api_error              upstream_stalled         UNAVAILABLE         yes
upstream_bad_chunk       502  api_error              upstream_bad_chunk       UNAVAILABLE         yes
store_unavailable        503  api_error              store_unavailable        UNAVAILABLE         yes
internal                 500  api_error              internal                 INTERNAL            no
cancelled                499  api_error              cancelled                CANCELLED           no
"""
ROWS = [line.split() for line in DOCUMENTED.strip().splitlines()]


@pytest.mark.parametrize(
    ("code", "http", "openai_type", "openai_code", "grpc", "retryable"), ROWS, ids=[row[0] for row in ROWS]
)
def test_a_code_is_spelled_as_documented(
    code: str, http: str, openai_type: str, openai_code: str, grpc: str, retryable: str
):
    row = TABLE[code]
    assert (row.http, row.openai_type, row.openai_code) == (int(http), openai_type, openai_code)
    assert (row.grpc, row.retryable) == (grpc, retryable == "yes")


def test_no_code_stands_outside_the_documented_table():
    assert list(TABLE) == [row[0] for row in ROWS]


def test_every_code_has_one_class_of_its_own():
    assert set(BY_CODE) == set(TABLE)
    assert len(set(BY_CODE.values())) == len(TABLE)
    assert StreamError not in BY_CODE.values()


@pytest.mark.parametrize("code", TABLE)
def test_a_failure_comes_back_from_its_log_as_it_went_in(code: str):
    error = BY_CODE[code]("In our own words.", param="messages", retry_after_s=2.5)
    event = error.as_event()
    assert event == Error(code, "In our own words.", TABLE[code].retryable, "messages", 2.5)
    again = from_event(event)
    assert type(again) is type(error)
    assert again.as_event() == event


@pytest.mark.parametrize("code", TABLE)
def test_an_error_has_a_text_for_people(code: str):
    error = BY_CODE[code]()
    assert error.message == str(error) == BY_CODE[code].text
    assert error.message.endswith(".")


def test_an_error_names_the_field_and_the_pause_only_when_there_are_any():
    assert InvalidRequest("No.", param="stop").as_event() == Error(
        "invalid_request", "No.", False, param="stop"
    )
    assert Conflict().as_event() == Error("conflict", Conflict.text, False)


def test_whether_a_retry_may_help_stands_in_the_table():
    assert {code for code in TABLE if BY_CODE[code]().retryable} == {
        row[0] for row in ROWS if row[-1] == "yes"
    }
