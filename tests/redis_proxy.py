"""A loopback proxy before Redis that loses replies after the commands ran, and cuts connections."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


class RedisProxy:
    """`faults`: what may befall what the server says, one of them with the chance `chance`.

    `cut`: it is lost with the connection. `swallow`: it is lost, the connection stays. `skip`: one reply of
    it is lost. `refuse`: connections are closed at once.
    """

    def __init__(self, port: int, faults: tuple[str, ...] = (), chance: float = 0.0):
        self.faults = faults
        self.chance = chance
        self.refuse = False
        self.lost = 0
        self.port = 0
        self._behind = port
        self._random = random.Random(7)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    def sever(self) -> None:
        """Cut all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            if not self.refuse:
                await self._carry(reader, writer)
        except (
            asyncio.CancelledError
        ):  # by `end`; a server's streams cannot bear it in this version of Python
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def end(self) -> None:
        """Cut all, and wait for it."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, there = await asyncio.open_connection("127.0.0.1", self._behind)
        there_and_back = [
            asyncio.ensure_future(self._pump(reader, there, False)),
            asyncio.ensure_future(self._pump(behind, writer, True)),
        ]
        try:
            await asyncio.wait(there_and_back, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in there_and_back:
                pump.cancel()
            there.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, back: bool) -> None:
        try:
            while data := await source.read(65_536):
                if back and self.faults and self._random.random() < self.chance:
                    self.lost += 1
                    match self._random.choice(self.faults):
                        case "cut":
                            return
                        case "swallow":
                            continue
                        case "skip" if data.startswith(b":"):
                            data = data.partition(b"\r\n")[2]
                sink.write(data)
        except OSError:
            pass


@asynccontextmanager
async def redis_proxy(port: int, **options: Any) -> AsyncIterator[RedisProxy]:
    """One on a free port, until the block is left."""
    ssl = options.pop("ssl", None)
    proxy = RedisProxy(port, **options)
    server = await asyncio.start_server(proxy.take, "127.0.0.1", 0, ssl=ssl)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.end()
