"""The forms of the native dialect on the wire: NDJSON, messages, server-sent events.

A form says how events are written, and how the body ends: properly, or so that it cannot look whole.
"""

from polystream.core.events import Batch, Error, Event
from polystream.dialects import native


class Ndjson:
    """An event a line, ended by LF."""

    key = "ndjson"
    resumable = True
    heartbeat: bytes | None = native.heartbeat() + b"\n"

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's lines as one piece."""
        lines = native.encode(batch)
        return [b"\n".join(lines) + b"\n"]

    def breaks(self, batch: Batch) -> bool:
        """Never: every end has its line."""
        return False

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """A line."""
        return native.come_back(reason, retry_after_ms) + b"\n"

    def lost(self, after: int) -> bytes | None:
        """A line."""
        return native.lost(after) + b"\n"

    def cut(self, error: Error) -> bytes | None:
        """No words: a log's end is its producer's to write."""
        return None


class Frames(Ndjson):
    """The bare JSON of each event, a message each: what WebSocket frames hold."""

    key = "native"
    heartbeat: bytes | None = native.heartbeat()

    def encode(self, batch: Batch) -> list[bytes]:
        """A message an event."""
        return native.encode(batch)

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """A message."""
        return native.come_back(reason, retry_after_ms)

    def lost(self, after: int) -> bytes | None:
        """A message."""
        return native.lost(after)


class Sse:
    """Server-sent events, HTML Living Standard 9.2: `id`, `event` and `data` of one line each.

    `id` stands before the seq in the ids of a stream that a native EventSource started, which cannot keep it
    elsewhere.
    """

    resumable = True
    heartbeat: bytes | None = b": heartbeat\n\n"

    def __init__(self, id: str = ""):
        self.key = "sse-of-id" if id else "sse"
        self._prefix = f"id: {id}:" if id else "id: "

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's events as one piece."""
        data = iter(native.encode(batch))
        events = enumerate(batch.events, batch.first_seq)
        return [b"".join([b"%b%b\n\n" % (self._head(seq, event), next(data)) for seq, event in events])]

    def _head(self, seq: int, event: Event) -> bytes:
        return f"{self._prefix}{seq}\nevent: {event.type}\ndata: ".encode()

    def breaks(self, batch: Batch) -> bool:
        """Never: every end has its event."""
        return False

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """An event without an id, so that the browser's position stays."""
        data = native.come_back(reason, retry_after_ms)
        return b"event: come_back\nretry: %d\ndata: %b\n\n" % (retry_after_ms, data)

    def lost(self, after: int) -> bytes | None:
        """An event without an id."""
        return b"event: lost\ndata: %b\n\n" % native.lost(after)

    def cut(self, error: Error) -> bytes | None:
        """No words: a log's end is its producer's to write."""
        return None
