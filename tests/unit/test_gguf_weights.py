"""Weights that are computed while they are written are those of CTranslate2's own `optimize`."""

from typing import Any

import gguf
import numpy as np
from ctranslate2 import specs

from polystream.models.weights import Weight, to_bfloat16, to_int8, to_int16

VALUES = np.random.default_rng(0).normal(0, 1, (6, 40)).astype(np.float32)
VALUES[1], VALUES[2] = 0, VALUES[2] * 1e-42


def optimized(quantization: str) -> Any:
    linear = specs.common_spec.LinearSpec()
    linear.weight = VALUES.copy()
    linear.validate()
    linear.optimize(quantization)
    return linear


def test_int8_is_ctranslate2s() -> None:
    values, scale = to_int8(VALUES)

    linear = optimized("int8")
    np.testing.assert_array_equal(values, linear.weight.numpy())
    np.testing.assert_array_equal(scale, linear.weight_scale.numpy())


def test_int16_is_ctranslate2s() -> None:
    values, scale = to_int16(VALUES)

    linear = optimized("int16")
    np.testing.assert_array_equal(values, linear.weight.numpy())
    np.testing.assert_array_equal(scale, linear.weight_scale.numpy())
    assert scale.shape == linear.weight_scale.shape == ()


def test_bfloat16_is_rounded_to_the_nearest_even() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -1.0, 3.1415927], np.float32)

    assert [hex(bits) for bits in to_bfloat16(values)] == ["0x3f80", "0x3f80", "0x3f82", "0xbf80", "0x4049"]


def test_one_weight_at_a_time_is_in_memory() -> None:
    written: list[int] = []
    tensor = gguf.ReaderTensor(
        "a", gguf.GGMLQuantizationType.F32, np.array([40, 6], np.uint32), 240, 960, 0, VALUES, field()
    )

    weight = Weight([tensor, tensor], "float32", written.append)

    assert weight.shape == (12, 40)
    assert not written
    assert weight.to_bytes() == np.concatenate([VALUES, VALUES]).tobytes()
    assert written == [12 * 40 * 4]


def field() -> gguf.gguf_reader.ReaderField:
    return gguf.gguf_reader.ReaderField(0, "a")
