"""What requests may cost the gRPC server: messages without bytes, requests that never end, many at once."""

import pytest

from polystream.protocols.grpc_call import Call
from polystream.protocols.grpc_connection import LARGEST_REQUESTS
from polystream.protocols.grpc_frames import prefixed
from polystream.protocols.grpc_request import WAITING_MAX, Assembler, Refused
from tests.clock import jumping, settle
from tests.grpc_peer import MESSAGE_MAX_BYTES, Held, Peer

EMPTY = prefixed(b"")


async def echo(message: bytes, call: Call) -> bytes:
    """Says what it is told."""
    return message


@pytest.mark.parametrize("streamed", [False, True])
def test_what_is_refused_is_not_read_on(streamed: bool):
    request, most = Assembler(MESSAGE_MAX_BYTES, streamed), WAITING_MAX if streamed else 1
    request.feed(EMPTY * most)
    with pytest.raises(Refused) as refused:
        request.feed(EMPTY * 3000)
    assert refused.value.status.code == (8 if streamed else 12)
    assert len(request.whole) == most


def test_a_message_that_was_taken_makes_room():
    request = Assembler(10, True)
    for _ in range(2 * WAITING_MAX):
        request.feed(prefixed(b"a" * 10))
        assert request.take() == b"a" * 10


@jumping
async def test_messages_without_bytes_that_nobody_takes_are_bounded():
    method = Held()
    peer = Peer(Talk=method, Say=echo)
    stream_id, other = peer.call("Talk", message=None, end=False), peer.call()
    await settle()
    peer.send(stream_id, EMPTY * WAITING_MAX)
    assert peer.status(stream_id) is None
    peer.send(stream_id, EMPTY)
    await settle()
    peer.exchange()
    assert (peer.status(stream_id), method.cancelled, peer.status(other)) == (8, True, 0)
    assert str(WAITING_MAX) in peer.details(stream_id).message


@jumping
async def test_messages_that_come_at_once_leave_others_their_turns():
    said: list[str] = []

    async def talk(message: bytes, call: Call) -> None:
        async for _ in call.messages():
            said.append("talk")

    async def say(message: bytes, call: Call) -> bytes:
        said.append("say")
        return message

    peer = Peer(Talk=talk, Say=say)
    peer.call("Talk", message=None, end=False)
    peer.send(1, EMPTY * 100)
    peer.call("Say")
    await settle()
    assert said.index("say") < 10


@jumping
async def test_requests_on_the_way_are_bounded_for_all_calls_of_a_connection():
    peer = Peer(Say=echo)
    begun = [peer.call(message=None, end=False) for _ in range(LARGEST_REQUESTS + 2)]
    for stream_id in begun[:-2]:
        peer.send(stream_id, prefixed(b"a" * MESSAGE_MAX_BYTES)[:MESSAGE_MAX_BYTES])
    peer.send(begun[-2], prefixed(b"a"))
    assert [peer.status(stream_id) for stream_id in begun] == [None] * LARGEST_REQUESTS + [14, None]
    peer.send(begun[0], b"a" * 5, end=True)  # taken, so there is room again
    peer.send(begun[-1], prefixed(b"a"), end=True)
    await settle()
    peer.exchange()
    assert peer.status(begun[-1]) == 0


@pytest.mark.parametrize("end", ["answer", "reset", "refusal"])
@jumping
async def test_what_a_call_held_is_let_go_at_its_end(end: str):
    peer = Peer(Say=echo, Talk=echo)
    stream_id = peer.call("Talk" if end == "answer" else "Say", message=None, end=False)
    peer.send(stream_id, prefixed(b"abc")[:7])
    match end:
        case "reset":
            peer.h2.reset_stream(stream_id)
        case "refusal":
            peer.h2.end_stream(stream_id)
    peer.exchange()
    await settle()
    peer.exchange()
    assert peer.connection._held == 0


@jumping
async def test_what_a_handler_has_taken_is_not_held_while_it_answers():
    async def talk(message: bytes, call: Call) -> None:
        async for _ in call.messages():
            pass

    peer = Peer(Say=Held(), Talk=talk)
    peer.call(message=b"abc")
    peer.send(peer.call("Talk", message=b"abc", end=False), prefixed(b"abc")[:6])
    await settle()
    assert (len(peer.connection._calls), peer.connection._held) == (2, 6)
