"""Folders appear whole or not at all."""

import os
import threading
from pathlib import Path

import pytest

from polystream.models.staging import exclusive, new_folder


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def make(path: Path, error: BaseException | None = None) -> None:
    with exclusive(path, "m", unexpected), new_folder(path, "m") as part:
        (part / "a").write_text("x")
        if error:
            raise error


def unexpected() -> None:
    raise AssertionError("nobody had to be waited for")


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    with exclusive(tmp_path / "new", "m", unexpected), new_folder(tmp_path / "new", "m") as part:
        (part / "a").write_text("x")
        assert names(tmp_path / "new") == sorted([".m.lock", f".m.{os.getpid()}.part"])

    assert names(tmp_path / "new") == ["m"]
    assert (tmp_path / "new" / "m" / "a").read_text() == "x"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_nothing_is_left_of_a_folder_that_could_not_be_made(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        make(tmp_path, error)

    assert names(tmp_path) == []


def test_nothing_is_left_when_the_disk_refuses_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        make(tmp_path)

    assert names(tmp_path) == []


def test_what_the_dead_left_is_removed_and_what_the_living_make_is_not(tmp_path: Path) -> None:
    for name in ("dead", "m"):
        (tmp_path / f".{name}.1.part").mkdir()
        (tmp_path / f".{name}.1.part" / "model.bin").write_text("half")
        (tmp_path / f".{name}.lock").touch()
    with exclusive(tmp_path, "alive", unexpected), new_folder(tmp_path, "alive"):
        (tmp_path / ".dead.2.part").mkdir()
        (tmp_path / ".dead.lock").touch()

        with exclusive(tmp_path, "m", unexpected):
            assert names(tmp_path) == sorted([f".alive.{os.getpid()}.part", ".alive.lock", ".m.lock"])


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def second() -> None:
        with exclusive(tmp_path, "m", waits.set):
            order.append("second")

    with exclusive(tmp_path, "m", unexpected):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join(10)

    assert order == ["first", "second"]
    assert names(tmp_path) == []
