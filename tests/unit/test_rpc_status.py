"""What gRPC answers besides events: the state of a generation, the models, statuses that say the error."""

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from polystream.core.errors import BY_CODE, TABLE
from polystream.core.events import Error
from polystream.core.ports import Model
from polystream.core.record import State
from polystream.dialects import proto
from polystream.proto.polystream.v1 import streams_pb2 as pb
from tests.fakes import record, request


def details(
    status: status_pb2.Status,
) -> tuple[error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo | None]:
    """What a status carries besides code and message."""
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    if len(status.details) == 1:
        return info, None
    assert status.details[1].Unpack(retry)
    return info, retry


def test_the_status_of_a_generation_is_the_native_one():
    error = Error("internal", "No.", False, "stop")
    made = record(
        id="gen_x",
        state=State.FAILED,
        error=error,
        last_seq=0,
        events=1,
        request=request(metadata={"k": "v"}),
    )
    assert proto.status(made) == pb.Status(
        id="gen_x", model="m", state="failed", events=1, last_seq=0, created=1796057692, metadata={"k": "v"},
        error=pb.Error(code="internal", message="No.", param="stop"),
    )  # fmt: skip
    assert not proto.status(record()).HasField("last_seq")
    assert proto.status(record(state=State.FINISHED, reason="stop")).reason == "stop"


def test_models_have_their_states():
    rows = proto.models([Model("a", "ready"), Model("b", "unavailable")]).models
    assert [(row.id, row.state) for row in rows] == [("a", "ready"), ("b", "unavailable")]


@pytest.mark.parametrize("code", TABLE)
def test_a_failure_has_the_status_of_its_row_and_says_its_code(code: str):
    status = proto.rpc_status(BY_CODE[code]("Why.").as_event())
    assert status.code == grpc.StatusCode[TABLE[code].grpc].value[0]
    assert status.message == "Why."
    info, retry = details(status)
    assert (info.reason, info.domain, dict(info.metadata)) == (code, "polystream", {})
    assert (retry is not None) == TABLE[code].retryable


@pytest.mark.parametrize(("said", "seconds"), [(None, 1), (0.2, 0.2), (90, 90)])
def test_a_retry_waits_as_long_as_was_asked(said: float | None, seconds: float):
    _, retry = details(proto.rpc_status(Error("overloaded", "", True, retry_after_s=said)))
    assert retry is not None
    assert retry.retry_delay.ToMilliseconds() == seconds * 1000


def test_the_field_at_fault_stands_in_the_details():
    info, _ = details(proto.rpc_status(Error("invalid_request", "No.", False, "stop")))
    assert dict(info.metadata) == {"param": "stop"}


def test_a_long_message_does_not_burst_the_trailers():
    status = proto.rpc_status(Error("upstream_error", "🌍" * 100_000, True))
    percent_encoded = 12 * len(status.message)
    assert percent_encoded + len(status.SerializeToString()) * 4 / 3 < 8 * 1024
    assert status.message == "🌍" * 400
