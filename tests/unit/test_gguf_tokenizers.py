"""Tokenizers built from a GGUF file's metadata cut texts as llama.cpp does."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polystream.models.errors import Damaged, Refused
from polystream.models.metadata import Metadata
from polystream.models.tokenizer import Vocabulary, pieces, read_vocabulary
from tests.gguf_files import CORPUS, gpt2_tokenizer, llama_tokenizer
from tests.slow_tokenizers import BYTES, by_scores, byte_level, words

LLAMA = llama_tokenizer()
#: Assigned characters only: which of the others are letters is a matter of Unicode's version.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cs", "Cn", "Co"))
PARTS = [
    *CORPUS.split(), *(token for token in LLAMA["tokenizer.ggml.tokens"][3:] if token[0] != "<"),
    " ", "  ", "\n", "\r\n", "\t", "\u3000", "'s", "'LL", "'Re", "12345", "½", "🙂",
    "👩‍👩‍👧", "ſ", "\x00", "_", "!?", "<",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=30),
    st.lists(st.one_of(st.sampled_from(PARTS), st.text(CHARACTERS, max_size=3)), max_size=14).map("".join),
)


def built(told: dict[str, Any], **change: Any) -> Vocabulary:
    told = told | {f"tokenizer.ggml.{name}": value for name, value in change.items()}
    return read_vocabulary(Metadata({"general.architecture": "llama", **told}))


def test_a_sentencepiece_tokenizer_joins_by_score() -> None:
    tokenizer = built(LLAMA).tokenizer
    tokenizer.encode_special_tokens = True  # their names are text here

    @given(TEXTS)
    @example("The cat  sat 日本語 🙂 ▁ the")
    @example("   ")
    def check(text: str) -> None:
        assert tokenizer.encode(text).tokens == by_scores(text, LLAMA)

    check()


def test_a_sentencepiece_tokenizer_may_put_no_blank_before() -> None:
    told = built(LLAMA, add_space_prefix=False)

    assert told.tokenizer.encode("the cat").tokens == by_scores("the cat", LLAMA, prefix="")
    assert told.tokenizer.encode("the cat").tokens != built(LLAMA).tokenizer.encode("the cat").tokens


def test_a_blank_goes_before_each_text_between_control_tokens() -> None:
    told = built(LLAMA).tokenizer.encode("<s>the</s>cat").tokens

    assert told == ["<s>", *by_scores("the", LLAMA), "</s>", *by_scores("cat", LLAMA)]


@pytest.mark.parametrize("pre", ["smollm", "gpt-2", "llama-bpe", "qwen2"])
def test_a_byte_level_tokenizer_joins_by_rank_within_words(pre: str) -> None:
    told = gpt2_tokenizer(pre)
    tokenizer = built(told).tokenizer
    tokenizer.encode_special_tokens = True  # their names are text here

    @given(TEXTS)
    @example("it's 1234 IT'S  \n\n the\t\tcat's 日本語… a\r\n\r\nb   c ")
    def check(text: str) -> None:
        text = text.replace("[thing]", "")
        assert tokenizer.encode(text).tokens == byte_level(text, told)

    check()


@pytest.mark.parametrize("pre", ["smollm", "gpt-2", "llama-bpe", "qwen2"])
def test_texts_are_cut_into_the_same_words(pre: str) -> None:
    """Also where no merge would go across: a larger vocabulary has one."""
    cut = built(gpt2_tokenizer(pre)).tokenizer.pre_tokenizer

    @given(TEXTS)
    @example("it's 12345 IT'S  \n\n the\t\tcat's 日本語… a \r\n\r\n b   c ½!\n")
    @example("'Sun 'TEN 'ReX 'vEx 'Mx 'LLx 'Dx 'sx\n   b\n\n\t\tc")
    def check(text: str) -> None:
        told = [word for word, _ in cut.pre_tokenize_str(text)]
        assert told == ["".join(BYTES[byte] for byte in word.encode()) for word in words(text, pre)]

    check()


def test_a_whole_word_that_is_a_token_needs_no_merges() -> None:
    """llama 3 has such tokens, which no sequence of merges leads to."""
    told = gpt2_tokenizer("llama-bpe")
    told["tokenizer.ggml.tokens"] = [*told["tokenizer.ggml.tokens"], "Ġzyx"]
    told["tokenizer.ggml.token_type"] = [*told["tokenizer.ggml.token_type"], 1]

    assert built(told).tokenizer.encode("a zyx").tokens == ["a", "Ġzyx"]
    assert built(told, pre="gpt-2").tokenizer.encode("a zyx").tokens == ["a", "Ġ", "z", "y", "x"]


def test_tekken_parts_words_before_upper_case() -> None:
    tokenizer = built(gpt2_tokenizer("tekken")).tokenizer

    told = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str("theCat SATdown 123 x/\n")]

    assert told == ["the", "Cat", "ĠSATdown", "Ġ", "1", "2", "3", "Ġx", "/Ċ"]


@pytest.mark.parametrize("told", [LLAMA, gpt2_tokenizer()], ids=["llama", "gpt2"])
def test_the_pieces_of_a_text_are_its_bytes(told: dict[str, Any]) -> None:
    vocabulary = built(told)
    bytes_of = pieces(vocabulary.kind, vocabulary.tokenizer, len(vocabulary.tokens))
    prefix = b" " if vocabulary.kind == "llama" else b""
    vocabulary.tokenizer.encode_special_tokens = True  # their names are text here

    @given(TEXTS.filter(bool))
    def check(text: str) -> None:
        text = text.replace("▁", "")  # stands for a blank in one of them
        ids = vocabulary.tokenizer.encode(text).ids
        assert b"".join(bytes_of[number] for number in ids) == (prefix + text.encode() if text else b"")

    check()


def test_pieces_keep_every_blank() -> None:
    tokens = ["<unk>", "<s>", "</s>", "▁The", "▁cat", "▁s", "at", "▁", "▁down", ".", "<0xF0>", "tool▁"]
    vocabulary = built(
        LLAMA, tokens=tokens, token_type=[2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 6, 4], scores=[0.0] * len(tokens)
    )

    told = pieces("llama", vocabulary.tokenizer, len(tokens))

    assert b"".join(told[3:10]) == b" The cat sat  down."
    assert told[:3] == [b"", b"", b""]
    assert told[10:] == [b"\xf0", "tool▁".encode()]


@pytest.mark.parametrize(
    ("told", "add_bos"),
    [(LLAMA, True), (gpt2_tokenizer("smollm"), False), (gpt2_tokenizer("llama-bpe"), True)],
    ids=["llama", "smollm", "llama-bpe"],
)
def test_bos_is_added_by_default_as_llama_cpp_does(told: dict[str, Any], add_bos: bool) -> None:
    assert built(told).add_bos is add_bos
    assert built(told, add_bos_token=not add_bos).add_bos is not add_bos


def test_tokens_that_end_an_answer_are_those_named_and_those_of_known_texts() -> None:
    told = gpt2_tokenizer()
    size = len(told["tokenizer.ggml.tokens"])
    told["tokenizer.ggml.tokens"] += ["<|eot_id|>", "<my_end>", "<|end|>"]
    told["tokenizer.ggml.token_type"] += [1, 3, 4]

    vocabulary = built(told, eot_token_id=size + 1)

    assert vocabulary.ends == ("<|im_end|>", "<my_end>", "<|eot_id|>", "<|end|>", "<|endoftext|>")
    assert pieces("gpt2", vocabulary.tokenizer, size + 3)[size:] == [b"", b"", b""]


REFUSED = {
    "its tokenizer is of kind bert; only gpt2 and llama can be converted": {"model": "bert"},
    "its tokenizer is of kind t5; only gpt2 and llama can be converted": {"model": "t5"},
    "its tokenizer is of kind rwkv; only gpt2 and llama can be converted": {"model": "rwkv"},
    "its pre-tokenizer is viking, which the conversion does not know": {"pre": "viking"},
    "its pre-tokenizer is not named, which the conversion does not know": {"pre": ""},
}
DAMAGED = {
    "its tokenizer has no tokens": {"tokens": []},
    "its tokenizer has a token twice": {"tokens": ["a", "b", "a"]},
    "there are 1 token types for 2 tokens": {"tokens": ["a", "b"], "token_type": [1]},
    "tokenizer.ggml.add_bos_token is no bool": {"add_bos_token": 3},
    "its tokenizer cannot be built (Error while initializing BPE: Token `qq` out of vocabulary)": {
        "merges": ["qq r"]
    },
}


@pytest.mark.parametrize(("words", "change"), REFUSED.items())
def test_what_cannot_be_built_exactly_is_refused(words: str, change: dict[str, Any]) -> None:
    with pytest.raises(Refused) as caught:
        built(gpt2_tokenizer(), **change)

    assert str(caught.value) == words


@pytest.mark.parametrize(("words", "change"), DAMAGED.items())
def test_what_is_not_all_there_is_told(words: str, change: dict[str, Any]) -> None:
    with pytest.raises(Damaged) as caught:
        built(gpt2_tokenizer(), **change)

    assert str(caught.value) == words


def test_scores_are_wanted_for_each_token() -> None:
    with pytest.raises(Damaged, match="there are 1 scores for"):
        built(LLAMA, scores=[0.0])
