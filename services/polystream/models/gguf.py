"""GGUF → CTranslate2, without torch: what `polystream convert` does, once for each file and quantisation.

The folder's name ends with the file's digest, so that a changed file is another model. It appears whole or
not at all, and holds everything an engine needs; the GGUF file may go.
"""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from polystream.models.digests import digest
from polystream.models.errors import Refused
from polystream.models.folder import FORMAT
from polystream.models.metadata import Metadata, read
from polystream.models.network import Network
from polystream.models.progress import Progress, unheard
from polystream.models.sampling import read_defaults
from polystream.models.shape import Shape, read_shape
from polystream.models.staging import exclusive, new_folder
from polystream.models.tokenizer import Vocabulary, read_vocabulary
from polystream.models.weights import QUANTIZATIONS

_SLUG_MAX = 60


def convert(
    path: Path,
    models_dir: Path,
    quantization: str = "int8",
    *,
    name: str | None = None,
    progress: Progress = unheard,
) -> Path:
    """The CTranslate2 folder of the GGUF file at `path`, made in `models_dir` unless it is there already.

    `name` is what the model is called, by default what the file says, else the file's own name. Raises
    `Refused` for what cannot be converted exactly, `Damaged` for what is no whole GGUF file, `OSError` for a
    disk that is full or files that cannot be read; nothing is left behind then.
    """
    if quantization not in QUANTIZATIONS:
        raise Refused(f"the quantization {quantization} is none of {', '.join(QUANTIZATIONS)}")
    sha256 = digest(path, models_dir, progress)
    ending = f"-{sha256[:16]}-{quantization}"
    if found := _existing(models_dir, slug(name) + ending if name else f"*{ending}"):
        return found
    meta, tensors = read(path)
    name = name or meta.text("general.name") or path.stem
    folder = models_dir / (slug(name) + ending)
    with exclusive(models_dir, folder.name, lambda: progress("waiting for another conversion", 0, 0)):
        if not is_whole(folder):
            with new_folder(models_dir, folder.name) as part:
                source = {"file": path.name, "size": path.stat().st_size, "sha256": sha256}
                about = {"format": FORMAT, "name": name, "source": source, "quantization": quantization}
                _write(part, meta, tensors, quantization, about, progress)
    return folder


def slug(name: str) -> str:
    """The name in lower case, of letters, digits, dots and hyphens only, as part of a folder's name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())[:_SLUG_MAX].strip("-.") or "model"


def is_whole(folder: Path) -> bool:
    """Whether a conversion of this format ended here."""
    try:
        return bool(json.loads((folder / "polystream.json").read_text("utf-8"))["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _existing(models_dir: Path, pattern: str) -> Path | None:
    return next((path for path in sorted(models_dir.glob(pattern)) if is_whole(path)), None)


def _write(
    folder: Path,
    meta: Metadata,
    tensors: dict[str, Any],
    quantization: str,
    about: dict[str, Any],
    progress: Progress,
) -> None:
    shape, vocabulary = read_shape(meta), read_vocabulary(meta)
    done = 0

    def written(size: int) -> None:
        nonlocal done
        done += size
        progress("converting", done, network.size)

    network = Network(shape, tensors, quantization, written)
    if network.spec.get_vocabulary_size() != len(vocabulary.tokens):
        rows = network.spec.get_vocabulary_size()
        raise Refused(f"it has embeddings for {rows} tokens and names {len(vocabulary.tokens)}")
    parameters = sum(int(np.prod(tensor.shape)) for tensor in tensors.values())
    unk, eos = vocabulary.unk or "", vocabulary.eos or ""
    network.save(str(folder), vocabulary.tokens, {"unk": unk, "bos": vocabulary.bos or eos, "eos": eos})
    vocabulary.tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    if template := meta.text("tokenizer.chat_template"):
        (folder / "chat_template.jinja").write_text(template, "utf-8", newline="")
    about |= _describe(meta, shape, vocabulary, parameters)
    (folder / "polystream.json").write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def _describe(meta: Metadata, shape: Shape, vocabulary: Vocabulary, parameters: int) -> dict[str, Any]:
    return {
        "context_length": shape.context,
        "parameters": parameters,
        "tokenizer": vocabulary.kind,
        "bos": vocabulary.bos,
        "eos": vocabulary.eos,
        "eot": vocabulary.eot,
        "end_tokens": list(vocabulary.ends),
        "add_bos": vocabulary.add_bos,
        "defaults": asdict(read_defaults(meta, parameters, shape.context)),
    }
