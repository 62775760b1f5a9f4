"""Generate the stubs of the .proto files, or say which of them differ from what stands in the tree.

    python .ci/stubs.py            write them          (`make proto`)
    python .ci/stubs.py --check    compare only        (`make check`)

Python's stand beside every .proto. Each .proto keeps the name its package gives it
(`polystream/v1/streams.proto`): reflection shows it, and stubs in other languages are made from it. protoc
derives Python imports from that name, so they are moved below `polystream.proto`. TypeScript's stand in the
UI's source, for what browsers speak: our service, and the details of errors.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[1]
PROTO = ROOT / "services" / "polystream" / "proto"
GEN = ROOT / "frontend" / "src" / "gen"
PLUGIN = ROOT / "frontend" / "node_modules" / ".bin" / "protoc-gen-es"
BROWSERS = ("polystream/v1/streams.proto", "google/rpc/error_details.proto")


def python() -> dict[Path, str]:
    """The Python stubs of all .proto files as they should be, by where they belong."""
    names = sorted(str(file.relative_to(PROTO)) for file in PROTO.rglob("*.proto"))
    kinds = {"python": "", "grpc_python": "", "mypy": "quiet:", "mypy_grpc": "quiet:"}
    return {PROTO / name: moved(text, names) for name, text in run(kinds, names).items()}


def typescript() -> dict[Path, str]:
    """The TypeScript stubs, in the same way. They name each other as `.js`, as Node wants it."""
    stubs = run({"es": "target=ts,import_extension=js:"}, BROWSERS, f"--plugin=protoc-gen-es={PLUGIN}")
    return {GEN / name: text for name, text in stubs.items()}


def run(kinds: dict[str, str], names: Iterable[str], *options: str) -> dict[str, str]:
    """What protoc makes of some .proto files: the text of each stub, by its path."""
    # The plugins that write typed stubs lie beside the interpreter, as node does; it need not be on the PATH.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    folders = (PROTO, files("grpc_tools") / "_proto", files("google.rpc").joinpath("../.."))
    with tempfile.TemporaryDirectory() as target:
        outs = [f"--{kind}_out={parameters}{target}" for kind, parameters in kinds.items()]
        if protoc.main(["protoc", *(f"-I{folder}" for folder in folders), *outs, *options, *names]):
            sys.exit("protoc failed")
        made = [file for file in Path(target).rglob("*") if file.is_file()]
        return {str(file.relative_to(target)): file.read_text(encoding="utf-8") for file in made}


def moved(stub: str, protos: list[str]) -> str:
    """A stub whose imports of other stubs of ours are sought below `polystream.proto`."""
    for proto in protos:
        package, _, module = proto.removesuffix(".proto").replace("/", ".").rpartition(".")
        old = rf"^from {re.escape(package)} import {module}_pb2\b" if package else rf"^import {module}_pb2\b"
        home = f"polystream.proto.{package}".rstrip(".")
        stub = re.sub(old, f"from {home} import {module}_pb2", stub, flags=re.MULTILINE)
    return stub


def main() -> None:
    """Write or compare, by the command line."""
    wanted = python() | typescript()
    there = {file for pattern in ("*_pb2*.py", "*_pb2*.pyi") for file in PROTO.rglob(pattern)}
    there |= {file for file in GEN.rglob("*") if file.is_file()}
    found = {file: file.read_text(encoding="utf-8") for file in there}
    stale = sorted(file for file in wanted.keys() | there if wanted.get(file) != found.get(file))
    if "--check" in sys.argv[1:]:
        if stale:
            names = ", ".join(str(file.relative_to(ROOT)) for file in stale)
            sys.exit(f"not what their .proto files give (`make proto` mends it): {names}")
        return
    for file in stale:
        if file in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[file], encoding="utf-8")
        else:
            file.unlink()


if __name__ == "__main__":
    main()
