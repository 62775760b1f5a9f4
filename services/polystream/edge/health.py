"""Whether a generation can be served now, as every protocol's readiness says it."""

from dataclasses import dataclass
from typing import Any

from polystream.core.errors import StoreUnavailable
from polystream.core.generations import Generations


@dataclass(frozen=True, slots=True)
class Health:
    """The state of store and engine; `ready` when both serve and this replica is not draining."""

    ready: bool
    fields: dict[str, Any]


async def check(generations: Generations) -> Health:
    """Ask store and engine."""
    try:
        await generations.store.check()
        stored = True
    except StoreUnavailable:
        stored = False
    models = await generations.models()
    ready = stored and not generations.draining and any(model.state == "ready" for model in models)
    return Health(
        ready,
        {
            "ready": ready,
            "store": {"kind": generations.store.kind, "ok": stored},
            "models": [{"id": model.id, "state": model.state} for model in models],
        },
    )
