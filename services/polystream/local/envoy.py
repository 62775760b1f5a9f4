"""Envoy from the cluster's own file: a copy in which a listener and a cluster have other addresses.

They are found by name; a name that is not found is an error, so that the file cannot drift away from here.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from polystream.local.places import Missing, from_repository, from_wheel

#: The file's own; a test that scales times down gives less.
IDLE_S = 300.0

Tree = dict[str, Any]


def render(
    folder: Path, *, listen: tuple[str, int], grpc: tuple[str, int], idle_s: float = IDLE_S
) -> list[str]:
    """Write envoy.yaml into a folder and give the command that runs it, in the foreground.

    Logs stay in the folder. `idle_s`: the longest silence of a stream. SIGTERM ends it at once. Raises
    `Missing`, also for a name that the file does not have.
    """
    folder = folder.resolve()
    config = yaml.safe_load((from_repository("envoy") / "envoy.yaml").read_text())
    resources = config["static_resources"]
    listener, cluster = _named(resources["listeners"], "grpc_web"), _named(resources["clusters"], "grpc")
    listener["address"] = _address(listen)
    (locality,) = cluster["load_assignment"]["endpoints"]
    locality["lb_endpoints"] = [{"endpoint": {"address": _address(grpc)}}]
    (chain,) = listener["filter_chains"]
    manager = _named(chain["filters"], "envoy.filters.network.http_connection_manager")["typed_config"]
    manager["stream_idle_timeout"] = f"{idle_s:.3f}s"
    log = _named(manager["access_log"], "envoy.access_loggers.file")["typed_config"]
    log["path"] = str(folder / "access.log")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "envoy.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    quiet = ["--log-path", str(folder / "envoy.log"), "--log-level", "warning"]
    # Without hot restart: that is one Envoy a machine, by a name all would share.
    own = ["--disable-hot-restart", "--concurrency", "1"]
    return [str(from_wheel("envoy", "_bin/envoy")), "-c", str(folder / "envoy.yaml"), *own, *quiet]


def _named(items: Iterable[Tree], name: str) -> Tree:
    for item in items:
        if item["name"] == name:
            return item
    raise Missing(f"envoy.yaml has nothing named {name}")


def _address(place: tuple[str, int]) -> Tree:
    return {"socket_address": {"address": place[0], "port_value": place[1]}}
