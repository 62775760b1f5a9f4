"""What CTranslate2 computes with a converted file is what llama.cpp's definition gives."""

from pathlib import Path

import ctranslate2
import numpy as np
import pytest

from polystream.models.gguf import convert
from tests import gguf_files
from tests.gguf_files import Network, Types

IDS = [5, 70, 130, 7, 7, 201, 99, 260, 3, 44, 45, 46, 250, 12]

NETWORKS = {
    "grouped queries, tied": Network(),
    "as many keys as queries, untied": Network(heads_kv=4, tied=False, layers=3, seed=1),
    "one key for all queries": Network(heads_kv=1, tied=False, seed=2),
    "one head": Network(heads=1, heads_kv=1, head_dim=64, seed=3),
    "heads that are not the width's share": Network(head_dim=32, seed=4),
    "rotation of a part of each head": Network(rotary_dim=8, seed=5),
    "rope base": Network(base=500_000.0, seed=6),
    "linear rope scaling": Network(linear=4.0, seed=7),
    "llama 3's rope scaling": Network(factors=True, base=500_000.0, seed=8),
    "both scalings": Network(factors=True, linear=2.0, seed=9),
    "biases": Network(biases=True, seed=10),
    "qwen2": Network(arch="qwen2", biases=True, tied=False, seed=11),
    "qwen2, tied, linear": Network(arch="qwen2", linear=2.0, heads_kv=4, seed=12),
    "F16": Network(kind=Types.F16, seed=13),
    "BF16": Network(kind=Types.BF16, seed=14),
    "Q8_0": Network(kind=Types.Q8_0, tied=False, seed=15),
    "Q4_0": Network(kind=Types.Q4_0, seed=16),
    "Q4_1": Network(kind=Types.Q4_1, seed=17),
    "Q6_K": Network(kind=Types.Q6_K, width=256, heads=4, head_dim=64, inner=256, seed=18),
}

#: How far off logits may be by rounding, as a part of their own spread.
WITHIN = {"int8": 0.08, "int8_float32": 0.08, "int16": 0.01, "float16": 0.004, "bfloat16": 0.02}


def computed(folder: Path, ids: list[int], compute_type: str = "float32") -> np.ndarray:
    """CTranslate2's logits, positions × vocabulary."""
    generator = ctranslate2.Generator(str(folder), compute_type=compute_type, intra_threads=1)
    tokens = ctranslate2.StorageView.from_array(np.array([ids], np.int32))
    lengths = ctranslate2.StorageView.from_array(np.array([len(ids)], np.int32))
    told = generator.forward_batch(tokens, lengths, return_log_probs=False)
    return np.asarray(told)[0]


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_logits_are_those_of_the_definition(tmp_path: Path, network: Network) -> None:
    network = gguf_files.write(tmp_path / "a.gguf", network)

    told = computed(convert(tmp_path / "a.gguf", tmp_path / "models", "float32"), IDS)

    expected = gguf_files.logits(network, IDS)
    assert expected.std() > 0.5  # else everything is close to everything
    np.testing.assert_allclose(told, expected, rtol=0, atol=2e-4 * expected.std())


@pytest.mark.parametrize("quantization", WITHIN)
@pytest.mark.parametrize("tied", [True, False])
def test_quantised_logits_are_close(tmp_path: Path, quantization: str, tied: bool) -> None:
    network = gguf_files.write(tmp_path / "a.gguf", Network(tied=tied))

    folder = convert(tmp_path / "a.gguf", tmp_path / "models", quantization)

    expected = gguf_files.logits(network, IDS)
    difference = (computed(folder, IDS, "default") - expected).std() / expected.std()
    assert 1e-6 < difference < WITHIN[quantization]
    assert folder.name.endswith(f"-{quantization}")


def test_a_sentencepiece_vocabulary_has_the_same_network(tmp_path: Path) -> None:
    network = gguf_files.write(tmp_path / "a.gguf", Network(tied=False), gguf_files.llama_tokenizer())

    told = computed(convert(tmp_path / "a.gguf", tmp_path / "models", "float32"), IDS)

    expected = gguf_files.logits(network, IDS)
    np.testing.assert_allclose(told, expected, rtol=0, atol=2e-4 * expected.std())
