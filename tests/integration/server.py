"""The product as a process: started by its command, set by its environment, watched by its output."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.integration.front import Front

ROOT = Path(__file__).parents[2]
#: A second or two; this long where other work fills the machine.
START_S = 60
#: DRAIN_S below plus a margin for a busy machine.
STOP_S = 15
#: Never right in a server's log, whatever the clients did.
FAULTS = (
    "never retrieved",
    "was destroyed but it is pending",
    "was never awaited",
    "Exception in ASGI",
    "Fatal Python",
)
_LISTENING = re.compile(r"^(rest|websocket|grpc|model) listening on (\S+)$")
#: The model's service is a REST service.
_REST = {"model": "rest"}
#: What a child may see of our environment; every setting of the product is given by the test.
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "COVERAGE_PROCESS_START", "COVERAGE_FILE")
#: Ports free; a drain that does not make every test wait; the rest are the product's own defaults.
_DEFAULTS = {
    "REST_PORT": "0",
    "WEBSOCKET_PORT": "0",
    "GRPC_PORT": "0",
    "ENGINE_URL": "scripted:",
    "DRAIN_S": "1",
}


class Server:
    """One process. `rest`, `websocket` and `grpc` say where it listens; `log` holds its output by lines."""

    def __init__(
        self,
        *,
        command: str = "serve",
        module: str = "polystream",
        folder: Path | None = None,
        **settings: Any,
    ):
        self.rest = self.websocket = self.grpc = ""
        self.log: list[str] = []
        self.exit_code: int | None = None
        self._told = False
        self._front: Front | None = None
        self._opening = asyncio.Lock()
        self._wanted = {"rest", "websocket", "grpc"} if command == "serve" else {_REST.get(command, command)}
        self._news = threading.Condition()
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT / "services"), str(ROOT), *_extra_path()])}
        environment |= _DEFAULTS | {name: str(value) for name, value in settings.items()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, command],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            bufsize=1,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self.process.pid

    def wait_until_listening(self) -> "Server":
        """Return when every listener has said so. Raises with the log when the process ends or time is up."""
        self.wait_for_line(lambda _: all(getattr(self, name) for name in self._wanted), START_S)
        return self

    def wait_for_line(self, wanted: Any, timeout_s: float) -> str:
        """The first line, past or coming, for which `wanted(line)` is true."""
        seen, until = 0, time.monotonic() + timeout_s
        with self._news:
            while True:
                for line in self.log[seen:]:
                    seen += 1
                    if wanted(line):
                        return line
                if self.exit_code is not None or not self._news.wait(until - time.monotonic()):
                    break
        raise AssertionError(f"not seen within {timeout_s} s (exit code {self.exit_code}):\n{self.tail()}")

    def tail(self) -> str:
        """The end of the log, for messages."""
        return "\n".join(self.log[-60:]) or "(no output)"

    async def front(self) -> Front:
        """The front door before it, with its settings as shipped; opened when it is first asked for."""
        async with self._opening:
            if self._front is None:
                self._front = await Front(self).__aenter__()
        return self._front

    async def web(self) -> str:
        """Where gRPC-Web is spoken: at the front door."""
        return await (await self.front()).web()

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._told = self._told or number == signal.SIGTERM
        self.process.send_signal(number)

    async def ended(self, timeout_s: float = STOP_S) -> int:
        """Wait, off the event loop, until the process has ended; its exit code."""
        return await asyncio.to_thread(self._ended, timeout_s)

    async def stop(self) -> None:
        """Ask it to stop, and check that it did so properly: exit code 0 and no fault in its log."""
        if self._front is not None:
            front, self._front = self._front, None
            await front.stop()
        if self.process.poll() is None and not self._told:  # a second signal means: at once
            self.signal(signal.SIGTERM)
        code = await self.ended()
        assert code == 0, f"exit code {code}:\n{self.tail()}"
        faults = [line for line in self.log if any(fault in line for fault in FAULTS)]
        assert not faults, "\n".join([*faults, self.tail()])

    def kill(self) -> None:
        """End it at once, for tests that failed."""
        if self._front is not None:
            self._front.kill()
        if self.process.poll() is None:
            self.process.kill()
        self._ended(STOP_S)

    def resident_bytes(self) -> int:
        """Memory that the process holds now (VmRSS)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]

    def _ended(self, timeout_s: float) -> int:
        try:
            self.exit_code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout_s} s:\n{self.tail()}") from None
        self._reader.join(timeout_s)
        return self.exit_code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.log.append(line.rstrip("\n"))
                if match := _LISTENING.match(self.log[-1]):
                    setattr(self, _REST.get(match[1], match[1]), match[2])
                self._news.notify_all()
        self.process.stdout.close()
        with self._news:
            self.exit_code = self.process.wait()
            self._news.notify_all()


def _extra_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
