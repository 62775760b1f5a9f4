"""Small GGUF files of random weights, and what llama.cpp would compute with them, worked out in numpy."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf
import numpy as np

Types = gguf.GGMLQuantizationType
#: What the tokenizers learn from.
CORPUS = (
    "the cat sat on the mat. The cat's hat, that's the thing! the theatre; other then  there\n"
    "A hundred 1234 and 567 days.\tdéjà vu, naïve café, über. "
    "日本語の文字と日本の言葉。 日本語 говорить говорит\n"
)


@dataclass
class Network:
    """A llama-family network. `kind` is the type of its linear weights, `tensors` what was written."""

    arch: str = "llama"
    layers: int = 2
    heads: int = 4
    heads_kv: int = 2
    head_dim: int = 16
    width: int = 64
    inner: int = 96
    rotary_dim: int | None = None
    base: float = 10_000.0
    linear: float = 1.0
    factors: bool = False
    tied: bool = True
    biases: bool = False
    kind: Types = Types.F32
    seed: int = 0
    tensors: dict[str, np.ndarray] = field(default_factory=dict)


def bytes_to_characters() -> dict[int, str]:
    """GPT-2's table, as its authors wrote it down."""
    shown = list(range(ord("!"), ord("~") + 1)) + list(range(ord("¡"), ord("¬") + 1))
    shown += list(range(ord("®"), ord("ÿ") + 1))
    table = {byte: chr(byte) for byte in shown}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(shown))
    return table


def train(words: Iterable[tuple[str, ...]], merges: int) -> list[tuple[str, str]]:
    """Byte-pair encoding as Sennrich et al. train it: the most frequent neighbours are joined first."""
    counted = Counter(words)
    learned = []
    for _ in range(merges):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in counted.items():
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        learned.append(best)
        counted = Counter({joined(word, best): count for word, count in counted.items()})
    return learned


def joined(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """The word with each occurrence of the pair joined, from the left."""
    out: list[str] = []
    rest = list(word)
    while rest:
        size = 2 if tuple(rest[:2]) == pair else 1
        out.append("".join(rest[:size]))
        rest = rest[size:]
    return tuple(out)


def gpt2_tokenizer(pre: str = "smollm") -> dict[str, Any]:
    """Byte-level BPE: three control tokens, one that a user defined, all bytes, and merges of the corpus."""
    table = bytes_to_characters()
    words = [tuple(table[byte] for byte in (" " + word).encode()) for word in CORPUS.split()]
    merges = train(words, 60)
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "[thing]", *table.values()]
    types = [3, 3, 3, 4] + [1] * 256
    for left, right in merges:
        if left + right not in tokens:
            tokens.append(left + right)
            types.append(1)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in merges],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def llama_tokenizer(byte_tokens: bool = True) -> dict[str, Any]:
    """SentencePiece's BPE: unknown, BOS, EOS, the bytes, pieces by score, then single characters."""
    words = [tuple("▁" + word) for word in CORPUS.split()]
    pieces = list(dict.fromkeys(left + right for left, right in train(words, 80)))
    singles = [character for character in sorted(set("▁" + CORPUS)) if not character.isspace()]
    head = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] * byte_tokens
    tokens = [*head, *pieces, *singles]
    types = [2, 3, 3] + [6] * (len(head) - 3) + [1] * (len(tokens) - len(head))
    scores = [0.0] * len(head) + [-float(rank) for rank in range(len(pieces) + len(singles))]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def metadata(network: Network) -> dict[str, Any]:
    """The keys that describe the network."""
    arch = network.arch
    told: dict[str, Any] = {
        f"{arch}.block_count": network.layers,
        f"{arch}.context_length": 128,
        f"{arch}.embedding_length": network.width,
        f"{arch}.feed_forward_length": network.inner,
        f"{arch}.attention.head_count": network.heads,
        f"{arch}.attention.head_count_kv": network.heads_kv,
        f"{arch}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{arch}.rope.freq_base": network.base,
        f"{arch}.rope.dimension_count": network.rotary_dim or network.head_dim,
    }
    if network.head_dim * network.heads != network.width:
        told |= {f"{arch}.attention.{name}_length": network.head_dim for name in ("key", "value")}
    if network.linear != 1:
        told |= {f"{arch}.rope.scaling.type": "linear", f"{arch}.rope.scaling.factor": network.linear}
    return told


def write(
    path: Path,
    network: Network | None = None,
    tokenizer: dict[str, Any] | None = None,
    change: Callable[[dict[str, Any]], Any] = lambda told: None,
    extra: dict[str, np.ndarray] | None = None,
) -> Network:
    """Write the file; `change` may spoil its metadata. The network comes back with its tensors as read."""
    network = network or Network()
    tokenizer = tokenizer or gpt2_tokenizer()
    told = {"general.name": "Tiny Model", **metadata(network), **tokenizer}
    change(told)
    writer = gguf.GGUFWriter(path, told.pop("general.architecture", network.arch))
    for key, value in told.items():
        _add(writer, key, value)
    for name, values in _weights(network, len(tokenizer["tokenizer.ggml.tokens"])).items():
        linear = values.ndim == 2
        kind = network.kind if linear else Types.F32
        data = _quantised(values, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
        network.tensors[name] = np.asarray(gguf.quants.dequantize(data, kind), np.float64)
    for name, values in (extra or {}).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return network


def logits(network: Network, ids: list[int]) -> np.ndarray:
    """positions × vocabulary, as llama.cpp defines them (`llm_build_llama`), in double precision."""
    tensors, half = network.tensors, (network.rotary_dim or network.head_dim) // 2
    inverse = (
        network.base ** (-np.arange(half) / half) / network.linear / tensors.get("rope_freqs.weight", 1.0)
    )
    angles = np.arange(len(ids))[:, None] * inverse
    x = tensors["token_embd.weight"][ids]
    for number in range(network.layers):
        block = {
            name.removeprefix(f"blk.{number}."): value
            for name, value in tensors.items()
            if name.startswith(f"blk.{number}.")
        }
        x = x + _attention(network, block, _normed(x, block["attn_norm.weight"]), angles)
        y = _normed(x, block["ffn_norm.weight"])
        gate = y @ block["ffn_gate.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ block["ffn_up.weight"].T)) @ block["ffn_down.weight"].T
    return (
        _normed(x, tensors["output_norm.weight"])
        @ tensors.get("output.weight", tensors["token_embd.weight"]).T
    )


def _attention(
    network: Network, block: dict[str, np.ndarray], x: np.ndarray, angles: np.ndarray
) -> np.ndarray:
    def heads(name: str, count: int) -> np.ndarray:
        y = x @ block[f"attn_{name}.weight"].T + block.get(f"attn_{name}.bias", 0.0)
        return y.reshape(len(x), count, network.head_dim).transpose(1, 0, 2)

    queries, keys = (
        _rotated(heads(name, count), angles, neighbours=network.arch == "llama")
        for name, count in (("q", network.heads), ("k", network.heads_kv))
    )
    values = heads("v", network.heads_kv)
    told = []
    for head in range(network.heads):
        shared = head // (network.heads // network.heads_kv)
        scores = queries[head] @ keys[shared].T / np.sqrt(network.head_dim)
        scores[np.triu_indices(len(x), 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        told.append(weights / weights.sum(axis=1, keepdims=True) @ values[shared])
    return np.concatenate(told, axis=1) @ block["attn_output.weight"].T


def _rotated(x: np.ndarray, angles: np.ndarray, neighbours: bool) -> np.ndarray:
    """`neighbours`: pairs are (0, 1), (2, 3) …, else each with the one half the dimension on."""
    out, half = x.copy(), angles.shape[1]
    first = np.arange(half) * 2 if neighbours else np.arange(half)
    second = first + (1 if neighbours else half)
    sin, cos = np.sin(angles), np.cos(angles)
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def _normed(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * gamma


def _weights(network: Network, vocabulary: int) -> dict[str, np.ndarray]:
    """The tensors by name, of the order of magnitude that makes each of them count."""
    random = np.random.default_rng(network.seed)
    queries, keys = network.heads * network.head_dim, network.heads_kv * network.head_dim
    width, inner = network.width, network.inner
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (vocabulary, width),
        "output_norm.weight": (width,),
    }
    if not network.tied:
        shapes["output.weight"] = (vocabulary, width)
    for number in range(network.layers):
        block = {
            "attn_norm": (width,), "attn_q": (queries, width), "attn_k": (keys, width),
            "attn_v": (keys, width),
            "attn_output": (width, queries), "ffn_norm": (width,), "ffn_gate": (inner, width),
            "ffn_up": (inner, width), "ffn_down": (width, inner),
        }  # fmt: skip
        shapes |= {f"blk.{number}.{name}.weight": shape for name, shape in block.items()}
        if network.biases:
            shapes |= {f"blk.{number}.attn_{name}.bias": block[f"attn_{name}"][:1] for name in "qkv"}
    told = {name: random.normal(0, 2 / shape[-1] ** 0.5, shape) for name, shape in shapes.items()}
    told |= {name: 1 + values / 4 for name, values in told.items() if name.endswith("norm.weight")}
    if network.factors:
        half = (network.rotary_dim or network.head_dim) // 2
        told["rope_freqs.weight"] = random.uniform(1, 8, half)
    return {name: values.astype(np.float32) for name, values in told.items()}


def _quantised(values: np.ndarray, kind: Types) -> np.ndarray:
    if kind is Types.Q6_K:  # the package cannot make these: random bits, and a scale that makes them small
        rows, columns = values.shape
        blocks = np.random.default_rng(rows).integers(0, 256, (rows, columns // 256, 210), dtype=np.uint8)
        blocks[..., 208:] = np.frombuffer(np.float16(8e-5).tobytes(), np.uint8)
        return blocks.reshape(rows, -1)
    return gguf.quants.quantize(values, kind)


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)
