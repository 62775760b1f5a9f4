"""`/ws` of the article: a text frame is a prompt, and prompts on one socket are answered one after the other.

Each answer ends with one frame that says so. Whoever closes the socket ends the answer under way.
"""

import asyncio
import contextlib
import logging

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from polystream.core.errors import Internal, StreamError
from polystream.core.record import ANONYMOUS
from polystream.core.request import OnDisconnect
from polystream.dialects import articles, articles_request
from polystream.edge.readers import Readers
from polystream.edge.sink import BufferSink
from polystream.protocols.websocket import send_gathered, write_frames

#: Prompts that wait behind the one being answered; one more closes the socket. A person types none ahead.
WAITING_MAX = 16

logger = logging.getLogger(__name__)


class Prompts:
    """One socket. Runs until the client closes it or leaves."""

    def __init__(self, connection: ServerConnection, readers: Readers):
        self.connection = connection
        self._readers = readers
        self._generations = readers.generations
        self._waiting: asyncio.Queue[str] = asyncio.Queue(WAITING_MAX)
        self._busy = self._draining = False
        self._closing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Take prompts while they are answered, so that a client that leaves is noticed at once."""
        answering = asyncio.get_running_loop().create_task(self._answer_all())
        try:
            await self._take_prompts()
        except ConnectionClosed:
            pass  # the client left; nobody is there to be told
        finally:
            answering.cancel()

    def drain(self) -> None:
        """Close with 1012 once nothing is under way; what is, goes on to its end."""
        self._draining = True
        self._close_if_done()

    async def _take_prompts(self) -> None:
        async for message in self.connection:
            if isinstance(message, bytes):
                await self.connection.close(CloseCode.UNSUPPORTED_DATA, "text frames only")
                return
            if self._waiting.full():
                await self.connection.close(CloseCode.TRY_AGAIN_LATER, "too many prompts wait")
                return
            self._waiting.put_nowait(message)

    async def _answer_all(self) -> None:
        with contextlib.suppress(ConnectionClosed):  # `run` learns of it too
            while True:
                prompt = await self._waiting.get()
                self._busy = True
                await self._answer(prompt)
                self._busy = False
                self._close_if_done()

    async def _answer(self, prompt: str) -> None:
        """One answer to its end, which a refusal is too."""
        form = articles.SocketFrames()
        try:
            await self._stream(prompt, form)
        except StreamError as error:
            await self._refuse(form, error)
        except ConnectionClosed:
            raise
        except Exception:
            logger.exception("a prompt broke")
            await self._refuse(form, Internal())

    async def _stream(self, prompt: str, form: articles.SocketFrames) -> None:
        asked = articles_request.prompt(prompt).request()
        record = await self._generations.start(asked, ANONYMOUS, OnDisconnect.CANCEL, dialect="articles")
        sink = BufferSink(form)
        connection = self.connection
        sink.unsent = connection.transport.get_write_buffer_size
        sink.output = lambda pieces: write_frames(connection, pieces)
        sink.stalled = connection.transport.abort
        await self._readers.open(record.id, None, ANONYMOUS, sink)
        try:
            await send_gathered(connection, sink)
        finally:
            self._readers.close(sink)
        if sink.broken and form.error is None:
            connection.transport.abort()

    async def _refuse(self, form: articles.SocketFrames, error: StreamError) -> None:
        if words := form.cut(error.as_event()):
            await self.connection.send(words, text=True)

    def _close_if_done(self) -> None:
        if self._draining and not self._busy and self._waiting.empty() and self._closing is None:
            closing = self.connection.close(CloseCode.SERVICE_RESTART, "drain")
            self._closing = asyncio.get_running_loop().create_task(closing)
