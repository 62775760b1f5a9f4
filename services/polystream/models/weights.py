"""Weights that are computed while CTranslate2 writes them, so that never more than one of them is in memory.

They stand in a specification in place of `ctranslate2.specs.model_spec.Variable`, of which its `validate`
and `save` use only what is defined here. The numbers are those that its `optimize` would give; a test
compares them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from polystream.models.errors import Damaged, Refused

Array = npt.NDArray[np.float32]

#: What `--quantization` takes → the type that weights of linear layers get, and the type of all else.
QUANTIZATIONS = {
    "int8": ("int8", "float32"),
    "int8_float32": ("int8", "float32"),
    "int16": ("int16", "float32"),
    "float16": ("float16", "float16"),
    "bfloat16": ("bfloat16", "bfloat16"),
    "float32": ("float32", "float32"),
}
_SIZES = {"int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "float32": 4}
#: CTranslate2 writes the size of a variable as 32 bits.
_MAX_BYTES = 2**32 - 1


class Weight:
    """One variable: the rows of `tensors`, one below the other, as `dtype`.

    `written` is called with the number of bytes each time some were handed out.
    """

    def __init__(
        self,
        tensors: Sequence[gguf.ReaderTensor],
        dtype: str,
        written: Callable[[int], None] = lambda _: None,
    ):
        self._tensors = tensors
        self._written = written
        self.dtype = dtype
        first, *rest = (tuple(int(size) for size in reversed(tensor.shape)) for tensor in tensors)
        if any(other[1:] != first[1:] for other in rest):
            raise Damaged(f"{tensors[0].name} and its neighbours are of different widths")
        self.shape = (first[0] + sum(other[0] for other in rest), *first[1:])
        self.scale: Scale | None = None
        if self.num_bytes() > _MAX_BYTES:
            raise Refused(f"{tensors[0].name} is above 4 GiB as {dtype}; take int8")

    def num_bytes(self) -> int:
        """Size in the file."""
        return math.prod(self.shape) * _SIZES[self.dtype]

    def to_bytes(self) -> bytes:
        """The values, row by row."""
        values = np.concatenate([dequantized(tensor) for tensor in self._tensors])
        if not np.isfinite(values).all():
            raise Damaged(f"{self._tensors[0].name} holds numbers that are none")
        data = self._as_dtype(values)
        self._written(self.num_bytes())
        return data.tobytes()

    def _as_dtype(self, values: Array) -> npt.NDArray[Any]:
        if self.dtype == "bfloat16":
            return to_bfloat16(values)
        if self.scale is None:
            return values.astype(self.dtype, copy=False)
        data, self.scale.values = to_int8(values) if self.dtype == "int8" else to_int16(values)
        return data


class Scale:
    """The scales of a weight, known once that has been written; `weight` sorts before `weight_scale`."""

    dtype = "float32"

    def __init__(self, weight: Weight):
        self.shape = weight.shape[:1] if weight.dtype == "int8" else ()
        self.values: npt.NDArray[np.float32] | None = None
        weight.scale = self

    def num_bytes(self) -> int:
        """Size in the file."""
        return math.prod(self.shape) * 4

    def to_bytes(self) -> bytes:
        """The values."""
        if self.values is None:
            raise RuntimeError("a scale was written before its weight")
        return self.values.tobytes()


def check_type(tensor: gguf.ReaderTensor) -> None:
    """Raises `Refused` for a tensor whose type cannot be turned into numbers; looks at one row."""
    try:
        gguf.quants.dequantize(tensor.data[:1], tensor.tensor_type)
    except NotImplementedError:
        raise Refused(
            f"{tensor.name} is of type {tensor.tensor_type.name}, which cannot be dequantised"
        ) from None


def dequantized(tensor: gguf.ReaderTensor) -> Array:
    """The tensor's numbers, of its shape in numpy's order: rows are outputs."""
    return np.asarray(gguf.quants.dequantize(tensor.data, tensor.tensor_type), np.float32)


def to_int8(values: Array) -> tuple[npt.NDArray[Any], Array]:
    """Rows × columns → the same in -127…127, and the scale of each row by which it was multiplied."""
    largest = np.amax(np.absolute(values), axis=1)
    largest[largest == 0] = 127.0
    scale = np.float32(127) / np.maximum(largest, np.float32(127) / np.finfo(np.float32).max)
    return np.rint(values * scale[:, None]).astype(np.int8), scale


def to_int16(values: Array) -> tuple[npt.NDArray[Any], Array]:
    """The values in -1024…1024, and the one scale by which they were multiplied.

    Ten bits: a product has twenty, which leaves twelve for their sum.
    """
    scale = np.float32(2**10) / (np.amax(np.absolute(values)) or np.float32(1))
    return np.rint(values * scale).astype(np.int16), np.asarray(scale, np.float32)


def to_bfloat16(values: Array) -> npt.NDArray[np.uint16]:
    """The upper halves, rounded to the nearest, ties to even. numpy has no such type."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded >> np.uint32(16)).astype(np.uint16)
