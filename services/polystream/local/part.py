"""One part: a process in a session of its own, so that a terminal's Ctrl-C reaches `up` alone; and its words.

Whatever it started itself is in its process group and ends with it.
"""

import asyncio
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from polystream.local.lines import Cutter

#: How many of its last lines are told when it dies.
TAIL = 12
#: What its last output may take once its processes are gone, seconds.
_LAST_WORDS_S = 2.0
_READ_BYTES = 65_536
_LEASH = str(Path(__file__).with_name("leash.py"))
_LISTENING = re.compile(r"^(\w+) listening on (?:https?://|wss?://)?(\S+:\d+)$")


class Trouble(Exception):
    """Why all must stop, in words for people."""


class Part:
    """`say` gets each of its lines; `ended` is done when nothing of it is left, with its exit status.

    `addresses`: host:port of its listeners by name, as it says them; `heard_at`: when it said its last line.
    """

    ended: "asyncio.Task[int]"

    def __init__(self, name: str, say: Callable[[str], None]):
        self.name = name
        self.heard_at = time.monotonic()
        self._say = say
        self._tail: deque[str] = deque(maxlen=TAIL)
        self.addresses: dict[str, str] = {}

    @property
    def pid(self) -> int:
        """Its process, which leads its group."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self.ended.done()

    async def start(
        self, command: Sequence[str], environment: Mapping[str, str], dies_by: int = signal.SIGKILL
    ) -> None:
        """Start it; `dies_by`: the signal it gets if `up` is killed."""
        source, sink = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _LEASH, str(os.getpid()), str(int(dies_by)), *command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            os.close(source)
            raise
        finally:
            os.close(sink)
        self.ended = asyncio.create_task(self._run(source))

    def signal(self, number: int) -> None:
        """Tell its first process."""
        if self.running:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def kill(self) -> None:
        """End all of it, now."""
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses where only the dead are left
            os.killpg(self._process.pid, signal.SIGKILL)

    async def stop(self, number: int, within_s: float) -> bool:
        """Send a signal, and end it by force when it has not ended in time; whether it needed none."""
        self.signal(number)
        await asyncio.wait({self.ended}, timeout=within_s)
        if self.running:
            self.kill()
            await self.ended
            return False
        return True

    def obituary(self) -> str:
        """How it ended, and its last lines."""
        status = self.ended.result()
        how = f"exited with status {status}" if status >= 0 else f"was killed by {_signal(-status)}"
        last = ["its last lines were:", *(f"    {line}" for line in self._tail)] if self._tail else []
        return "\n".join([f"{self.name} {how}", *last])

    def said(self, words: str) -> bool:
        """Whether its last lines hold these words."""
        return any(words in line for line in self._tail)

    async def _run(self, source: int) -> int:
        reading = asyncio.create_task(self._read(source))
        status = await self._process.wait()
        self.kill()  # whoever is left of its group
        await asyncio.wait({reading}, timeout=_LAST_WORDS_S)
        reading.cancel()
        return status

    async def _read(self, source: int) -> None:
        loop, reader, cutter = asyncio.get_running_loop(), asyncio.StreamReader(), Cutter()
        pipe = os.fdopen(source, "rb", 0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while data := await reader.read(_READ_BYTES):
                self._take(cutter.feed(data))
            self._take(cutter.feed(b"", last=True))
        finally:
            transport.close()

    def _take(self, lines: list[str]) -> None:
        for line in lines:
            self.heard_at = time.monotonic()
            self._tail.append(line)
            if match := _LISTENING.match(line):
                self.addresses.setdefault(match[1], match[2])
            self._say(line)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time one
        return f"signal {number}"
