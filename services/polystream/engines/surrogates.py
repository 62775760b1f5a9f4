"""Joins characters that an engine escaped as two halves (`\\ud83d`, `\\ude00`) in two pieces of its answer.

A half without the other becomes U+FFFD, so that everything behind the engine holds whole code points only.
"""

_HIGH = range(0xD800, 0xDC00)


class SurrogateJoiner:
    """One answer, whose texts run in `channel`s (content, reasoning, arguments of a call) of their own.

    `held`: the halves that wait for the other, by channel. While there is one, even text without halves must
    pass through here.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: dict[str, str] = {}

    def feed(self, channel: str, text: str) -> str:
        """The text with whole code points only; an empty one leaves a waiting half waiting."""
        if not text:
            return text
        text = self.held.pop(channel, "") + text
        if ord(text[-1]) in _HIGH:
            self.held[channel] = text[-1]
            text = text[:-1]
        return whole(text)

    def close(self, channel: str) -> str:
        """U+FFFD for a half that still waits, else nothing."""
        return whole(self.held.pop(channel, ""))


def whole(text: str) -> str:
    """The text with pairs of halves joined and each single half replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
