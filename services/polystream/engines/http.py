"""A small HTTP/1.1 client for engines: pooled connections, and answers handed on as they arrive.

The rule to know: it never repeats a request, with one exception: one that a reused connection lost before a
single byte of an answer came is sent once more on a fresh one, since servers close idle connections while a
request is on its way.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from polystream.core.errors import UpstreamUnavailable
from polystream.engines.http_connection import Connection, End, Receiver
from polystream.engines.http_dial import Origin, Route, dial, route_to

#: Idle connections kept for an origin: above the streams that end in the same second on a busy replica.
IDLE_MAX = 1024
#: How long an idle one is kept, seconds. Servers close theirs earlier (uvicorn and llama.cpp after 5) and are
#: noticed.
IDLE_S = 60.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method and URL with its headers, made ready to be sent often."""

    origin: Origin
    route: Route
    head: bytes


class HttpClient:
    """Connections to engines. `connect_timeout_s` covers name, connection, proxy and TLS together.

    TLS is checked by `context`, the system's by default. Redirects are not followed, bodies not decompressed.
    """

    def __init__(self, connect_timeout_s: float, context: ssl.SSLContext | None = None):
        self._timeout_s = connect_timeout_s
        self._context = context
        self._idle: dict[Origin, list[Connection]] = {}
        self._known: dict[Connection, Origin] = {}

    def endpoint(self, method: str, url: str, headers: Mapping[str, str]) -> Endpoint:
        """Prepare requests to `url`, an absolute http or https one.

        Raises ValueError for a URL or header that cannot be sent, `UpstreamUnavailable` for a proxy of a kind
        we cannot use. The environment's proxies are read now.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"no http or https URL: {url!r}")
        tls = parts.scheme == "https"
        origin = Origin(tls, parts.hostname, parts.port or (443 if tls else 80))
        route = route_to(origin)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = {"host": parts.netloc.rpartition("@")[2]} | {
            name.lower(): value for name, value in headers.items()
        }
        if route.proxied and not tls:
            target = f"http://{origin.authority}{target}"
            if route.authorization:
                lines["proxy-authorization"] = route.authorization
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()
        )
        if head.count("\r") != len(lines) + 1 or head.count("\n") != len(lines) + 1 or "\0" in head:
            raise ValueError("a header or the URL holds a line end or a NUL")
        return Endpoint(origin, route, head.encode("latin-1"))

    async def fetch(self, endpoint: Endpoint, body: bytes | None, receiver: Receiver) -> End:
        """Send one request (`body` None: without one) and hand its answer to `receiver`; how the body ended.

        Never UNANSWERED. Raises `UpstreamUnavailable` when there was no connection or no answer,
        `UpstreamBadChunk` for an answer that is no HTTP, and whatever the receiver raised. Cancelling it
        closes the connection at once.
        """
        length = b"\r\n" if body is None else b"content-length: %d\r\n\r\n" % len(body)
        request = endpoint.head + length + (body or b"")
        end = End.UNANSWERED
        if (reused := self._take(endpoint.origin)) is not None:
            end = await self._exchange(reused, request, receiver)
        if end is End.UNANSWERED:
            fresh = await dial(endpoint.origin, endpoint.route, self._tls(endpoint.origin), self._timeout_s)
            fresh.on_change = self._changed
            self._known[fresh] = endpoint.origin
            end = await self._exchange(fresh, request, receiver)
        if end is End.UNANSWERED:
            raise UpstreamUnavailable("The engine closed the connection without an answer.")
        return end

    async def close(self) -> None:
        """Close every connection; exchanges under way end as if the engine had gone."""
        for connection in list(self._known):
            connection.abort()
        self._known.clear()
        self._idle.clear()

    async def _exchange(self, connection: Connection, request: bytes, receiver: Receiver) -> End:
        try:
            return await connection.exchange(request, receiver)
        finally:
            self._changed(connection)

    def _take(self, origin: Origin) -> Connection | None:
        """The connection that was used last: the others may reach their end of life."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.free:
                return connection
        return None

    def _changed(self, connection: Connection) -> None:
        """Keep a connection that is free, forget one that is closed."""
        origin = self._known.get(connection)
        if origin is None:
            connection.abort()
            return
        idle = self._idle.setdefault(origin, [])
        if connection.free and len(idle) < IDLE_MAX:
            idle.append(connection)
            connection.rest(IDLE_S)
        elif not connection.lingering:
            connection.abort()
            del self._known[connection]
            if connection in idle:
                idle.remove(connection)

    def _tls(self, origin: Origin) -> ssl.SSLContext | None:
        if self._context is None and origin.tls:
            self._context = ssl.create_default_context()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context
