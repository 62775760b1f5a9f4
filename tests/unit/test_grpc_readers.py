"""Readers of streams over gRPC: a call's heartbeats and standstill are its own, on a busy connection too."""

import asyncio

from polystream.core.events import Text
from polystream.dialects.proto import Messages
from polystream.edge.pulse import Pulse
from polystream.edge.readers import Readers
from polystream.proto.polystream.v1 import streams_pb2 as pb
from polystream.protocols.grpc import SERVICE, Streams
from polystream.protocols.grpc_frames import prefixed
from polystream.protocols.grpc_service import Service
from tests.clock import jumping, settle
from tests.fakes import HeldEngine, generations
from tests.grpc_peer import HEARTBEAT_S, MESSAGE_MAX_BYTES, WINDOW, Peer

STALL_S = 30.0
BEAT = prefixed(Messages.heartbeat or b"")


async def streaming() -> tuple[Peer, HeldEngine, list[int]]:
    """A connection whose windows are wide, with two streams, each with its first token."""
    engine = HeldEngine()
    readers = Readers(generations(engine), Pulse(HEARTBEAT_S, STALL_S))
    peer = Peer(Service(Streams(readers).methods(), MESSAGE_MAX_BYTES, HEARTBEAT_S))
    peer.h2.increment_flow_control_window(100 * WINDOW)
    begun = []
    for _ in range(2):
        message = pb.StartRequest(prompt="Say it.").SerializeToString()
        begun.append(peer.call(message=message, path=f"/{SERVICE}/Start"))
        await settle()
        engine.run.emit(Text("a"))
        await settle()
        peer.exchange()
    return peer, engine, begun


async def busy(peer: Peer, engine: HeldEngine, seconds: int) -> None:
    """Time in which the second stream never rests, and something of it is always on its way."""
    for second in range(seconds):
        engine.runs[1].emit(Text("b" * (second % 7 + 1)))
        await asyncio.sleep(1)
        peer.exchange()


@jumping
async def test_a_reader_that_opens_its_window_no_more_is_stalled_however_busy_its_connection_is():
    peer, engine, (stuck, other) = await streaming()
    engine.runs[0].emit(Text("x" * WINDOW))
    await busy(peer, engine, int(STALL_S) - 2)
    assert peer.status(stuck) is None
    await busy(peer, engine, 4)
    assert (peer.status(stuck), peer.status(other)) == (14, None)


@jumping
async def test_a_quiet_stream_has_its_heartbeats_however_busy_its_connection_is():
    peer, engine, (quiet, other) = await streaming()
    await busy(peer, engine, 31)
    assert peer.body(quiet).count(BEAT) == 3
    assert BEAT not in peer.body(other)


@jumping
async def test_heartbeats_do_not_pile_up_before_a_connection_that_takes_nothing():
    peer, _, (quiet, _) = await streaming()
    peer.connection.pause_writing()
    for _ in range(3):
        await asyncio.sleep(HEARTBEAT_S)
        peer.exchange()
    peer.connection.resume_writing()
    await settle()
    peer.exchange()
    assert peer.body(quiet).count(BEAT) == 1
