"""Receives one chat answer over HTTP: bytes become events in the same turn, and the end gets its meaning.

The rule to know: a finish reason or `[DONE]` makes an answer whole, and nothing else does. What comes after
(usage, `[DONE]`, the body's end) is waited for, but its absence takes nothing away.
"""

from collections.abc import Callable

from polystream.core import errors
from polystream.core.errors import StreamError
from polystream.core.events import Event, Notice
from polystream.core.ports import Emit, Ending
from polystream.engines import failures
from polystream.engines.http_connection import End, Head
from polystream.engines.openai_chunks import ChatDecoder
from polystream.engines.openai_notices import notices
from polystream.engines.patience import Patience
from polystream.engines.sse import EVENT_MAX_BYTES, SseParser

#: What is read of a refusal: its first words say it.
_REFUSAL_MAX_BYTES = 64 * 1024


class ChatAnswer:
    """One answer; see `http_connection.Receiver` for who calls it, `Patience` for the limits in seconds."""

    __slots__ = (
        *("_body", "_decoder", "_emit", "_failure", "_head", "_heard", "_parser", "_patience", "_stop"),
        *("_streamed", "_waiting"),
    )

    def __init__(self, emit: Emit, first_s: float, stall_s: float, split_reasoning: bool):
        self._emit = emit
        self._patience = Patience(first_s, stall_s, self._has_heard, self._give_up)
        self._heard = False  # since patience asked
        self._waiting = True  # for the first content
        self._parser = SseParser()
        self._decoder = ChatDecoder(split_reasoning)
        self._stop: Callable[[bool], None] | None = None
        self._head: Head | None = None
        self._streamed = False
        self._body = bytearray()
        self._failure: StreamError | None = None

    def began(self, stop: Callable[[bool], None]) -> None:
        """The first token is waited for from here on, whatever a repeated request costs."""
        self._stop = stop
        self._patience.start()

    def head(self, head: Head) -> None:
        """See what is coming: a stream, a whole answer, a refusal, or something else altogether."""
        self._head = head
        if head.status != 200:
            return
        kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        coding = head.headers.get("content-encoding", "identity").lower()
        self._streamed = kind == "text/event-stream"
        if coding != "identity":
            self._give_up(
                errors.UpstreamBadChunk(f"The engine compressed its answer ({coding[:40]}) unasked.")
            )
        elif not self._streamed and kind != "application/json":
            kind = failures.scrub(kind) or "no content type"
            self._give_up(
                errors.UpstreamBadChunk(
                    f"The engine answered with {kind}, not a stream: is its address right?"
                )
            )

    def data(self, data: bytes) -> None:
        """One network read."""
        decoder = self._decoder
        self._heard = True
        if not self._streamed:
            self._gather(data)
            return
        parser = self._parser
        events = decoder.feed(parser.feed(data))
        if parser.notices:
            events = notices(parser.notices) + events
            parser.notices = []
        if self._waiting:
            self._pass_on(events)
        elif events:
            self._emit(events)
        if decoder.done or decoder.error is not None:
            self._leave(linger=True)

    def close(self) -> None:
        """Wait for nothing more."""
        self._patience.stop()

    def conclude(self, end: End | StreamError) -> Ending:
        """What the end of the exchange means for the answer; emits what was still held back.

        Raises what the engine said or what was missed; `UpstreamDisconnected` after a cut,
        `UpstreamIncomplete` after a proper end without a finish reason or `[DONE]`. A connection that alone
        delimits a body ends it properly.
        """
        if self._head is not None and self._head.status != 200:
            raise failures.from_response(self._head.status, self._head.headers, bytes(self._body))
        decoder = self._decoder
        if self._streamed:
            self._read_rest()
        elif end in (End.COMPLETE, End.EOF):
            self._read_whole()
        self._pass_on(decoder.close())
        if decoder.error is not None:
            raise decoder.error
        if decoder.finish is not None or decoder.done:
            return decoder.ending()
        if isinstance(end, StreamError):
            raise end
        if self._failure is not None:
            raise self._failure
        raise errors.UpstreamDisconnected() if end is End.BROKEN else errors.UpstreamIncomplete()

    def _pass_on(self, events: list[Event]) -> None:
        """Events that may be the first, or held back to the end."""
        if self._waiting and any(not isinstance(event, Notice) for event in events):
            self._waiting = False
            self._patience.content()
        if events:
            self._emit(events)

    def _has_heard(self) -> bool:
        heard, self._heard = self._heard, False
        return heard

    def _gather(self, data: bytes) -> None:
        self._body += data
        if self._head is not None and self._head.status != 200:
            if len(self._body) > _REFUSAL_MAX_BYTES:
                self._leave(linger=False)
        elif len(self._body) > EVENT_MAX_BYTES:
            self._give_up(
                errors.UpstreamBadChunk(f"The engine's answer is larger than {EVENT_MAX_BYTES} bytes.")
            )

    def _read_rest(self) -> None:
        """The last event may lack its blank line. One that cannot be read was cut; the end says so too."""
        rest = self._parser.close()
        if rest is not None and self._decoder.error is None:
            self._pass_on(self._decoder.feed([rest]))
            if isinstance(self._decoder.error, errors.UpstreamBadChunk):
                self._decoder.error = None

    def _read_whole(self) -> None:
        """An engine that does not stream, or an error under status 200."""
        events = self._decoder.feed([bytes(self._body)])
        if events:
            self._pass_on(events)
            self._decoder.finish = self._decoder.finish or "stop"
        if self._decoder.finish is None and self._decoder.error is None:
            self._failure = errors.UpstreamBadChunk("The engine's JSON is no chat answer.")

    def _give_up(self, failure: StreamError) -> None:
        self._failure = failure
        self._leave(linger=False)

    def _leave(self, linger: bool) -> None:
        if self._stop is not None:
            self._stop(linger)
