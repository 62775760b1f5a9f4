"""What a gRPC call sends: whole messages at once while there is room, never more than the client takes."""

import asyncio

import pytest
from h2.settings import SettingCodes

from polystream.protocols.grpc_frames import prefixed
from tests.clock import jumping, settle
from tests.grpc_peer import WINDOW, held


@jumping
async def test_a_message_goes_out_at_once_and_h2_counts_it():
    peer, _, call, stream_id = await held()
    assert call.output([b"abc", b"de"]) == 5
    peer.receive()
    assert peer.body(stream_id) == prefixed(b"abc") + prefixed(b"de")
    assert peer.frames[-1] == (0, 15)
    server = peer.connection.h2
    assert server.local_flow_control_window(stream_id) == WINDOW - 15
    assert server.outbound_flow_control_window == WINDOW - 15


@pytest.mark.parametrize("narrow", ["stream", "connection"])
@jumping
async def test_a_full_window_holds_messages_back_until_it_opens(narrow: str):
    peer, _, call, stream_id = await held()
    if narrow == "stream":
        peer.h2.increment_flow_control_window(10 * WINDOW)
    else:
        peer.h2.increment_flow_control_window(10 * WINDOW, stream_id)
    peer.exchange()
    assert call.output([b"a" * (WINDOW - 5 - 8)]) == WINDOW - 5 - 8
    assert call.output([b"1234"]) == 0
    writing = asyncio.ensure_future(call.write(b"1234"))
    await settle()
    peer.receive()
    assert len(peer.body(stream_id)) == WINDOW  # the window's last 8 bytes are used
    assert (writing.done(), call.partial) == (False, 8)
    assert call.output([b"x"]) == 0
    peer.h2.increment_flow_control_window(1, stream_id if narrow == "stream" else None)
    peer.exchange()
    await settle()
    peer.receive()
    assert writing.done()
    assert peer.body(stream_id).endswith(prefixed(b"1234"))


@jumping
async def test_a_window_that_settings_shrink_is_waited_for():
    peer, _, call, stream_id = await held()
    assert call.output([b"a" * 1000])
    peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
    peer.exchange()
    writing = asyncio.ensure_future(call.write(b"bc"))
    await settle()
    assert not writing.done()
    peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2000})
    peer.exchange()
    await settle()
    peer.receive()
    assert writing.done()
    assert peer.body(stream_id).endswith(prefixed(b"bc"))


@jumping
async def test_frames_are_as_large_as_the_client_takes_them():
    peer, _, call, _ = await held()
    assert call.output([b"a" * 20_000, b"b" * 20_000]) == 40_000
    peer.receive()
    assert [length for kind, length in peer.frames if kind == 0] == [16_384, 16_384, 7_242]
    peer.h2.update_settings({SettingCodes.MAX_FRAME_SIZE: 18_000})
    peer.exchange()
    await call.write(b"c" * 20_000)
    peer.receive()
    assert [length for kind, length in peer.frames if kind == 0][3:] == [18_000, 2_005]


@jumping
async def test_a_full_transport_holds_messages_back():
    peer, _, call, stream_id = await held()
    peer.connection.pause_writing()
    assert call.output([b"a"]) == 0
    writing = asyncio.ensure_future(call.write(b"a"))
    await settle()
    assert not peer.transport.data
    peer.connection.resume_writing()
    await writing
    peer.receive()
    assert peer.body(stream_id) == prefixed(b"a")
