"""How a model is sampled when a request does not say: what its file says, else what suits its size."""

from dataclasses import dataclass

from polystream.models.metadata import Metadata

#: Below this many parameters the usual temperature is too high; SmolLM2's own card says 0.2 and 0.9.
_SMALL = 1_000_000_000
_MAX_TOKENS = 1024
#: llama.cpp's. Looking at few tokens is also what makes sampling cheap.
_TOP_K = 40


@dataclass(frozen=True, slots=True)
class Defaults:
    """`top_k` 0 takes every token. `max_tokens` is the longest answer."""

    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    max_tokens: int


def read_defaults(meta: Metadata, parameters: int, context: int) -> Defaults:
    """From `general.sampling.…`, one by one. Raises `Damaged` for what is no number."""
    temperature, top_p, penalty = (0.2, 0.9, 1.1) if parameters < _SMALL else (0.7, 0.95, 1.0)
    return Defaults(
        temperature=max(0.0, meta.number("general.sampling.temp", temperature)),
        top_p=min(1.0, max(0.0, meta.number("general.sampling.top_p", top_p))) or top_p,
        top_k=max(0, meta.whole("general.sampling.top_k", _TOP_K)),
        repetition_penalty=meta.number("general.sampling.penalty_repeat", penalty) or penalty,
        max_tokens=max(1, min(_MAX_TOKENS, context // 2)),
    )
