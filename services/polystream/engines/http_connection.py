"""One HTTP/1.1 connection to an engine, whose answers are handed on by direct call as they arrive (RFC 9112).

The rule to know: all body bytes of one network read go to the receiver as one piece, and what came before a
cut goes to it before the cut is told. Heads and chunked coding are httptools' work (llhttp, strict), which is
also faster than unchunking in Python: 0.6 µs a read against 1.9.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, cast

import httptools

from polystream.core.errors import UpstreamBadChunk

#: Bounds of a head, and of what comes between two pieces of body (chunk sizes, trailers), in bytes.
HEAD_MAX_BYTES = 64 * 1024
HEADERS_MAX = 256
#: How long an answer that has said all may take to end its body, seconds: many servers send the last chunk in
#: a segment of its own, and a connection whose body ended can be used again.
LINGER_S = 1.0


class End(Enum):
    """How a body ended."""

    COMPLETE = "complete"  #: with its terminating chunk, or all of its content-length
    EOF = "eof"  #: with the connection, by which alone it was delimited
    BROKEN = "broken"  #: with the connection, before its end
    STOPPED = "stopped"  #: by us
    UNANSWERED = "unanswered"  #: with the connection, before a single byte of an answer


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of an answer; names in lower case, repeated ones joined by a comma."""

    status: int
    headers: dict[str, str]


class Receiver(Protocol):
    """Takes one answer, in the very turn of the event loop in which it arrives."""

    def began(self, stop: Callable[[bool], None]) -> None:
        """The request is on its way (again, when it is repeated). `stop` is `Connection.stop`."""
        ...

    def head(self, head: Head) -> None:
        """The head has come; 1xx answers are passed over."""
        ...

    def data(self, data: bytes) -> None:
        """All body bytes of one network read. What it raises ends the exchange and is raised from there."""
        ...


class Connection(asyncio.Protocol):
    """One connection, for one exchange after the other.

    `on_change` is called when it changes outside an exchange: it has become `free`, or `closed`.
    """

    __slots__ = (
        *("_answered", "_complete", "_ended", "_fault", "_head", "_head_bytes", "_header_count", "_headers"),
        *("_keep", "_linger", "_overhead", "_parser", "_parts", "_receiver", "_told", "_timer", "_transport"),
        *("closed", "on_change"),
    )

    def __init__(self) -> None:
        self.closed = False
        self.on_change: Callable[[Connection], None] | None = None
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._receiver: Receiver | None = None
        self._ended: asyncio.Future[End] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._begin()
        self._complete = True

    def _begin(self) -> None:
        self._headers: dict[str, str] = {}
        self._head: Head | None = None
        self._head_bytes = self._header_count = self._overhead = 0
        self._answered = self._told = self._complete = self._keep = self._linger = False
        self._fault = ""

    @property
    def free(self) -> bool:
        """Whether another exchange may begin: the body ended and nothing came behind it."""
        return self._complete and self._keep and not self.closed

    @property
    def lingering(self) -> bool:
        """Whether its exchange is over and its body may still end."""
        return self._linger and not self._complete and not self.closed

    async def exchange(self, request: bytes, receiver: Receiver) -> End:
        """Send a whole request; the end of its answer's body. Raises `UpstreamBadChunk` for what is no HTTP.

        Cancelling it, and any end but a complete body or `stop(True)`, closes the connection at once.
        """
        self._set_timer(None)
        if self._transport is None or self.closed or self._transport.is_closing():
            return End.UNANSWERED
        self._begin()
        self._receiver = receiver
        self._ended = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        receiver.began(self.stop)
        try:
            return await self._ended
        finally:
            self._receiver = self._ended = None
            if self.lingering:
                self._set_timer(LINGER_S)
            elif not self.free:
                self.abort()

    def stop(self, linger: bool) -> None:
        """End the exchange as STOPPED; the receiver hears no more.

        With `linger` the body has a second to end, and the connection can be used again; else it is closed.
        """
        self._receiver = None
        self._linger = linger
        self._settle(End.STOPPED)

    def rest(self, seconds: float) -> None:
        """Wait for the next exchange, at most that long."""
        self._set_timer(seconds)

    def abort(self) -> None:
        """Close without waiting for anything."""
        self.closed = True
        self._set_timer(None)
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected. Both asyncio and uvloop switch TCP_NODELAY on."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are no subclass of it

    def data_received(self, data: bytes) -> None:
        """One network read: the hot path."""
        if self._complete:  # said to nothing we asked, like the 408 with which some servers close
            self.abort()
            return
        self._answered = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fault = self._fault or f"it is not HTTP/1.1 as it should be ({error})"
        parts = self._parts
        receiver = self._receiver
        if receiver is not None:
            try:
                if not self._told and self._head is not None:
                    self._told = True
                    receiver.head(self._head)
                if parts:
                    self._overhead = 0
                    receiver.data(parts[0] if len(parts) == 1 else b"".join(parts))
            except Exception as error:
                self._receiver = None
                self._settle(error)
        if not parts or self._complete or self._fault:
            self._look(len(data))
        parts.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        """Closed by either side, or lost."""
        self.closed = True
        self._set_timer(None)
        if not self._answered:
            self._settle(End.UNANSWERED)
        else:
            self._settle(
                End.EOF if exc is None and self._head is not None and not self._delimited() else End.BROKEN
            )

    def _look(self, size: int) -> None:
        """After a read without body, at the end of a body, or after a fault."""
        if self._complete:
            self._settle(End.COMPLETE)
            return
        self._overhead += size
        if self._overhead > HEAD_MAX_BYTES:
            self._fault = f"more than {HEAD_MAX_BYTES} bytes came without any content"
        if self._fault:
            self._settle(UpstreamBadChunk(f"The engine's answer cannot be read: {self._fault}."))
            self.abort()

    def _delimited(self) -> bool:
        """Whether the body's end is told apart from the connection's."""
        coding = self._headers.get("transfer-encoding")
        if coding is not None:
            return coding.rpartition(",")[2].strip().lower() == "chunked"
        return "content-length" in self._headers

    def _settle(self, result: End | Exception) -> None:
        """Tell the exchange how it ended, once; without one, tell the pool."""
        ended = self._ended
        if ended is None:
            if self.on_change is not None and (self.closed or self._complete):
                if not self.free:
                    self.abort()
                self.on_change(self)
        elif not ended.done():
            if isinstance(result, End):
                ended.set_result(result)
            else:
                ended.set_exception(result)
                ended.exception()  # counts as seen: nobody looks when the exchange is cancelled in this turn

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self.abort)

    # What the parser calls.

    def on_message_begin(self) -> None:
        """An answer begins; behind a complete one, what comes is unasked for."""
        if self._complete:
            self._keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or, behind the body, a trailer: counted, and passed over."""
        self._header_count += 1
        self._head_bytes += len(name) + len(value)
        if self._header_count > HEADERS_MAX or self._head_bytes > HEAD_MAX_BYTES:
            self._fault = f"it has more than {HEADERS_MAX} headers or {HEAD_MAX_BYTES} bytes of them"
            raise ValueError(self._fault)
        if self._head is None:
            key, text = name.lower().decode("latin-1"), value.decode("latin-1").strip(" \t")
            self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """A head is complete."""
        status = self._parser.get_status_code()
        if status < 200:
            self._headers = {}
        elif self._head is None:
            self._head = Head(status, self._headers)

    def on_body(self, body: bytes) -> None:
        """A piece of body: a chunk, or what there is of it."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """An answer is complete."""
        if self._parser.get_status_code() >= 200 and not self._complete:
            self._complete = True
            # An answer that overtakes its request leaves the rest of the request on the way.
            sent = self._transport is not None and not self._transport.get_write_buffer_size()
            self._keep = sent and self._parser.should_keep_alive()
