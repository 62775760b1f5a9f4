"""Whether a port can be had, and who has it: told before anything starts, so that nobody has to look."""

import errno
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from polystream.local.part import Trouble

_PROC = Path("/proc")
_LISTENING = "0A"  # TCP_LISTEN in the kernel's include/net/tcp_states.h
_COMMAND_LENGTH = 160


def free(host: str) -> int:
    """A port that nobody has at this moment."""
    with _bound(host, 0) as taken:
        return int(taken.getsockname()[1])


def check(host: str, wanted: dict[str, int]) -> None:
    """Raises `Trouble` that says, by setting, which port cannot be had and who holds it, if that is seen."""
    told = [f"{names[0]} and {names[1]} are both {port}" for port, names in _shared(wanted).items()]
    for name, port in wanted.items():
        try:
            _bound(host, port).close()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                told.append(f"{name}: {port} is taken{holder(host, port)}")
            else:
                told.append(f"{name}: {host}:{port}: {error.strerror or error}")
    if told:
        raise Trouble("\n".join(told))


def holder(host: str, port: int) -> str:
    """Of the process that listens there: " by pid N (its command line)"; "" where that is not seen."""
    inodes = set(_inodes(host, port))
    for pid in sorted(int(entry.name) for entry in _entries(_PROC) if entry.name.isdecimal()):
        if any(_link(descriptor) in inodes for descriptor in _entries(_PROC / str(pid) / "fd")):
            return f" by pid {pid} ({_command(pid)})"
    return ""


def meet(host: str, listening: str, order: Literal["little", "big"] = sys.byteorder) -> bool:
    """Whether a listener, as the kernel spells it (words in the machine's order), keeps us from `host`."""
    words = [int(listening[at : at + 8], 16) for at in range(0, len(listening), 8)]
    theirs = ipaddress.ip_address(b"".join(word.to_bytes(4, order) for word in words))
    try:
        ours = ipaddress.ip_address(host)
    except ValueError:  # a name
        return True
    mapped = getattr(theirs, "ipv4_mapped", None) or theirs
    return ours.is_unspecified or theirs.is_unspecified or ours in (theirs, mapped)


def _shared(wanted: dict[str, int]) -> dict[int, list[str]]:
    """The ports that several settings want."""
    names: dict[int, list[str]] = {}
    for name, port in wanted.items():
        names.setdefault(port, []).append(name)
    return {port: several for port, several in names.items() if len(several) > 1}


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except BaseException:
        bound.close()
        raise
    return bound


def _inodes(host: str, port: int) -> Iterator[str]:
    """Of the listening sockets on this port, as links of descriptors name them; see proc_pid_net(5)."""
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTENING and int(number, 16) == port and meet(host, address):
                yield f"socket:[{fields[9]}]"


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # another user's, or gone
        return []


def _link(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "gone"
    line = " ".join(words).strip()
    return line if len(line) <= _COMMAND_LENGTH else f"{line[:_COMMAND_LENGTH]}…"
