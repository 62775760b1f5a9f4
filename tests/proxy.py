"""A proxy as a process: `python -m tests.proxy nginx|envoy FOLDER KEYWORDS` becomes what the package runs.

Apart, because the tests that use it are black boxes, which import nothing of the package. KEYWORDS is JSON
for the module's `render`; with --check the configuration is only tried.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from polystream.local import envoy, nginx

CHECK = {"nginx": ["-t"], "envoy": ["--mode", "validate"]}


def command(kind: str, folder: Path, keywords: dict[str, Any]) -> list[str]:
    """Render the configuration; the command that runs it."""
    if kind == "nginx":
        return nginx.render(folder, **keywords)
    places: dict[str, Any] = {name: tuple(keywords.pop(name)) for name in ("listen", "grpc")}
    return envoy.render(folder, **places, **keywords)


if __name__ == "__main__":
    kind, folder, keywords, *check = sys.argv[1:]
    run = command(kind, Path(folder), json.loads(keywords)) + (CHECK[kind] if check else [])
    os.execv(run[0], run)
