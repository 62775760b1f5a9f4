"""What a GGUF file's metadata says of the network; whatever cannot be computed exactly is refused.

Keys, their defaults and their meaning are llama.cpp's (`llama_model::load_hparams`, `llama-model.cpp`).
"""

from dataclasses import dataclass
from typing import Any

from polystream.models.errors import Damaged, Refused
from polystream.models.metadata import Metadata

#: Architecture → whether its q and k weights are laid out for interleaved rotary embedding.
#: Mistral's files, and those of many others, are of the llama architecture.
ARCHITECTURES = {"llama": True, "qwen2": False}
#: Keys of things that we do not compute, with the one value at which they do nothing.
_UNKNOWN = {
    "attention.scale": 0,
    "attention.clamp_kqv": 0,
    "attention.max_alibi_bias": 0,
    "attention.layer_norm_epsilon": 0,
    "attn_logit_softcapping": 0,
    "final_logit_softcapping": 0,
    "attention.causal": True,
    "use_parallel_residual": False,
    "logit_scale": 0,
    "residual_scale": 0,
    "embedding_scale": 0,
    "rope.scaling.attn_factor": 1,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """The network. `rope_scale` divides positions; `context` is in tokens."""

    layers: int
    context: int
    heads: int
    heads_kv: int
    head_dim: int
    width: int
    inner: int
    rotary_dim: int
    rotary_base: float
    rotary_interleave: bool
    rope_scale: float
    epsilon: float


def read_shape(meta: Metadata) -> Shape:
    """Raises `Refused` for a network we cannot compute, `Damaged` for one that is not described."""
    arch = meta.architecture
    if arch not in ARCHITECTURES:
        known = " and ".join(ARCHITECTURES)
        raise Refused(f"the architecture is {arch or 'not named'}; only {known} can be converted")
    _refuse_unknown(meta)
    heads = _positive(meta, f"{arch}.attention.head_count")
    heads_kv = _positive(meta, f"{arch}.attention.head_count_kv", heads)
    width = _positive(meta, f"{arch}.embedding_length")
    head_dim = _positive(meta, f"{arch}.attention.key_length", width // heads)
    if _positive(meta, f"{arch}.attention.value_length", head_dim) != head_dim:
        raise Refused("keys and values are of different lengths, which CTranslate2 cannot express")
    rotary_dim = _positive(meta, f"{arch}.rope.dimension_count", head_dim)
    if heads % heads_kv or rotary_dim > head_dim or rotary_dim % 2:
        raise Damaged("the numbers of heads or the rotary dimension make no sense")
    return Shape(
        layers=_positive(meta, f"{arch}.block_count"),
        context=_positive(meta, f"{arch}.context_length"),
        heads=heads,
        heads_kv=heads_kv,
        head_dim=head_dim,
        width=width,
        inner=_positive(meta, f"{arch}.feed_forward_length"),
        rotary_dim=rotary_dim,
        rotary_base=meta.number(f"{arch}.rope.freq_base", 10_000),
        rotary_interleave=ARCHITECTURES[arch],
        rope_scale=_rope_scale(meta),
        epsilon=meta.number(f"{arch}.attention.layer_norm_rms_epsilon"),
    )


def _positive(meta: Metadata, key: str, default: int | None = None) -> int:
    if key in meta and (values := _as_list(meta, key)):
        if len(set(values)) > 1:
            raise Refused(f"{key} differs from layer to layer, which CTranslate2 cannot express")
        value: Any = values[0]
    else:
        value = meta.whole(key, default)
    if not isinstance(value, int) or value <= 0:
        raise Damaged(f"{key} is {value}")
    return value


def _as_list(meta: Metadata, key: str) -> list[Any]:
    try:
        return meta.list(key)
    except Damaged:
        return []


def _refuse_unknown(meta: Metadata) -> None:
    arch = meta.architecture
    if (experts := meta.whole(f"{arch}.expert_count", 0)) > 0:
        raise Refused(f"it is a mixture of {experts} experts, which CTranslate2 cannot compute")
    for name, harmless in _UNKNOWN.items():
        key = f"{arch}.{name}"
        if key not in meta:
            continue
        value = meta.flag(key, harmless) if isinstance(harmless, bool) else meta.number(key)
        if value != harmless:
            raise Refused(f"{key} is {value}, which the conversion does not know")
    window = meta.whole(f"{arch}.attention.sliding_window", 0)
    if 0 < window < meta.whole(f"{arch}.context_length"):
        raise Refused(
            f"attention looks back {window} tokens only (sliding_window), which cannot be converted"
        )


def _rope_scale(meta: Metadata) -> float:
    """llama.cpp takes linear scaling where only a factor is given, and 0 as no factor."""
    arch = meta.architecture
    kind = meta.text(f"{arch}.rope.scaling.type", "linear")
    if kind not in ("none", "linear"):
        raise Refused(f"its rope scaling is {kind}; only linear and llama 3's can be converted")
    factor = meta.number(f"{arch}.rope.scaling.factor", meta.number(f"{arch}.rope.scale_linear", 0))
    return factor if kind == "linear" and factor else 1.0
