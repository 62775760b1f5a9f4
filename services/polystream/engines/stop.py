"""Stop strings for engines that do not know them: nothing that may be the beginning of one is let out before
it is.
"""


class StopStrings:
    """Filters an answer's text; `hit` once a stop string has come, after which nothing more is let out.

    The one that is whole first ends the answer, the longest of those that end with it, however the text is
    cut.
    """

    def __init__(self, stops: tuple[str, ...]):
        self._stops = stops
        self._held = ""
        self.hit = False

    def feed(self, text: str) -> str:
        """The text that can no longer be part of a stop string."""
        if self.hit or not self._stops:
            return "" if self.hit else text
        text = self._held + text
        if found := [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]:
            self.hit, self._held = True, ""
            return text[: min(found)[1]]
        keep = max(_overlap(text, stop) for stop in self._stops)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def close(self) -> str:
        """What was still held back when the answer ended."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`."""
    return next(
        (size for size in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:size])), 0
    )
