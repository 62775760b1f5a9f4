"""When a part serves: it is asked until it says so, as long as there is hope."""

import asyncio
import http.client
import io
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polystream.local.part import Part, Trouble

#: Says what is missing; nothing is missing in "".
Probe = Callable[[], Awaitable[str]]

_POLL_S = 0.05
_ANSWER_S = 5.0
#: How often who waits is told for what, seconds.
_TOLD_EVERY_S = 10.0
#: A gRPC-Web frame (flags, length) with an empty HealthCheckRequest; the one with SERVING that answers it.
_CHECK = bytes(5)
_SERVING = b"\0\0\0\0\2\x08\1"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a part may take: since its last line, and in all; seconds."""

    silent_s: float
    whole_s: float


#: A start takes two seconds; this where other work fills the machine.
START = Patience(silent_s=60, whole_s=60)
#: The first start with a model converts it, and tells how far it is.
CONVERSION = Patience(silent_s=60, whole_s=1800)


async def until_ready(part: Part, probe: Probe, patience: Patience, say: Callable[[str], None]) -> None:
    """Raises `Trouble` when the part ends or its time is up."""
    started = told = time.monotonic()
    while missing := await probe():
        now = time.monotonic()
        if not part.running:
            raise Trouble(part.obituary())
        if now - max(started, part.heard_at) > patience.silent_s or now - started > patience.whole_s:
            raise Trouble(f"{part.name} is not ready after {now - started:.0f} s: {missing}")
        if now - told > _TOLD_EVERY_S:
            told = now
            say(f"still waiting for {part.name}: {missing}")
        await asyncio.wait({part.ended}, timeout=_POLL_S)
    if not part.running:  # somebody else answered
        raise Trouble(part.obituary())


def listening(part: Part, *names: str) -> Probe:
    """A probe: the part has said where it listens, by these names."""

    async def probe() -> str:
        return "" if part.addresses.keys() >= set(names) else "it has not said where it listens"

    return probe


def answers(address: str) -> Probe:
    """A probe: HTTP is spoken there, whatever it says."""

    async def probe() -> str:
        return (await _tried(address, "GET", "/"))[0]

    return probe


def nginx_serving(pid_file: Path) -> Callable[[str], Probe]:
    """A probe of nginx by address: it has its port, which this file says, and answers.

    Somebody else's nginx would answer, too.
    """

    has_port = pid_file.exists

    def at(address: str) -> Probe:
        served = http_ok(address, "/healthz")

        async def probe() -> str:
            return await served() if has_port() else "it has not taken its port"

        return probe

    return at


def http_ok(address: str, path: str) -> Probe:
    """A probe: GET answers 200."""

    async def probe() -> str:
        missing, status, body = await _tried(address, "GET", path)
        said = body.decode(errors="replace").strip()[:300]
        return missing or ("" if status == 200 else f"http://{address}{path} says {status} {said}".rstrip())

    return probe


def grpc_web_serving(address: str) -> Probe:
    """A probe: gRPC's health service, asked over gRPC-Web, serves."""
    path, kind = "/grpc.health.v1.Health/Check", "application/grpc-web+proto"

    async def probe() -> str:
        headers = {"content-type": kind, "x-grpc-web": "1"}
        missing, status, body = await _tried(address, "POST", path, headers, _CHECK)
        if missing or body.startswith(_SERVING):
            return missing
        return f"http://{address}{path} says {status} {body[:100]!r}"

    return probe


async def _tried(address: str, method: str, path: str, *more: Any) -> tuple[str, int, bytes]:
    """`ask`, with the words for its failure first, or ""."""
    try:
        return "", *await ask(address, method, path, *more)
    except (OSError, http.client.HTTPException) as error:  # TimeoutError is an OSError
        return f"http://{address}{path}: {error or type(error).__name__}", 0, b""


async def ask(
    address: str, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> tuple[int, bytes]:
    """Status and body of one request to host:port. Raises OSError or HTTPException."""
    host, _, port = address.rpartition(":")
    fields = {"host": address, "connection": "close", "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    async with asyncio.timeout(_ANSWER_S):
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
            answer = await reader.read(-1)
        finally:
            writer.close()
    response = http.client.HTTPResponse(_Bytes(answer))  # type: ignore[arg-type]
    response.begin()
    return response.status, response.read()


class _Bytes:
    """All that `HTTPResponse` asks of a socket."""

    def __init__(self, data: bytes):
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        """What has been received."""
        return io.BytesIO(self._data)
