"""One request on its way through the embedded model: what each step of the decoder means for its answer.

`step` runs in the worker's thread, all else on the event loop. What both touch changes hands by a deque and
single assignments, which need no lock.
"""

import asyncio
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from polystream.core.events import Event, Notice, Text
from polystream.core.ports import Emit
from polystream.engines.detokenizer import Detokenizer
from polystream.engines.stop import StopStrings


@dataclass(frozen=True, slots=True)
class Sampling:
    """What all requests of a batch share, in CTranslate2's terms; `temperature` 0 is greedy, `top_k` 0 is
    all.
    """

    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float
    min_tokens: int
    logprobs: bool

    def options(self, max_length: int) -> dict[str, Any]:
        """Arguments of `Generator.generate_batch` for answers of `max_length` tokens at most."""
        greedy = self.temperature == 0
        return {
            "sampling_topk": 1 if greedy else self.top_k,
            "sampling_topp": 1 if greedy else self.top_p,
            "sampling_temperature": 1 if greedy else self.temperature,
            "repetition_penalty": self.repetition_penalty,
            "min_length": min(self.min_tokens, max_length),
            "max_length": max_length,
            "return_logits_vocab": self.logprobs,
        }


class Step(Protocol):
    """CTranslate2's `GenerationStepResult`, as far as it is looked at."""

    batch_id: int
    token_id: int
    is_last: bool
    logits: Any


class Job:
    """One request.

    `prompt`: its tokens; `max_tokens`: most that it may generate; `end_ids`: tokens that end it.

    `alternatives`: how many a token are told with their log probabilities; None: no log probabilities at all.
    """

    __slots__ = (
        *(
            "_alternatives",
            "_detokenizer",
            "_emit",
            "_end_ids",
            "_entries",
            "_outbox",
            "_pieces",
            "_position",
        ),
        *(
            "_stops",
            "_told",
            "broken",
            "cancelled",
            "done",
            "generated",
            "max_tokens",
            "prompt",
            "reason",
            "sampling",
        ),
    )

    def __init__(
        self,
        prompt: list[str],
        sampling: Sampling,
        max_tokens: int,
        stops: tuple[str, ...],
        end_ids: frozenset[int],
        pieces: Sequence[bytes],
        emit: Emit,
        *,
        alternatives: int | None = None,
        drop_first_space: bool = False,
    ):
        self.prompt = prompt
        self.sampling = sampling
        self.max_tokens = max_tokens
        self.done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.cancelled = False
        self.generated = 0
        self.reason: str | None = None  #: why it ended; set by the worker, as `broken`
        self.broken: Exception | None = None
        self._detokenizer = Detokenizer(pieces, drop_first_space)
        self._stops = StopStrings(stops)
        self._end_ids = end_ids
        self._pieces = pieces
        self._emit = emit
        self._alternatives = alternatives
        self._entries: list[dict[str, Any]] = []
        self._outbox: deque[Event] = deque()
        self._told = 0  # tokens that an event has counted
        self._position = 0

    def step(self, step: Step) -> bool:
        """Take a token; whether to generate no more.

        In the worker's thread, where an exception of one request must not end the others of its batch.
        """
        if self.cancelled or self.reason is not None or self.broken is not None:
            return True
        try:
            return self._take(step)
        except Exception as error:
            self.broken = error
            return True

    def flush(self) -> None:
        """Pass on what the worker said, and that it has ended. On the event loop."""
        if self.done.done():
            return
        reason, broken = (
            self.reason,
            self.broken,
        )  # before the outbox is emptied: what came first is told first
        events: list[Event] = []
        while self._outbox:
            events.append(self._outbox.popleft())
        if events:
            self._emit(events)
        if broken is not None:
            self.done.set_exception(broken)
        elif reason is not None:
            self.done.set_result(reason)

    def fail(self, error: BaseException) -> None:
        """Its batch broke, after what was said."""
        self.flush()
        if not self.done.done():
            self.done.set_exception(error)

    def stand(self, position: int) -> None:
        """Tell its place in the queue, 1 being the next, if that is news."""
        if position != self._position:
            self._position = position
            self._emit([Notice("queued", {"position": position})])

    def _take(self, step: Step) -> bool:
        if step.token_id in self._end_ids:
            self._close("stop")
            return True
        self.generated += 1
        if self._alternatives is not None:
            self._entries.append(self._entry(step))
        self._say(self._stops.feed(self._detokenizer.feed(step.token_id)))
        if self._stops.hit:
            self.reason = "stop"
        elif self.generated >= self.max_tokens:
            self._close("length")
        return self.reason is not None

    def _close(self, reason: str) -> None:
        self._say(self._stops.close())
        self.reason = reason

    def _say(self, text: str) -> None:
        if not text:
            return
        entries, self._entries = self._entries, []
        tokens, self._told = self.generated - self._told, self.generated
        self._outbox.append(Text(text, entries or None, tokens))

    def _entry(self, step: Step) -> dict[str, Any]:
        """OpenAI's `logprobs.content` entry of a token."""
        logits = np.asarray(step.logits, dtype=np.float32).reshape(-1)
        top = float(logits.max())
        total = top + math.log(float(np.exp(logits - top).sum()))
        count = min(self._alternatives or 0, len(logits))
        best: Iterable[int] = np.argpartition(-logits, count - 1)[:count] if count else ()
        ranked = sorted(map(int, best), key=lambda token: -logits[token])
        entries = [self._spell(token, float(logits[token]) - total) for token in [step.token_id, *ranked]]
        return entries[0] | {"top_logprobs": entries[1:]}

    def _spell(self, token_id: int, logprob: float) -> dict[str, Any]:
        piece = self._pieces[token_id]
        return {"token": piece.decode("utf-8", "replace"), "logprob": logprob, "bytes": list(piece)}
