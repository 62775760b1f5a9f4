"""How many threads a model computes fastest with, measured once on each machine and kept with the model.

More threads are not faster as such: on two cores one thread gave 49 tokens/s and two gave 35, because each
step of a small model is shorter than the threads' waiting for each other.
"""

import json
import logging
import math
import os
import platform
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2

from polystream.models.folder import ModelFolder

#: More threads must be faster by this factor to be taken: they are cores that other requests could have.
_WORTH = 1.15
#: Share of their time that threads are given a core, where nobody else computes.
_CALM = 0.9
_TOKENS = 24
_ROUNDS = 3
_FILE = "speed.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Speed:
    """`threads` compute one batch, `workers` batches are computed at once."""

    threads: int
    workers: int


def choose(folder: ModelFolder, threads: int = 0, workers: int = 0) -> Speed:
    """What was asked for; for 0, what was measured best on this machine: now, if never before.

    Measuring takes some seconds for a small model. A folder that cannot be written is measured at each start.
    """
    cores = usable_cores()
    threads = threads or (_measured(folder, cores) if cores > 1 else 1)
    return Speed(threads, workers or max(1, cores // threads))


def usable_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Cores that this process may use: by affinity, and by a container's limit (cgroup v2), rounded up."""
    cores = len(os.sched_getaffinity(0))
    try:
        granted, period = quota.read_text().split()
        limit = math.ceil(int(granted) / int(period))
    except (OSError, ValueError):  # no such limit: the file is absent or says "max"
        return cores
    return max(1, min(cores, limit))


def fastest(rates: dict[int, float]) -> int:
    """The fewest threads than which no other number is faster by the factor that is worth them."""
    best = min(rates)
    for threads, rate in sorted(rates.items()):
        if rate > rates[best] * _WORTH:
            best = threads
    return best


def _measured(folder: ModelFolder, cores: int) -> int:
    machine = f"{_processor()}, {cores} cores, ctranslate2 {ctranslate2.__version__}"
    known = _read(folder.path / _FILE)
    if machine not in known:
        logger.info("%s: measuring with how many threads it computes fastest here", folder.name)
        rates, calm = _measure(folder, cores)
        best = fastest(rates)
        told = ", ".join(f"{threads}: {rate:.0f}" for threads, rate in rates.items())
        logger.info("%s: %d it is (tokens/s by threads: %s)", folder.name, best, told)
        known[machine] = {"threads": best, "tokens_per_s": {str(n): rate for n, rate in rates.items()}}
        if calm:
            _write(folder.path / _FILE, known)
        else:
            logger.info("%s: the machine is busy, so that is measured again at the next start", folder.name)
    return int(known[machine]["threads"])


def _measure(folder: ModelFolder, cores: int) -> tuple[dict[int, float], bool]:
    """Tokens/s of one greedy answer by threads: 1, 2, 4 … to all cores; and whether the machine was calm.

    The best of interleaved rounds: other work only ever slows one down.
    """
    counts = sorted({*(1 << power for power in range(cores.bit_length())), cores} & set(range(1, cores + 1)))
    rounds: dict[int, list[float]] = {threads: [] for threads in counts}
    shares = []
    for _ in range(_ROUNDS):
        for threads in counts:
            rate, share = _rate(folder, threads)
            rounds[threads].append(rate)
            shares.append(share)
    return {threads: round(max(rates), 1) for threads, rates in rounds.items()}, statistics.median(
        shares
    ) > _CALM


def _rate(folder: ModelFolder, threads: int) -> tuple[float, float]:
    """Tokens/s of one answer, and the share of its threads' time that they were given a core."""
    generator = ctranslate2.Generator(str(folder.path), inter_threads=1, intra_threads=threads)
    prompt = folder.encode("Once upon a time", special=False)

    def run(tokens: int) -> tuple[float, float]:
        began, used = time.perf_counter(), time.process_time()
        options = {"min_length": tokens, "max_length": tokens, "include_prompt_in_result": False}
        generator.generate_batch([prompt], **options)
        return time.perf_counter() - began, time.process_time() - used

    run(2)  # the first use makes the threads
    seconds, used = run(_TOKENS)
    return _TOKENS / seconds, used / (seconds * threads)


def _processor() -> str:
    """The processor's name, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine()
    )


def _read(file: Path) -> dict[str, Any]:
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):  # never measured, or half written
        return {}
    return known if isinstance(known, dict) else {}


def _write(file: Path, known: dict[str, Any]) -> None:
    try:
        with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=file.name, delete=False) as made:
            json.dump(known, made, indent=1)
        os.replace(made.name, file)
    except OSError as error:
        logger.info("the measure of %s is not kept: %s", file.parent, error)
