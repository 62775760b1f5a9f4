"""What our own doors may cost, and what makes a run fail."""

from statistics import median

from .figures import Row

#: Our doors: CPU by token, as a multiple of nginx in the same round.
MAX_RATIO = {"ndjson": 2.5, "chat": 2.5, "sse": 3.5, "websocket": 3.5, "grpc": 4.5}

#: Our doors: how much later than straight from the upstream 95 of 100 tokens are there.
MAX_P95_EXTRA_MS = 15.0

#: Of the time; beyond, latencies say more about the machine than about the gateway.
MAX_WAITED = 0.05


def faults(rows: list[Row]) -> list[str]:
    """What makes the run fail, a sentence each."""
    found = []
    for each in rows:
        name = f"{each.peer} {each.door}"
        if each.lost or each.doubled:
            found.append(f"{name}: {each.lost} tokens lost, {each.doubled} doubled {each.errors}")
        elif each.errors:
            found.append(f"{name}: {each.errors}")
        if each.peer == "polystream":
            found += [f"{name}: {fault}" for fault in _over_budget(each)]
    return found


def busy(rows: list[Row]) -> float | None:
    """The share of the time that gateways were kept off their core (median), where that is too much. Not the
    greatest: threads of one gateway also wait for each other."""
    waited = median([each.waited or 0 for each in rows])
    return waited if waited > MAX_WAITED else None


def _over_budget(row: Row) -> list[str]:
    limit, found = MAX_RATIO.get(row.door), []
    if limit and (row.ratio_to_nginx is None or row.ratio_to_nginx > limit):
        found.append(f"{_shown(row.ratio_to_nginx)} x nginx by token, the budget is {limit}")
    if row.p95_extra_latency_ms is None or row.p95_extra_latency_ms > MAX_P95_EXTRA_MS:
        found.append(f"p95 {_shown(row.p95_extra_latency_ms)} ms later, the budget is {MAX_P95_EXTRA_MS}")
    if row.cut_off:
        found.append(f"{row.cut_off} streams had not ended when the time was over")
    return found


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
