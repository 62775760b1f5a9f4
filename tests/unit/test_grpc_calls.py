"""Calls over the gRPC server's own connection: what is refused, deadlines and resets."""

import asyncio

import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from h2 import events
from h2.errors import ErrorCodes

from polystream.core.errors import NotFound
from polystream.dialects import proto
from polystream.protocols.grpc_call import Call
from polystream.protocols.grpc_frames import prefixed
from tests.clock import jumping, settle
from tests.grpc_peer import MESSAGE_MAX_BYTES, WINDOW, Held, Peer, held


async def echo(message: bytes, call: Call) -> bytes:
    """Says what it is told."""
    return message


# --- one answer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["application/grpc", "application/grpc+proto"])
@jumping
async def test_one_message_in_one_message_out(asked: str):
    peer = Peer(Say=echo)
    stream_id = peer.call(message=b"hello", content_type=asked)
    await settle()
    peer.exchange()
    assert peer.headers(stream_id) == {":status": "200", "content-type": asked}
    assert peer.body(stream_id) == prefixed(b"hello")
    assert peer.trailers(stream_id) == {"grpc-status": "0"}


@jumping
async def test_an_empty_answer_is_sent_once():
    peer = Peer(Say=echo)
    stream_id = peer.call(message=b"")
    await settle()
    peer.exchange()
    assert (peer.body(stream_id), peer.status(stream_id)) == (prefixed(b""), 0)


@jumping
async def test_an_error_is_trailers_only_with_its_words_and_details():
    async def refuse(message: bytes, call: Call) -> None:
        call.end(proto.rpc_status(NotFound("50 % of «it»\nis gone").as_event()))

    peer = Peer(Say=refuse)
    stream_id = peer.call()
    await settle()
    peer.exchange()
    trailers = peer.trailers(stream_id)
    assert trailers == peer.headers(stream_id)
    assert (trailers[":status"], trailers["grpc-status"]) == ("200", "5")
    assert trailers["grpc-message"] == "50 %25 of %C2%ABit%C2%BB%0Ais gone"
    info = ErrorInfo()
    assert peer.details(stream_id).details[0].Unpack(info)
    assert info.reason == "not_found"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"method": "PUT"}, "405"),
        ({"content_type": "application/json"}, "415"),
        ({"content_type": "application/grpc-web+proto"}, "415"),
    ],
    ids=str,
)
@jumping
async def test_what_is_no_grpc_gets_an_http_status(headers: dict[str, str], status: str):
    peer = Peer(Say=echo)
    stream_id = peer.call("Say", b"", True, **headers)
    assert peer.trailers(stream_id)[":status"] == status


@jumping
async def test_an_unknown_method_is_unimplemented():
    peer = Peer(Say=echo)
    assert peer.status(peer.call("Sing")) == 12


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 12),
        (prefixed(b"a") + prefixed(b"b"), 12),
        (prefixed(b"a") + b"\x00", 12),
        (b"\x01\x00\x00\x00\x01a", 12),
        (b"\x02\x00\x00\x00\x01a", 13),
        (prefixed(b"abc")[:-1], 13),
        (b"\x00\x00", 13),
    ],
    ids=["none", "two", "one and more", "compressed", "bad flag", "cut message", "cut prefix"],
)
@jumping
async def test_a_request_is_exactly_one_whole_plain_message(body: bytes, status: int):
    peer = Peer(Say=echo)
    stream_id = peer.call(message=None, end=False)
    peer.send(stream_id, body, end=True)
    await settle()
    peer.exchange()
    assert peer.status(stream_id) == status
    assert ("grpc-accept-encoding" in peer.trailers(stream_id)) is (body[:1] == b"\x01")


@jumping
async def test_a_message_that_is_too_large_is_refused_by_its_prefix_and_the_largest_is_not():
    peer = Peer(Say=echo)
    stream_id = peer.call(message=None, end=False)
    peer.send(stream_id, b"\x00" + (MESSAGE_MAX_BYTES + 1).to_bytes(4, "big"))
    assert peer.status(stream_id) == 8
    assert str(MESSAGE_MAX_BYTES) in peer.details(stream_id).message
    (reset,) = peer.of(events.StreamReset)  # the client need not say the rest
    assert reset.error_code == ErrorCodes.NO_ERROR
    stream_id = peer.call(message=b"a" * MESSAGE_MAX_BYTES)
    for _ in range(10):
        await settle()
        if data := peer.of(events.DataReceived):
            peer.h2.acknowledge_received_data(data[-1].flow_controlled_length, stream_id)
        peer.exchange()
        while peer.status(stream_id) is None and peer.h2.remote_flow_control_window(stream_id) < WINDOW // 2:
            peer.h2.increment_flow_control_window(WINDOW, stream_id)
            peer.h2.increment_flow_control_window(WINDOW)
            peer.exchange()
    assert peer.status(stream_id) == 0
    assert len(peer.body(stream_id)) == MESSAGE_MAX_BYTES + 5


@jumping
async def test_a_request_larger_than_the_window_gets_it_back():
    peer = Peer(Say=echo)
    peer.h2.get_next_available_stream_id()
    stream_id = peer.call(message=b"a" * (2 * WINDOW))
    assert peer.h2.local_flow_control_window(stream_id) > 0


# --- requests that are streamed -----------------------------------------------------------------------------


@jumping
async def test_streamed_requests_are_answered_one_by_one():
    async def talk(message: bytes, call: Call) -> None:
        call.send_initial_metadata()
        async for said in call.messages():
            await call.write(said.upper())

    peer = Peer(Talk=talk)
    stream_id = peer.call("Talk", message=None, end=False)
    for said in (b"a", b"b"):
        peer.send(stream_id, prefixed(said))
        await settle()
        peer.exchange()
    assert peer.body(stream_id) == prefixed(b"A") + prefixed(b"B")
    assert peer.status(stream_id) is None
    peer.send(stream_id, prefixed(b"c"), end=True)
    await settle()
    peer.exchange()
    assert (peer.body(stream_id)[-1:], peer.status(stream_id)) == (b"C", 0)


@jumping
async def test_requests_that_nobody_takes_are_bounded():
    method = Held()
    peer = Peer(Talk=method)
    stream_id = peer.call("Talk", message=None, end=False)
    for _ in range(3):
        peer.send(stream_id, prefixed(b"a" * (MESSAGE_MAX_BYTES // 3)))
    await settle()
    assert not method.cancelled
    peer.send(stream_id, prefixed(b"a" * 3))
    await settle()
    assert (peer.status(stream_id), method.cancelled) == (8, True)


# --- ends from outside --------------------------------------------------------------------------------------


@jumping
async def test_a_reset_ends_the_handler_and_nothing_more_is_sent():
    peer, method, call, stream_id = await held()
    peer.h2.reset_stream(stream_id, ErrorCodes.CANCEL)
    peer.exchange()
    assert call.output([b"a"]) == 0
    await settle()
    assert method.cancelled
    call.end()
    assert not peer.transport.data
    assert peer.of(events.ConnectionTerminated) == []


@jumping
async def test_a_lost_connection_ends_the_handler():
    peer, method, call, _ = await held()
    peer.transport.abort()
    await settle()
    assert (method.cancelled, call.output([b"a"]), peer.service.connections) == (True, 0, set())


@pytest.mark.parametrize(("limit", "seconds"), [("1500m", 1.5), ("2S", 2), ("3M", 180), ("1H", 3600)])
@jumping
async def test_a_deadline_ends_the_call(limit: str, seconds: float):
    method = Held()
    peer = Peer(Say=method)
    stream_id = peer.call(grpc_timeout=limit)
    ends = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < ends - 0.01:
        await asyncio.sleep(min(5, ends - 0.01 - asyncio.get_running_loop().time()))
        peer.exchange()  # pings are answered
    assert (peer.status(stream_id), method.cancelled) == (None, False)
    await asyncio.sleep(0.02)
    peer.exchange()
    assert (peer.status(stream_id), method.cancelled) == (4, True)


@pytest.mark.parametrize("limit", ["", "1", "S", "123456789S", "1.5S", "-1S"])
@jumping
async def test_a_deadline_that_cannot_be_read_is_refused(limit: str):
    peer = Peer(Say=echo)
    assert peer.status(peer.call(grpc_timeout=limit)) == 13


@jumping
async def test_an_ended_call_stays_as_it_ended():
    peer, _, call, stream_id = await held()
    call.end(Status(code=14, message="later"))
    call.end()
    call.expire()
    peer.exchange()
    assert peer.trailers(stream_id) == {"grpc-status": "14", "grpc-message": "later"}
