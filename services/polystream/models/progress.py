"""How far a long piece of work has come: called with what is being done, bytes done and bytes in all."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def unheard(stage: str, done: int, total: int) -> None:
    """Nobody listens."""
