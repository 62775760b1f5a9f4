"""The way to the embedded model: a first-in, first-out queue, and workers that decode what waits together in
one batch.

The model computes in threads of its own; everything here runs on the event loop but `_compute`. The rule to
know: a batch's requests share the sampling, and their prompts are of nearly one length, because CTranslate2
reads in at once only what is common to all, and the rest token by token.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from polystream.core.errors import Overloaded, UpstreamIncomplete
from polystream.engines.ctranslate2_job import Job, Step

#: Prompts of one batch differ by as many tokens at most: reading one in a token at a time costs a step of the
#: whole batch, a prefill next to nothing.
LENGTHS_APART = 32
#: What a client that finds the queue full is asked to wait, seconds.
RETRY_AFTER_S = 5.0


class Generator(Protocol):
    """CTranslate2's, as far as it is used."""

    def generate_batch(self, start_tokens: list[list[str]], **options: Any) -> Any:
        """Blocks until all have ended, and calls `callback` for each token."""


class Batches:
    """Runs jobs: `workers` batches at once, of `size` jobs at most, while `queue` further ones may wait."""

    def __init__(self, generator: Generator, end_ids: list[int], workers: int, size: int, queue: int):
        self._generator = generator
        self._end_ids = end_ids
        self._size = size
        self._queue = queue
        self._free = workers
        self._waiting: list[Job] = []
        self._running: set[Job] = set()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ctranslate2")
        self._loop = asyncio.get_running_loop()
        self._looking = False

    async def run(self, job: Job) -> str:
        """Why it ended: `stop` or `length`.

        Raises `Overloaded` when the queue is full, and what broke the batch.

        Cancelling the call frees the caller at once, and the worker at its next step.
        """
        if len(self._waiting) >= self._queue + self._free:
            raise Overloaded(f"{self._queue} requests wait already.", retry_after_s=RETRY_AFTER_S)
        self._waiting.append(job)
        if len(self._waiting) > self._free:
            job.stand(len(self._waiting) - self._free)
        self._look_soon()
        try:
            return await job.done
        finally:
            job.cancelled = True
            if job in self._waiting:
                self._waiting.remove(job)
                self._tell_places()

    async def close(self) -> None:
        """End what runs, and wait for its threads: to exit under a pending result may abort."""
        for job in [*self._waiting, *self._running]:
            job.cancelled = True
        await self._loop.run_in_executor(None, self._pool.shutdown)

    def _look_soon(self) -> None:
        """Look at the queue when all that came in this turn of the loop stand in it."""
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        while self._free and self._waiting:
            self._start(self._take())
        self._tell_places()

    def _take(self) -> list[Job]:
        """The first that waits, and the others that can be decoded with it."""
        first = self._waiting[0]
        fit = [job for job in self._waiting if self._fits(first, job)][: self._size]
        self._waiting = [job for job in self._waiting if job not in fit]
        return fit

    @staticmethod
    def _fits(first: Job, other: Job) -> bool:
        if first.sampling.logprobs:  # the library hands out the logits of a batch's first row only
            return other is first
        apart = abs(len(other.prompt) - len(first.prompt))
        return other.sampling == first.sampling and apart <= LENGTHS_APART // 2

    def _start(self, jobs: list[Job]) -> None:
        self._free -= 1
        self._running.update(jobs)
        computed = self._loop.run_in_executor(self._pool, self._compute, jobs)
        computed.add_done_callback(partial(self._ended, jobs))

    def _ended(self, jobs: list[Job], computed: "asyncio.Future[None]") -> None:
        error = computed.exception()
        for job in jobs:
            job.fail(error or UpstreamIncomplete("The model's worker ended without saying so."))
        self._running.difference_update(jobs)
        self._free += 1
        self._look_soon()

    def _tell_places(self) -> None:
        for place, job in enumerate(self._waiting, 1):
            job.stand(place)

    def _compute(self, jobs: list[Job]) -> None:
        """Decode a batch to its end. In a worker's thread."""
        self._generator.generate_batch(
            [job.prompt for job in jobs],
            callback=_Steps(jobs, self._loop).take,
            end_token=self._end_ids,
            include_prompt_in_result=False,
            **jobs[0].sampling.options(max(job.max_tokens for job in jobs)),
        )


class _Steps:
    """Takes a batch's tokens, in CTranslate2's thread, and wakes the event loop once for all that come
    meanwhile.
    """

    def __init__(self, jobs: list[Job], loop: asyncio.AbstractEventLoop):
        self._jobs = jobs
        self._wake: Callable[..., object] = loop.call_soon_threadsafe
        self._woken = False

    def take(self, step: Step) -> bool:
        """Whether the request is to be decoded no further."""
        stop = self._jobs[step.batch_id].step(step)
        if not self._woken:
            self._woken = True
            self._wake(self._flush)
        return stop

    def _flush(self) -> None:
        self._woken = False
        for job in self._jobs:
            job.flush()
