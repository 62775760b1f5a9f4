"""A clock that jumps: an hour is tested in no time, and a test that waits in vain fails at once."""

import asyncio
import functools
import gc
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _JumpingSelector(selectors.SelectSelector):
    """Waits by moving the clock: no time passes."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Jump to the next timer when nothing is ready; a test in which nothing can happen any more fails."""
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "the test waits for something that cannot happen any more"
            self.now += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer as soon as nothing is left to run.

    `sleep` is exact on it: all that can happen within that time has happened when it returns.
    """

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        self.trouble: list[dict[str, Any]] = []
        super().__init__(self._clock)
        self.set_exception_handler(lambda _, context: self.trouble.append(context))

    def time(self) -> float:
        """Seconds since the loop began."""
        return self._clock.now


def jumping(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on a `JumpingLoop`; what callbacks or forgotten tasks raise fails it too."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            runner.run(test(*args, **kwargs))
            gc.collect(1)  # for tasks whose trouble nobody fetched
            loop = runner.get_loop()
        assert isinstance(loop, JumpingLoop)
        assert loop.trouble == []

    return run


async def settle() -> None:
    """Let everything happen that needs no time; on a `JumpingLoop` only."""
    await asyncio.sleep(1e-6)
