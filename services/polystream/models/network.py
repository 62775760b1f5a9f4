"""A GGUF file's tensors as a CTranslate2 specification: the counterpart of its `LlamaLoader`, without torch.

Every tensor of the file must find its place: one that is not known would be missing from the answers.
"""

from collections.abc import Callable
from typing import Any

import ctranslate2.specs as specs
import gguf
import numpy as np

from polystream.models.errors import Damaged, Refused
from polystream.models.shape import Shape
from polystream.models.weights import QUANTIZATIONS, Scale, Weight, check_type, dequantized

#: Attribute of a layer's specification → the GGUF tensors whose rows make it up.
_LINEAR = {
    "self_attention/linear/0": ("attn_q", "attn_k", "attn_v"),
    "self_attention/linear/1": ("attn_output",),
    "ffn/linear_0": ("ffn_gate",),
    "ffn/linear_0_noact": ("ffn_up",),
    "ffn/linear_1": ("ffn_down",),
}
_EMBEDDINGS, _OUTPUT, _ROPE = "token_embd.weight", "output.weight", "rope_freqs.weight"


class Network:
    """The specification of one file. `written(n)` is told of every n bytes of weights while it is saved."""

    def __init__(
        self,
        shape: Shape,
        tensors: dict[str, gguf.ReaderTensor],
        quantization: str,
        written: Callable[[int], None],
    ):
        self._shape = shape
        self._tensors = dict(tensors)
        self._linear_type, self._type = QUANTIZATIONS[quantization]
        self._written = written
        self.size = 0
        factors = self._rope_factors()
        self.spec = _empty(shape, scaled=factors is not None)
        self._fill(factors)
        if self._tensors:
            names = sorted(self._tensors)
            raise Refused(f"it holds tensors the conversion does not know: {', '.join(names[:3])}")

    def save(self, folder: str, tokens: list[str], special: dict[str, str]) -> None:
        """Write model.bin, config.json and vocabulary.json. `special`: unk, bos and eos by those names."""
        decoder, config = self.spec.decoder, self.spec.config
        config.unk_token, config.bos_token, config.eos_token = (
            special[name] for name in ("unk", "bos", "eos")
        )
        config.layer_norm_epsilon = self._shape.epsilon
        self.spec.register_vocabulary(tokens)
        tied = decoder.projection.weight is decoder.embeddings.weight
        self.spec.validate()
        if tied:  # as `optimize` marks equal variables; after `validate`, which takes strings for values
            decoder.projection.weight = "decoder/embeddings/weight"
        self.spec.save(folder)

    def _fill(self, factors: Any) -> None:
        decoder = self.spec.decoder
        decoder.scale_embeddings = False
        width = self._shape.width
        self._set_linear(decoder.embeddings, [_EMBEDDINGS], (None, width))
        decoder.layer_norm.gamma = self._vector(["output_norm.weight"])
        if _OUTPUT in self._tensors:
            self._set_linear(decoder.projection, [_OUTPUT], (decoder.embeddings.weight.shape[0], width))
        else:
            decoder.projection.weight = decoder.embeddings.weight
        for number, layer in enumerate(decoder.layer):
            self._fill_layer(layer, f"blk.{number}.")
            if factors is not None:
                layer.self_attention.rotary_scaling_long_factor = factors
                layer.self_attention.rotary_scaling_short_factor = factors

    def _fill_layer(self, layer: Any, prefix: str) -> None:
        sizes = self._sizes()
        layer.self_attention.layer_norm.gamma = self._vector([f"{prefix}attn_norm.weight"])
        layer.ffn.layer_norm.gamma = self._vector([f"{prefix}ffn_norm.weight"])
        for name, tensors in _LINEAR.items():
            part, attribute, *index = name.split("/")
            linear = getattr(getattr(layer, part), attribute)
            linear = linear[int(index[0])] if index else linear
            self._set_linear(linear, [f"{prefix}{tensor}.weight" for tensor in tensors], sizes[name])
            biases = [f"{prefix}{tensor}.bias" for tensor in tensors]
            if any(bias in self._tensors for bias in biases):
                linear.bias = self._vector(biases)

    def _sizes(self) -> dict[str, tuple[int | None, int]]:
        """Rows and columns of each linear layer."""
        shape = self._shape
        queries, keys = shape.heads * shape.head_dim, shape.heads_kv * shape.head_dim
        inner = shape.inner
        return {
            "self_attention/linear/0": (queries + 2 * keys, shape.width),
            "self_attention/linear/1": (shape.width, queries),
            "ffn/linear_0": (inner, shape.width),
            "ffn/linear_0_noact": (inner, shape.width),
            "ffn/linear_1": (shape.width, inner),
        }

    def _set_linear(self, linear: Any, names: list[str], size: tuple[int | None, int]) -> None:
        linear.weight = weight = self._weight(names, self._linear_type, 2)
        if any(want not in (None, have) for want, have in zip(size, weight.shape, strict=True)):
            raise Damaged(f"{names[0]} is of shape {weight.shape} in place of {size}")
        if self._linear_type.startswith("int"):
            linear.weight_scale = Scale(weight)

    def _vector(self, names: list[str]) -> Weight:
        return self._weight(names, self._type, 1)

    def _weight(self, names: list[str], dtype: str, dimensions: int) -> Weight:
        tensors = [self._take(name) for name in names]
        for tensor in tensors:
            check_type(tensor)
            if len(tensor.shape) != dimensions:
                raise Damaged(f"{tensor.name} has {len(tensor.shape)} dimensions in place of {dimensions}")
        weight = Weight(tensors, dtype, self._written)
        self.size += weight.num_bytes()
        return weight

    def _take(self, name: str) -> gguf.ReaderTensor:
        try:
            return self._tensors.pop(name)
        except KeyError:
            raise Damaged(f"the tensor {name} is missing") from None

    def _rope_factors(self) -> Any:
        """What each rotary frequency is divided by: llama 3's scaling as GGUF has it, and the linear one."""
        if _ROPE not in self._tensors:
            return None
        tensor = self._take(_ROPE)
        check_type(tensor)
        factors = dequantized(tensor) * np.float32(self._shape.rope_scale)
        if factors.shape != (self._shape.rotary_dim // 2,):
            raise Damaged(f"{_ROPE} has {factors.size} numbers in place of {self._shape.rotary_dim // 2}")
        return factors


def _empty(shape: Shape, scaled: bool) -> Any:
    """`scaled`: by a factor for each frequency.

    CTranslate2's own Llama3 scaling has no place for its factor (4.8.5). Its Su scaling divides each
    frequency by a number of ours, as llama.cpp does, and does no more than that as long as no original
    length is given.
    """
    types = specs.attention_spec.RotaryScalingType
    linear = types.Linear if shape.rope_scale != 1 else None
    return specs.TransformerDecoderModelSpec.from_config(
        shape.layers,
        shape.heads,
        activation=specs.Activation.SWISH,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=shape.rotary_dim,
        rotary_interleave=shape.rotary_interleave,
        rotary_scaling_type=types.Su if scaled else linear,
        rotary_scaling_factor=shape.rope_scale,
        rotary_base=shape.rotary_base,
        num_heads_kv=None if shape.heads_kv == shape.heads else shape.heads_kv,
        head_dim=None if shape.head_dim * shape.heads == shape.width else shape.head_dim,
    )
