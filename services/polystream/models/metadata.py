"""A GGUF file's metadata and tensors, with every way of being no such file told in one sentence.

Follows the GGUF specification (ggml's docs/gguf.md). The tensors stay in the file until they are asked for.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import gguf

from polystream.models.errors import Damaged, Refused

_MAGIC = b"GGUF"
#: What the reader raises for a file that ends too early or holds nonsense.
_READING = (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError)

T = TypeVar("T")


class Metadata:
    """Look-ups that know the type they want; most keys begin with `architecture`."""

    def __init__(self, values: Mapping[str, Any]):
        self._values = values
        self.architecture = self.text("general.architecture")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str = "") -> str:
        """A string. Raises `Damaged` for another type."""
        return self._typed(key, str, default)

    def flag(self, key: str, default: bool) -> bool:
        """A truth value. Raises `Damaged` for another type."""
        return self._typed(key, bool, default)

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number; without a default it must be there. Raises `Damaged`."""
        return self._typed(key, int, default)

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number; without a default it must be there. Raises `Damaged`."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            raise Damaged(f"{key} is {'missing' if value is None else 'no number'}")
        return float(value)

    def list(self, key: str) -> list[Any]:
        """An array, empty where there is none."""
        return self._typed(key, list, [])

    def _typed(self, key: str, kind: type[T], default: T | None) -> T:
        value = self._values.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Damaged(f"{key} is {'missing' if value is None else f'no {kind.__name__}'}")
        return value


def read(path: Path) -> tuple[Metadata, dict[str, gguf.ReaderTensor]]:
    """The file's metadata, and its tensors by name.

    Raises `Damaged` for what is no GGUF file or not all of one, `Refused` for tensor types nobody here knows,
    `OSError` for a file that cannot be opened.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise Damaged(f"{path} is empty")
    if start != _MAGIC:
        raise Damaged(f"{path} is not a GGUF file: it does not begin with GGUF")
    try:
        reader = gguf.GGUFReader(path)
        values = {name: field.contents() for name, field in reader.fields.items()}
    except _READING as error:
        if found := re.search(r"(\d+)\)? is not a valid GGMLQuantizationType", str(error)):
            raise Refused(f"{path} holds tensors of the unknown type {found[1]}") from None
        raise Damaged(f"{path} is damaged or cut short ({error or type(error).__name__})") from None
    if reader.byte_order == "S":
        raise Refused(f"{path} is written in the other byte order than this machine's")
    if (parts := values.get("split.count", 1)) > 1:
        raise Refused(f"{path} is one of {parts} parts: join them with llama.cpp's llama-gguf-split first")
    return Metadata(values), {tensor.name: tensor for tensor in reader.tensors}
