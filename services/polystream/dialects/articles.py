"""The doors of the articles, on their way out: each spells an answer so that the client printed there shows
its text and nothing else.

Those clients cut what comes at a colon, a blank or a line break, and none knows an end. docs/protocol.md has
the bytes; tests/clients/articles.py plays the clients.
"""

import re

from polystream.core.errors import Cancelled, UpstreamDisconnected
from polystream.core.events import Batch, Error, Event, Failed, Finished, Notice, Text
from polystream.dialects.native import error_json
from polystream.proto import stream_pb2 as pb

#: Where a reader of server-sent events sees a line end (HTML Living Standard 9.2.5), and it sees no other.
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_AFTER_COLON = re.compile(r"(?<=:)(?= )")
_EOS = "</s>"

#: In the place of a seq, in the id of the last event of `GET /generate`.
END = "end"


class _Words:
    """What these forms share: texts alone count, and words cannot be taken back.

    `error`: why the answer broke, once it has.
    """

    resumable = False
    heartbeat: bytes | None = None

    def __init__(self, spoke: bool = False) -> None:
        self.spoke = spoke
        self.error: Error | None = None

    def encode(self, batch: Batch) -> list[bytes]:
        """The texts of the batch, up to where it breaks, and how the answer ends there."""
        if batch.plain is not None:
            return self._say("".join([event.text for event in batch.plain]))
        at, error = _trouble(batch, self.spoke)
        texts = [event.text for event in batch.events[:at] if type(event) is Text]
        pieces = self._say("".join(texts)) if texts else []
        if error is not None:
            return pieces + self._fail(error)
        return pieces if batch.last is None else pieces + self._end()

    def breaks(self, batch: Batch) -> bool:
        """A failure, a cancel, or a restart behind text."""
        _, self.error = _trouble(batch, self.spoke)
        self.spoke = self.spoke or any(type(event) is Text for event in batch.events)
        return self.error is not None

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """No words: their clients know no position."""
        return None

    def lost(self, after: int) -> bytes | None:
        """No words."""
        return None

    def cut(self, error: Error) -> bytes | None:
        """As a failure."""
        self.error = error
        return b"".join(self._fail(error)) or None

    def _say(self, text: str) -> list[bytes]:
        return [text.encode()]

    def _end(self) -> list[bytes]:
        return []

    def _fail(self, error: Error) -> list[bytes]:
        return []


class Pieces(_Words):
    """`POST /streaming/fastapi/`: its client takes of each piece what stands behind the first `: `.

    So every piece has one, also the heartbeat and the end, and nothing behind it. A line break stands before
    its line, as an empty `data:` without a blank.
    """

    key = "articles-data"
    heartbeat: bytes | None = b": \n\n"

    def _say(self, text: str) -> list[bytes]:
        return [_data_lines(text).encode()]

    def _end(self) -> list[bytes]:
        return [b"event:end\ndata: \n\n"]

    def _fail(self, error: Error) -> list[bytes]:
        return [_failed(error)]


class Lines(Pieces):
    """`POST /streaming/starlette/`: its client takes of each line what stands behind the `:`.

    The same pieces; but an event's name would be shown, so the end is an empty message, which no text is.
    """

    key = "articles-lines"
    heartbeat: bytes | None = b":\n\n"

    def _end(self) -> list[bytes]:
        return [b"end:\ndata:\n\n"]


class SocketFrames(_Words):
    """`/ws`: a frame is a piece, and its client takes what stands behind `: `.

    Frames never run into each other and nobody looks for lines in them, so line breaks stand as they are. No
    text has a `: ` of its own: it is cut there.
    """

    key = "articles-frames"

    def _say(self, text: str) -> list[bytes]:
        return [f"data: {part}\n\n".encode() for part in _AFTER_COLON.split(text)]

    def _end(self) -> list[bytes]:
        return [b"event:end\ndata: \n\n"]

    def _fail(self, error: Error) -> list[bytes]:
        return [_failed(error)]


class Instruction(_Words):
    """`POST /instruct`: bare text, in which `</s>` never shows, however it is cut.

    What may become one is held back, so this encoding is one reader's own.
    """

    def __init__(self, id: str) -> None:
        super().__init__()
        self.key = f"articles-instruct {id}"
        self._held = ""

    def _say(self, text: str) -> list[bytes]:
        text = self._held + text
        while _EOS in text:  # taking one out may make another
            text = text.replace(_EOS, "")
        kept = next(size for size in range(len(_EOS) - 1, -1, -1) if text.endswith(_EOS[:size]))
        self._held = text[len(text) - kept :]
        said = text[: len(text) - kept]
        return [said.encode()] if said else []

    def _end(self) -> list[bytes]:
        held, self._held = self._held, ""
        return [held.encode()] if held else []

    def _fail(self, error: Error) -> list[bytes]:
        return self._end()


class Messages(_Words):
    """`stream.ResponseStreamingService`: its client takes what stands behind the first blank."""

    key = "articles-proto"

    def _say(self, text: str) -> list[bytes]:
        return [pb.LlmResponse(llm_content=f"Response {text}").SerializeToString()]


class StreamedText(_Words):
    """`GET /generate`: events `streamed-text` for a native EventSource, and `end` or `failed`.

    Each has an id, so that a browser that comes back goes on; behind the last one it is told with 204 that
    there is no more. Bodies end properly: the browser comes back in any case. `spoke`: there were words
    before.
    """

    heartbeat: bytes | None = b": heartbeat\n\n"

    def __init__(self, id: str, spoke: bool) -> None:
        super().__init__(spoke)
        self.key = "articles-events"
        self._id = id

    def encode(self, batch: Batch) -> list[bytes]:
        """An event a text, up to where the batch breaks, and the last one."""
        at, error = _trouble(batch, self.spoke)
        said = [
            self._event(seq, "streamed-text", _LINE_BREAK.split(event.text))
            for seq, event in enumerate(batch.events[:at], batch.first_seq)
            if type(event) is Text
        ]
        if error is not None:
            said.append(self._event(END, "failed", [error_json(error).decode()]))
        elif batch.last is not None:
            said.append(self._event(END, "end", [""]))
        return ["".join(said).encode()] if said else []

    def breaks(self, batch: Batch) -> bool:
        """A restart behind text."""
        return super().breaks(batch) and batch.last is None

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """When to come back; browsers do so by themselves."""
        return b"retry: %d\n\n" % retry_after_ms

    def lost(self, after: int) -> bytes | None:
        """As an end of the body: the browser comes back and is refused."""
        return b""

    def cut(self, error: Error) -> bytes | None:
        """No words: whether the answer goes on is not known here."""
        return None

    def _event(self, seq: int | str, name: str, lines: list[str]) -> str:
        data = "".join([f"data: {line}\n" for line in lines])
        return f"id: {self._id}:{seq}\nevent: {name}\n{data}\n"


def whole(form: Pieces, text: str) -> bytes:
    """A whole answer in a form's pieces."""
    events: list[Event] = [Text(text)] if text else []
    return b"".join(form.encode(Batch(0, [*events, Finished("stop")])))


def _trouble(batch: Batch, spoke: bool) -> tuple[int, Error | None]:
    """Where in a batch an answer breaks, and why; its length and None where it does not.

    `spoke`: there was text before the batch.
    """
    for at, event in enumerate(batch.events):
        match event:
            case Text():
                spoke = True
            case Failed(error=error):
                return at, error
            case Finished(reason="cancelled"):
                return at, Cancelled().as_event()
            case Notice(kind="restart") if spoke:
                return at, UpstreamDisconnected().as_event()
    return len(batch.events), None


def _data_lines(text: str) -> str:
    """A text as server-sent messages, a line each; whoever joins their data has the text again."""
    said, breaks = "", ""
    for number, line in enumerate(_LINE_BREAK.split(text)):
        breaks += "data:\n" if number else ""
        if line:
            said += f"{breaks}data: {line}\n\n"
            breaks = ""
    return f"{said}{breaks}data: \n\n" if breaks else said


def _failed(error: Error) -> bytes:
    return b"event:failed\ndata: %b\n\n" % error_json(error)
