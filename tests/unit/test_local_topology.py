"""A proxy loses the port that was chosen for it, and gets another."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from polystream.local import ports, topology
from polystream.local.part import Part, Trouble
from polystream.local.topology import Topology
from polystream.settings import Settings

ENVOY = "cannot bind '127.0.0.1:1': Address already in use"
NGINX = "nginx: [emerg] bind() to 127.0.0.1:1 failed (98: Address in use)"
OTHER = "nginx: [emerg] no such file"


class Proxy(Part):
    """Ends at once when its command holds its last words, else never."""

    async def start(self, command: Sequence[str], environment: Mapping[str, str], dies_by: int = 0) -> None:
        self.ended = asyncio.create_task(self._life(command[0]))

    async def _life(self, words: str) -> int:
        if not words:
            await asyncio.Event().wait()
        self._take([words])
        return 1


async def start(
    words: list[str], port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, list[str]]:
    """Start a proxy whose tries end with these words; its address, and the addresses that were tried."""
    free = iter(range(1, 10))
    monkeypatch.setattr(topology, "Part", Proxy)
    monkeypatch.setattr(ports, "free", lambda host: next(free))
    tried: list[str] = []
    told = iter(words)

    def render(listen: str) -> list[str]:
        tried.append(listen)
        return [next(told)]

    async def probe() -> str:
        await asyncio.sleep(0)  # the others' turn
        return ""

    run = Topology(Settings(), {}, tmp_path, lambda *_: None, lambda _: None)
    return await run._start_proxy("nginx", "127.0.0.1", port, render, lambda _: probe), tried


@pytest.mark.parametrize("words", [ENVOY, NGINX])
async def test_it_is_tried_at_another_port(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    address, tried = await start([words, words, ""], 0, tmp_path, monkeypatch)
    assert address == "127.0.0.1:3"
    assert tried == ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]


@pytest.mark.parametrize(
    ("words", "port"), [([NGINX, NGINX, NGINX, ""], 0), ([OTHER, ""], 0), ([NGINX, ""], 80)]
)
async def test_but_not_for_ever_nor_for_another_trouble_nor_at_a_port_that_was_asked_for(
    words: list[str], port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(Trouble, match="nginx exited with status 1"):
        await start(words, port, tmp_path, monkeypatch)
