"""One connection to Redis of our own, kept: made anew whenever it is lost, with pauses that grow.

It carries RESP2 as it is. What is under way when it breaks is its user's to send again.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from typing import Any, cast

from hiredis import ProtocolError, Reader, ReplyError, pack_command

from polystream.stores.redis.address import Address

logger = logging.getLogger(__name__)

#: The first and the longest pause between two tries, seconds; each is drawn between half of it and all.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0

pack: Callable[[tuple[Any, ...]], bytes] = pack_command


class Link:
    """Keeps one connection from `open` to `close`.

    `on_ready`: it is there, greeted. `on_replies`: what one network read brought. `on_lost`: it broke.
    """

    def __init__(
        self,
        name: str,
        address: Address,
        connect_timeout_s: float,
        on_ready: Callable[[], None],
        on_replies: Callable[[list[Any]], None],
        on_lost: Callable[[], None],
    ):
        self._name = name
        self._address = address
        self._connect_timeout_s = connect_timeout_s
        self._on_ready, self._on_replies, self._on_lost = on_ready, on_replies, on_lost
        self._wire: _Wire | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._useless = self._closed = False

    @property
    def ready(self) -> bool:
        """Whether `write` may be called."""
        return self._wire is not None and not self._wire.lost.done()

    def open(self) -> None:
        """Connect, if that was not asked for yet."""
        if self._keeping is None and not self._closed:
            self._keeping = asyncio.get_running_loop().create_task(self._keep())

    def write(self, packed: bytes) -> None:
        """Send; only while it is ready."""
        assert self._wire is not None
        self._wire.transport.write(packed)

    def abort(self, useless: bool = False) -> None:
        """Drop the connection and make another; after a growing pause, where it was of no use."""
        if self._wire is not None:
            self._useless = useless
            self._wire.drop()

    async def close(self) -> None:
        """End it for good."""
        self._closed = True
        if self._keeping is not None:
            self._keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeping

    async def _keep(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                heard = await self._once()
            except (OSError, TimeoutError, ReplyError, ProtocolError) as error:
                heard = False
                if pause == _FIRST_PAUSE:
                    logger.warning(
                        "%s: no %s connection: %s", self._address, self._name, error or "timed out"
                    )
            except Exception:  # a fault of ours must not be the end of the store
                logger.exception("the %s connection broke", self._name)
                heard = False
            pause = _FIRST_PAUSE if heard else min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause * random.uniform(0.5, 1))

    async def _once(self) -> bool:
        """Connect and stay until it is lost; whether it was of use. Raises when it could not be made."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._connect_timeout_s):
            address = self._address
            transport, wire = await loop.create_connection(
                _Wire,
                address.host,
                address.port,
                ssl=address.tls,
                server_hostname=address.host if address.tls else None,
            )
            try:
                for command in address.greeting:
                    wire.transport.write(pack(command))
                    reply = await wire.reply()
                    if isinstance(reply, ReplyError) and command[0] != "CLIENT":  # a name is not vital
                        raise reply
            except BaseException:
                transport.abort()
                raise
        return await self._stay(wire)

    async def _stay(self, wire: "_Wire") -> bool:
        heard = self._useless = False

        def receive(replies: list[Any]) -> None:
            nonlocal heard
            heard = True
            self._on_replies(replies)

        wire.receive = receive
        self._wire = wire
        self._on_ready()
        try:
            await wire.lost
        finally:
            wire.drop()
            self._wire = None
        self._on_lost()
        return heard and not self._useless


def _ignore(replies: list[Any]) -> None:
    pass


class _Wire(asyncio.Protocol):
    """The connection itself."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._reader = Reader()
        self._greeted: asyncio.Queue[Any] = asyncio.Queue()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.receive: Callable[[list[Any]], None] = self._take_greeting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are no heirs of it

    def connection_lost(self, exc: Exception | None) -> None:
        self._greeted.put_nowait(ReplyError("the connection was closed"))
        if not self.lost.done():
            self.lost.set_result(None)

    def drop(self) -> None:
        """Lose it now, with what has come and was not read."""
        self.receive = _ignore
        self.transport.abort()
        if not self.lost.done():
            self.lost.set_result(None)

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        replies = []
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not False:
                replies.append(reply)
        except ProtocolError as error:
            logger.error("this is no Redis, or its bytes are broken: %s", error)
            self.transport.abort()
        if replies:
            self.receive(replies)

    async def reply(self) -> Any:
        """The next reply, while nobody receives."""
        return await self._greeted.get()

    def _take_greeting(self, replies: list[Any]) -> None:
        for reply in replies:
            self._greeted.put_nowait(reply)
