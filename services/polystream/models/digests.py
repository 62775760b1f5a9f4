"""SHA-256 digests of model files, remembered: reading gigabytes again at each start would cost it minutes.

A file is taken for the same while its path, size and time of change are.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from polystream.models.progress import Progress

_INDEX = "digests.json"
_CHUNK = 4 * 1024 * 1024
#: Old entries go first.
_MAX_ENTRIES = 256


def digest(path: Path, models_dir: Path, progress: Progress) -> str:
    """The file's SHA-256 in hexadecimal, from the index in `models_dir` or by reading all of it.

    Raises `OSError` for a file that cannot be read. An index that cannot be kept is done without.
    """
    path = path.resolve()
    stat = path.stat()
    known = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    entry = _load(models_dir).get(str(path))
    if isinstance(entry, dict) and entry | known == entry and isinstance(entry.get("sha256"), str):
        return str(entry["sha256"])
    found = _read(path, stat.st_size, progress)
    after = path.stat()
    if (after.st_size, after.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns):
        _remember(models_dir, str(path), known | {"sha256": found})
    return found


def _read(path: Path, size: int, progress: Progress) -> str:
    told = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            told.update(chunk)
            done += len(chunk)
            progress("reading", done, size)
    return told.hexdigest()


def _load(models_dir: Path) -> dict[str, Any]:
    try:
        index = json.loads((models_dir / _INDEX).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return index if isinstance(index, dict) else {}


def _remember(models_dir: Path, path: str, entry: dict[str, Any]) -> None:
    """Two processes at once may lose one's entry, never the file."""
    index = {name: known for name, known in _load(models_dir).items() if name != path} | {path: entry}
    index = dict(list(index.items())[-_MAX_ENTRIES:])
    part = models_dir / f".{_INDEX}.{os.getpid()}"
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(index, indent=2), "utf-8")
        os.replace(part, models_dir / _INDEX)
    except OSError:
        part.unlink(missing_ok=True)
