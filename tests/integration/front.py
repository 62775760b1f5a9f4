"""The front door as processes: nginx, and Envoy behind it, before a server under test."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.clients import Addresses, Broken, Refused, http
from tests.clients.answer import Answer, collect

ROOT = Path(__file__).parents[2]
#: Most of a second each; this long where other work fills the machine.
START_S = 60
STOP_S = 15
#: Never right in a proxy's log, whatever clients and services did.
_FAULT = re.compile(r"\[(emerg|alert|crit|critical)\]")


class Front:
    """Addresses like those of a server, all of them the front door's one port. Enter it to start it.

    `silence_s` and `idle_s` are nginx's and Envoy's patience with a silent answer; `alone` is nginx without
    Envoy.
    """

    def __init__(self, server: Addresses, *, alone: bool = False, idle_s: float | None = None, **nginx: Any):
        self.folder = Path(tempfile.mkdtemp(prefix="front-"))
        address, self.envoy = _free(), _free()
        self.rest, self.websocket, self.grpc = f"http://{address}", f"ws://{address}", address
        self._alone = alone
        self._processes: list[subprocess.Popen[bytes]] = []
        services = {"rest": _place(server.rest), "websocket": _place(server.websocket), "grpc": server.grpc}
        self._nginx = services | {"listen": address, "envoy": self.envoy} | nginx
        self._envoy: dict[str, Any] = {"listen": _pair(self.envoy), "grpc": _pair(server.grpc)}
        if idle_s is not None:
            self._envoy["idle_s"] = idle_s

    async def web(self) -> str:
        """Where gRPC-Web is spoken."""
        return self.rest

    async def __aenter__(self) -> "Front":
        try:
            self._start("nginx", self._nginx)
            if not self._alone:
                self._start("envoy", self._envoy)
                await self._answers(f"http://{self.envoy}/readyz")
            await self._answers(f"{self.rest}/healthz")
        except BaseException:
            self.kill()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End both, and check that neither found fault with itself."""
        try:
            for process in self._processes:
                process.send_signal(signal.SIGTERM)
            codes = [await asyncio.to_thread(process.wait, STOP_S) for process in self._processes]
            faults = [line for line in self.log().splitlines() if _FAULT.search(line)]
            assert not any(codes), f"exit codes {codes}:\n{self.log()}"
            assert not faults, "\n".join(faults)
        finally:
            self.kill()

    def log(self) -> str:
        """What both have said."""
        files = [path for path in sorted(self.folder.glob("*/*.log")) if path.name != "access.log"]
        return "".join(path.read_text() for path in files)

    def requests(self) -> list[dict[str, Any]]:
        """nginx's access log."""
        return [json.loads(line) for line in (self.folder / "nginx" / "access.log").read_text().splitlines()]

    def _start(self, kind: str, keywords: dict[str, Any]) -> None:
        run = [sys.executable, "-m", "tests.proxy", kind, str(self.folder / kind), json.dumps(keywords)]
        with (self.folder / f"{kind}.out").open("wb") as out:
            process = subprocess.Popen(run, cwd=ROOT, env=_environment(), stdout=out, stderr=out)
            self._processes.append(process)

    async def _answers(self, url: str) -> None:
        until = time.monotonic() + START_S
        while True:
            try:
                if (await http.fetch("GET", url))[0].status == 200:
                    return
            except (OSError, Broken):
                pass  # it does not listen yet
            said = "".join(path.read_text() for path in self.folder.glob("*.out"))
            assert all(process.poll() is None for process in self._processes), f"ended:\n{said}{self.log()}"
            assert time.monotonic() < until, f"{url} does not answer:\n{said}{self.log()}"
            await asyncio.sleep(0.05)

    def kill(self) -> None:
        """End both at once, and remove what they wrote."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait(STOP_S)
        shutil.rmtree(self.folder, ignore_errors=True)


class Nowhere:
    """Addresses at which nobody listens."""

    rest, websocket, grpc = "http://127.0.0.1:9", "ws://127.0.0.1:9", "127.0.0.1:9"


async def refused(events: Any) -> Refused:
    """The refusal of a stream."""
    with pytest.raises(Refused) as caught:
        await collect(events, Answer(numbered=False))
    return caught.value


async def ask_for(server: Addresses, method: str, path: str, content: bytes = b"", **headers: str) -> Any:
    """Status and JSON of an answer."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    answer, raw = await http.fetch(method, server.rest + path, fields, content)
    return answer.status, json.loads(raw) if raw else None


def _environment() -> dict[str, str]:
    """Without coverage: these processes become nginx and Envoy."""
    paths = os.pathsep.join([str(ROOT / "services"), str(ROOT)])
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")} | {
        "PYTHONPATH": paths
    }


def _free() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{sock.getsockname()[1]}"


def _place(url: str) -> str:
    return urlsplit(url).netloc


def _pair(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    return host, int(port)
