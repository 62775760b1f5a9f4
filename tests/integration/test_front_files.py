"""The proxies' files as shipped: real nginx and Envoy take them, in a pod's form and in this machine's."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients import http
from tests.integration.front import ROOT, Front
from tests.load.peers import program

NAMESPACE = "polystream.svc.cluster.local"
CHECK_S = 30
#: A pod's environment; no such names are to be found from here.
POD = {
    "WORKER_PROCESSES": "2",
    "OPEN_FILES": "1024",
    "CONF_DIR": str(ROOT / "frontend" / "nginx"),
    "HTML_DIR": str(ROOT / "frontend" / "nginx" / "html"),
    "ACCESS_LOG": "/dev/stdout",
    "ERROR_LOG": "stderr",
    "NGINX_LOCAL_RESOLVERS": "127.0.0.1:9",
    "LISTEN": "127.0.0.1:8080",
    "REST": f"rest-service.{NAMESPACE}:5000",
    "WEBSOCKET": f"websocket-service.{NAMESPACE}:5001",
    "GRPC": f"grpc-service.{NAMESPACE}:50051",
    "ENVOY": f"envoy-service.{NAMESPACE}:9000",
    "SILENCE": "3600s",
    "REQUEST_MAX_BYTES": "1048576",
}


def envsubst(template: str, environment: dict[str, str]) -> str:
    """What the nginx image does at start: names of the environment, with or without braces, and no others."""
    names = "|".join(environment)
    return re.sub(
        rf"\$(?:\{{({names})\}}|({names})\b)", lambda match: environment[match[1] or match[2]], template
    )


def checked(*command: str) -> str:
    """Run a check of a configuration; what it said. Fails where it fails."""
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=CHECK_S, check=False)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    return said


def needed(name: str) -> str:
    """Where a proxy's program is."""
    path = program(name)
    assert path, f"{name} is not installed"
    return path


@pytest.mark.parametrize("kind", ["nginx", "envoy"])
def test_the_files_of_this_machine_are_valid(kind: str, tmp_path: Path):
    envoy: dict[str, Any] = {"listen": ["127.0.0.1", 9000], "grpc": ["127.0.0.1", 50051]}
    names = ("listen", "rest", "websocket", "grpc", "envoy")
    nginx = {name: f"127.0.0.1:{port}" for port, name in enumerate(names, 8080)}
    keywords = json.dumps({"nginx": nginx, "envoy": envoy}[kind])
    said = checked(sys.executable, "-m", "tests.proxy", kind, str(tmp_path), keywords, "--check")
    assert "[warn]" not in said
    assert "Deprecated" not in said


def test_the_files_of_pods_are_valid_where_no_name_can_be_resolved(tmp_path: Path):
    """nginx must start before its services exist: a name in `upstream` alone would stop it."""
    template = (ROOT / "frontend" / "nginx" / "nginx.conf.template").read_text()
    config = tmp_path / "nginx.conf"
    config.write_text(envsubst(template, POD | {"RUN_DIR": str(tmp_path)}))
    assert "${" not in re.sub("#.*", "", config.read_text())
    checked(needed("nginx"), "-p", f"{tmp_path}/", "-e", "stderr", "-c", str(config), "-t")


def test_the_clusters_file_for_envoy_is_valid_as_it_is():
    said = checked(needed("envoy"), "--mode", "validate", "-c", "envoy/envoy.yaml")
    assert "Deprecated" not in said


class Unresolved:
    """Services whose names nobody knows."""

    rest, websocket = f"http://{POD['REST']}", f"ws://{POD['WEBSOCKET']}"
    grpc = POD["GRPC"]


@pytest.mark.asyncio(loop_scope="session")
async def test_nginx_runs_where_no_name_can_be_resolved_and_says_502():
    async with Front(Unresolved, alone=True) as front:
        answer, _ = await http.fetch("GET", f"{front.rest}/healthz")
        assert answer.status == 200
        answer, raw = await http.fetch("GET", f"{front.rest}/v1/models")
        assert (answer.status, json.loads(raw)["error"]["code"]) == (502, "upstream_unavailable")
