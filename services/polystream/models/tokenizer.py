"""A GGUF file's tokenizer as one of the `tokenizers` package, and the bytes each of its tokens stands for.

Follows llama.cpp's `llama-vocab.cpp`, whose regular expressions and defaults these are: what cannot be done
exactly as there is refused. Byte-level BPE is kind `gpt2`, SentencePiece's BPE by scores kind `llama`.
"""

import re
from dataclasses import dataclass

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from polystream.models.errors import Damaged, ModelError, Refused
from polystream.models.metadata import Metadata
from polystream.models.pretokenizers import PRETOKENIZERS

#: `tokenizer.ggml.token_type`.
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
_SPACE = "▁"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
#: Texts of tokens that end an answer, whatever the metadata says.
_ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>",
    "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>",
    "<｜end▁of▁sentence｜>",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer and what goes with it. `tokens` are by id; `kind` is `gpt2` or `llama`."""

    kind: str
    tokens: list[str]
    tokenizer: Tokenizer
    bos: str | None
    eos: str | None
    eot: str | None
    unk: str | None
    ends: tuple[str, ...]
    add_bos: bool


def read_vocabulary(meta: Metadata) -> Vocabulary:
    """Raises `Refused` for what cannot be built exactly, `Damaged` for what is not all there."""
    kind = meta.text("tokenizer.ggml.model")
    if kind not in ("gpt2", "llama"):
        raise Refused(f"its tokenizer is of kind {kind or 'none'}; only gpt2 and llama can be converted")
    tokens = _tokens(meta)
    types = meta.list("tokenizer.ggml.token_type") or [1] * len(tokens)
    if len(types) != len(tokens):
        raise Damaged(f"there are {len(types)} token types for {len(tokens)} tokens")
    bos, eos, unk = (
        _special(meta, tokens, name, default if kind == "llama" else None)
        for name, default in (("bos", 1), ("eos", 2), ("unknown", 0))
    )
    eot = _special(meta, tokens, "eot", None)
    named = (eos, eot, _special(meta, tokens, "eom", None), *(end for end in _ENDS if end in set(tokens)))
    ends = tuple(dict.fromkeys(end for end in named if end is not None))
    try:
        tokenizer, add_bos = _byte_level(meta, tokens) if kind == "gpt2" else _by_scores(meta, tokens, unk)
        _add_special(tokenizer, tokens, types, ends)
    except ModelError:
        raise
    except Exception as error:  # the package raises nothing narrower, for a merge of tokens that do not exist
        raise Damaged(f"its tokenizer cannot be built ({error})") from None
    add_bos = meta.flag("tokenizer.ggml.add_bos_token", add_bos) and bos is not None
    return Vocabulary(kind, tokens, tokenizer, bos, eos, eot, unk, ends, add_bos)


def pieces(kind: str, tokenizer: Tokenizer, size: int) -> list[bytes]:
    """The bytes that each token stands for in running text, by id; b"" for control tokens and unknown ids.

    Bytes, because a token may end in mid-character. They are joined as they are: a blank before a word
    belongs to its token.
    """
    added = tokenizer.get_added_tokens_decoder()
    names = {number: token for token, number in tokenizer.get_vocab(with_added_tokens=True).items()}
    told = []
    for number in range(size):
        if number in added:
            told.append(b"" if added[number].special else added[number].content.encode())
        elif kind == "gpt2":
            told.append(_from_byte_level(names.get(number, "")))
        else:
            told.append(_from_sentencepiece(names.get(number, "")))
    return told


def _from_sentencepiece(token: str) -> bytes:
    if found := _BYTE.fullmatch(token):
        return bytes.fromhex(found[1])
    return token.replace(_SPACE, " ").encode()


def _from_byte_level(token: str) -> bytes:
    return b"".join(
        bytes((_BYTES[character],)) if character in _BYTES else character.encode() for character in token
    )


def _byte_characters() -> dict[str, int]:
    """GPT-2's table: printable bytes stand for themselves, the others from U+0100 on."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + n): byte for n, byte in enumerate(hidden)}


_BYTES = _byte_characters()


def _tokens(meta: Metadata) -> list[str]:
    tokens = [token or f"[EMPTY_{number}]" for number, token in enumerate(meta.list("tokenizer.ggml.tokens"))]
    if not tokens:
        raise Damaged("its tokenizer has no tokens")
    if len(set(tokens)) != len(tokens):
        raise Damaged("its tokenizer has a token twice")
    return tokens


def _special(meta: Metadata, tokens: list[str], name: str, default: int | None) -> str | None:
    number = meta.whole(f"tokenizer.ggml.{name}_token_id", -1 if default is None else default)
    return tokens[number] if 0 <= number < len(tokens) else None


def _add_special(tokenizer: Tokenizer, tokens: list[str], types: list[int], ends: tuple[str, ...]) -> None:
    special = [t for t, kind in zip(tokens, types, strict=True) if kind in (_CONTROL, _UNKNOWN) or t in ends]
    plain = [t for t, kind in zip(tokens, types, strict=True) if kind == _USER_DEFINED and t not in ends]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in plain])


def _byte_level(meta: Metadata, tokens: list[str]) -> tuple[Tokenizer, bool]:
    """Byte-level BPE by ranked merges, and whether a text begins with BOS unless the file says otherwise."""
    pre = meta.text("tokenizer.ggml.pre")
    if pre not in PRETOKENIZERS:
        raise Refused(f"its pre-tokenizer is {pre or 'not named'}, which the conversion does not know")
    rules = PRETOKENIZERS[pre]
    merges = []
    for merge in meta.list("tokenizer.ggml.merges"):
        blank = merge.find(" ", 1)
        merges.append((merge[:blank], merge[blank + 1 :]))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=rules.whole_words))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(expression), "isolated") for expression in rules.expressions]
        + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, rules.add_bos


def _by_scores(meta: Metadata, tokens: list[str], unk: str | None) -> tuple[Tokenizer, bool]:
    """SentencePiece's BPE: the neighbours whose joint token scores best are joined first."""
    scores = meta.list("tokenizer.ggml.scores")
    if len(scores) != len(tokens):
        raise Damaged(f"there are {len(scores)} scores for {len(tokens)} tokens")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    model = models.BPE(
        vocabulary, _merges(vocabulary, scores), unk_token=unk, fuse_unk=True, byte_fallback=True
    )
    tokenizer = Tokenizer(model)
    prefixed = meta.flag("tokenizer.ggml.add_space_prefix", True)
    escape = normalizers.Replace(" ", _SPACE)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(_SPACE), escape]) if prefixed else escape
    steps = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if prefixed else []))
    return tokenizer, True


def _merges(vocabulary: dict[str, int], scores: list[float]) -> list[tuple[str, str]]:
    """Every way to make a token of two others, best score first, as transformers' GGUF integration has it."""
    ways = []
    for token, score in zip(vocabulary, scores, strict=True):
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in vocabulary and right in vocabulary:
                ways.append((-score, vocabulary[left], vocabulary[right], left, right))
    ways.sort(key=lambda way: way[:3])
    return [(left, right) for *_, left, right in ways]
