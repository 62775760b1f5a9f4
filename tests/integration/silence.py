"""A TCP proxy as impatient as those on the way: it cuts a connection whose server is silent for too long."""

import asyncio
import time
from urllib.parse import urlsplit

from tests.clients import Addresses


class SilenceProxy:
    """Stands before one listener of a server; `longest_s`: the longest silence, `cuts`: how often it cut."""

    def __init__(self, server: Addresses, listener: str, limit_s: float):
        self.rest, self.websocket, self.grpc = server.rest, server.websocket, server.grpc
        self.longest_s = 0.0
        self.cuts = 0
        self._listener = listener
        address = getattr(server, listener)
        self._scheme, _, self._target = address.rpartition("//")
        self._port = urlsplit(f"//{self._target}").port
        self._limit_s = limit_s
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "SilenceProxy":
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        slashes = "//" if self._scheme else ""
        setattr(self, self._listener, f"{self._scheme}{slashes}127.0.0.1:{port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_us, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        sending = asyncio.ensure_future(self._copy(reader, to_server))
        try:
            await self._watch(to_us, writer)
        except ConnectionError:
            pass  # one side has gone: so does the other
        finally:
            sending.cancel()
            for side in (writer, to_server):
                side.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def _watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            began = time.monotonic()
            try:
                async with asyncio.timeout(self._limit_s):
                    data = await reader.read(65536)
            except TimeoutError:
                self.cuts += 1
                return
            if not data:
                return
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            writer.write(data)
            await writer.drain()
