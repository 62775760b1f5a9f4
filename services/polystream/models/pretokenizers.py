"""How texts are cut into words before byte-level BPE, by `tokenizer.ggml.pre`, with llama.cpp's expressions.

From `llm_tokenizer_bpe` in `llama-vocab.cpp`. The expressions of an entry are applied one after the other,
each to the pieces that those before it left; what none of them matches is a piece as well.
"""

from dataclasses import dataclass, replace

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
_CLITICS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER, _LOWER = r"((?=[\p{L}])([^a-z]))", r"((?=[\p{L}])([^A-Z]))"


@dataclass(frozen=True, slots=True)
class Rules:
    """`whole_words`: a word that is a token needs no merges. `add_bos`: unless the file says otherwise."""

    expressions: tuple[str, ...]
    whole_words: bool = False
    add_bos: bool = False


_SMOLLM = Rules((r"\p{N}", _GPT2))
_PLAIN = Rules((_GPT2,))
_LLAMA3 = Rules((rf"{_CLITICS}|{_WORD}|\p{{N}}{{1,3}}|{_REST}",))
_QWEN2 = Rules((rf"{_CLITICS}|{_WORD}|\p{{N}}|{_REST}",))
_TEKKEN = Rules(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    whole_words=True,
    add_bos=True,
)

PRETOKENIZERS: dict[str, Rules] = {
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), _SMOLLM
    ),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "gigachat", "exaone4"), _PLAIN),
    **dict.fromkeys(
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "lfm2"),
        replace(_LLAMA3, whole_words=True, add_bos=True),
    ),
    **dict.fromkeys(("dbrx", "smaug-bpe"), _LLAMA3),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan", "solar-open"), _QWEN2),
    "tekken": _TEKKEN,
}
