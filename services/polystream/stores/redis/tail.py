"""The one connection that listens: it hears what other replicas append to the logs watched here."""

import asyncio
import logging
from collections.abc import Callable
from itertools import islice
from typing import Any

from polystream.core.errors import StoreUnavailable
from polystream.stores.redis.address import Address
from polystream.stores.redis.link import Link, pack

logger = logging.getLogger(__name__)

#: How often a silent connection is asked whether it lives; one that is silent for twice as long is given up.
_PING_S = 5.0
#: Channels that one command names, when all are subscribed to again.
_CHANNELS = 500


class Tail:
    """Subscriptions, which outlive connections.

    `on_message` is called with channel and payload; `on_again` when a connection was lost, so that messages
    may have been missed, and all is subscribed to again.
    """

    def __init__(
        self,
        address: Address,
        connect_timeout_s: float,
        on_message: Callable[[str, bytes], None],
        on_again: Callable[[], None],
    ):
        self._link = Link("subscriber", address, connect_timeout_s, self._ready, self._replies, self._lost)
        self._timeout_s = connect_timeout_s
        self._on_message, self._on_again = on_message, on_again
        self._loop = asyncio.get_running_loop()
        self._channels: dict[str, asyncio.Future[None]] = {}
        self._lost_before = False
        self._heard = 0.0
        self._pinging: asyncio.TimerHandle | None = None

    def open(self, channel: str) -> asyncio.Future[None]:
        """Subscribe, without waiting; done when its messages come, cancelled when they are wanted no more."""
        confirmed = self._channels.get(channel)
        if confirmed is None:
            confirmed = self._channels[channel] = self._loop.create_future()
            if self._link.ready:
                self._link.write(pack(("SUBSCRIBE", channel)))
            self._link.open()
        return confirmed

    async def subscribe(self, channel: str) -> None:
        """Have the channel's messages from the return on. Raises `StoreUnavailable`."""
        done, _ = await asyncio.wait({self.open(channel)}, timeout=self._timeout_s)
        if not done:
            raise StoreUnavailable

    def unsubscribe(self, channel: str) -> None:
        """Have no more of them; idempotent."""
        confirmed = self._channels.pop(channel, None)
        if confirmed is not None:
            confirmed.cancel()
            if self._link.ready:
                self._link.write(pack(("UNSUBSCRIBE", channel)))

    async def close(self) -> None:
        """Give the connection back."""
        if self._pinging is not None:
            self._pinging.cancel()
        await self._link.close()

    def _ready(self) -> None:
        self._heard = self._loop.time()
        channels = iter(list(self._channels))
        while some := tuple(islice(channels, _CHANNELS)):
            self._link.write(pack(("SUBSCRIBE", *some)))
        if self._lost_before:
            self._link.write(pack(("PING", "again")))  # its answer stands behind those to all subscriptions
        self._pinging = self._loop.call_later(_PING_S, self._ping)

    def _lost(self) -> None:
        self._lost_before = True
        if self._pinging is not None:
            self._pinging.cancel()

    def _ping(self) -> None:
        silence = self._loop.time() - self._heard
        if silence > 2 * _PING_S:
            logger.warning("the store's subscriber connection is silent: another one")
            self._link.abort()
            return
        if silence >= _PING_S / 2:
            self._link.write(pack(("PING",)))
        self._pinging = self._loop.call_later(_PING_S, self._ping)

    def _replies(self, replies: list[Any]) -> None:
        self._heard = self._loop.time()
        for reply in replies:
            match reply:
                case [b"message", channel, payload]:
                    self._on_message(channel.decode(), payload)
                case [b"subscribe", channel, _]:
                    confirmed = self._channels.get(channel.decode())
                    if confirmed is not None and not confirmed.done():
                        confirmed.set_result(None)
                case [b"pong", b"again"]:
                    self._on_again()
                case [b"unsubscribe" | b"pong", *_]:
                    pass
                case _:
                    logger.error("the store's subscriber connection: %s", reply)
                    self._link.abort(useless=True)
                    return
