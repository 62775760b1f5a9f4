"""Compiles the mock upstream and the load generator into build/load/.

Both are C so that they cost little beside the gateway they measure, and share one core.
"""

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
BUILD = REPO / "build" / "load"
UPSTREAM = BUILD / "upstream"
LOADGEN = BUILD / "loadgen"

_SOURCES = {
    UPSTREAM: ["upstream.c"],
    LOADGEN: ["loadgen.c", "summary.c", "check.c", "http.c", "websocket.c", "grpc.c"],
}
_HEADERS = ["common.h", "loadgen.h"]


def build() -> None:
    """Compile what is missing or older than its sources."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for program, names in _SOURCES.items():
        sources, headers = ([HERE / "native" / name for name in group] for group in (names, _HEADERS))
        newest = max(path.stat().st_mtime for path in [*sources, *headers])
        if not program.exists() or program.stat().st_mtime < newest:
            command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), *map(str, sources)]
            subprocess.run(command, check=True)
