"""The gRPC server's connections: pings, GOAWAY from either side, and the drain."""

import asyncio

import pytest
from h2 import events
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from polystream.protocols.grpc_call import Call
from polystream.protocols.grpc_connection import LINGER_S, PING_ANSWER_S
from polystream.protocols.grpc_frames import prefixed
from polystream.protocols.grpc_http2 import HEADERS_MAX_BYTES, STREAMS_MAX
from tests.clock import jumping, settle
from tests.grpc_peer import (
    DATA,
    END_STREAM,
    GOAWAY,
    HEARTBEAT_S,
    PING,
    WINDOW,
    WINDOW_UPDATE,
    Held,
    Peer,
    ended_with,
    frame,
    wait,
)

# --- the beginning ------------------------------------------------------------------------------------------


@jumping
async def test_the_limits_are_told():
    peer = Peer()
    assert peer.h2.remote_settings.max_concurrent_streams == STREAMS_MAX
    assert peer.h2.remote_settings.max_header_list_size == HEADERS_MAX_BYTES
    assert not peer.h2.remote_settings.enable_push
    assert not peer.h2.remote_settings[SettingCodes.ENABLE_CONNECT_PROTOCOL]


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"a" * 30])
@jumping
async def test_what_is_no_http2_is_closed(data: bytes):
    peer = Peer(greet=False)
    peer.give(data)
    assert peer.transport.ended
    peer.transport.data = b""
    await asyncio.sleep(LINGER_S + 1)
    assert peer.transport.closed


@jumping
async def test_a_head_that_is_too_large_ends_the_connection():
    peer = Peer(Say=wait)
    peer.call(x=("a" * 15_000))
    assert ended_with(peer) == []
    peer.call(x=("a" * 17_000))
    assert ended_with(peer) == [(ErrorCodes.ENHANCE_YOUR_CALM, 1)]


# --- pings --------------------------------------------------------------------------------------------------


@jumping
async def test_a_silent_connection_is_pinged_and_one_that_answers_stays():
    peer = Peer()
    for number in range(1, 10):
        await asyncio.sleep(HEARTBEAT_S)
        peer.exchange()
        assert len(peer.of(events.PingReceived)) == number
    assert not peer.transport.closed


@jumping
async def test_a_connection_that_answers_no_ping_is_closed_and_its_calls_end():
    peer = Peer(Say=wait)
    peer.call()
    await asyncio.sleep(HEARTBEAT_S + PING_ANSWER_S - 1)
    assert not peer.transport.closed
    await asyncio.sleep(2)
    assert peer.transport.closed
    assert (peer.service.tasks, peer.service.connections) == (set(), set())


# --- GOAWAY -------------------------------------------------------------------------------------------------


@jumping
async def test_a_drain_refuses_new_calls_and_waits_for_those_under_way():
    peer = Peer(Say=wait)
    first = peer.call()
    peer.service.drain()
    data, peer.transport.data = peer.transport.data, b""  # not read yet when the next call begins
    second = peer.call()
    peer.transport.data = data + peer.transport.data
    peer.exchange()
    assert ended_with(peer) == [(ErrorCodes.NO_ERROR, first)]
    (reset,) = peer.of(events.StreamReset)
    assert (reset.stream_id, reset.error_code) == (second, ErrorCodes.REFUSED_STREAM)
    assert not peer.transport.ended


@jumping
async def test_a_drained_connection_is_closed_behind_its_last_trailers():
    async def brief(message: bytes, call: Call) -> bytes:
        await asyncio.sleep(1)
        return b"done"

    peer = Peer(Say=brief)
    peer.call()
    peer.service.drain()
    stopping = asyncio.ensure_future(peer.service.stop(2))
    await asyncio.sleep(1.1)
    assert peer.transport.ended
    assert b"done" in peer.transport.data
    assert not peer.transport.closed  # a client that has not read all would lose it
    peer.transport.data = b""
    await asyncio.sleep(LINGER_S)
    assert peer.transport.closed
    await stopping


@jumping
async def test_a_client_that_is_slow_to_take_the_last_bytes_is_waited_for_but_not_for_ever():
    peer = Peer()
    peer.service.drain()
    await asyncio.sleep(LINGER_S + PING_ANSWER_S - 0.1)
    assert not peer.transport.closed
    await asyncio.sleep(0.2)
    assert peer.transport.closed


@jumping
async def test_idle_connections_are_closed_at_once_and_so_are_new_ones():
    peer = Peer()
    peer.service.drain()
    late = Peer(peer.service)
    for idle in (peer, late):
        assert idle.transport.ended
        idle.receive()
        assert ended_with(idle) == [(ErrorCodes.NO_ERROR, 0)]
        idle.transport.abort()  # as transports do when the client closes
    await peer.service.stop(0.1)
    assert peer.service.connections == set()


@jumping
async def test_nothing_is_written_to_a_connection_that_is_being_closed():
    peer = Peer(Say=wait)
    peer.call()
    peer.transport.abort()
    peer.service.drain()
    peer.connection._beat()
    await settle()
    assert peer.service.connections == set()


@jumping
async def test_a_stop_does_not_wait_for_ever():
    peer = Peer(Say=wait)
    peer.call()
    peer.service.drain()
    began = asyncio.get_running_loop().time()
    await peer.service.stop(2)
    await settle()
    assert asyncio.get_running_loop().time() - began == pytest.approx(2, abs=0.01)
    assert peer.transport.closed
    assert peer.service.tasks == set()


@jumping
async def test_calls_go_on_behind_a_goaway_of_the_client():
    calls = []

    async def held(message: bytes, call: Call) -> None:
        calls.append(call)
        call.send_initial_metadata()
        await asyncio.sleep(1)

    peer = Peer(Say=held)
    stream_id = peer.call()
    await settle()
    peer.exchange()
    goaway = b"\0\0\x08\x07\0\0\0\0\0" + bytes(8)
    peer.give(goaway)
    assert calls[0].output([b"a"]) == 1
    await asyncio.sleep(1.1)
    assert peer.transport.ended
    peer.receive()
    assert (peer.body(stream_id), peer.status(stream_id)) == (prefixed(b"a"), 0)


@jumping
async def test_a_frame_above_the_limit_ends_the_connection_and_its_calls():
    peer = Peer(Say=wait)
    peer.call()
    peer.give((16_385).to_bytes(3, "big") + b"\0\0\0\0\0\1" + bytes(16_385))
    assert peer.transport.ended
    peer.receive()
    assert ended_with(peer) == [(ErrorCodes.FRAME_SIZE_ERROR, 1)]
    await settle()
    assert peer.service.tasks == set()


@jumping
async def test_nothing_is_said_to_a_client_that_has_said_goodbye():
    peer = Peer(Say=wait)
    peer.give(b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))
    assert peer.transport.ended
    peer.h2.ping(b"12345678")
    peer.give(peer.h2.data_to_send())  # the transport would refuse an answer


@jumping
async def test_frames_behind_a_goaway_of_the_client_are_taken_with_those_before_it():
    async def slow(message: bytes, call: Call) -> None:
        call.send_initial_metadata()
        await call.write(bytes(2 * WINDOW))

    peer = Peer(Say=slow)
    stream_id = peer.call(end=False)
    more = frame(WINDOW_UPDATE, 0, WINDOW.to_bytes(4, "big")) * 2
    for number in (0, stream_id):
        more += frame(WINDOW_UPDATE, number, (2 * WINDOW).to_bytes(4, "big"))
    ping, end = frame(PING, 0, b"12345678"), frame(DATA, stream_id, b"", END_STREAM)
    peer.give(ping + frame(GOAWAY, 0, bytes(8)) + end + more)
    await settle()
    assert peer.transport.ended
    peer.h2.increment_flow_control_window(4 * WINDOW)
    peer.h2.increment_flow_control_window(4 * WINDOW, stream_id)
    peer.h2.end_stream(stream_id)
    peer.receive()
    assert (len(peer.body(stream_id)), peer.status(stream_id)) == (2 * WINDOW + 5, 0)
    assert len(peer.of(events.PingAckReceived)) == 1


# --- many calls ---------------------------------------------------------------------------------------------


@jumping
async def test_a_new_call_is_as_cheap_with_many_open_and_those_that_are_gone_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
):
    peer, walked, walk = Peer(Hold=Held()), [], H2Connection._open_streams

    def counted(h2: H2Connection, remainder: int) -> int:
        walked.append(len(h2.streams) if h2 is peer.connection.h2 else 0)
        return walk(h2, remainder)

    monkeypatch.setattr(H2Connection, "_open_streams", counted)
    begun = [peer.call("Hold") for _ in range(STREAMS_MAX)]
    for _ in range(2):
        await asyncio.sleep(1)
        for stream_id in begun:
            peer.h2.reset_stream(stream_id, ErrorCodes.CANCEL)
        begun = [peer.call("Hold") for _ in range(STREAMS_MAX)]
    assert sum(walked) < 3 * 3 * STREAMS_MAX
    assert len(peer.connection.h2.streams) < 3 * STREAMS_MAX
    assert ended_with(peer) == []
