"""What a socket of prompts does when something breaks that no client can bring about."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from polystream.core.errors import StoreUnavailable
from polystream.edge.pulse import Pulse
from polystream.edge.readers import Readers
from polystream.protocols.websocket_articles import Prompts
from tests.clock import jumping, settle
from tests.fakes import HeldEngine, generations


class Socket:
    """A connection that keeps what it is sent; `aborted`: it was cut."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.aborted = self.paused = False
        self.request: Any = None
        self.protocol = SimpleNamespace(close_sent=False)
        self.transport: Any = self
        self.incoming: asyncio.Queue[str] = asyncio.Queue()

    async def send(self, message: bytes, text: bool) -> None:
        self.sent.append(message.decode())

    def write(self, data: bytes) -> None:
        self.sent.append(data[2:].decode())

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.aborted = True

    async def __aiter__(self) -> Any:
        while True:
            yield await self.incoming.get()


def asked(core: Any) -> tuple[Socket, "asyncio.Task[None]"]:
    """A socket on which one prompt has come."""
    socket: Any = Socket()
    running = asyncio.ensure_future(Prompts(socket, Readers(core, Pulse(10, 30))).run())
    socket.incoming.put_nowait("hi")
    return socket, running


@jumping
async def test_what_breaks_on_our_side_is_told_without_detail():
    core: Any = generations(HeldEngine())

    async def start(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    core.start = start
    socket, running = asked(core)
    await settle()
    (frame,) = socket.sent
    assert json.loads(frame.split("data: ")[1])["error"]["code"] == "internal"
    assert "secret" not in frame
    running.cancel()


@jumping
async def test_a_reader_that_cannot_be_served_any_more_is_cut():
    """It knows no position to come back with, and half an answer must not look whole."""
    core = generations(HeldEngine())
    socket, running = asked(core)
    await settle()
    (follower,) = core._followers
    follower.come_back("store")
    await settle()
    assert socket.aborted
    assert socket.sent == []
    running.cancel()


@jumping
async def test_a_drain_that_is_over_says_so_in_a_frame():
    core = generations(HeldEngine())
    socket, running = asked(core)
    await settle()
    (follower,) = core._followers
    follower.sink.cut(StoreUnavailable().as_event())
    await settle()
    assert not socket.aborted
    assert '"store_unavailable"' in socket.sent[0]
    running.cancel()
