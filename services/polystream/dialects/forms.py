"""The forms of the native dialect on the wire: NDJSON, messages, server-sent events.

A form says how events are written, and how the body ends: properly, or so that it cannot look whole.
"""

from polystream.core.events import Batch, Error, Event
from polystream.dialects import native
from polystream.dialects.json import quote

_TEXT_LINE = native.TEXT + "\n"


class Ndjson:
    """An event a line, ended by LF."""

    key = "ndjson"
    spoke = True
    resumable = True
    heartbeat: bytes | None = native.heartbeat() + b"\n"

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's lines as one piece."""
        if batch.plain is not None:
            return [native.spell(_TEXT_LINE, batch.first_seq, batch.plain)]
        return [b"\n".join(native.encode(batch)) + b"\n"]

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
    """The JSON of each event under a client's `ref`, a message each: what WebSocket frames hold.

    The socket has one heartbeat for all its answers, so an answer has none.
    """

    heartbeat: bytes | None = None

    def __init__(self, ref: str):
        self.key = f"frames {ref}"
        head = f'{{"ref":{quote(ref)},'
        self._head = head.encode()
        self._text = head.replace("%", "%%") + native.TEXT[1:]

    def encode(self, batch: Batch) -> list[bytes]:
        """A message an event."""
        if batch.plain is not None and len(batch.plain) == 1:
            return [native.spell(self._text, batch.first_seq, batch.plain)]
        return [self._under_ref(message) for message in native.encode(batch)]

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """A message."""
        return self._under_ref(native.come_back(reason, retry_after_ms))

    def lost(self, after: int) -> bytes | None:
        """A message."""
        return self._under_ref(native.lost(after))

    def _under_ref(self, message: bytes) -> bytes:
        return self._head + message[1:]


class Sse:
    """Server-sent events, HTML Living Standard 9.2: `id`, `event` and `data` of one line each.

    `id` stands before the seq in the ids of a stream that a native EventSource started, which cannot keep it
    elsewhere.
    """

    resumable = True
    spoke = True
    heartbeat: bytes | None = b": heartbeat\n\n"

    def __init__(self, id: str = ""):
        self.key = "sse-of-id" if id else "sse"
        self._prefix = f"id: {id}:" if id else "id: "

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's events as one piece."""
        if batch.plain is not None:
            prefix, texts = self._prefix, enumerate(batch.plain, batch.first_seq)
            events = [
                f"{prefix}{seq}\nevent: text\ndata: {native.TEXT % (seq, quote(event.text))}\n\n"
                for seq, event in texts
            ]
            return ["".join(events).encode()]
        data = iter(native.encode(batch))
        heads = [self._head(seq, event) for seq, event in enumerate(batch.events, batch.first_seq)]
        return [b"".join([b"%b%b\n\n" % (head, next(data)) for head in heads])]

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
