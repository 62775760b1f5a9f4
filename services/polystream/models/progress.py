"""How far a long piece of work has come: called with what is being done, bytes done and bytes in all."""

from collections.abc import Callable
from typing import TextIO

Progress = Callable[[str, int, int], None]


def unheard(stage: str, done: int, total: int) -> None:
    """Nobody listens."""


class Bar:
    """How far a conversion is: one line that is written over on a terminal, elsewhere a line every 10 %."""

    _WIDTH = 30

    def __init__(self, stream: TextIO):
        self._stream, self._drawn = stream, stream.isatty()
        self._said: tuple[str, int] | None = None

    def show(self, stage: str, done: int, total: int) -> None:
        """A `Progress`."""
        percent = 100 * done // total if total else 0
        now = (stage, percent if self._drawn else percent // 10)
        if now == self._said:
            return
        other = self._said is not None and self._said[0] != stage
        self._said = now
        told = f"{stage}: {percent:3d} % of {total / 1e6:.0f} MB" if total else f"{stage} ..."
        if self._drawn:
            full = self._WIDTH * percent // 100
            bar = f"[{'#' * full}{' ' * (self._WIDTH - full)}] " if total else ""
            self._stream.write(f"{chr(10) if other else ''}\r{bar}{told}\x1b[K")
        else:
            self._stream.write(f"{told}\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing more is shown."""
        if self._drawn and self._said is not None:
            self._stream.write("\n")
            self._stream.flush()
