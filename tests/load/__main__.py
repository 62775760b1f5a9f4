"""``python -m tests.load``: what ``make bench`` runs.

Within each round everything is measured once, one after the other, so that slow drifts of a shared
machine hit all alike; medians over the rounds are reported.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .budgets import busy, faults
from .door import DOORS
from .embedded import measure as measure_model
from .figures import DIRECT, REFERENCE, Cell, Round, row
from .measure import Measured, measure, measure_memory
from .native import REPO, build
from .peers import PEERS
from .report import table, write_json
from .service import ServiceError

ROUNDS = 3


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--doors", help=f"of ours, comma-separated; default: {','.join(DOORS)}")
    parser.add_argument("--peers", help=f"comma-separated; default: {','.join(PEERS)}")
    parser.add_argument("--no-model", action="store_true", help="leave the embedded model out")
    parser.add_argument("--nice", type=int, default=0, help="priority of all processes; below 0 needs root")
    parser.add_argument("--out", type=Path, default=REPO / "build" / "bench.json")
    args = parser.parse_args()
    args.rounds = 1 if args.quick else args.rounds
    args.doors = args.doors.split(",") if args.doors else list(DOORS)
    args.peers = args.peers.split(",") if args.peers else list(PEERS)
    if args.rounds < 1:
        parser.error("--rounds must be 1 or more")
    for kind, named, known in (("door", args.doors, DOORS), ("peer", args.peers, PEERS)):
        if unknown := [name for name in named if name not in known]:
            parser.error(f"unknown {kind}: {', '.join(unknown)}")
    return args


class Bench:
    """All rounds, and what could not be measured."""

    def __init__(self, cells: Iterable[Cell], nice: int) -> None:
        self._cells = list(cells)
        self._nice = nice
        self.rounds: list[Round] = []
        self.memory: Round = {}  #: what a round is, of memory alone
        self.not_measured: dict[Cell, str] = {}

    def run(self, rounds: int) -> None:
        """The rounds, then memory, once: it is steady, and would part the round's runs in time."""
        for number in range(1, rounds + 1):
            self.rounds.append({})
            for cell in self._cells:
                self._try(f"round {number}", cell, self._measure)
        for cell in self._cells:
            if cell != DIRECT:
                self._try("memory", cell, self._measure_memory)

    def _try(self, what: str, cell: Cell, step: Callable[[Cell], str]) -> None:
        if cell in self.not_measured:
            return
        began = time.monotonic()
        try:
            outcome = step(cell)
        except (ServiceError, OSError) as error:
            self.not_measured[cell] = str(error)
            outcome = f"FAILED {error}"
        seconds = time.monotonic() - began
        print(f"{what:9}{cell[0]:18}{cell[1]:10}{seconds:6.1f} s  {outcome}", flush=True)

    def _measure(self, cell: Cell) -> str:
        peer = PEERS.get(cell[0])
        if peer and (missing := peer.missing()):
            raise ServiceError(missing)
        self.rounds[-1][cell] = measure(peer, cell[1], self._nice)
        return _one_line(self.rounds[-1][cell])

    def _measure_memory(self, cell: Cell) -> str:
        self.memory[cell] = measured = measure_memory(PEERS[cell[0]], cell[1], self._nice)
        if measured.bytes_per_stream is None:
            return f"streams did not all get through: {measured.loads['hold']['errors']}"
        return f"{measured.bytes_per_stream / 1024:.1f} KiB a stream at {measured.held} streams"

    def report(self, out: Path) -> int:
        """Print the table, write the JSON; 1 if anything is not as it must be."""
        measured = [cell for cell in self._cells if any(cell in each for each in self.rounds)]
        rows = [row(cell, self.rounds, self.memory.get(cell)) for cell in measured]
        write_json(rows, out)
        print(f"\n{table(rows)}\n")
        for name in dict.fromkeys(peer for peer, _ in measured if peer in PEERS):
            print(f"- {name}: {PEERS[name].about}")
        for cell, why in self.not_measured.items():
            lines = why.splitlines()
            print(f"- not measured: {' '.join(cell)} ({': '.join(dict.fromkeys((lines[0], lines[-1])))})")
        if waited := busy(rows):
            print(f"- this machine did other work: gateways waited for their core {waited:.0%} of the time")
        found = faults(rows)
        found += [f"{' '.join(cell)} could not be measured" for cell in self.not_measured if _is_needed(cell)]
        for fault in found:
            print(f"FAULT {fault}")
        return 1 if found else 0


def _report_model(out: Path) -> int:
    """Measure the embedded model and say what came out; 1 if it is too slow."""
    throughput = measure_model(out)
    print(f"\n{throughput}")
    if throughput.fault:
        print(f"FAULT {throughput.fault}")
    return 1 if throughput.fault else 0


def _is_needed(cell: Cell) -> bool:
    return cell in (DIRECT, REFERENCE) or cell[0] == "polystream"


def _one_line(run: Measured) -> str:
    c200, request = run.loads["c200"], run.loads["request"]
    latency = c200["latency_us"] or {"p95": float("nan")}
    return (
        f"CPU {c200['cpu_s']:.3f} s for {c200['tokens']} tokens, {request['cpu_s']:.3f} s for "
        f"{request['streams_ok']} requests, p95 {latency['p95'] / 1e3:.2f} ms, "
        f"errors {c200['errors'] or 'none'}"
    )


def main() -> int:
    """Measure and report."""
    args = _arguments()
    if (os.cpu_count() or 1) < 2:
        print("two cores are needed: one for the gateway, one for what drives it", file=sys.stderr)
        return 2
    if missing := PEERS["nginx"].missing():
        print(f"{missing}: every ratio refers to nginx", file=sys.stderr)
        return 2
    build()
    cells = [DIRECT, REFERENCE]
    for name in args.peers:
        wanted = args.doors if name == "polystream" else PEERS[name].doors
        cells += [(name, door) for door in wanted]
    bench = Bench(dict.fromkeys(cells), args.nice)
    bench.run(args.rounds)
    status = bench.report(args.out)
    if not args.no_model:
        status |= _report_model(args.out.with_name("bench_model.json"))
    return status


if __name__ == "__main__":
    sys.exit(main())
