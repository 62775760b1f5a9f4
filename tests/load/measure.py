"""One gateway, one door: start the upstream and the gateway, drive load through, measure.

The gateway has core 0 for itself; the upstream and the load generator share core 1.
"""

import contextlib
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import procstat
from .door import request_bytes
from .level import HOLD_FROM_S, HOLD_STREAMS, HOLD_TO_S, MEASURED, WARM, Level, hold
from .native import LOADGEN, REPO, UPSTREAM
from .peers import CONF, Peer, fill, places
from .service import GATEWAY_CPU, HARNESS_CPU, Service, ServiceError, free_port, http_get, start

#: What the load generator printed about one level, and the CPU seconds spent meanwhile.
Load = dict[str, Any]


@dataclass
class Measured:
    """What one run has shown."""

    loads: dict[str, Load] = field(default_factory=dict)
    bytes_per_stream: float | None = None
    held: int = 0  #: how many open streams that memory was measured with


@dataclass(frozen=True)
class _Setting:
    """What is running, and how to ask it."""

    door: str
    port: int
    upstream_port: int
    gateway: Service | None
    request: Path
    nice: int

    def load(self, level: Level) -> Load:
        """Drive one level through; count the gateway's CPU."""
        generator = self.begin(level)
        cpu, waited = self._cpu()
        result = _finish(generator, level)
        cpu_after, waited_after = self._cpu()
        return {**result, "cpu_s": cpu_after - cpu, "waited_s": waited_after - waited}

    def begin(self, level: Level) -> subprocess.Popen[bytes]:
        """Shape the upstream and start the load generator."""
        http_get(self.upstream_port, "/__shape", f"{level.tokens} {level.delay_us} {level.first_us}".encode())
        spread_us = level.delay_us if level.spread_us is None else level.spread_us
        numbers = [self.port, level.tokens, level.concurrency, level.streams, level.seconds, spread_us]
        command = [str(LOADGEN), self.door, *map(str, numbers), str(self.request)]
        return start(command, HARNESS_CPU, self.nice, output=subprocess.PIPE, errors=subprocess.PIPE)

    def _cpu(self) -> tuple[float, float]:
        if not self.gateway:
            return 0.0, 0.0
        return procstat.cpu_seconds(self.gateway.pid), procstat.waited_seconds(self.gateway.pid)


def _finish(generator: subprocess.Popen[bytes], level: Level) -> Load:
    output, errors = generator.communicate(timeout=level.seconds + 60)
    if generator.returncode:
        raise ServiceError(f"load generator: {errors.decode(errors='replace')}")
    result: Load = json.loads(output)
    return result


def measure(peer: Peer | None, door: str, nice: int) -> Measured:
    """All levels through one door (``None``: straight to the upstream)."""
    measured = Measured()
    with _running(peer, door, nice) as setting:
        for level in (WARM, *MEASURED):
            measured.loads[level.name] = setting.load(level)
            if not measured.loads["warm"]["streams_ok"]:
                raise ServiceError(f"no stream got through: {measured.loads['warm']['errors']}")
    return measured


def measure_memory(peer: Peer, door: str, nice: int) -> Measured:
    """Resident memory by open stream, in a fresh process so that nothing freed earlier hides it."""
    measured = Measured()
    for streams in HOLD_STREAMS:
        with _running(peer, door, nice) as setting:
            assert setting.gateway
            setting.load(WARM)
            before = procstat.resident_bytes(setting.gateway.pid)
            generator = setting.begin(hold(streams))
            time.sleep(HOLD_FROM_S)
            during = _median_resident(setting.gateway.pid)
            result = _finish(generator, hold(streams))
        if result["streams_ok"] == streams and result["ttft_us"]["max"] < 2e6:
            measured.loads["hold"] = result
            measured.bytes_per_stream, measured.held = (during - before) / streams, streams
            break
        measured.loads["hold"] = result
    return measured


def _median_resident(pid: int) -> float:
    samples = []
    until = time.monotonic() + HOLD_TO_S - HOLD_FROM_S
    while time.monotonic() < until:
        samples.append(procstat.resident_bytes(pid))
        time.sleep(0.2)
    return statistics.median(samples)


@contextlib.contextmanager
def _running(peer: Peer | None, door: str, nice: int) -> Iterator[_Setting]:
    with tempfile.TemporaryDirectory(prefix="load-") as folder, contextlib.ExitStack() as stack:
        work = Path(folder)
        work.chmod(0o755)  # nginx's worker is another user
        ports = {name: free_port() for name in ("upstream_port", "port", "websocket_port", "grpc_port")}
        upstream_port = port = ports["upstream_port"]
        upstream = Service([str(UPSTREAM), str(upstream_port)], HARNESS_CPU, work / "upstream.log", nice)
        stack.callback(upstream.stop)
        upstream.wait_ready(upstream_port, "/health", 5)
        gateway = None
        if peer:
            port = peer.port(door, ports)
            gateway = _start_gateway(peer, ports, work, nice, stack)
        request = work / "request"
        request.write_bytes(request_bytes(door, port))
        yield _Setting(door, port, upstream_port, gateway, request, nice)


def _start_gateway(
    peer: Peer, ports: dict[str, int], work: Path, nice: int, stack: contextlib.ExitStack
) -> Service:
    values = {**places(), **ports, "work": work}
    if peer.config:
        (work / peer.config).write_text(fill((CONF / peer.config).read_text(), values))
    env = {
        "UPSTREAM": f"http://127.0.0.1:{ports['upstream_port']}",
        "PYTHONPATH": str(REPO),
        **{name: fill(value, values) for name, value in peer.env.items()},
    }
    command = [fill(part, values) for part in peer.command]
    gateway = Service(command, GATEWAY_CPU, work / "gateway.log", nice, env)
    stack.callback(gateway.stop)
    gateway.wait_ready(ports["port"], peer.health, peer.ready_s)
    return gateway
