"""The client for engines against real servers: bodies, cuts, limits, reuse, and the one repetition."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystream.core.errors import UpstreamBadChunk, UpstreamUnavailable
from polystream.engines import http, http_connection
from polystream.engines.http import HttpClient
from polystream.engines.http_connection import Connection, End, Head
from tests.engine_server import CHUNKED, LAST, Wire, answering, counted, engine_server, framed, on_every_loop
from tests.fakes import until


class Kept:
    """A receiver that keeps what it gets; `on_data` may do more with a piece."""

    def __init__(self, on_data: Callable[[bytes], None] = lambda data: None):
        self.heads: list[Head] = []
        self.pieces: list[bytes] = []
        self.begun = 0
        self.stop: Callable[[bool], None] = lambda linger: None
        self._on_data = on_data

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def began(self, stop: Callable[[bool], None]) -> None:
        self.begun += 1
        self.stop = stop

    def head(self, head: Head) -> None:
        assert not self.pieces
        self.heads.append(head)

    def data(self, data: bytes) -> None:
        assert self.heads
        assert data
        self.pieces.append(data)
        self._on_data(data)


class Pipe(asyncio.Transport):
    """A transport without a network, for reads that are cut exactly where a test wants them."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = False

    def write(self, data: Any) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


async def exchanged(reads: list[bytes], eof: bool = False) -> tuple[End, Kept, Connection]:
    """One exchange whose answer comes in these reads; at most one piece and never an empty one for each."""
    connection, kept = Connection(), Kept()
    connection.connection_made(Pipe())
    exchange = asyncio.ensure_future(connection.exchange(b"GET / HTTP/1.1\r\n\r\n", kept))
    await asyncio.sleep(0)
    for read in reads:
        before = len(kept.pieces)
        connection.data_received(read)
        assert len(kept.pieces) - before <= 1
    if eof:
        connection.connection_lost(None)
    return await exchange, kept, connection


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """The stream in pieces that end at these places."""
    ends = [0, *sorted({min(place, len(stream)) for place in places if place}), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(ends) if begin < end]


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40)),
    places=st.lists(st.integers(0, 400)),
    extended=st.booleans(),
)
def test_a_chunked_body_may_be_cut_anywhere(chunks: list[bytes], places: list[int], extended: bool) -> None:
    body = framed(*chunks)
    if extended:
        body = b"".join(b"%X;name=value\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    stream = b"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n" + CHUNKED + body + b"0\r\nx-trailer: 1\r\n\r\n"
    end, kept, connection = asyncio.run(exchanged(cut(stream, places)))
    assert (end, kept.body) == (End.COMPLETE, b"".join(chunks))
    assert [(head.status, "x-trailer" in head.headers) for head in kept.heads] == [(200, False)]
    assert connection.free


def test_every_single_cut_of_an_answer_gives_the_same() -> None:
    stream = CHUNKED + framed(b"data: a\n\n", b"x" * 300) + LAST
    for place in range(1, len(stream)):
        end, kept, _ = asyncio.run(exchanged(cut(stream, [place])))
        assert (end, kept.body) == (End.COMPLETE, b"data: a\n\n" + b"x" * 300)


def test_all_body_bytes_of_one_read_are_one_piece() -> None:
    _, kept, _ = asyncio.run(
        exchanged([CHUNKED + framed(b"a", b"b"), framed(b"c", b"d", b"e") + b"3\r\nf", b"gh\r\n" + LAST])
    )
    assert kept.pieces == [b"ab", b"cdef", b"gh"]


def test_the_head_comes_with_lower_case_names_and_joined_values() -> None:
    answer = b"HTTP/1.1 200 \r\nX-A: 1\r\nx-a:2\r\nX-B:  b \r\nContent-Length: 0\r\n\r\n"
    end, kept, connection = asyncio.run(exchanged([answer]))
    assert (end, connection.free) == (End.COMPLETE, True)
    assert kept.heads == [Head(200, {"x-a": "1, 2", "x-b": "b", "content-length": "0"})]


@pytest.mark.parametrize("head", [b"204 No Content\r\n", b"304 Not Modified\r\ncontent-length: 5\r\n"])
def test_answers_that_have_no_body_are_complete(head: bytes) -> None:
    end, kept, connection = asyncio.run(exchanged([b"HTTP/1.1 " + head + b"\r\n"]))
    assert (end, kept.pieces, connection.free) == (End.COMPLETE, [], True)


CUT_CHUNKED, CUT_COUNTED = CHUNKED + framed(b"ab"), b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab"
TO_THE_END = b"HTTP/1.1 200 OK\r\n\r\nab"


@pytest.mark.parametrize(
    ("answer", "end"), [(CUT_CHUNKED, End.BROKEN), (CUT_COUNTED, End.BROKEN), (TO_THE_END, End.EOF)]
)
def test_only_a_body_that_nothing_else_delimits_ends_with_the_connection(answer: bytes, end: End) -> None:
    found, kept, connection = asyncio.run(exchanged([answer], eof=True))
    assert (found, kept.body, connection.free) == (end, b"ab", False)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\ncontent-le", b"HTTP/1.1 103 Hints\r\n\r\n"])
def test_a_connection_lost_within_the_head_is_broken(answer: bytes) -> None:
    assert asyncio.run(exchanged([answer], eof=True))[0] is End.BROKEN


ENDLESS = {
    "headers": [b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 300],
    "a header": [b"HTTP/1.1 200 OK\r\nx: ", b"y" * 70_000],
    "large headers": [b"HTTP/1.1 200 OK\r\n" + b"".join(b"x: %s\r\n" % (b"y" * 7000) for _ in range(10))],
    "a head in one read": [b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 2 + b"x: %s\r\n\r\na" % (b"y" * 70_000)],
    "interim answers": [b"HTTP/1.1 103 Hints\r\n\r\n"] * 3500,
    "a chunk extension": [CHUNKED, b"2;", *[b"x" * 7000] * 10],
    "trailers": [CHUNKED + b"0\r\n", b"x: y\r\n" * 300],
}


@pytest.mark.parametrize("reads", ENDLESS.values(), ids=ENDLESS.keys())
def test_whatever_does_not_end_has_a_limit(reads: list[bytes]) -> None:
    with pytest.raises(UpstreamBadChunk):
        asyncio.run(exchanged(reads, eof=True))


def test_a_long_body_with_its_line_ends_apart_reaches_no_limit() -> None:
    reads = [CHUNKED, *[part for _ in range(20_000) for part in (b"1\r\nx", b"\r\n")], LAST]
    end, kept, _ = asyncio.run(exchanged(reads))
    assert (end, len(kept.body)) == (End.COMPLETE, 20_000)


FAULTY = {
    "another protocol": b"220 mail ready\r\n",
    "HTTP/2": b"\0\0\x12\x04\0\0\0\0\0",
    "a switch of protocols": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nab",
    "a length and chunks": CHUNKED[:-2] + b"content-length: 2\r\n\r\n",
    "a chunk size in words": CHUNKED + b"two\r\n",
    "a negative chunk size": CHUNKED + b"-2\r\nab\r\n",
    "a chunk size too large": CHUNKED + b"f" * 20 + b"\r\n",
    "a chunk too long": CHUNKED + b"2\r\nabc\r\n",
}


@pytest.mark.parametrize("answer", FAULTY.values(), ids=FAULTY.keys())
def test_what_is_no_proper_http_is_refused(answer: bytes) -> None:
    with pytest.raises(UpstreamBadChunk):
        asyncio.run(exchanged([answer]))


def test_pieces_before_a_faulty_chunk_are_delivered_first() -> None:
    async def exchange() -> Kept:
        connection, kept = Connection(), Kept()
        connection.connection_made(pipe := Pipe())
        task = asyncio.ensure_future(connection.exchange(b"", kept))
        await asyncio.sleep(0)
        connection.data_received(CHUNKED + framed(b"a", b"b") + b"zz\r\n")
        with pytest.raises(UpstreamBadChunk):
            await task
        assert pipe.aborted
        return kept

    assert asyncio.run(exchange()).pieces == [b"ab"]


def test_a_receiver_that_left_hears_no_more_of_what_comes_in_the_same_turn() -> None:
    async def left() -> Kept:
        connection, kept = Connection(), Kept(lambda data: kept.stop(True))
        connection.connection_made(Pipe())
        exchange = asyncio.ensure_future(connection.exchange(b"GET / HTTP/1.1\r\n\r\n", kept))
        await asyncio.sleep(0)
        connection.data_received(CHUNKED + framed(b"enough"))
        connection.data_received(framed(b"more"))
        assert await exchange is End.STOPPED
        connection.abort()
        return kept

    assert asyncio.run(left()).pieces == [b"enough"]


def test_bytes_before_any_request_close_the_connection() -> None:
    async def early() -> Pipe:
        connection = Connection()
        connection.connection_made(pipe := Pipe())
        connection.data_received(b"HTTP/1.1 408 Timeout\r\n\r\n")
        return pipe

    assert asyncio.run(early()).aborted


def test_a_connection_that_is_lost_when_it_is_wanted_has_no_answer() -> None:
    async def late() -> tuple[End, Kept]:
        connection, kept = Connection(), Kept()
        connection.connection_made(Pipe())
        connection.abort()
        return await connection.exchange(b"GET / HTTP/1.1\r\n\r\n", kept), kept

    end, kept = asyncio.run(late())
    assert (end, kept.begun) == (End.UNANSWERED, 0)


# Against servers.


async def fetched(
    client: HttpClient, url: str, body: bytes | None = b"{}", kept: Kept | None = None
) -> tuple[End, Kept]:
    """One POST (GET without a body)."""
    kept = kept or Kept()
    endpoint = client.endpoint("POST" if body is not None else "GET", f"{url}/x?y=1", {"X-Key": "v"})
    return await client.fetch(endpoint, body, kept), kept


@on_every_loop
async def test_a_request_is_sent_whole_and_its_answer_received() -> None:
    async with engine_server(answering(CHUNKED + framed(b"hi") + LAST)) as server:
        client = HttpClient(5)
        end, kept = await fetched(client, server.url, b'{"a":1}')
        assert (end, kept.body, kept.begun) == (End.COMPLETE, b"hi", 1)
        asked = server.requests[0]
        assert (asked.method, asked.target, asked.body) == ("POST", "/v1/x?y=1", b'{"a":1}')
        assert asked.headers == {"host": f"127.0.0.1:{server.port}", "x-key": "v", "content-length": "7"}
        await client.close()


@on_every_loop
async def test_a_connection_is_used_again_after_a_whole_body_and_small_segments_are_not_delayed() -> None:
    async with engine_server(answering(counted(b"{}"), CHUNKED + LAST)) as server:
        client = HttpClient(5)
        for body in (b"{}", None, b"{}"):
            await fetched(client, server.url, body)
        assert [asked.method for asked in server.requests] == ["POST", "GET", "POST"]
        assert len(server.wires) == 1
        [connection] = client._known
        raw = connection._transport.get_extra_info("socket")  # type: ignore[union-attr]
        assert raw.getsockopt(6, 1)  # TCP_NODELAY
        await client.close()
        await server.wires[0].over.wait()


@on_every_loop
async def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    both = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        if len(server.requests) == 2:
            both.set()
        await both.wait()
        await wire.send(counted(b"{}"))
        await wire.gone()

    async with engine_server(script) as server:
        client = HttpClient(5)
        ends = await asyncio.gather(*(fetched(client, server.url) for _ in range(2)))
        assert [end for end, _ in ends] == [End.COMPLETE, End.COMPLETE]
        assert len(server.wires) == 2
        await client.close()


CLOSING = {
    "says close": counted(b"{}", "200 OK", "connection: close"),
    "is HTTP/1.0": b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    "is followed by more": counted(b"{}") + b"HTTP/1.1 408 Timeout\r\n\r\n",
    "is followed by junk": CHUNKED + LAST + b"junk",
}


@pytest.mark.parametrize("answer", CLOSING.values(), ids=CLOSING.keys())
@on_every_loop
async def test_a_connection_is_not_used_again_when_its_answer(answer: bytes) -> None:
    async with engine_server(answering(answer)) as server:
        client = HttpClient(5)
        for _ in range(2):
            end, _ = await fetched(client, server.url)
            assert end is End.COMPLETE
        assert len(server.wires) == 2
        await server.wires[0].over.wait()
        assert not client._known
        await client.close()


@on_every_loop
async def test_an_idle_connection_that_the_server_closes_is_forgotten() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(counted(b"{}"))

    async with engine_server(script) as server:
        client = HttpClient(5)
        for _ in range(2):
            await fetched(client, server.url)
            await until(lambda: not client._known)
        assert len(server.requests) == 2
        await client.close()


@on_every_loop
async def test_an_idle_connection_that_hears_something_is_closed() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(counted(b"{}"))
        await heard.wait()
        await wire.send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await wire.gone()

    heard = asyncio.Event()
    async with engine_server(script) as server:
        client = HttpClient(5)
        await fetched(client, server.url)
        heard.set()
        await until(lambda: not client._known)
        await client.close()


@on_every_loop
async def test_idle_connections_are_few_and_do_not_live_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "IDLE_MAX", 1)
    monkeypatch.setattr(http, "IDLE_S", 0.1)
    both = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        if len(server.requests) == 2:
            both.set()
        await both.wait()
        await wire.send(counted(b"{}"))
        await wire.gone()

    async with engine_server(script) as server:
        client = HttpClient(5)
        await asyncio.gather(*(fetched(client, server.url) for _ in range(2)))
        assert len(client._known) == 1
        await until(lambda: not client._known)


@on_every_loop
async def test_a_connection_in_use_does_not_count_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "IDLE_S", 0.1)

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(counted(b"{}"))
        await wire.request()
        await asyncio.sleep(0.3)  # above the limit
        await wire.send(counted(b"late"))
        await wire.gone()

    async with engine_server(script) as server:
        client = HttpClient(5)
        await fetched(client, server.url)
        end, kept = await fetched(client, server.url)
        assert (end, kept.body) == (End.COMPLETE, b"late")
        assert len(server.wires) == 1
        await client.close()


# The one repetition.


@on_every_loop
async def test_a_request_that_meets_a_closing_connection_is_sent_once_more() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        if len(server.requests) != 2:  # the second request, on the first connection, is not answered
            await wire.send(counted(b"answer"))
            await wire.request()

    async with engine_server(script) as server:
        client = HttpClient(5)
        await fetched(client, server.url)
        end, kept = await fetched(client, server.url, b'{"n":2}')
        assert (end, kept.body, kept.begun) == (End.COMPLETE, b"answer", 2)
        assert [asked.body for asked in server.requests] == [b"{}", b'{"n":2}', b'{"n":2}']
        assert len(server.wires) == 2
        await client.close()


@on_every_loop
async def test_a_request_is_repeated_only_once() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        if len(server.requests) == 1:
            await wire.send(counted(b"answer"))
            await wire.request()

    async with engine_server(script) as server:
        client = HttpClient(5)
        await fetched(client, server.url)
        with pytest.raises(UpstreamUnavailable):
            await fetched(client, server.url)
        assert len(server.requests) == 3
        await client.close()


@pytest.mark.parametrize("words", [b"H", b"HTTP/1.1 200 OK\r\n", CHUNKED])
@on_every_loop
async def test_a_request_that_was_answered_with_a_single_byte_is_not_repeated(words: bytes) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(counted(b"{}"))
        await wire.request()
        await wire.send(words)

    async with engine_server(script) as server:
        client = HttpClient(5)
        await fetched(client, server.url)
        end, _ = await fetched(client, server.url)
        assert end is End.BROKEN
        assert len(server.requests) == 2
        await client.close()


@on_every_loop
async def test_a_request_on_a_fresh_connection_is_never_repeated() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()

    async with engine_server(script) as server:
        client = HttpClient(5)
        with pytest.raises(UpstreamUnavailable):
            await fetched(client, server.url)
        assert len(server.requests) == 1
        await client.close()


# Cuts and stops.


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@on_every_loop
async def test_what_came_before_a_cut_is_delivered_first(reset: bool) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(b"a" * 1000, b"b") + b"5\r\nc")
        await until(lambda: bool(kept.pieces))
        if reset:
            wire.reset()

    kept = Kept()
    async with engine_server(script) as server:
        client = HttpClient(5)
        end, _ = await fetched(client, server.url, kept=kept)
        assert (end, kept.body) == (End.BROKEN, b"a" * 1000 + b"bc")
        await client.close()


@on_every_loop
async def test_cancelling_a_request_closes_its_connection_at_once() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(b"a"))
        await wire.gone()
        closed.set()

    closed, kept = asyncio.Event(), Kept()
    async with engine_server(script) as server:
        client = HttpClient(5)
        task = asyncio.ensure_future(fetched(client, server.url, kept=kept))
        await until(lambda: bool(kept.pieces))
        task.cancel()
        async with asyncio.timeout(1):
            await closed.wait()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not client._known
        await client.close()


@on_every_loop
async def test_cancelling_before_the_answer_closes_the_connection_too() -> None:
    closed = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.gone()
        closed.set()

    async with engine_server(script) as server:
        client = HttpClient(5)
        task = asyncio.ensure_future(fetched(client, server.url))
        await until(lambda: bool(server.requests))
        task.cancel()
        async with asyncio.timeout(1):
            await closed.wait()
        await client.close()


@on_every_loop
async def test_a_receiver_that_has_enough_leaves_and_the_connection_is_kept_if_its_body_ends() -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(b"enough"))
        await left.wait()
        await wire.send(framed(b"more") + LAST)
        await wire.request()
        await wire.send(counted(b"{}"))
        await wire.gone()

    left = asyncio.Event()
    async with engine_server(script) as server:
        client, kept = HttpClient(5), Kept(lambda data: kept.stop(True))
        end, _ = await fetched(client, server.url, kept=kept)
        assert (end, kept.body) == (End.STOPPED, b"enough")
        left.set()
        await until(lambda: any(client._idle.values()))
        assert kept.body == b"enough"
        await fetched(client, server.url)
        assert len(server.wires) == 1
        await client.close()


@pytest.mark.parametrize("linger", [True, False])
@on_every_loop
async def test_a_connection_whose_body_does_not_end_is_closed(
    linger: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "LINGER_S", 0.1)
    closed = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(CHUNKED + framed(b"enough"))
        await wire.gone()
        closed.set()

    async with engine_server(script) as server:
        client, kept = HttpClient(5), Kept(lambda data: kept.stop(linger))
        assert (await fetched(client, server.url, kept=kept))[0] is End.STOPPED
        await closed.wait()
        await until(lambda: not client._known)
        await client.close()


@on_every_loop
async def test_what_a_receiver_raises_ends_the_exchange() -> None:
    def broken(data: bytes) -> None:
        raise KeyError("ours")

    async with engine_server(answering(CHUNKED + framed(b"a"))) as server:
        client = HttpClient(5)
        with pytest.raises(KeyError):
            await fetched(client, server.url, kept=Kept(broken))
        await server.wires[0].over.wait()
        assert not client._known
        await client.close()
