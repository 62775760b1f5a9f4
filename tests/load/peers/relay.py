"""Starlette relay that decodes each chunk; CLIENT says who reads the upstream: ``own`` or ``aiohttp``.

All complete events of one read go out as one piece, so nothing that is there waits.
"""

import os
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from .chunk import DONE, decode_chunk
from .own_client import Upstream

UPSTREAM = os.environ["UPSTREAM"]
URL = UPSTREAM + "/v1/chat/completions"
HEADERS = {"authorization": "Bearer sk-bench", "content-type": "application/json"}

_sessions: list[aiohttp.ClientSession] = []


def _session() -> aiohttp.ClientSession:
    """The one session, made inside the running loop."""
    if not _sessions:
        connector = aiohttp.TCPConnector(limit=0)
        _sessions.append(aiohttp.ClientSession(connector=connector, auto_decompress=False))
    return _sessions[0]


async def _aiohttp_bytes(body: bytes) -> AsyncIterator[bytes]:
    async with _session().post(URL, data=body, headers=HEADERS) as response:
        async for data in response.content.iter_any():
            yield data


_address = urlsplit(UPSTREAM)
_own = Upstream(_address.hostname or "", _address.port or 80)
_source = {"aiohttp": _aiohttp_bytes, "own": _own.stream}[os.environ["CLIENT"]]


async def _events(body: bytes) -> AsyncIterator[bytes]:
    rest = b""
    async for data in _source(body):
        data = rest + data if rest else data
        cut = data.rfind(b"\n\n") + 2
        if cut < 2:
            rest = data
            continue
        rest = data[cut:]
        for event in data[:cut].split(b"\n\n"):
            if event and event != DONE:
                decode_chunk(event[6:])
        yield data[:cut]


async def chat(request: Request) -> StreamingResponse:
    """One completion."""
    return StreamingResponse(_events(await request.body()), media_type="text/event-stream")


async def health(_request: Request) -> JSONResponse:
    """Readiness."""
    return JSONResponse({"ok": True})


app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"]), Route("/health", health)])
