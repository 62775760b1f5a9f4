"""The event loop: uvloop, but for how it takes in connections.

libuv accepts one connection a turn of its loop. On a busy core a turn is long, so that of a thousand clients
that come at once the last would wait for seconds; here each turn accepts all that wait.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvloop

logger = logging.getLogger(__name__)


class Loop(uvloop.Loop):
    """uvloop's, whose servers on a given socket accept until nobody waits."""

    async def create_server(self, protocol_factory: Any, *place: Any, **options: Any) -> Any:
        """As `asyncio.loop.create_server`; greedy for a plain `sock`."""
        listener = options.get("sock")
        if listener is None or options.get("ssl") is not None:
            return await super().create_server(protocol_factory, *place, **options)
        server = GreedyServer(self, protocol_factory, listener)
        listener.listen(options.get("backlog", 100))
        await server.start_serving()
        return server


class GreedyServer:
    """Accepts on one listening socket; the connections are their protocols' own, also after `close`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        listener: socket.socket,
    ):
        listener.setblocking(False)
        self._loop = loop
        self._protocol_factory = protocol_factory
        self._listener = listener
        self._serving = False
        self._connecting: set[asyncio.Task[Any]] = set()

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening socket, until it is closed."""
        return (self._listener,) if self._listener.fileno() >= 0 else ()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop it serves in."""
        return self._loop

    def is_serving(self) -> bool:
        """Whether it accepts."""
        return self._serving

    async def start_serving(self) -> None:
        """Accept from now on."""
        if not self._serving:
            self._serving = True
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        """Accept no more; who waits is refused."""
        if self._serving:
            self._serving = False
            self._loop.remove_reader(self._listener.fileno())
            self._listener.close()

    async def wait_closed(self) -> None:
        """Nothing to wait for: whoever made the server ends its connections."""

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no descriptors are left: asyncio, too, tries again a second later
                logger.error("accepting broke: %s", error)
                self._loop.remove_reader(self._listener.fileno())
                self._loop.call_later(1, self._accept_again)
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._take_in(connection))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    def _accept_again(self) -> None:
        if self._serving:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    async def _take_in(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol_factory, connection)
        except Exception:
            logger.exception("a connection broke while it was taken in")
            connection.close()
