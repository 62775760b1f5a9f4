"""Waiting for what tells nobody: poll a condition until it holds, never longer than a bound."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.integration.upstream import Stage

POLL_S = 0.02


async def until(condition: Callable[[], Any], within_s: float, what: str) -> Any:
    """The first true value of a condition, which may be a coroutine function. Fails after `within_s`."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        await asyncio.sleep(POLL_S)


async def at_once(*work: Awaitable[Any], names: tuple[str, ...] = ()) -> list[Any]:
    """Run all of it at once and give the results in order; the first failure ends it and names its part."""

    async def named(part: Awaitable[Any], name: str) -> Any:
        try:
            return await part
        except Exception as error:
            error.add_note(f"in: {name}")
            raise

    async with asyncio.TaskGroup() as group:
        labels = names or tuple(map(str, range(len(work))))
        tasks = [group.create_task(named(part, name)) for part, name in zip(work, labels, strict=True)]
    return [task.result() for task in tasks]


async def closed_within(stage: Stage, since: float, limit_ms: float) -> None:
    """The product's connections to the engine were closed soon after `since`."""
    for call in stage.calls:
        async with asyncio.timeout(limit_ms / 1000 + 5):
            await call.closed.wait()
        assert call.closed_at is not None
        assert (call.closed_at - since) * 1000 <= limit_ms
