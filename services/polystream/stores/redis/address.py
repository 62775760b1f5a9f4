"""Where Redis is, from STORE_URL and STORE_CA. What it says of itself never holds the password."""

import ssl
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from redis.asyncio import Connection, SSLConnection

#: Redis' own port.
_PORT = 6379


@dataclass(frozen=True, slots=True)
class Address:
    """A server, a database of it, and who we are to it. `tls`: None for clear text."""

    host: str
    port: int
    db: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = None
    ca: str = ""

    @classmethod
    def parse(cls, url: str, ca: str = "") -> Self:
        """The address that a checked STORE_URL names. Raises `OSError` for a CA that cannot be read."""
        parts = urlsplit(url)
        tls = None
        if parts.scheme == "rediss":
            try:
                tls = ssl.create_default_context(cafile=ca or None)
            except OSError as error:  # no such file, or one that holds no certificate
                raise OSError(f"STORE_CA: {ca}: {error.strerror or error}") from error
        return cls(
            host=parts.hostname or "localhost",
            port=parts.port or _PORT,
            db=int(parts.path.strip("/") or 0),
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            tls=tls,
            ca=ca,
        )

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}/{self.db}"

    @property
    def greeting(self) -> list[tuple[str, ...]]:
        """The commands that open a connection of our own."""
        commands: list[tuple[str, ...]] = []
        if self.password:
            commands.append(("AUTH", *([self.user] if self.user else []), self.password))
        if self.db:
            commands.append(("SELECT", str(self.db)))
        return [*commands, ("CLIENT", "SETNAME", "polystream")]

    @property
    def for_redis_py(self) -> dict[str, Any]:
        """The same for one of redis-py's connection pools."""
        words: dict[str, Any] = {
            "connection_class": SSLConnection if self.tls else Connection,
            "host": self.host,
            "port": self.port,
            "db": self.db,
            "username": self.user or None,
            "password": self.password or None,
        }
        return words | ({"ssl_ca_certs": self.ca or None} if self.tls else {})
