"""A proxy as one meets them in the wild: NDJSON is held back and comes in lumps; all else goes through."""

import asyncio
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit

#: From one lump to the next; a quarter of a second is what a 4 KiB buffer makes of a fast engine.
LUMP_S = 0.4
_HELD = b"content-type: application/x-ndjson"


class Buffering:
    """Enter it; `rest` is where it listens, in front of a front door."""

    def __init__(self, rest: str):
        self.rest = ""
        self._place = urlsplit(rest)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Buffering":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.rest = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        behind, ahead = await asyncio.open_connection(self._place.hostname, self._place.port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, ahead))
                group.create_task(_hand_out(behind, writer))
        finally:
            writer.transport.abort()
            ahead.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Requests, at once."""
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


async def _hand_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers; what is NDJSON in lumps. A connection of HTTP/1.1 carries one after the other."""
    held = False
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            held = held or _HELD in data.lower()
            if held:
                data += await _lump(reader)
                held = not data.endswith(b"\r\n0\r\n\r\n")
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


async def _lump(reader: asyncio.StreamReader) -> bytes:
    """What comes until the buffer is handed on, or the answer is over."""
    lump = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(LUMP_S):
            while not lump.endswith(b"\r\n0\r\n\r\n") and (data := await reader.read(65536)):
                lump += data
    return lump
