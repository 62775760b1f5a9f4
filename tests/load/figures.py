"""From measured rounds to the figures of one peer at one door."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from .measure import Load, Measured

Cell = tuple[str, str]  #: peer and door
DIRECT: Cell = ("direct", "chat")
REFERENCE: Cell = ("nginx", "chat")

#: One round: every cell once.
Round = dict[Cell, Measured]


@dataclass(frozen=True)
class Row:
    """Medians over the rounds; counts are sums. None: not measured."""

    peer: str
    door: str
    cpu_us_per_token: float | None
    ratio_to_nginx: float | None
    cpu_us_per_stream: float | None
    ttft_ms: tuple[float | None, float | None]  #: p50, p95
    latency_ms: tuple[float | None, float | None]  #: p50, p95
    p95_extra_latency_ms: float | None
    gap_p99_ms: float | None
    waited: float | None  #: share of c200's time that the gateway was kept off its core by other work
    bytes_per_stream: float | None
    held: int
    lost: int
    doubled: int
    cut_off: int
    errors: dict[str, int]

    def as_json(self) -> dict[str, object]:
        """The row as it stands in bench.json."""
        return {
            "peer": self.peer,
            "door": self.door,
            "cpu_us_per_token": _rounded(self.cpu_us_per_token, 1),
            "ratio_to_nginx": _rounded(self.ratio_to_nginx, 2),
            "p95_extra_latency_ms": _rounded(self.p95_extra_latency_ms, 2),
            "bytes_per_stream": None if self.bytes_per_stream is None else round(self.bytes_per_stream),
            "lost": self.lost,
            "doubled": self.doubled,
        }


def row(cell: Cell, rounds: list[Round], memory: Measured | None) -> Row:
    """The figures of one cell."""
    runs = [each[cell] for each in rounds if cell in each]
    loads = [load for run in [*runs, *([memory] if memory else [])] for load in run.loads.values()]
    return Row(
        *cell,
        cpu_us_per_token=_middle(runs, _per_token_us),
        ratio_to_nginx=_middle_of_rounds(
            rounds, cell, REFERENCE, _per_token_us, lambda own, base: own / base
        ),
        cpu_us_per_stream=_middle(runs, _per_stream_us),
        ttft_ms=(_middle(runs, _ms("ttft_us", "p50")), _middle(runs, _ms("ttft_us", "p95"))),
        latency_ms=(_middle(runs, _ms("latency_us", "p50")), _middle(runs, _ms("latency_us", "p95"))),
        p95_extra_latency_ms=_middle_of_rounds(
            rounds, cell, DIRECT, _ms("latency_us", "p95"), lambda own, base: own - base
        ),
        gap_p99_ms=_middle(runs, _ms("gap_us", "p99")),
        waited=_middle(runs, lambda run: run.loads["c200"]["waited_s"] / run.loads["c200"]["wall_s"]),
        bytes_per_stream=memory.bytes_per_stream if memory else None,
        held=memory.held if memory else 0,
        lost=sum(load["lost"] for load in loads),
        doubled=sum(load["doubled"] for load in loads),
        cut_off=sum(load["cut_off"] for load in loads),
        errors=_errors(loads),
    )


def _per_stream_us(run: Measured) -> float | None:
    load = run.loads["request"]
    return load["cpu_s"] * 1e6 / load["streams_ok"] if load["streams_ok"] and load["cpu_s"] else None


def _per_token_us(run: Measured) -> float | None:
    """c200's CPU by token, the cost of its requests taken off."""
    load, stream_us = run.loads["c200"], _per_stream_us(run)
    if stream_us is None or not load["tokens"]:
        return None
    per_token: float = (load["cpu_s"] * 1e6 - stream_us * load["streams_ok"]) / load["tokens"]
    return per_token


def _ms(series: str, quantile: str) -> Callable[[Measured], float | None]:
    def read(run: Measured) -> float | None:
        values = run.loads["c200"][series]
        return values[quantile] / 1e3 if values else None

    return read


def _middle(runs: list[Measured], read: Callable[[Measured], float | None]) -> float | None:
    """Median over the rounds, unknown values left out."""
    values = [value for run in runs if (value := read(run)) is not None]
    return median(values) if values else None


def _middle_of_rounds(
    rounds: list[Round],
    cell: Cell,
    base: Cell,
    read: Callable[[Measured], float | None],
    compare: Callable[[float, float], float],
) -> float | None:
    """Median of comparisons within a round: what slows the machine down slows both."""
    values = []
    for each in rounds:
        own, other = (read(each[key]) if key in each else None for key in (cell, base))
        if own is not None and other:
            values.append(compare(own, other))
    return median(values) if values else None


def _errors(loads: list[Load]) -> dict[str, int]:
    total: dict[str, int] = {}
    for load in loads:
        for kind, count in load["errors"].items():
            total[kind] = total.get(kind, 0) + count
    return total


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
