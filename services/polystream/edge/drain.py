"""What SIGTERM does, the same for every protocol: unready, ears closed, readers sent away, the rest waited
for.

The order matters: a replica that still listens while it refuses would be given new clients.
"""

import asyncio
import logging
import os
import signal
from typing import Protocol

from polystream.core.generations import Generations

logger = logging.getLogger(__name__)


class Listener(Protocol):
    """One protocol's server."""

    async def start(self) -> str:
        """Listen; the address in words, for the log line."""
        ...

    async def stop_listening(self) -> None:
        """Refuse new connections and calls; the answers under way go on."""
        ...

    async def stop(self) -> None:
        """End: every answer has ended, or may be ended now."""
        ...


async def wait_for_signal() -> None:
    """Returns at the first SIGTERM or SIGINT; a second one exits at once."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()

    def on_signal(number: int) -> None:
        if told.is_set():
            os._exit(128 + number)
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    await told.wait()


async def drain(listeners: list[Listener], generations: Generations, seconds: float) -> None:
    """End without losing an answer that can be kept, within `seconds`."""
    generations.draining = True
    logger.info("draining: %d generations open; a second signal ends them at once", generations.open)
    await asyncio.gather(*(listener.stop_listening() for listener in listeners))
    await generations.drain(seconds)
    await asyncio.gather(*(listener.stop() for listener in listeners))
    await generations.engine.close()
    await generations.store.close()
