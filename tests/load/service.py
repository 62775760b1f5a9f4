"""A child process pinned to one core, bounded in time and ended by its pid, and the ports they use."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from . import procstat

GATEWAY_CPU, HARNESS_CPU = "0", "1"
LIFE_S = 300  #: nothing started here lives longer, whatever happens to the harness


class ServiceError(RuntimeError):
    """A process did not do what it was started for."""


def start(
    command: list[str],
    cpu: str,
    nice: int,
    *,
    output: int,
    errors: int,
    env: dict[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start pinned, in a session of its own: Linux schedules by session first ("autogroup"), so the
    priority has to be set there too, where it may be."""
    prefix = ["timeout", "-k", "1", str(LIFE_S), "nice", "-n", str(nice), "taskset", "-c", cpu]
    process = subprocess.Popen(
        [*prefix, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        env={**os.environ, **(env or {})},
        cwd=folder,
        start_new_session=True,
    )
    if nice:
        with contextlib.suppress(OSError):
            Path(f"/proc/{process.pid}/autogroup").write_text(str(nice))
    return process


class Service:
    """One server. Its output goes to ``log``."""

    def __init__(
        self, command: list[str], cpu: str, log: Path, nice: int, env: dict[str, str] | None = None
    ) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = start(
                command, cpu, nice, output=output.fileno(), errors=output.fileno(), env=env, folder=log.parent
            )
        self.pid = self._process.pid

    def wait_ready(self, port: int, path: str, seconds: float) -> None:
        """Poll until an HTTP answer below 500 comes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServiceError(f"ended with code {self._process.returncode}\n{self.log_tail()}")
            if _answers(port, path):
                return
            time.sleep(0.1)
        raise ServiceError(f"not ready after {seconds:.0f} s\n{self.log_tail()}")

    def log_tail(self, lines: int = 15) -> str:
        """The last lines it wrote."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        """TERM, then KILL: this process and what it started."""
        members = procstat.tree(self.pid)
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        for pid in members[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _answers(port: int, path: str) -> bool:
    try:
        http_get(port, path)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
    return True


def http_get(port: int, path: str, body: bytes | None = None) -> None:
    """One small request to a server on loopback (a POST where there is a body)."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body)
    with urllib.request.urlopen(request, timeout=5) as response:
        response.read()


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
