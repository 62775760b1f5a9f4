"""CPU time and memory of a process tree, from /proc."""

import os
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """``pid`` and all its living descendants."""
    found = [pid]
    for parent in found:  # grows while it is walked
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def _threads(pid: int) -> tuple[float, float]:
    """Seconds that the living threads of one process ran, and that they waited for a CPU (schedstat)."""
    ran = waited = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            fields = path.read_text().split()
        except OSError:
            continue
        ran, waited = ran + int(fields[0]), waited + int(fields[1])
    return ran / 1e9, waited / 1e9


def cpu_seconds(pid: int) -> float:
    """CPU time of the tree. Nanosecond run times of the living threads where the kernel keeps them,
    else user + system ticks (10 ms steps); waited-for children count by ticks."""
    total = 0.0
    for member in tree(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        own, ended = ((int(fields[at]) + int(fields[at + 1])) * _TICK_S for at in (11, 13))
        total += (_threads(member)[0] or own) + ended
    return total


def waited_seconds(pid: int) -> float:
    """Time that the tree's threads were runnable but had no CPU: how busy the machine is otherwise."""
    return sum(_threads(member)[1] for member in tree(pid))


def resident_bytes(pid: int) -> int:
    """Sum of the resident sizes of the tree."""
    total = 0
    for member in tree(pid):
        try:
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1])
        except OSError:
            continue
    return total * os.sysconf("SC_PAGE_SIZE")
