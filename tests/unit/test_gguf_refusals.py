"""What cannot be converted exactly or is no whole GGUF file is refused with the reason; nothing is left."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from polystream.models.errors import Damaged, ModelError, Refused
from polystream.models.gguf import convert
from tests import gguf_files
from tests.gguf_files import Network

#: What is said → what the metadata says otherwise.
REFUSED: dict[str, dict[str, Any]] = {
    "the architecture is gemma3; only llama and qwen2 can be converted": {"general.architecture": "gemma3"},
    "it is a mixture of 8 experts, which CTranslate2 cannot compute": {"llama.expert_count": 8},
    "its rope scaling is yarn; only linear and llama 3's can be converted": {
        "llama.rope.scaling.type": "yarn"
    },
    "its rope scaling is longrope; only linear and llama 3's can be converted": {
        "llama.rope.scaling.type": "longrope"
    },
    "llama.attention.head_count_kv differs from layer to layer, which CTranslate2 cannot express": {
        "llama.attention.head_count_kv": [2, 4]
    },
    "keys and values are of different lengths, which CTranslate2 cannot express": {
        "llama.attention.value_length": 8
    },
    "attention looks back 64 tokens only (sliding_window), which cannot be converted": {
        "llama.attention.sliding_window": 64
    },
    "llama.attention.scale is 0.5, which the conversion does not know": {"llama.attention.scale": 0.5},
    "llama.attention.causal is False, which the conversion does not know": {"llama.attention.causal": False},
    "its tokenizer is of kind bert; only gpt2 and llama can be converted": {"tokenizer.ggml.model": "bert"},
    "its pre-tokenizer is viking, which the conversion does not know": {"tokenizer.ggml.pre": "viking"},
}
DAMAGED: dict[str, dict[str, Any]] = {
    "llama.block_count is 0": {"llama.block_count": 0},
    "llama.embedding_length is no int": {"llama.embedding_length": "64"},
    "the numbers of heads or the rotary dimension make no sense": {"llama.attention.head_count_kv": 3},
    "the tensor blk.2.attn_norm.weight is missing": {"llama.block_count": 3},
    "blk.0.attn_q.weight is of shape (128, 64) in place of (192, 64)": {"llama.attention.head_count_kv": 4},
    "general.sampling.temp is no number": {"general.sampling.temp": "hot"},
}


@pytest.mark.parametrize(("words", "change"), [*REFUSED.items(), *DAMAGED.items()])
def test_the_reason_is_given(tmp_path: Path, words: str, change: dict[str, Any]) -> None:
    gguf_files.write(tmp_path / "a.gguf", change=lambda told: told.update(change))

    with pytest.raises(Refused if words in REFUSED else Damaged) as caught:
        convert(tmp_path / "a.gguf", tmp_path / "models")

    assert str(caught.value) == words
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["digests.json"]


def test_tensors_of_a_type_without_numbers_are_refused_by_its_name(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    data = (tmp_path / "a.gguf").read_bytes()
    retyped = retype(data, "output_norm.weight", 26)  # I32, of the same size

    with pytest.raises(Refused, match=r"^output_norm.weight is of type I32, which cannot be dequantised$"):
        convert(written(tmp_path, retyped), tmp_path / "models")


def test_tensors_of_an_unknown_type_are_refused(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    data = (tmp_path / "a.gguf").read_bytes()

    with pytest.raises(Refused, match=r"b.gguf holds tensors of the unknown type 999$"):
        convert(written(tmp_path, retype(data, "output_norm.weight", 999)), tmp_path / "models")


def test_tensors_that_nothing_would_use_are_refused(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf", extra={"blk.0.attn_q_norm.weight": np.ones(16, np.float32)})

    with pytest.raises(
        Refused, match=r"^it holds tensors the conversion does not know: blk.0.attn_q_norm.weight$"
    ):
        convert(tmp_path / "a.gguf", tmp_path / "models")


def test_embeddings_for_other_tokens_are_refused(tmp_path: Path) -> None:
    def add_a_token(told: dict[str, Any]) -> None:
        told["tokenizer.ggml.tokens"] = [*told["tokenizer.ggml.tokens"], "one more"]
        told["tokenizer.ggml.token_type"] = [*told["tokenizer.ggml.token_type"], 1]

    gguf_files.write(tmp_path / "a.gguf", change=add_a_token)

    with pytest.raises(Refused, match=r"^it has embeddings for 320 tokens and names 321$"):
        convert(tmp_path / "a.gguf", tmp_path / "models")


def test_one_part_of_several_is_refused(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf", change=lambda told: told.update({"split.count": 3}))

    with pytest.raises(
        Refused, match=r"a.gguf is one of 3 parts: join them with llama.cpp's llama-gguf-split first$"
    ):
        convert(tmp_path / "a.gguf", tmp_path / "models")


def test_a_file_of_the_other_byte_order_is_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama", endianess=gguf.GGUFEndian.BIG)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    with pytest.raises(Refused, match=r"a.gguf is written in the other byte order than this machine's$"):
        convert(tmp_path / "a.gguf", tmp_path / "models")


def test_weights_that_are_no_numbers_are_told(tmp_path: Path) -> None:
    network = gguf_files.write(tmp_path / "a.gguf", Network(tied=False))
    data = (tmp_path / "a.gguf").read_bytes()
    first = network.tensors["output.weight"][0, :4].astype(np.float32).tobytes()
    spoilt = data.replace(first, np.full(4, np.nan, np.float32).tobytes())
    assert spoilt != data

    with pytest.raises(Damaged, match=r"^output.weight holds numbers that are none$"):
        convert(written(tmp_path, spoilt), tmp_path / "models")


@pytest.mark.parametrize("part", [0.00001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99999])
def test_a_file_that_is_cut_short_is_told(tmp_path: Path, part: float) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    data = (tmp_path / "a.gguf").read_bytes()

    with pytest.raises(Damaged, match=r"b.gguf is damaged or cut short \(") as caught:
        convert(written(tmp_path, data[: max(5, int(len(data) * part))]), tmp_path / "models")

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 a zip file", "is not a GGUF file: it does not begin with GGUF"),
        (b"GG", "is not a GGUF file: it does not begin with GGUF"),
        (b"GGUF\x63\0\0\0" + bytes(100), "is damaged or cut short (Sorry, file appears to be version 99"),
    ],
)
def test_what_is_no_gguf_file_is_told(tmp_path: Path, data: bytes, words: str) -> None:
    path = written(tmp_path, data)

    with pytest.raises(Damaged) as caught:
        convert(path, tmp_path / "models")

    assert str(caught.value).startswith(f"{path} {words}")


def test_an_unknown_quantization_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^the quantization int4 is none of int8, int8_float32, int16, "):
        convert(tmp_path / "a.gguf", tmp_path / "models", "int4")


def written(tmp_path: Path, data: bytes) -> Path:
    (tmp_path / "b.gguf").write_bytes(data)
    return tmp_path / "b.gguf"


def retype(data: bytes, name: str, kind: int) -> bytes:
    """The file with another type for a tensor of one dimension: name, u32 dimensions, u64 size, u32 type."""
    at = data.index(name.encode()) + len(name) + 4 + 8
    return data[:at] + kind.to_bytes(4, "little") + data[at + 4 :]
