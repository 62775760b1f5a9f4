"""Tokenizers as llama.cpp's source has them (`llama-vocab.cpp`, `unicode.cpp`), without regard to speed."""

import unicodedata
from itertools import pairwise
from typing import Any

from tests.gguf_files import bytes_to_characters

#: Unicode's White_Space; Python's `isspace` knows more.
BLANKS = {
    *map(chr, range(9, 14)), " ", "\x85", "\xa0", "\u1680", *map(chr, range(0x2000, 0x200B)),
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000",
}  # fmt: skip
BYTES = bytes_to_characters()
CLITICS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def by_scores(text: str, told: dict[str, Any], prefix: str = " ") -> list[str]:
    """`llm_tokenizer_spm`: the neighbours whose token scores best are joined, the leftmost of equals."""
    known = dict(zip(told["tokenizer.ggml.tokens"], told["tokenizer.ggml.scores"], strict=True))
    symbols = list((prefix + text).replace(" ", "▁")) if text else []
    while pairs := [
        (-known[left + right], at)
        for at, (left, right) in enumerate(pairwise(symbols))
        if left + right in known
    ]:
        at = min(pairs)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
    return [
        token
        for symbol in symbols
        for token in ([symbol] if symbol in known else [f"<0x{byte:02X}>" for byte in symbol.encode()])
    ]


def byte_level(text: str, told: dict[str, Any]) -> list[str]:
    """`llm_tokenizer_bpe`: each word by itself; neighbours are joined whose merge was learned first."""
    pre, known = told["tokenizer.ggml.pre"], set(told["tokenizer.ggml.tokens"])
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(told["tokenizer.ggml.merges"])}
    out = []
    for word in words(text, pre):
        symbols = [BYTES[byte] for byte in word.encode()]
        if pre == "llama-bpe" and "".join(symbols) in known:
            out.append("".join(symbols))
            continue
        while pairs := [(ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks]:
            at = min(pairs)[1]
            symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
        out += symbols
    return out


def words(text: str, pre: str) -> list[str]:
    """The words of a text, by the pre-tokenizer's name."""
    match pre:
        case "gpt-2":
            return _gpt2(text)
        case "smollm":  # each digit by itself first
            fragments = [""]
            for character in text:
                fragments += [character, ""] if _kind(character) == "N" else []
                fragments[-1] += "" if _kind(character) == "N" else character
            return [word for fragment in fragments for word in _gpt2(fragment)]
        case "llama-bpe" | "qwen2":
            return _llama3(text, digits=3 if pre == "llama-bpe" else 1)
    raise NotImplementedError(pre)


def _kind(character: str) -> str:
    """L a letter, N a number, S a blank, O any other."""
    if character in BLANKS:
        return "S"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "O"


def _run(text: str, at: int, kind: str, most: int | None = None) -> int:
    """Where the characters of this kind end."""
    end = at
    while end < len(text) and _kind(text[end]) == kind and (most is None or end - at < most):
        end += 1
    return end


def _gpt2(text: str) -> list[str]:
    """`unicode_regex_split_custom_gpt2`."""
    out, at = [], 0
    while at < len(text):
        end = next((at + len(clitic) for clitic in CLITICS if text.startswith(clitic, at)), at)
        if end == at:
            start = at + (text[at] == " ")
            kind = _kind(text[start]) if start < len(text) else "S"
            end = _blanks(text, at) if kind == "S" else _run(text, start, kind)
        out.append(text[at:end])
        at = end
    return out


def _llama3(text: str, digits: int) -> list[str]:
    """`unicode_regex_split_custom_llama3`, and qwen 2's with one digit."""
    out, at = [], 0
    while at < len(text):
        end = _llama3_word(text, at, digits)
        out.append(text[at:end])
        at = end
    return out


def _llama3_word(text: str, at: int, digits: int) -> int:
    if text[at] == "'":
        for clitic in CLITICS:
            if text[at : at + len(clitic)].translate({n: n + 32 for n in range(65, 91)}) == clitic:
                return at + len(clitic)
    if _kind(text[at]) == "L":
        return _run(text, at, "L")
    if text[at] not in "\r\n" and _kind(text[at]) != "N" and _run(text, at + 1, "L") > at + 1:
        return _run(text, at + 1, "L")
    if _kind(text[at]) == "N":
        return _run(text, at, "N", digits)
    start = at + (text[at] == " ")
    if (end := _run(text, start, "O")) > start:
        while end < len(text) and text[end] in "\r\n":
            end += 1
        return end
    end = _run(text, at, "S")
    newline = max(text.rfind("\n", at, end), text.rfind("\r", at, end))
    return newline + 1 if newline >= 0 else _blanks(text, at)


def _blanks(text: str, at: int) -> int:
    """All blanks at the end of a text, else all but the last of several."""
    end = _run(text, at, "S")
    return end if end == len(text) or end - at == 1 else end - 1
