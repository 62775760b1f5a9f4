"""HTTP at its edges, byte by byte: pipelining, old versions, heads without end, and requests that a drain
finds half sent.
"""

import asyncio
import signal

import pytest

from tests.integration.conftest import Serve
from tests.integration.server import Server

pytestmark = pytest.mark.asyncio(loop_scope="session")

BODY = b'{"prompt":"hi"}'
START = b"POST /v1/streams HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


async def connect(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the REST port."""
    host, port = server.rest.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def exchange(server: Server, sent: bytes) -> bytes:
    """Everything that comes back for these bytes, to the end of the connection."""
    reader, writer = await connect(server)
    writer.write(sent)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


async def test_a_request_behind_a_stream_on_the_same_connection_gets_its_own_answer(scripted: Server):
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    for _ in range(5):
        answer = await exchange(scripted, START + START + last)
        assert answer.count(b"HTTP/1.1 200 OK") == 3
        assert answer.count(b'"type":"finished"') == 2
        assert answer.endswith(b'{"ok":true}')


async def test_a_client_that_knows_no_chunks_gets_no_stream(scripted: Server):
    answer = await exchange(scripted, START.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert answer.startswith(b"HTTP/1.1 505 ")
    assert b'"code":"invalid_request"' in answer


async def test_a_head_without_end_is_refused(scripted: Server):
    reader, writer = await connect(scripted)
    writer.write(b"GET /healthz HTTP/1.1\r\nX-Long: ")
    try:
        for _ in range(40):
            writer.write(b"x" * 16_384)
            await writer.drain()
        async with asyncio.timeout(20):
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    except ConnectionError:
        pass  # it was closed while we still sent
    finally:
        writer.close()


async def test_a_request_that_is_half_sent_does_not_hold_a_drain(serve: Serve):
    server = await serve(ENGINE_URL="scripted:")
    reader, writer = await connect(server)
    writer.write(START[:-5])
    await writer.drain()
    answering = asyncio.ensure_future(
        exchange(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    )
    assert (await answering).endswith(b'{"ok":true}')  # by now the half one has been read too
    server.signal(signal.SIGTERM)
    assert await server.ended(3) == 0
    assert await reader.read() == b""
    writer.close()
