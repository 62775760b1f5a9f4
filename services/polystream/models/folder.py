"""A folder that `polystream convert` made, as an engine needs it: tokenizer, chat template and defaults.

The weights are left to CTranslate2. Whatever is missing or damaged is named.
"""

import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tokenizers import Tokenizer

from polystream.models.chat_template import ChatTemplate
from polystream.models.errors import Damaged
from polystream.models.sampling import Defaults
from polystream.models.staging import is_unfinished
from polystream.models.tokenizer import pieces

#: Of polystream.json and what stands beside it; a folder of another one is converted anew.
FORMAT = 1
_FILES = ("polystream.json", "model.bin", "config.json", "vocabulary.json", "tokenizer.json")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """`context_length` is in tokens. `pieces` are the bytes of each token in running text, by id.

    `marks_first_word`: a text's first word begins with the mark of a blank that is not there (SentencePiece).
    """

    path: Path
    name: str
    context_length: int
    tokenizer: Tokenizer
    template: ChatTemplate | None
    bos: str | None
    add_bos: bool
    end_tokens: tuple[str, ...]
    defaults: Defaults
    pieces: list[bytes]
    marks_first_word: bool
    _literal: Tokenizer

    def encode(self, text: str, *, special: bool) -> list[str]:
        """The text's tokens, as CTranslate2 takes them, with BOS once where the model wants one.

        `special`: whether the names of control tokens mean them, as in what a chat template has spelled; else
        they are text like any other, as a stranger's prompt must be.
        """
        tokenizer = self.tokenizer if special else self._literal
        tokens: list[str] = tokenizer.encode(text, add_special_tokens=False).tokens
        if self.add_bos and self.bos is not None and tokens[:1] != [self.bos]:
            tokens.insert(0, self.bos)
        return tokens


def load(path: str | os.PathLike[str]) -> ModelFolder:
    """Raises `Damaged`, which names what is missing, broken or of another format."""
    folder = Path(path)
    if not folder.is_dir():
        raise Damaged(f"{folder} is no folder")
    if is_unfinished(folder):
        raise Damaged(f"{folder} is a conversion that never ended")
    if missing := [name for name in _FILES if not (folder / name).is_file()]:
        raise Damaged(f"{folder} is no converted model: {', '.join(missing)} missing")
    about = _json(folder / "polystream.json")
    if about.get("format") != FORMAT:
        raise Damaged(f"{folder} is of format {about.get('format')} in place of {FORMAT}: convert it again")
    tokens = _json(folder / "vocabulary.json", list)
    tokenizer, literal = _tokenizer(folder), _tokenizer(folder)
    literal.encode_special_tokens = True
    kind = _field(about, folder, "tokenizer", str)
    bos, eos = (_field(about, folder, name, str, optional=True) for name in ("bos", "eos"))
    return ModelFolder(
        path=folder,
        name=_field(about, folder, "name", str),
        context_length=_field(about, folder, "context_length", int),
        tokenizer=tokenizer,
        template=_template(folder, bos, eos),
        bos=bos,
        add_bos=_field(about, folder, "add_bos", bool),
        end_tokens=tuple(map(str, _field(about, folder, "end_tokens", list))),
        defaults=_defaults(about, folder),
        pieces=pieces(kind, tokenizer, len(tokens)),
        marks_first_word=kind == "llama",
        _literal=literal,
    )


def _json(path: Path, kind: type[Any] = dict) -> Any:
    try:
        value = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise Damaged(f"{path} is damaged: {error}") from None
    if not isinstance(value, kind):
        raise Damaged(f"{path} is damaged: no {kind.__name__}")
    return value


def _tokenizer(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing narrower
        raise Damaged(f"{path} is damaged: {error}") from None


def _template(folder: Path, bos: str | None, eos: str | None) -> ChatTemplate | None:
    path = folder / "chat_template.jinja"
    if not path.is_file():
        return None
    try:
        return ChatTemplate(path.read_bytes().decode(), bos, eos)
    except UnicodeDecodeError as error:
        raise Damaged(f"{path} is damaged: {error}") from None


def _field(about: dict[str, Any], folder: Path, name: str, kind: type[T], optional: bool = False) -> Any:
    value = about.get(name)
    if not isinstance(value, kind) and not (optional and value is None):
        raise Damaged(f"{folder / 'polystream.json'} is damaged: {name} is no {kind.__name__}")
    return value


def _defaults(about: dict[str, Any], folder: Path) -> Defaults:
    told = _field(about, folder, "defaults", dict)
    for field in fields(Defaults):
        value = told.get(field.name)
        if isinstance(value, bool) or not isinstance(value, int | float if field.type is float else int):
            raise Damaged(f"{folder / 'polystream.json'} is damaged: defaults.{field.name} is no number")
    return Defaults(**{field.name: told[field.name] for field in fields(Defaults)})
