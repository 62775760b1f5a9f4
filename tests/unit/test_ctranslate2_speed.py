"""Threads: the fewest that are worth it, of the cores that this process may use, measured once a machine."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polystream.engines import ctranslate2_speed
from polystream.engines.ctranslate2_speed import Speed, choose, fastest, usable_cores
from polystream.models.folder import ModelFolder


@pytest.mark.parametrize(
    ("rates", "best"),
    [
        ({1: 49, 2: 35}, 1),
        ({1: 49, 2: 55}, 1),
        ({1: 49, 2: 60}, 2),
        ({1: 10, 2: 20, 4: 22}, 2),
        ({1: 10, 2: 20, 4: 40}, 4),
        ({1: 5}, 1),
    ],
)
def test_the_fewest_threads_that_are_worth_it(rates: dict[int, float], best: int):
    assert fastest(rates) == best


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("1600000 100000", 8), ("x", 8)],
)
def test_a_container_s_limit_counts(quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert usable_cores(tmp_path / "cpu.max") == cores


def test_without_a_limit_the_affinity_counts(tmp_path: Path):
    assert usable_cores(tmp_path / "absent") == len(os.sched_getaffinity(0))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Four cores on which two threads are best; one entry for each measurement."""
    calls: list[int] = []

    def measure(folder: Any, cores: int) -> tuple[dict[int, float], bool]:
        calls.append(cores)
        return {1: 10.0, 2: 18.0, 4: 18.5}, folder.name != "busy"

    monkeypatch.setattr(ctranslate2_speed, "usable_cores", lambda: 4)
    monkeypatch.setattr(ctranslate2_speed, "_measure", measure)
    return calls


def folder_at(path: Path, name: str = "m") -> ModelFolder:
    """As much of a model as is looked at."""
    return cast(ModelFolder, SimpleNamespace(path=path, name=name))


def test_a_machine_is_measured_once(measured: list[int], tmp_path: Path):
    assert choose(folder_at(tmp_path)) == Speed(2, 2)
    assert choose(folder_at(tmp_path)) == Speed(2, 2)
    assert measured == [4]
    (kept,) = json.loads((tmp_path / "speed.json").read_text()).values()
    assert kept == {"threads": 2, "tokens_per_s": {"1": 10.0, "2": 18.0, "4": 18.5}}


def test_what_a_busy_machine_gave_is_not_kept(measured: list[int], tmp_path: Path):
    assert choose(folder_at(tmp_path, "busy")) == Speed(2, 2)
    assert not (tmp_path / "speed.json").exists()


def test_another_machine_is_measured_anew(measured: list[int], tmp_path: Path):
    choose(folder_at(tmp_path))
    file = tmp_path / "speed.json"
    kept = {"other": {"threads": 1}} | json.loads(file.read_text())
    file.write_text(json.dumps(dict(list(kept.items())[:1])))
    assert choose(folder_at(tmp_path)).threads == 2
    assert len(measured) == 2
    assert set(json.loads(file.read_text())) > {"other"}


def test_what_was_asked_for_is_not_measured(measured: list[int], tmp_path: Path):
    assert choose(folder_at(tmp_path), threads=3) == Speed(3, 1)
    assert choose(folder_at(tmp_path), threads=1, workers=7) == Speed(1, 7)
    assert measured == []


@pytest.mark.parametrize("kept", ["", "{", "[]", '"x"'])
def test_a_measure_that_cannot_be_read_is_made_anew(kept: str, measured: list[int], tmp_path: Path):
    (tmp_path / "speed.json").write_text(kept)
    assert choose(folder_at(tmp_path)) == Speed(2, 2)
    assert measured == [4]


def test_a_folder_that_cannot_be_written_is_measured_at_each_start(measured: list[int], tmp_path: Path):
    absent = folder_at(tmp_path / "absent")
    assert [choose(absent), choose(absent)] == [Speed(2, 2)] * 2
    assert measured == [4, 4]
