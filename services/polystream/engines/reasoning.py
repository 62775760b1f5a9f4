"""Takes `<think>…</think>` out of an answer, for engines that leave a model's reasoning in its text.

The markers may be cut anywhere between two pieces, so an end that may begin one is held back; what is inside
never becomes answer, even when the answer breaks off before the closing marker.
"""

from polystream.core.events import Event, Reasoning, Text

_OPEN, _CLOSE = "<think>", "</think>"


class ReasoningSplitter:
    """One answer. Markers count wherever they stand: models think again between two parts of an answer.

    A closing marker without an opening one is text: some chat templates put `<think>` into the prompt, and
    nobody can tell then, before it has come, that what is being said is no answer. Such engines have a parser
    of their own.
    """

    def __init__(self) -> None:
        self._inside = False
        self._held = ""

    def feed(self, text: str) -> list[Event]:
        """The text as `Text` and `Reasoning`, without markers and empty pieces; blanks stay."""
        held = self._held + text
        events: list[Event] = []
        while True:
            marker = _CLOSE if self._inside else _OPEN
            before, found, after = held.partition(marker)
            if not found:
                break
            self._say(before, events)
            self._inside, held = not self._inside, after
        keep = _overlap(held, marker)
        self._held = held[len(held) - keep :]
        self._say(held[: len(held) - keep], events)
        return events

    def close(self) -> list[Event]:
        """What was still held back when the answer ended: the beginning of a marker that never came."""
        events: list[Event] = []
        self._say(self._held, events)
        self._held = ""
        return events

    def _say(self, text: str, events: list[Event]) -> None:
        if text:
            events.append(Reasoning(text) if self._inside else Text(text))


def _overlap(text: str, marker: str) -> int:
    """Length of the longest end of `text` that begins `marker` without being all of it."""
    return next((size for size in range(len(marker) - 1, 0, -1) if text.endswith(marker[:size])), 0)
