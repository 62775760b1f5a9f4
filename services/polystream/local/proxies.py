"""The proxies' commands for one run: configured as in the cluster, with the logs that people read."""

import socket
from pathlib import Path

from polystream.local import envoy, nginx
from polystream.local.part import Trouble
from polystream.local.places import Missing
from polystream.settings import Settings


class Proxies:
    """Each has a folder of its own within `folder`. All addresses are host:port."""

    def __init__(self, settings: Settings, folder: Path):
        self._settings = settings
        self._folder = folder

    @property
    def pid_file(self) -> Path:
        """Where nginx writes its process's number as soon as it has its port."""
        return self._folder / "nginx" / "nginx.pid"

    def envoy(self, listen: str, grpc: str) -> list[str]:
        """The command of an Envoy in front of `grpc`. Raises `Trouble`."""
        try:
            return envoy.render(self._logging("envoy"), listen=split(listen), grpc=split(grpc))
        except Missing as error:
            raise Trouble(f"envoy: {error}") from None

    def nginx(self, listen: str, rest: str, websocket: str, grpc: str, envoy: str) -> list[str]:
        """The command of an nginx in front of all. Raises `Trouble`."""
        try:
            return nginx.render(
                self._logging("nginx"),
                listen=listen,
                rest=rest,
                websocket=websocket,
                grpc=grpc,
                envoy=envoy,
                silence_s=max(nginx.SILENCE_S, self._settings.generation_max_s),
                request_max_bytes=self._settings.request_max_bytes,
            )
        except Missing as error:
            raise Trouble(f"nginx: {error}") from None

    def _logging(self, name: str) -> Path:
        """A folder whose logs are the part's lines: warnings, and with LOG_LEVEL=debug each request, too.

        In files they would be seen by nobody and grow for as long as it runs.
        """
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        access = "/dev/stdout" if self._settings.log_level == "debug" else "/dev/null"
        for file, place in (
            ("access.log", access),
            ("error.log", "/dev/stderr"),
            ("envoy.log", "/dev/stderr"),
        ):
            (folder / file).unlink(missing_ok=True)
            (folder / file).symlink_to(place)
        return folder


def reached(address: str) -> str:
    """Where a listener is reached from here, also if it listens on all addresses.

    By number: of a name the services take one IPv4 address, and the proxies would ask a resolver.
    Raises OSError for a name that nobody knows.
    """
    host, port = split(address)
    number = host if ":" in host else socket.gethostbyname(host)
    return joined({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(number, number), port)


def split(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def joined(host: str, port: int) -> str:
    """host:port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
