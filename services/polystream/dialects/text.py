"""The text of an answer and nothing else: the plain text form."""

from polystream.core.events import Batch, Error, Event, Failed, Finished, Notice, Text


class PlainText:
    """The text alone. It has no words for trouble, so everything but a good end breaks the body off."""

    key = "text"
    resumable = False
    heartbeat: bytes | None = None

    def __init__(self) -> None:
        self.spoke = False

    def encode(self, batch: Batch) -> list[bytes]:
        """The batch's text as one piece, or nothing."""
        if batch.plain is not None and len(batch.plain) == 1:
            return [batch.plain[0].text.encode()]
        text = "".join([event.text for event in batch.events if type(event) is Text])
        return [text.encode()] if text else []

    def breaks(self, batch: Batch) -> bool:
        """A failure, a cancel, or a restart after text, which cannot be taken back."""
        broken = [self._breaks(event) for event in batch.events]
        return any(broken)

    def _breaks(self, event: Event) -> bool:
        match event:
            case Text():
                self.spoke = True
            case Failed():
                return True
            case Finished():
                return event.reason == "cancelled"
            case Notice(kind="restart"):
                return self.spoke
        return False

    def come_back(self, reason: str, retry_after_ms: int) -> bytes | None:
        """No words."""
        return None

    def lost(self, after: int) -> bytes | None:
        """No words."""
        return None

    def cut(self, error: Error) -> bytes | None:
        """No words."""
        return None
