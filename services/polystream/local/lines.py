"""What all parts say, line by line, on one terminal: whose line it is stands before it."""

import codecs
import os
import re
from collections.abc import Mapping, Sequence
from typing import TextIO

#: A line longer than this is shown in pieces, characters.
LONGEST = 8192
_COLOURS = ("36", "35", "34", "33", "32")
#: What a terminal would obey. A log may hold what a stranger sent.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Cutter:
    """Bytes as they come, cut anywhere, become lines; what is no UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes, last: bool = False) -> list[str]:
        """The lines that are complete by now, without their ends; `last`: what is left is one, too."""
        *lines, self._rest = (self._rest + self._decoder.decode(data, last)).split("\n")
        whole = [piece for line in lines for piece in _pieces(line.rstrip("\r"))]
        *more, self._rest = _pieces(self._rest)
        if last and self._rest:
            more.append(self._rest)
            self._rest = ""
        return whole + more


def _pieces(line: str) -> list[str]:
    return [line[at : at + LONGEST] for at in range(0, len(line), LONGEST)] or [line]


class Printer:
    """The one who writes, a whole line at a time."""

    def __init__(self, out: TextIO, names: Sequence[str], coloured: bool):
        self._out = out
        self._width = max(map(len, names))
        self._colours = dict(zip(names, _COLOURS, strict=False)) if coloured else {}
        self._broken = False

    def line(self, name: str, text: str) -> None:
        """One line of a part."""
        prefix, colour = f"{name:<{self._width}} |", self._colours.get(name)
        self.plain(f"\x1b[{colour}m{prefix}\x1b[0m {_shown(text)}" if colour else f"{prefix} {_shown(text)}")

    def plain(self, text: str) -> None:
        """Lines without a name, to be pasted."""
        if self._broken:
            return
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except OSError:  # nobody reads any more; what runs goes on, as behind `nohup`
            self._broken = True


def coloured(out: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to colour: NO_COLOR (no-color.org) before FORCE_COLOR, else whether a terminal shows it."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return out.isatty() and environment.get("TERM") != "dumb"


def quiet_exit(out: TextIO) -> None:
    """Let the interpreter's last flush not complain of a reader that has gone."""
    try:
        out.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _shown(text: str) -> str:
    return _CONTROLS.sub("�", text)
