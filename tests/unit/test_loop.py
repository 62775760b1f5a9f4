"""The event loop: a crowd is taken in at once, and a server that is closed takes in nobody."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import pytest

from polystream.edge.loop import GreedyServer, Loop
from polystream.protocols.sockets import listening

CROWD = 100


class Greeter(asyncio.Protocol):
    """Says hello; `made` counts connections by the turn of the loop in which they were made."""

    def __init__(self, made: list[int]) -> None:
        self._made = made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._made.append(1)
        plain = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        plain.write(b"hello")
        plain.close()


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run the test in the product's loop."""

    def run() -> None:
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(asyncio.wait_for(test(), 10))

    return run


async def serving(made: list[int]) -> tuple[GreedyServer, tuple[str, int]]:
    """A server on a free port of loopback, and where it listens."""
    listener = listening("127.0.0.1", 0)
    server = await asyncio.get_running_loop().create_server(
        lambda: Greeter(made), sock=listener, backlog=CROWD
    )
    assert isinstance(server, GreedyServer)
    return server, listener.getsockname()


async def heard(clients: list[socket.socket]) -> list[bytes]:
    """What each client is told."""
    said = []
    for client in clients:
        client.setblocking(False)
        said.append(await asyncio.get_running_loop().sock_recv(client, 9))
    return said


@contextlib.contextmanager
def waiting(address: tuple[str, int], count: int = 1) -> Iterator[list[socket.socket]]:
    """Clients that the kernel has connected and nobody has accepted yet."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(address, 5)) for _ in range(count)]


@in_loop
async def _a_crowd() -> None:
    made: list[int] = []
    server, address = await serving(made)
    with waiting(address, CROWD) as clients:
        server._accept()
        assert len(server._connecting) == CROWD
        assert await heard(clients) == [b"hello"] * CROWD
    assert (len(made), len(server._connecting)) == (CROWD, 0)
    server.close()


def test_all_who_wait_are_taken_in_within_one_turn():
    _a_crowd()


@in_loop
async def _closed() -> None:
    server, address = await serving([])
    assert server.is_serving()
    assert [each.getsockname() for each in server.sockets] == [address]
    server.close()
    server.close()
    await server.wait_closed()
    assert (server.is_serving(), server.sockets) == (False, ())
    with pytest.raises(ConnectionRefusedError), waiting(address):
        pass


def test_a_closed_server_refuses():
    _closed()


class NoDescriptors:
    """A listener for which there were no descriptors left once."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._refusals = 1

    def accept(self) -> Any:
        if self._refusals:
            self._refusals -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listener.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)


@in_loop
async def _out_of_descriptors() -> None:
    server, address = await serving([])
    server._listener = NoDescriptors(server._listener)  # type: ignore[assignment]
    with waiting(address) as clients:
        assert await heard(clients) == [b"hello"]
    server.close()


def test_a_server_without_descriptors_tries_again(caplog: pytest.LogCaptureFixture):
    _out_of_descriptors()
    assert "Too many open files" in caplog.text


@in_loop
async def _broken_protocol() -> None:
    def broken() -> asyncio.Protocol:
        raise ValueError("no protocol")

    listener = listening("127.0.0.1", 0)
    server = await asyncio.get_running_loop().create_server(broken, sock=listener)
    with waiting(listener.getsockname()) as clients:
        assert await heard(clients) == [b""]
    server.close()


def test_a_connection_that_breaks_while_it_is_taken_in_is_told_and_closed(caplog: pytest.LogCaptureFixture):
    _broken_protocol()
    assert "no protocol" in caplog.text


@in_loop
async def _by_address() -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Greeter([]), "127.0.0.1", 0)
    assert not isinstance(server, GreedyServer)
    server.close()
    await server.wait_closed()


def test_a_server_by_address_is_uvloops_own():
    _by_address()
