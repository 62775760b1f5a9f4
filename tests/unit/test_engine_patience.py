"""How long an engine may be silent, on a clock that jumps."""

import asyncio

from polystream.core.errors import StreamError
from polystream.engines.patience import Patience
from tests.clock import jumping


class Watch:
    """When patience of 10 s for the first content and 2 s after it ended, and with what."""

    def __init__(self) -> None:
        self.ended: list[tuple[float, str]] = []
        self._loop = asyncio.get_running_loop()
        self.heard = False
        self.patience = Patience(10, 2, self._has_heard, self._end)

    def _has_heard(self) -> bool:
        heard, self.heard = self.heard, False
        return heard

    def _end(self, failure: StreamError) -> None:
        self.ended.append((round(self._loop.time(), 3), failure.code))


async def at(second: float) -> None:
    """Let everything happen that happens before that second."""
    await asyncio.sleep(second - asyncio.get_running_loop().time())


@jumping
async def test_the_first_content_has_an_absolute_limit_that_comments_do_not_extend() -> None:
    watch = Watch()
    watch.patience.start()
    for second in (3, 6, 9):
        await at(second)
        watch.heard = True
    watch.patience.start()
    await at(100)
    assert watch.ended == [(10, "upstream_timeout")]


@jumping
async def test_after_it_any_byte_is_a_sign_of_life() -> None:
    watch = Watch()
    watch.patience.start()
    await at(9.5)
    watch.heard = True
    watch.patience.content()
    for second in (11, 12.9, 14.8):
        await at(second)
        watch.heard = True
    await at(100)
    assert watch.ended == [(17, "upstream_stalled")]  # late by less than an eighth of 2 s


@jumping
async def test_an_early_first_content_does_not_wait_for_the_first_limit() -> None:
    watch = Watch()
    watch.patience.start()
    watch.heard = True
    watch.patience.content()
    await at(100)
    assert watch.ended == [(2, "upstream_stalled")]


@jumping
async def test_nothing_is_missed_after_the_stop() -> None:
    watch = Watch()
    watch.patience.stop()
    watch.patience.start()
    watch.patience.stop()
    await at(100)
    assert watch.ended == []
