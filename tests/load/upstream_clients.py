"""What reading one upstream token costs in this process, by HTTP client: the figures behind an ADR.

``python -m tests.load.upstream_clients [--streams 100] [--rounds 3] [--loop asyncio|uvloop]``. Each client
runs in a process of its own on core 0 against the mock upstream on core 1; rounds are interleaved.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from .native import REPO, UPSTREAM, build
from .service import GATEWAY_CPU, HARNESS_CPU, Service, free_port, start

TOKENS = 50  #: in a long stream; a short one has a single token, the difference is what tokens cost
REPEATS = 3  #: streams that each of the concurrent readers reads one after the other
TOKEN_LENGTH = 20  #: characters of one of the mock's tokens
DELAY_US = 20_000
_MESSAGES = [{"role": "user", "content": "hello " * 50}]
_HEADERS = {"authorization": "Bearer sk-bench", "content-type": "application/json"}

Reader = Callable[[str], Awaitable[int]]  #: reads one stream of a model; how many characters of text came


def _body(model: str) -> bytes:
    return json.dumps({"model": model, "stream": True, "messages": _MESSAGES}).encode()


async def _characters(pieces: AsyncIterator[bytes]) -> int:
    """Split server-sent events as they come, decode each typed: what an engine does with an upstream."""
    from .peers.chunk import DONE, decode_chunk

    rest, characters = b"", 0
    async for piece in pieces:
        *events, rest = (rest + piece).split(b"\n\n")
        for event in events:
            if event != DONE:
                choices = decode_chunk(event[6:]).choices
                characters += len(choices[0].delta.content or "") if choices else 0
    return characters


def _openai(port: int, transport: str) -> Reader:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    client = DefaultAioHttpClient() if transport == "aiohttp" else None
    sdk = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-bench", http_client=client)

    async def read(model: str) -> int:
        characters = 0
        stream = await sdk.chat.completions.create(
            model=model, stream=True, messages=[{"role": "user", "content": _MESSAGES[0]["content"]}]
        )
        async for chunk in stream:
            characters += len(chunk.choices[0].delta.content or "") if chunk.choices else 0
        return characters

    return read


def _aiohttp(port: int) -> Reader:
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)
    url = f"http://127.0.0.1:{port}/v1/chat/completions"

    async def read(model: str) -> int:
        async with session.post(url, data=_body(model), headers=_HEADERS) as response:
            return await _characters(response.content.iter_any())

    return read


def _own(port: int) -> Reader:
    from .peers.own_client import Upstream

    upstream = Upstream("127.0.0.1", port)
    return lambda model: _characters(upstream.stream(_body(model)))


CLIENTS: dict[str, tuple[str, Callable[[int], Reader]]] = {
    "openai": ("openai SDK, its default httpx transport", lambda port: _openai(port, "httpx")),
    "openai[aiohttp]": ("openai SDK, DefaultAioHttpClient", lambda port: _openai(port, "aiohttp")),
    "aiohttp": ("aiohttp iter_any, incremental split, msgspec decode", _aiohttp),
    "own": ("asyncio.Protocol with a mailbox, the same split and decode", _own),
}


async def read_all(name: str, port: int, streams: int) -> tuple[float, float]:
    """CPU microseconds of one client by token and by stream of one token."""
    read = CLIENTS[name][1](port)
    spent = {}
    for tokens in (1, 1 + TOKENS):
        model = f"mock-t{tokens}-d{DELAY_US}-f{DELAY_US}"

        async def one(number: int, model: str = model, tokens: int = tokens) -> None:
            await asyncio.sleep(DELAY_US / 1e6 * number / streams)
            for _ in range(REPEATS):
                characters = await read(model)
                assert characters == tokens * TOKEN_LENGTH, f"{characters} characters of {tokens} tokens"

        await asyncio.gather(*map(one, range(streams)))  # warm: connections made, code paths taken
        began = time.process_time()
        await asyncio.gather(*map(one, range(streams)))
        spent[tokens] = (time.process_time() - began) / streams / REPEATS * 1e6
    return (spent[1 + TOKENS] - spent[1]) / TOKENS, spent[1]


def _measure(name: str, port: int, args: argparse.Namespace) -> tuple[float, float]:
    command = [sys.executable, "-m", __spec__.name, "--client", name, "--port", str(port)]
    command += ["--streams", str(args.streams), "--loop", args.loop]
    process = start(
        command, GATEWAY_CPU, args.nice, output=subprocess.PIPE, errors=subprocess.PIPE, folder=REPO
    )
    output, errors = process.communicate()  # bounded by LIFE_S
    if process.returncode:
        raise RuntimeError(f"{name}: {errors.decode(errors='replace')[-2000:]}")
    token, stream = json.loads(output)
    return token, stream


def _table(figures: dict[str, list[tuple[float, float]]], args: argparse.Namespace) -> str:
    lines = ["| client | how | CPU µs/token | range | CPU µs/stream |", "| --- | --- | --- | --- | --- |"]
    for name, rounds in figures.items():
        tokens, streams = zip(*rounds, strict=True)
        middle, spread = statistics.median(tokens), f"{min(tokens):.1f}-{max(tokens):.1f}"
        lines.append(
            f"| {name} | {CLIENTS[name][0]} | {middle:.1f} | {spread} | {statistics.median(streams):.0f} |"
        )
    about = f"{args.streams} streams of 50 tokens/s, {args.loop} loop, medians of {args.rounds} rounds."
    return "\n".join([*lines, "", about])


def _measure_all(args: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in CLIENTS}
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        for _ in range(args.rounds):
            port = free_port()
            upstream = Service([str(UPSTREAM), str(port)], HARNESS_CPU, Path(folder) / "log", args.nice)
            try:
                upstream.wait_ready(port, "/health", 5)
                for name, rounds in figures.items():
                    rounds.append(_measure(name, port, args))
            finally:
                upstream.stop()
    return figures


def main() -> None:
    """Without --client: measure all and print the table. With it: be that client's process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop", choices=("asyncio", "uvloop"), default="asyncio")
    parser.add_argument("--nice", type=int, default=0, help="priority of all processes; below 0 needs root")
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        import uvloop

        run = uvloop.run if args.loop == "uvloop" else asyncio.run
        print(json.dumps(run(read_all(args.client, args.port, args.streams))))
        return
    build()
    print(_table(_measure_all(args), args))


if __name__ == "__main__":
    main()
