"""What clients do wrong: with one call, which ends that call, and with the connection, which ends it."""

import pytest
from h2 import events
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hpack import Encoder

from polystream.protocols.grpc_call import Call
from polystream.protocols.grpc_floods import CONTROL_MAX, RESETS_MAX
from polystream.protocols.grpc_frames import prefixed
from polystream.protocols.grpc_http2 import STREAMS_MAX
from tests.clock import jumping, settle
from tests.grpc_peer import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    RESET,
    WINDOW,
    WINDOW_UPDATE,
    Held,
    Peer,
    frame,
)

HEAD = [
    (":method", "POST"), (":scheme", "http"), (":path", "/t.T/Say"), (":authority", "t"),
    ("content-type", "application/grpc"),
]  # fmt: skip


async def echo(message: bytes, call: Call) -> bytes:
    """Says what it is told."""
    return message


def resets(peer: Peer) -> list[tuple[int, int]]:
    """The streams that a client has seen reset, and why; without those that had their answer."""
    seen = [(event.stream_id, event.error_code) for event in peer.of(events.StreamReset)]
    return [(stream_id, code) for stream_id, code in seen if code != ErrorCodes.NO_ERROR]


def goaways(peer: Peer) -> list[int]:
    """Why a client's connection was ended."""
    return [event.error_code for event in peer.of(events.ConnectionTerminated)]


async def still_served(peer: Peer) -> bool:
    """Whether a new call over the connection is answered."""
    stream_id = peer.call(message=b"well?")
    await settle()
    peer.exchange()
    return peer.status(stream_id) == 0


def careless(peer: Peer) -> None:
    """Have the client send what it should not."""
    peer.h2.config.validate_outbound_headers = False
    peer.h2.config.normalize_outbound_headers = False
    peer.h2.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 100 * STREAMS_MAX
    peer.h2.remote_settings.acknowledge()


# --- one stream's trouble -----------------------------------------------------------------------------------


@jumping
async def test_one_call_too_many_is_refused_alone():
    peer = Peer(Say=Held())
    careless(peer)
    begun = [peer.call() for _ in range(STREAMS_MAX)]
    late = peer.call()
    assert resets(peer) == [(late, ErrorCodes.REFUSED_STREAM)]
    peer.h2.reset_stream(begun[0], ErrorCodes.CANCEL)
    peer.call()
    assert (len(resets(peer)), goaways(peer)) == (1, [])
    assert len(peer.connection._calls) == STREAMS_MAX


@jumping
async def test_calls_that_are_refused_are_counted():
    peer = Peer(Say=Held())
    careless(peer)
    peer.call()
    peer.connection._draining = True  # without a GOAWAY, at which this client would stop
    for _ in range(CONTROL_MAX - 100):
        peer.h2.ping(b"12345678")
    for _ in range(101):
        peer.h2.send_headers(peer.h2.get_next_available_stream_id(), HEAD)
    peer.exchange()
    assert goaways(peer) == [ErrorCodes.ENHANCE_YOUR_CALM]


@pytest.mark.parametrize(
    "head",
    [
        [*HEAD[:2], *HEAD[3:]],
        [*HEAD[1:]],
        [*HEAD, (":path", "/t.T/Say")],
        [*HEAD, ("Upper", "case")],
        [*HEAD, ("connection", "close")],
        [*HEAD, ("content-length", "many")],
        [*HEAD[:3], HEAD[4], HEAD[3]],
        [(":status", "100")],
    ],
    ids=["no path", "no method", "two paths", "upper case", "connection", "length", "order", "informational"],
)
@pytest.mark.parametrize("end", [False, True])
@jumping
async def test_a_malformed_request_is_reset_alone(head: list[tuple[str, str]], end: bool):
    peer = Peer(Say=echo)
    careless(peer)
    stream_id = peer.h2.get_next_available_stream_id()
    block = peer.h2.encoder.encode(head)
    encoder, peer.h2.encoder = peer.h2.encoder, Encoder()
    peer.h2.send_headers(stream_id, HEAD)  # for the client's own state
    peer.h2.clear_outbound_data_buffer()
    peer.h2.encoder = encoder
    flags = END_HEADERS | (END_STREAM if end else 0)
    peer.give(frame(HEADERS, stream_id, block, flags))
    peer.exchange()
    assert resets(peer) == [(stream_id, ErrorCodes.PROTOCOL_ERROR)]
    peer.give(frame(DATA, stream_id, b"late"))
    assert await still_served(peer)


@pytest.mark.parametrize("kind", ["trailers", "long", "short"])
@jumping
async def test_a_request_that_goes_wrong_is_reset_alone(kind: str):
    peer, method = Peer(Say=echo), Held()
    careless(peer)
    peer.service._methods[b"/t.T/Talk"] = type(peer.service._methods[b"/t.T/Say"])(method, True)
    stream_id = peer.call(
        "Talk", message=None, end=False, **({} if kind == "trailers" else {"content_length": "9"})
    )
    await settle()
    match kind:
        case "trailers":
            block = peer.h2.encoder.encode([("a", "b")])
            peer.give(frame(HEADERS, stream_id, block, END_HEADERS))
        case "long":
            peer.give(frame(DATA, stream_id, prefixed(b"12345")))
        case "short":
            peer.give(frame(DATA, stream_id, prefixed(b"123"), END_STREAM))
    await settle()
    peer.exchange()
    assert resets(peer) == [(stream_id, ErrorCodes.PROTOCOL_ERROR)]
    assert method.cancelled
    assert await still_served(peer)


@jumping
async def test_a_window_that_is_opened_by_nothing_ends_its_call_alone():
    method = Held()
    peer = Peer(Hold=method, Say=echo)
    stream_id = peer.call("Hold")
    await settle()
    update = frame(WINDOW_UPDATE, stream_id, bytes(4))
    peer.give(update[:-2])
    peer.give(update[-2:] + frame(PING, 0, b"12345678"))
    await settle()
    peer.exchange()
    assert (resets(peer), method.cancelled) == ([(stream_id, ErrorCodes.PROTOCOL_ERROR)], True)
    seen = len(peer.frames)
    peer.give(update)  # of a stream that is gone by now
    peer.exchange()
    assert peer.frames[seen:] == []
    assert await still_served(peer)


@jumping
async def test_calls_that_clients_have_reset_by_going_wrong_are_bounded():
    peer = Peer(Hold=Held())
    for _ in range(RESETS_MAX + 1):
        stream_id = peer.h2.get_next_available_stream_id()
        peer.h2.send_headers(stream_id, [*HEAD[:2], (":path", "/t.T/Hold"), *HEAD[3:]])
        peer.give(peer.h2.data_to_send() + frame(WINDOW_UPDATE, stream_id, bytes(4)))
        peer.h2.reset_stream(stream_id)
        peer.h2.clear_outbound_data_buffer()
    peer.exchange()
    await settle()
    assert (goaways(peer), peer.service.tasks) == ([ErrorCodes.ENHANCE_YOUR_CALM], set())


# --- what comes late ----------------------------------------------------------------------------------------


@jumping
async def test_what_comes_late_for_calls_that_were_refused_is_nobodys_trouble():
    peer = Peer(Say=echo)
    gone = []
    for _ in range(STREAMS_MAX + 1):
        stream_id = peer.h2.get_next_available_stream_id()
        peer.h2.send_headers(stream_id, [*HEAD[:2], (":path", "/t.T/No"), *HEAD[3:]])
        gone.append(stream_id)
        peer.give(peer.h2.data_to_send())
        peer.receive()
    seen = len(peer.frames)
    for stream_id in gone:
        block = peer.h2.encoder.encode([("a", "b")])
        peer.give(frame(DATA, stream_id, b"late"))
        peer.give(frame(HEADERS, stream_id, block, END_HEADERS | END_STREAM))
        peer.give(frame(RESET, stream_id, bytes(4)))
    peer.exchange()
    assert (goaways(peer), peer.frames[seen:]) == ([], [])
    assert await still_served(peer)


@pytest.mark.parametrize("kind", ["late", "too long"])
@jumping
async def test_the_connections_window_is_given_back_for_what_nobody_takes(kind: str):
    peer = Peer(Say=echo)
    for _ in range(10):
        if kind == "late":
            stream_id = peer.call("No", message=None, end=False)
        else:
            stream_id = peer.call(message=None, end=False, content_length="9")
        peer.give(frame(DATA, stream_id, bytes(16_384)))
        peer.exchange()
    opened = sum(event.delta for event in peer.of(events.WindowUpdated) if event.stream_id == 0)
    assert opened >= 10 * 16_384 - WINDOW // 2
    assert goaways(peer) == []


@pytest.mark.parametrize("kind", [DATA, WINDOW_UPDATE, RESET])
@jumping
async def test_late_frames_are_counted_although_nobody_hears_of_them(kind: int):
    peer = Peer(Say=echo, Hold=Held())
    peer.call("Hold")
    stream_id = peer.call("No", message=None, end=False)
    late = frame(kind, stream_id, b"" if kind == DATA else b"\0\0\0\1")
    for _ in range(9):
        peer.give(late * (CONTROL_MAX // 10))
    peer.receive()
    assert goaways(peer) == []
    for _ in range(2):
        peer.give(late * (CONTROL_MAX // 10))
    peer.receive()
    assert goaways(peer) == [ErrorCodes.ENHANCE_YOUR_CALM]


# --- the connection's trouble -------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"a" * 30])
@jumping
async def test_what_is_no_http2_is_told_so(data: bytes):
    peer = Peer(greet=False)
    peer.give(data)
    peer.receive()
    assert goaways(peer) == [ErrorCodes.PROTOCOL_ERROR]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(DATA, 1, bytes(16_385))[:9], ErrorCodes.FRAME_SIZE_ERROR),
        (b"\xff\xff\xff" + frame(99, 0, b"")[3:], ErrorCodes.FRAME_SIZE_ERROR),
        (frame(WINDOW_UPDATE, 0, bytes(4)), ErrorCodes.PROTOCOL_ERROR),
        (frame(WINDOW_UPDATE, 99, bytes(4)), ErrorCodes.PROTOCOL_ERROR),
        (frame(HEADERS, 3, b"") + frame(WINDOW_UPDATE, 1, bytes(4)), ErrorCodes.PROTOCOL_ERROR),
        (frame(HEADERS, 3, b"\xff\xff", END_HEADERS), ErrorCodes.PROTOCOL_ERROR),
        (frame(DATA, 1, b"\xff", 8), ErrorCodes.PROTOCOL_ERROR),
        (frame(DATA, 99, b""), ErrorCodes.PROTOCOL_ERROR),
    ],
    ids=["long", "longest", "no opening", "idle", "within a head", "compression", "padding", "idle data"],
)
@jumping
async def test_what_breaks_the_connection_is_told_and_ends_all(data: bytes, code: ErrorCodes):
    method = Held()
    peer = Peer(Say=method)
    peer.call(end=False)
    peer.give(data)
    peer.receive()
    assert (goaways(peer), peer.transport.ended) == ([code], True)
    await settle()
    assert peer.service.tasks == set()
