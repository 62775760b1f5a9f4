"""The locked packages are what pyproject.toml asks for, each with its hashes, and from no named place."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["model"]
RUN = PROJECT["dependency-groups"]["run"]
DEV = [requirement for requirement in PROJECT["dependency-groups"]["dev"] if isinstance(requirement, str)]
PARTS = ["runtime", "run", "dev"]


def locked(part: str) -> dict[str, str]:
    """Each locked package's name and what follows it, up to the next."""
    text = (ROOT / "requirements" / f"{part}.txt").read_text(encoding="utf-8")
    entries = re.findall(r"^([a-z0-9-]+)(==.*?)(?=^[a-z0-9-]+==|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return dict(entries)


@pytest.mark.parametrize(
    ("part", "wanted"), [("runtime", RUNTIME), ("run", RUNTIME + RUN), ("dev", RUNTIME + RUN + DEV)]
)
def test_every_dependency_is_locked(part: str, wanted: list[str]) -> None:
    names = {re.split(r"[^A-Za-z0-9_-]", requirement)[0] for requirement in wanted}
    assert names - locked(part).keys() == set()


@pytest.mark.parametrize("part", PARTS)
def test_every_locked_package_has_its_hashes(part: str) -> None:
    packages = locked(part)
    assert len(packages) > 20
    assert [name for name, entry in packages.items() if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_lock_names_no_address(part: str) -> None:
    text = (ROOT / "requirements" / f"{part}.txt").read_text(encoding="utf-8")
    assert re.findall(r"\S*://\S*|^--(?!hash).*", text, flags=re.MULTILINE) == []


@pytest.mark.parametrize("part", ["run", "dev"])
def test_developers_run_what_is_shipped(part: str) -> None:
    runtime, tried = locked("runtime"), locked(part)
    assert {name: entry.split()[0] for name, entry in runtime.items()} == {
        name: tried[name].split()[0] for name in runtime
    }
