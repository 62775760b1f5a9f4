"""`polystream up` as a process, and the processes below it, which tests want to see gone."""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration.server import START_S, STOP_S, Server
from tests.integration.waiting import until

LAST_LINE = "Ctrl-C stops all of it."


class Process(NamedTuple):
    """A process, as nobody else can be: numbers are given anew, with another start."""

    pid: int
    start: str

    @property
    def alive(self) -> bool:
        """Whether it runs; the dead whom nobody has asked after do not."""
        fields = _stat(self.pid)
        return bool(fields) and fields[0] != "Z" and fields[19] == self.start


class Up(Server):
    """One run, at free ports and before scripted text unless told otherwise."""

    def __init__(self, *, folder: Path | None = None, **settings: Any):
        super().__init__(command="up", folder=folder, **{"PORT": 0} | settings)
        self.seen: dict[str, Process] = {}

    async def web(self) -> str:
        """Where gRPC-Web is spoken."""
        return self.rest

    def wait_until_ready(self) -> "Up":
        """Return when it has said that it is, with its addresses set. Raises as `wait_for_line`."""
        self.wait_for_line(lambda line: line == LAST_LINE, START_S)
        text = "\n".join(self.log)
        self.rest = re.search(r"^Polystream is ready: (http://localhost:\d+)$", text, re.M)[1]  # type: ignore[index]
        self.websocket = self.rest.replace("http:", "ws:")
        self.grpc = re.search(r"^gateway \| grpc listening on (\S+)$", text, re.M)[1]  # type: ignore[index]
        self.look()
        return self

    def look(self) -> dict[str, Process]:
        """The parts that run now, by name; nginx's workers, and who else is below, by number."""
        self.seen |= {_name(process.pid): process for process in below(self.pid)}
        return self.seen

    @property
    def left(self) -> list[str]:
        """Who was ever seen and still runs."""
        return [name for name, process in self.seen.items() if process.alive]

    async def all_gone(self) -> None:
        """Wait until it and everything it started have ended."""
        await until(lambda: not self.left, STOP_S, f"{self.left} to end")

    def commands(self) -> list[str]:
        """The commands that it offers to be pasted."""
        text = "\n".join(self.log[self.log.index("# NDJSON") : self.log.index(LAST_LINE)])
        return [command.strip() for command in re.split(r"^# .*\n", text, flags=re.M) if command.strip()]

    def kill_all(self) -> None:
        """For tests that failed."""
        self.look()
        self.kill()
        for process in self.seen.values():
            with suppress(ProcessLookupError):
                if process.alive:
                    os.kill(process.pid, signal.SIGKILL)


def below(pid: int) -> list[Process]:
    """The children of a process, theirs, and so on."""
    parents = {int(entry): _stat(int(entry)) for entry in os.listdir("/proc") if entry.isdecimal()}
    found, wanted = [], {pid}
    while wanted:
        children = {child for child, fields in parents.items() if fields and int(fields[1]) in wanted}
        found += [Process(child, parents[child][19]) for child in children]
        wanted = children
    return found


def _stat(pid: int) -> list[str]:
    """The fields behind the name, from `state` on; see proc_pid_stat(5). Nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _name(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except OSError:
        command = ""
    for name, mark in (("nginx", "nginx: master"), ("envoy", "envoy.yaml"), ("gateway", "\0serve\0")):
        if mark in command:
            return name
    return "model" if command.endswith("\0model\0") else str(pid)
