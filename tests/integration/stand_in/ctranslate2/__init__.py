"""Stands in for CTranslate2 in a server under test: says set tokens by the library's rules, or breaks as it
does.

`STEPS` in the environment is a list of a case's steps: `piece` (a token), `echo` (a `!` for each token of the
prompt that begins a text), `block_ms` (a pause in the worker), `raise_silently` (an exception in the worker,
after which no token comes and nobody is told but who waits for the result).
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__version__ = "stand-in"


class Step:
    """As the library gives it to the callback."""

    def __init__(self, batch_id: int, token_id: int):
        self.batch_id = batch_id
        self.token_id = token_id
        self.is_last = False


class Generator:
    """The part of the library that the engine uses."""

    def __init__(self, path: str, **options: Any):
        vocabulary = json.loads((Path(path) / "vocabulary.json").read_text())
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._steps = json.loads(os.environ["STEPS"])

    def generate_batch(
        self,
        start_tokens: list[list[str]],
        *,
        callback: Callable[[Step], bool],
        end_token: list[int],
        max_length: int,
        **options: Any,
    ) -> None:
        """Each prompt's tokens one after the other, until the callback wants no more."""
        for number, prompt in enumerate(start_tokens):
            for token in self._tokens(prompt, end_token):
                time.sleep(0.005)  # computing
                if callback(Step(number, token)):
                    break

    def _tokens(self, prompt: list[str], end: list[int]) -> Iterator[int]:
        for step in self._steps:
            if "raise_silently" in step:
                raise RuntimeError("the worker broke")
            if "echo" in step:
                yield from [self._ids["!"]] * prompt.count("<s>")
            elif "block_ms" in step:
                time.sleep(step["block_ms"] / 1000)
            elif "finish" in step:
                yield end[0]
            else:
                yield from [self._ids[step["piece"]]] * step.get("repeat", 1)
