"""Where the files of the proxies are: they belong to the repository and to wheels, not to this package."""

import importlib.util
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]


class Missing(Exception):
    """Something that the local topology needs is not there; the text says what to do."""


def from_repository(path: str) -> Path:
    """A folder of the repository. Raises `Missing` where this package was installed without one."""
    folder = _ROOT / path
    if not folder.is_dir():
        raise Missing(f"{folder} is not there: the local topology runs from a copy of the repository")
    return folder


def from_wheel(module: str, path: str) -> Path:
    """A program inside an installed package. Raises `Missing`."""
    spec = importlib.util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (program := Path(folder, path)).is_file():
            return program
    raise Missing(f"no {path} in the package {module}: `make setup` installs it, where it has this platform")
