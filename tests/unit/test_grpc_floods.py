"""Floods: what costs the gRPC server work and its client nothing is bounded, and honest clients are not."""

import asyncio

import pytest
from google.rpc.status_pb2 import Status
from h2 import events
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from polystream.protocols.grpc_call import Call
from polystream.protocols.grpc_connection import UNREAD_MAX_BYTES
from polystream.protocols.grpc_floods import CONTROL_MAX, REFUSED_FRAMES, RESETS_MAX
from polystream.protocols.grpc_frames import prefixed
from polystream.protocols.grpc_http2 import STREAMS_MAX, TABLE_MAX_BYTES
from tests.clock import jumping, settle
from tests.grpc_peer import END_HEADERS, HEADERS, Peer, ended_with, frame, wait

HEAD = [
    (":method", "POST"), (":scheme", "http"), (":path", "/t.T/Say"), (":authority", "t"),
    ("content-type", "application/grpc"),
]  # fmt: skip


async def echo(message: bytes, call: Call) -> bytes:
    """Says what it is told."""
    return message


@jumping
async def test_clients_may_ping_as_often_as_they_like_but_not_without_end():
    peer = Peer(Say=wait)
    stream_id = peer.call()
    for _ in range(3):
        await asyncio.sleep(1)
        for _ in range(CONTROL_MAX // 10):
            peer.h2.ping(b"12345678")
        peer.exchange()
    assert len(peer.of(events.PingAckReceived)) == 3 * CONTROL_MAX // 10
    assert (ended_with(peer), peer.status(stream_id)) == ([], None)
    for _ in range(CONTROL_MAX + 1):
        peer.h2.ping(b"12345678")
    peer.exchange()
    assert ended_with(peer) == [(ErrorCodes.ENHANCE_YOUR_CALM, 1)]
    await settle()
    assert peer.service.tasks == set()


@pytest.mark.parametrize("kind", ["settings", "empty data", "small data", "windows", "answers"])
@jumping
async def test_frames_that_carry_nothing_are_counted(kind: str):
    peer = Peer(Say=wait)
    stream_id = 0 if kind == "windows" else peer.call(message=None, end=False)
    for number in range(CONTROL_MAX + 2):
        match kind:
            case "settings":
                peer.h2.update_settings({SettingCodes.MAX_FRAME_SIZE: 16_384})
            case "empty data":
                peer.h2.send_data(stream_id, b"")
            case "answers":
                peer.give(b"\0\0\x08\x06\1\0\0\0\0unasked!")
            case "small data":
                peer.h2.send_data(stream_id, b"a" if number else prefixed(bytes(2 * CONTROL_MAX))[:5])
            case "windows":
                peer.h2.increment_flow_control_window(1)
    peer.exchange()
    assert ended_with(peer) == [(ErrorCodes.ENHANCE_YOUR_CALM, stream_id)]


@jumping
async def test_settings_are_as_dear_as_the_calls_that_they_change():
    peer = Peer(Say=wait)
    for _ in range(STREAMS_MAX):
        peer.call()
    for number in range(CONTROL_MAX // 10):
        peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 65_535 + number % 2})
    peer.exchange()
    assert [code for code, _ in ended_with(peer)] == [ErrorCodes.ENHANCE_YOUR_CALM]


@jumping
async def test_calls_are_woken_once_however_often_their_window_was_opened():
    peer, woken = Peer(Say=wait), []
    peer.call()
    peer.connection._wake_all = lambda: woken.append(1)  # type: ignore[method-assign]
    for _ in range(50):  # in one turn
        peer.h2.increment_flow_control_window(1)
    peer.exchange()
    assert woken == [1]


@jumping
async def test_no_more_is_read_at_once_than_others_can_wait_for():
    peer = Peer(greet=False)
    sent, reads = peer.h2.data_to_send(), 0
    peer.h2.ping(b"12345678")
    sent += peer.h2.data_to_send() * 5000
    while sent:
        buffer = peer.connection.get_buffer(-1)
        size = min(len(sent), len(buffer))
        buffer[:size] = sent[:size]
        peer.connection.buffer_updated(size)
        peer.turn()
        sent, reads = sent[size:], reads + 1
    peer.receive()
    assert (reads, len(peer.of(events.PingAckReceived))) == (6, 5000)
    assert not peer.connection._incoming
    assert peer.transport.waiting > 70  # turns, of 64 frames each


@jumping
async def test_many_small_frames_are_taken_in_turns_and_the_client_waits_meanwhile():
    peer = Peer(Say=echo)
    for _ in range(200):
        peer.h2.ping(b"12345678")
    peer.connection.data_received(peer.h2.data_to_send())
    assert not peer.transport.is_reading()
    peer.receive()
    assert len(peer.of(events.PingAckReceived)) == 64
    async with asyncio.timeout(5):
        while not peer.transport.is_reading():  # noqa: ASYNC110 - by the connection's own turns
            await asyncio.sleep(0)
    peer.receive()
    assert len(peer.of(events.PingAckReceived)) == 200


@jumping
async def test_calls_above_the_limit_are_a_flood_when_they_do_not_stop():
    peer = Peer(Say=wait)
    for _ in range(STREAMS_MAX):
        peer.call()
    stream_id, more = 2 * STREAMS_MAX + 1, 0
    while not peer.transport.ended:
        peer.give(frame(HEADERS, stream_id + 2 * more, peer.h2.encoder.encode(HEAD), END_HEADERS))
        more += 1
        assert more <= CONTROL_MAX // REFUSED_FRAMES + 1
    peer.receive()
    assert [code for code, _ in ended_with(peer)] == [ErrorCodes.ENHANCE_YOUR_CALM]
    assert more > CONTROL_MAX // REFUSED_FRAMES // 2


@jumping
async def test_a_client_with_a_call_may_open_its_windows_as_often_as_it_likes():
    peer = Peer(Say=wait)
    peer.call()
    for _ in range(CONTROL_MAX + 1):
        peer.h2.increment_flow_control_window(1)
    peer.exchange()
    assert ended_with(peer) == []


@jumping
async def test_calls_that_are_reset_at_once_are_bounded_and_those_of_a_busy_client_are_not():
    peer = Peer(Say=wait)
    for _ in range(2):  # a client that gives up all it has, and once more a second later
        await asyncio.sleep(1)
        begun = [peer.call() for _ in range(STREAMS_MAX)]
        for stream_id in begun:
            peer.h2.reset_stream(stream_id, ErrorCodes.CANCEL)
        peer.exchange()
        await settle()
        assert (ended_with(peer), peer.service.tasks) == ([], set())
    await asyncio.sleep(1)
    for _ in range(RESETS_MAX + 1):
        stream_id = peer.h2.get_next_available_stream_id()
        fields = [(":method", "POST"), (":scheme", "http"), (":path", "/t.T/Say"), (":authority", "t")]
        peer.h2.send_headers(stream_id, [*fields, ("content-type", "application/grpc")])
        peer.h2.reset_stream(stream_id, ErrorCodes.CANCEL)
    peer.exchange()
    assert [code for code, _ in ended_with(peer)] == [ErrorCodes.ENHANCE_YOUR_CALM]


@jumping
async def test_a_client_that_reads_no_answers_to_its_pings_is_closed():
    peer = Peer()
    peer.connection.pause_writing()
    for _ in range(UNREAD_MAX_BYTES // 17 // 9000 + 1):
        assert not peer.transport.closed
        for _ in range(9000):  # of 17 bytes each, and fewer than a second may have
            peer.h2.ping(b"12345678")
        peer.give(peer.h2.data_to_send())
        await asyncio.sleep(1)
    assert peer.transport.closed


@jumping
async def test_a_client_cannot_have_us_remember_all_our_header_fields():
    async def refuse(message: bytes, call: Call) -> None:
        call.end(Status(code=5, message=f"number {call.stream_id}"))

    peer = Peer(Say=refuse)
    peer.h2.decoder.max_allowed_table_size = 2**32 - 1
    peer.h2.update_settings({SettingCodes.HEADER_TABLE_SIZE: 2**32 - 1})
    for _ in range(200):
        stream_id = peer.call()
        await settle()
        peer.exchange()
        assert peer.trailers(stream_id)["grpc-message"] == f"number {stream_id}"
    assert len(peer.connection.h2.encoder.header_table.dynamic_entries) < TABLE_MAX_BYTES // 32


@jumping
async def test_a_table_that_changes_often_is_told_in_short_and_stays_the_clients():
    peer = Peer(Say=wait)
    peer.call("No")
    for size in (*range(1000), 0, 4096, 65_536):
        peer.h2.update_settings({SettingCodes.HEADER_TABLE_SIZE: size})
    peer.exchange()
    assert peer.connection.h2.encoder.table_size_changes == [0, 4096]
    assert peer.status(peer.call("No")) == 12
    assert peer.connection.h2.encoder.table_size_changes == []  # told
    assert peer.status(peer.call("No")) == 12
    assert peer.connection.h2.encoder.header_table.dynamic_entries
