"""Generate the Python stubs of every .proto file, or say which of them differ from what stands in the tree.

    python .ci/stubs.py            write them          (`make proto`)
    python .ci/stubs.py --check    compare only        (`make check`)

Each .proto keeps the name its package gives it (`polystream/v1/streams.proto`): reflection shows it, and
stubs in other languages are made from it. protoc derives Python imports from that name, so they are moved
below `polystream.proto`.
"""

import os
import re
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).resolve().parents[1] / "services" / "polystream" / "proto"


def stubs(folder: Path) -> dict[str, str]:
    """The text of every stub below a folder, by its path there."""
    found = (*folder.rglob("*_pb2*.py"), *folder.rglob("*_pb2*.pyi"))
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in found}


def generate() -> dict[str, str]:
    """The stubs of all .proto files as they should be, by their paths below PROTO."""
    names = sorted(str(file.relative_to(PROTO)) for file in PROTO.rglob("*.proto"))
    # The plugins that write typed stubs lie beside the interpreter, which need not be on the PATH.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as target:
        kinds = [f"--{kind}_out={target}" for kind in ("python", "grpc_python")]
        typed = [f"--{kind}_out=quiet:{target}" for kind in ("mypy", "mypy_grpc")]
        include = (f"-I{PROTO}", f"-I{files('grpc_tools') / '_proto'}")
        if protoc.main(["protoc", *include, *kinds, *typed, *names]):
            sys.exit("protoc failed")
        return {name: moved(text, names) for name, text in stubs(Path(target)).items()}


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
    wanted, found = generate(), stubs(PROTO)
    stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if "--check" in sys.argv[1:]:
        if stale:
            sys.exit(f"not what their .proto files give (`make proto` mends it): {', '.join(stale)}")
        return
    for name in stale:
        if name in wanted:
            (PROTO / name).write_text(wanted[name], encoding="utf-8")
        else:
            (PROTO / name).unlink()


if __name__ == "__main__":
    main()
