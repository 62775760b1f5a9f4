"""Which parts there are, in which order they start, and which address each gives to the next.

A part that can choose its port takes 0 and says which it got. The proxies cannot say, so theirs is chosen for
them, and chosen anew when somebody was faster.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from polystream.local import ports
from polystream.local.part import Part, Trouble
from polystream.local.proxies import Proxies, joined, reached
from polystream.local.ready import (
    CONVERSION,
    START,
    Patience,
    Probe,
    answers,
    grpc_web_serving,
    http_ok,
    listening,
    nginx_serving,
    until_ready,
)
from polystream.settings import Settings

#: As printed; "up" is not a part.
NAMES = ("nginx", "envoy", "gateway", "model", "up")
#: Nobody waits long for an end on one machine.
DRAIN_S = 2.0
#: Beyond DRAIN_S: what servers take for last bytes and for their exit, seconds.
_EXIT_S = 10.0
#: What proxies take that have nothing left to keep, seconds.
_PROXY_EXIT_S = 3.0
#: Free ports that a proxy may lose to others.
_TRIES = 3
#: How a proxy says that somebody was faster: "Address already in use" by glibc, "Address in use" by musl.
_TAKEN = "in use"
#: This machine, as engines' addresses name it.
_HERE = ("localhost", "127.0.0.1", "::1")
#: What nginx says of an answer that a service has broken off, as its form asks for: nobody need act on it.
_MEANT = "upstream prematurely closed connection"
#: Of others' engines; none of it is meant for the embedded model.
_OTHERS = ("ENGINE_KEY", "ENGINE_HEADERS", "OPENAI_API_VERSION", "OPENAI_API_KEY", "OPENAI_CHAT_ENGINE")


class Topology:
    """The parts of one run.

    `say(name, line)` gets all that they say; `on_death` the one that ends after it was ready.
    """

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        folder: Path,
        say: Callable[[str, str], None],
        on_death: Callable[[Part], None],
    ):
        self._settings = settings
        self._drain_s = settings.drain_s if "drain_s" in settings.model_fields_set else DRAIN_S
        common = {"DRAIN_S": f"{self._drain_s:g}", "PYTHONUNBUFFERED": "1"}
        self._environment = {**environment, **common}
        self._proxies = Proxies(settings, folder)
        self._tell = say
        self._on_death = on_death
        self._parts: dict[str, Part] = {}

    @property
    def embedded(self) -> bool:
        """Whether the model is a part."""
        return not self._settings.engine_url

    @property
    def names(self) -> list[str]:
        """The parts, in the order in which they start."""
        return ["model"] * self.embedded + ["gateway", "envoy", "nginx"]

    @property
    def started(self) -> bool:
        """Whether there is anything to stop."""
        return bool(self._parts)

    def check(self) -> None:
        """Raises `Trouble` that names each port that cannot be had, or an engine that is this run."""
        engine = urlsplit(self._settings.engine_url)
        if engine.port == self._settings.port and engine.hostname in (*_HERE, self._settings.host):
            raise Trouble(f"ENGINE_URL: {engine.geturl()} is the front door of this run")
        named = ["port", "grpc_port", *(self._chosen("rest_port", "websocket_port"))]
        named += self._chosen("model_port") if self.embedded else []
        wanted = {name.upper(): port for name in named if (port := getattr(self._settings, name))}
        ports.check(self._settings.host, wanted)

    async def start(self) -> tuple[str, str]:
        """Start all; host:port of the front door and of gRPC, once they serve. Raises `Trouble`."""
        engine = await self._start_model() if self.embedded else {}
        free = {name.upper(): "0" for name in ("rest_port", "websocket_port")}
        free |= {
            name.upper(): str(getattr(self._settings, name)) for name in self._chosen(*map(str.lower, free))
        }
        gateway = await self._spawn("gateway", _polystream("serve"), free | engine)
        patience = CONVERSION if self._settings.engine_url == "ctranslate2:" else START
        await self._until(gateway, listening(gateway, "rest", "websocket", "grpc"), patience)
        rest, websocket, grpc = (reached(gateway.addresses[name]) for name in ("rest", "websocket", "grpc"))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._get_ready(gateway, http_ok(rest, "/readyz"), patience))
                front = group.create_task(self._start_proxies(rest, websocket, grpc))
        except ExceptionGroup as group_of_troubles:
            raise group_of_troubles.exceptions[0] from None
        await self._until(self._parts["nginx"], grpc_web_serving(front.result()), START)
        return front.result(), grpc

    async def stop(self) -> None:
        """End all, so that readers can still be told and answers finish: the doors first, the model last."""
        if door := self._parts.get("nginx"):
            door.signal(signal.SIGQUIT)  # takes nobody in any more, and keeps who is inside
        await self._stop(self._drain_s + _EXIT_S, "gateway")
        await self._stop(_PROXY_EXIT_S, "nginx", "envoy")
        await self._stop(self._drain_s + _EXIT_S, "model")

    def kill(self) -> None:
        """End all, now."""
        for part in self._parts.values():
            part.kill()

    async def _start_model(self) -> dict[str, str]:
        """Start it; the environment of those who ask it."""
        port = str(self._settings.model_port if self._chosen("model_port") else 0)
        alone = {"HOST": "127.0.0.1", "MODEL_PORT": port}
        model = await self._spawn("model", _polystream("model"), alone)
        await self._until(model, listening(model, "model"), CONVERSION)
        address = model.addresses["model"]
        await self._get_ready(model, http_ok(address, "/readyz"), CONVERSION)
        return {"ENGINE_URL": f"http://{address}/v1", **dict.fromkeys(_OTHERS, "")}

    async def _start_proxies(self, rest: str, websocket: str, grpc: str) -> str:
        """Start Envoy, then nginx, which needs its address; host:port of the front door."""
        proxies, door = self._proxies, self._settings
        inner = await self._start_proxy(
            "envoy", "127.0.0.1", 0, lambda listen: proxies.envoy(listen, grpc), answers
        )
        return await self._start_proxy(
            "nginx",
            door.host,
            door.port,
            lambda listen: proxies.nginx(listen, rest, websocket, grpc, inner),
            nginx_serving(proxies.pid_file),
        )

    async def _start_proxy(
        self,
        name: str,
        host: str,
        port: int,
        render: Callable[[str], list[str]],
        probe: Callable[[str], Probe],
    ) -> str:
        """Start one on `port` or a free one; the address at which it is reached."""
        for left in reversed(range(_TRIES)):
            listen = joined(host, port or ports.free(host))
            # SIGTERM: nginx must end its workers itself, who would outlive it.
            part = await self._spawn(name, render(listen), {}, signal.SIGTERM)
            try:
                await self._get_ready(part, probe(reached(listen)), START)
            except Trouble:
                if port or not left or not part.said(_TAKEN):
                    raise
                continue
            return reached(listen)
        raise AssertionError("the last try returns or raises")

    async def _spawn(
        self, name: str, command: list[str], environment: dict[str, str], dies_by: int = signal.SIGKILL
    ) -> Part:
        part = Part(name, partial(self._say, name))
        await part.start(command, {**self._environment, **environment}, dies_by)
        self._parts[name] = part
        return part

    async def _get_ready(self, part: Part, probe: Probe, patience: Patience) -> None:
        await self._until(part, probe, patience)
        part.ended.add_done_callback(lambda _: self._on_death(part))

    async def _until(self, part: Part, probe: Probe, patience: Patience) -> None:
        await until_ready(part, probe, patience, partial(self._say, "up"))

    async def _stop(self, within_s: float, *names: str) -> None:
        parts = [self._parts[name] for name in names if name in self._parts]
        kept = await asyncio.gather(*(part.stop(signal.SIGTERM, within_s) for part in parts))
        for part, ended_itself in zip(parts, kept, strict=True):
            if not ended_itself:
                self._say("up", f"{part.name} did not end within {within_s:g} s and was killed")

    def _say(self, name: str, line: str) -> None:
        if _MEANT not in line:
            self._tell(name, line)

    def _chosen(self, *names: str) -> list[str]:
        """Those of these settings that somebody set."""
        return [name for name in names if name in self._settings.model_fields_set]


def _polystream(command: str) -> list[str]:
    """-P: what lies in the folder where this was started is not imported."""
    return [sys.executable, "-P", "-m", "polystream", command]
