"""The architecture's import rules catch what they are there for: each is broken here, in a copy of the tree.

All breaches are planted at once, each in modules of its own, and one run of the linter must name them all.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAYERS = "A layer imports lower ones only, and no neighbour"
DIALECTS = "Only protocols' column imports dialects, and dialects no other column"
MODELS = "Only engines' column imports models, and models no other column"
CLIENT = "Client imports core and proto only"
CORE = "Core imports only the standard library"
PURE = "Dialects do no I/O"
BLACK_BOXES = "Integration, e2e and load tests know the stubs and the client only"
RULES = (LAYERS, DIALECTS, MODELS, CLIENT, CORE, PURE, BLACK_BOXES)

#: Parts of the package that are one file each.
NOT_PACKAGES = ("__main__", "cli", "app", "settings")

#: The rule, and who imports whom; in a chain of three the first breaks it through the one in the middle.
BREACHES = [
    (LAYERS, "polystream.cli", "polystream.__main__"),
    (LAYERS, "polystream.app", "polystream.cli"),
    (LAYERS, "polystream.protocols", "polystream.app"),
    (LAYERS, "polystream.engines", "polystream.app"),
    (LAYERS, "polystream.stores", "polystream.app"),
    (LAYERS, "polystream.dialects", "polystream.protocols"),
    (LAYERS, "polystream.models", "polystream.engines"),
    (LAYERS, "polystream.edge", "polystream.dialects"),
    (LAYERS, "polystream.edge", "polystream.stores"),
    (LAYERS, "polystream.settings", "polystream.edge"),
    (LAYERS, "polystream.core", "polystream.settings"),
    (LAYERS, "polystream.proto", "polystream.settings"),
    (LAYERS, "polystream.core", "polystream.proto"),
    (LAYERS, "polystream.proto", "polystream.core"),
    (LAYERS, "polystream.protocols", "polystream.engines"),
    (LAYERS, "polystream.protocols", "polystream.stores"),
    (LAYERS, "polystream.engines", "polystream.stores"),
    (LAYERS, "polystream.stores", "polystream.engines"),
    (LAYERS, "polystream.local", "polystream.protocols"),
    (LAYERS, "polystream.protocols", "polystream.client"),
    (LAYERS, "polystream.client", "polystream.stores"),
    (DIALECTS, "polystream.stores", "polystream.dialects"),
    (DIALECTS, "polystream.engines", "polystream.dialects"),
    (DIALECTS, "polystream.client", "polystream.dialects"),
    (DIALECTS, "polystream.dialects", "polystream.engines"),
    (MODELS, "polystream.protocols", "polystream.models"),
    (MODELS, "polystream.stores", "polystream.models"),
    (MODELS, "polystream.models", "polystream.stores"),
    (CLIENT, "polystream.client", "polystream.edge"),
    (CLIENT, "polystream.client", "polystream.settings"),
    (CORE, "polystream.core", "msgspec"),
    (CORE, "polystream.core", "google"),
    (CORE, "polystream.core", "a_package_of_tomorrow"),
    (PURE, "polystream.dialects", "asyncio"),
    (PURE, "polystream.dialects", "http"),
    (PURE, "polystream.dialects", "fastapi"),
    (PURE, "polystream.dialects", "polystream.edge", "socket"),
    (BLACK_BOXES, "tests.integration", "polystream.core"),
    (BLACK_BOXES, "tests.load", "polystream.app"),
    (BLACK_BOXES, "tests.e2e", "polystream.engines"),
    (BLACK_BOXES, "tests.integration", "tests.clients", "polystream.core"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the Python files of the package and the tests, beside their configuration."""
    copy = tmp_path_factory.mktemp("tree")
    for folder in ("services", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=all_but_python)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def all_but_python(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".py") and not Path(folder, name).is_dir()]


def lint(tree: Path) -> tuple[int, str]:
    """The linter's exit status over a copy, and what it says."""
    program = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", program, "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(tree / "services"), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def plant(tree: Path, name: str, number: int, line: str = "") -> str:
    """Put `line` into a new module of package `name`, or into the module `name`; its name is returned."""
    home = (tree / "services" if name.startswith("polystream.") else tree) / name.replace(".", "/")
    if home.name in NOT_PACKAGES:
        file = home.with_suffix(".py")
    else:
        home.mkdir(exist_ok=True)
        (home / "__init__.py").touch()
        file, name = home / f"planted_{number}.py", f"{name}.planted_{number}"
    with file.open("a") as text:
        text.write(f"\n{line}\n")
    return name


def plant_chain(tree: Path, number: int, chain: tuple[str, ...]) -> str:
    """Plant a breach; the line with which the linter must report it is returned."""
    *importers, imported = chain
    if imported.startswith("polystream."):
        imported = plant(tree, imported, number)
    line = ""
    for name in reversed(importers):
        importer = plant(tree, name, number, f"import {imported}")
        line = f"{importer} -> {imported} ("
        imported = importer
    return line


@pytest.fixture(scope="module")
def reports(tree: Path) -> dict[tuple[str, ...], tuple[str, str]]:
    """For each breach, what the linter said of its rule, and the line that must stand there."""
    copy = shutil.copytree(tree, tree.parent / "planted")
    lines = {breach: plant_chain(copy, number, breach[1:]) for number, breach in enumerate(BREACHES)}
    status, said = lint(copy)
    assert status == 1, said
    details = said.partition("Broken contracts")[2]
    sections = {rule: details.partition(f"{rule}\n---")[2].partition("\n---")[0] for rule in RULES}
    return {breach: (sections[breach[0]], line) for breach, line in lines.items()}


def test_the_tree_as_it_stands_keeps_every_rule(tree: Path) -> None:
    status, said = lint(tree)
    assert status == 0, said
    assert f"{len(RULES)} kept, 0 broken" in said


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: " > ".join(breach[1:]))
def test_a_planted_breach_is_reported(
    reports: dict[tuple[str, ...], tuple[str, str]], breach: tuple[str, ...]
) -> None:
    said, line = reports[breach]
    assert line in said


def test_a_new_part_of_the_package_must_be_given_its_place(tree: Path) -> None:
    copy = shutil.copytree(tree, tree.parent / "grown")
    (copy / "services/polystream/helpers.py").touch()
    status, said = lint(copy)
    assert status == 1, said
    assert "polystream.helpers" in said
