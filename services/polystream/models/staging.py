"""Folders that appear whole or not at all, however many processes make them and whenever one is killed.

Each name has a lock, which the kernel gives back when its holder dies. Whoever holds it works in a temporary
folder beside the final one, and knows that any other temporary folder of that name is a dead process's.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

_LOCK, _PART = ".lock", ".part"


@contextlib.contextmanager
def exclusive(models_dir: Path, name: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of `name`; then what dead processes left is removed.

    `waiting` is called when another process holds it and has to be waited for.
    """
    models_dir.mkdir(parents=True, exist_ok=True)
    lock = models_dir / f".{name}{_LOCK}"
    if (handle := _lock(lock)) is None:
        waiting()
        handle = _wait(lock)
    try:
        remove_leftovers(models_dir, besides=lock)
        _remove_parts(models_dir, name)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


@contextlib.contextmanager
def new_folder(models_dir: Path, name: str) -> Iterator[Path]:
    """A temporary folder that becomes `name` when the block ends well and is removed when it does not.

    The lock of `name` must be held. What is inside is on the disk before the name is.
    """
    part = models_dir / f".{name}.{os.getpid()}{_PART}"
    try:
        part.mkdir()
        yield part
        for path in (*part.iterdir(), part):
            _sync(path)
        os.replace(part, models_dir / name)
        _sync(models_dir)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def is_unfinished(path: Path) -> bool:
    """Whether this is a temporary folder, of a process that lives or one that was killed."""
    return path.name.startswith(".") and path.name.endswith(_PART)


def remove_leftovers(models_dir: Path, besides: Path | None = None) -> None:
    """Remove what killed processes left of any name: those whose lock nobody holds."""
    for lock in models_dir.glob(f".*{_LOCK}"):
        if lock == besides or (handle := _lock(lock)) is None:
            continue
        _remove_parts(models_dir, lock.name.removeprefix(".").removesuffix(_LOCK))
        lock.unlink(missing_ok=True)
        os.close(handle)


def _remove_parts(models_dir: Path, name: str) -> None:
    for part in models_dir.iterdir():
        if is_unfinished(part) and part.name.startswith(f".{name}."):
            shutil.rmtree(part, ignore_errors=True)


def _wait(path: Path) -> int:
    while (handle := _lock(path, fcntl.LOCK_EX)) is None:
        pass
    return handle


def _lock(path: Path, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> int | None:
    """A handle that holds the lock, or None: it is held, or its holder removed the file meanwhile."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, how)
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
