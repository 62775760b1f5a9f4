"""The figures as a Markdown table for people and as build/bench.json for programs."""

import json
from pathlib import Path

from .figures import Row

_HEAD = [
    *("peer", "door", "CPU µs/token", "× nginx", "CPU µs/stream", "TTFT p50/p95 ms", "latency p50/p95 ms"),
    *("p95 extra ms", "gap p99 ms", "KiB/stream (streams)", "lost", "doubled", "cut off", "waited %"),
]


def table(rows: list[Row]) -> str:
    """All rows, the cheapest token first."""
    ordered = sorted(rows, key=lambda row: row.cpu_us_per_token or 0)
    lines = [_HEAD, ["---"] * len(_HEAD), *map(_cells, ordered)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row) -> list[str]:
    memory = f"{_show(row.bytes_per_stream, 1, 1 / 1024)} ({row.held})" if row.held else "-"
    return [
        row.peer,
        row.door,
        _show(row.cpu_us_per_token, 1),
        _show(row.ratio_to_nginx, 2),
        _show(row.cpu_us_per_stream),
        " / ".join(_show(value, 1) for value in row.ttft_ms),
        " / ".join(_show(value, 2) for value in row.latency_ms),
        _show(row.p95_extra_latency_ms, 2),
        _show(row.gap_p99_ms, 1),
        memory,
        str(row.lost),
        str(row.doubled),
        str(row.cut_off),
        _show(row.waited, 0, 100),
    ]


def _show(value: float | None, digits: int = 0, factor: float = 1) -> str:
    return "-" if value is None else f"{value * factor:.{digits}f}"


def write_json(rows: list[Row], path: Path) -> None:
    """All gateways' rows; ``direct`` is none and has no cost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n ".join(json.dumps(row.as_json()) for row in rows if row.peer != "direct")
    path.write_text(f"[{lines}]\n")
