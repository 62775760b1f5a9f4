"""Tokens a second of the embedded model behind its service, against CTranslate2's own `generate_tokens` on
the same files, in pairs, one right after the other: what the queue, the text and HTTP cost an answer.
"""

import json
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

from .native import REPO
from .service import Service, free_port

PAIRS = 9
TOKENS = 128
FLOOR = 0.95  #: least median ratio
_QUESTION = "Tell me a long story about a whale."
_PROMPT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    f"<|im_start|>user\n{_QUESTION}<|im_end|>\n<|im_start|>assistant\n"
)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Medians, tokens a second, and the median of the pairs' ratios."""

    served: float
    bare: float
    ratio: float

    @property
    def fault(self) -> str | None:
        """What is not as it must be."""
        if self.ratio >= FLOOR:
            return None
        return f"the embedded model: {self.ratio:.3f} of generate_tokens' rate, {FLOOR} at least"

    def __str__(self) -> str:
        rates = f"{self.served:.1f} tokens/s served, {self.bare:.1f} by generate_tokens"
        return f"embedded model: {rates}, ratio {self.ratio:.3f} (median of {PAIRS} pairs of {TOKENS} tokens)"


def measure(out: Path, pairs: int = PAIRS) -> Throughput:
    """Convert if need be, serve, and compare. Raises `ServiceError` when the service does not come up."""
    command = [sys.executable, "-m", "polystream"]
    folder = Path(
        subprocess.check_output([*command, "convert"], text=True, stderr=subprocess.DEVNULL).strip()
    )
    port = free_port()
    env = {"MODEL": str(folder), "MODEL_PORT": str(port), "ENGINE_WORKERS": "1", "LOG_LEVEL": "warning"}
    log = REPO / "build" / "bench-model.log"
    log.unlink(missing_ok=True)
    service = Service([*command, "model"], "0,1", log, 0, env)
    try:
        service.wait_ready(port, "/readyz", 120)
        found = _compare(_bare(folder), lambda: _served(port), pairs)
    finally:
        service.stop()
    out.write_text(json.dumps({"served": found.served, "bare": found.bare, "ratio": found.ratio}) + "\n")
    return found


def _compare(bare: Callable[[], float], served: Callable[[], float], pairs: int) -> Throughput:
    bare(), served()  # the first use of each warms it
    rates: list[tuple[float, float]] = []
    for number in range(pairs):
        if number % 2:
            rates.append((served(), bare()))
        else:
            second = bare()
            rates.append((served(), second))
    ratio = statistics.median(one / other for one, other in rates)
    return Throughput(statistics.median(r[0] for r in rates), statistics.median(r[1] for r in rates), ratio)


def _bare(folder: Path) -> Callable[[], float]:
    """One answer by the library alone, with as many threads as the service takes; tokens a second."""
    measured = json.loads((folder / "speed.json").read_text())
    threads = next(iter(measured.values()))["threads"]
    generator = ctranslate2.Generator(str(folder), inter_threads=1, intra_threads=threads)
    prompt = (
        Tokenizer.from_file(str(folder / "tokenizer.json")).encode(_PROMPT, add_special_tokens=False).tokens
    )

    def run() -> float:
        began = time.perf_counter()
        count = sum(1 for _ in generator.generate_tokens(prompt, max_length=TOKENS, sampling_topk=1))
        assert count == TOKENS, f"the model said {count} tokens"
        return count / (time.perf_counter() - began)

    return run


def _served(port: int) -> float:
    """The same answer as a client gets it; tokens a second."""
    asked = {
        "messages": [{"role": "user", "content": _QUESTION}],
        "max_tokens": TOKENS,
        "temperature": 0,
        "repetition_penalty": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    request = urllib.request.Request(url, json.dumps(asked).encode(), {"Content-Type": "application/json"})
    began, count = time.perf_counter(), 0
    with urllib.request.urlopen(request, timeout=120) as answer:
        for line in answer:
            if line.startswith(b"data: {") and (usage := json.loads(line[6:]).get("usage")):
                count = usage["completion_tokens"]
    assert count == TOKENS, f"the service said {count} tokens"
    return count / (time.perf_counter() - began)
