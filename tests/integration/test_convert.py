"""`polystream convert` as users meet it: a real model, a full disk, Ctrl-C, and processes that are killed."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import ctranslate2
import jinja2
import pytest
from tokenizers import Tokenizer

from tests import gguf_files

DEADLINE_S = 120.0
LOADS = "import sys; from polystream.models.folder import load; load(sys.argv[1])"


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "polystream", "convert", *map(str, arguments)]


def environment(tmp_path: Path) -> dict[str, str]:
    """Ours, with a cache of its own and no MODEL."""
    told = {name: value for name, value in os.environ.items() if name not in ("MODEL", "MODELS_DIR")}
    return told | {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def convert(tmp_path: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env=environment(tmp_path), capture_output=True, text=True, timeout=DEADLINE_S
    )


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir()) if path.exists() else []


def poll(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.002)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that takes a while: there is time to kill the process that converts it."""
    network = gguf_files.Network(
        layers=40, width=256, heads=4, head_dim=64, inner=1024, kind=gguf_files.Types.Q4_1
    )
    path = tmp_path_factory.mktemp("files") / "large.gguf"
    gguf_files.write(path, network)
    return path


def test_the_small_model_converts_and_knows_the_capital_of_france(tmp_path: Path) -> None:
    told = convert(tmp_path)

    assert told.returncode == 0, told.stderr
    folder = Path(told.stdout.removesuffix("\n"))
    assert folder.parent == tmp_path / "cache" / "polystream" / "models"
    assert folder.name.startswith("smollm2-b179c9523d0e6a0f-int8")
    about = json.loads((folder / "polystream.json").read_text())
    assert about["name"] == "smollm2"
    assert about["parameters"] == 134_515_008
    answer = ask(folder, "What is the capital of France?", about["end_tokens"])
    assert "Paris" in answer
    assert [line for line in told.stderr.splitlines() if line.startswith("converting: 100 % of")]
    assert len(told.stderr.splitlines()) <= 23

    again = convert(tmp_path)

    assert (again.stdout, again.stderr) == (told.stdout, "")


def ask(folder: Path, question: str, ends: list[str]) -> str:
    """The greedy answer, by nothing but what stands in the folder."""
    template = jinja2.Template((folder / "chat_template.jinja").read_text())
    messages = [{"role": "user", "content": question}]
    prompt = template.render(messages=messages, add_generation_prompt=True)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    told = ctranslate2.Generator(str(folder), intra_threads=1).generate_batch(
        [tokenizer.encode(prompt).tokens],
        max_length=32,
        sampling_topk=1,
        end_token=ends,
        include_prompt_in_result=False,
    )
    return str(tokenizer.decode(told[0].sequences_ids[0]))


@pytest.mark.parametrize("moment", ["folder", "half", "files"])
def test_a_killed_conversion_leaves_no_model_and_the_next_one_cleans_up(
    tmp_path: Path, large: Path, moment: str
) -> None:
    models = tmp_path / "models"

    def reached() -> bool:
        parts = list(models.glob(".*.part"))
        size = sum(path.stat().st_size for part in parts for path in part.glob("model.bin"))
        return (
            bool(parts)
            and {
                "folder": True,
                "half": size > 15_000_000,
                "files": bool(list(models.glob(".*.part/config.json"))),
            }[moment]
        )

    process = subprocess.Popen(
        command(large, "--models-dir", models), env=environment(tmp_path), stderr=subprocess.PIPE
    )
    poll(lambda: reached() or process.poll() is not None)
    process.kill()
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGKILL
    left = [name for name in names(models) if name != "digests.json"]
    assert left
    assert all(name.startswith(".tiny-model-") for name in left)
    assert [name for name in left if name.endswith(".part")]
    assert not any(loads(models / name) for name in left)

    told = convert(tmp_path, large, "--models-dir", models)

    assert told.returncode == 0, told.stderr
    folder = Path(told.stdout.strip())
    assert names(models) == ["digests.json", folder.name]
    assert loads(folder)


def loads(folder: Path) -> bool:
    told = subprocess.run([sys.executable, "-c", LOADS, folder], capture_output=True, timeout=DEADLINE_S)
    return told.returncode == 0


def test_leftovers_of_another_model_are_removed_too(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    part = tmp_path / "models" / ".other-0123456789abcdef-int8.7.part"
    part.mkdir(parents=True)
    (part / "model.bin").write_bytes(b"half")
    (tmp_path / "models" / ".other-0123456789abcdef-int8.lock").touch()

    told = convert(tmp_path, tmp_path / "a.gguf", "--models-dir", tmp_path / "models")

    assert names(tmp_path / "models") == ["digests.json", Path(told.stdout.strip()).name]


def test_ctrl_c_leaves_nothing(tmp_path: Path, large: Path) -> None:
    models = tmp_path / "models"
    process = subprocess.Popen(
        command(large, "--models-dir", models),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    poll(lambda: bool(list(models.glob(".*.part/model.bin"))) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 130
    assert stdout == ""
    assert stderr.splitlines()[-1] == "polystream convert: interrupted, nothing was left behind"
    assert names(models) == ["digests.json"]


def test_two_at_once_end_with_one_folder(tmp_path: Path, large: Path) -> None:
    models = tmp_path / "models"
    both = [
        subprocess.Popen(
            command(large, "--models-dir", models),
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [process.communicate(timeout=DEADLINE_S) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert told[0][0] == told[1][0]
    folder = Path(told[0][0].strip())
    assert names(models) == ["digests.json", folder.name]
    assert loads(folder)


def test_a_disk_that_takes_no_more_is_told_and_nothing_is_left(tmp_path: Path, large: Path) -> None:
    """A limit on the size of files, which ends a write as a full disk does."""
    models = tmp_path / "models"
    told = subprocess.run(
        command(large, "--models-dir", models),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, 10_000_000)),
    )

    assert told.returncode == 1
    assert told.stdout == ""
    assert told.stderr.splitlines()[-1] == "polystream convert: [Errno 27] File too large"
    assert names(models) == ["digests.json"]


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "is empty"), (b"PK", "is not a GGUF file"), (b"GGUF\x03\0\0\0", "is damaged or cut short")],
)
def test_an_error_is_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "a.gguf").write_bytes(data)

    told = convert(tmp_path, tmp_path / "a.gguf")

    assert (told.returncode, told.stdout) == (1, "")
    errors = [line for line in told.stderr.splitlines() if not line.startswith("reading: ")]
    assert len(errors) == 1
    assert errors[0].startswith(f"polystream convert: {tmp_path / 'a.gguf'} {words}")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    told = convert(tmp_path, tmp_path / "a.gguf")

    assert told.stderr == f"polystream convert: {tmp_path / 'a.gguf'} is no file\n"
    assert (told.returncode, told.stdout) == (1, "")


def test_on_a_terminal_one_line_is_written_over(tmp_path: Path) -> None:
    gguf_files.write(tmp_path / "a.gguf")
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        command(tmp_path / "a.gguf", "--quantization", "float32"),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    stdout, _ = process.communicate(timeout=DEADLINE_S)
    os.close(theirs)
    drawn = os.read(ours, 65536).decode()
    os.close(ours)

    assert stdout.strip().endswith("-float32")
    assert f"\r[{'#' * 30}] reading: 100 % of 0 MB\x1b[K" in drawn
    assert drawn.endswith(f"\r[{'#' * 30}] converting: 100 % of 0 MB\x1b[K\r\n")
    assert drawn.count("\n") == 2
