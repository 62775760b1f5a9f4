"""Finds the way to an engine and opens it: directly, or through the proxy that the environment names.

The rules for proxies are urllib's (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in capitals or not), with
Go's one exception: an engine on this machine is never asked for through a proxy.
"""

import asyncio
import base64
import ipaddress
import logging
import os
import ssl
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from polystream.core.errors import UpstreamUnavailable
from polystream.engines.http_connection import HEAD_MAX_BYTES, Connection

logger = logging.getLogger(__name__)


class Origin(NamedTuple):
    """Who is to answer. `host` without brackets."""

    tls: bool
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as CONNECT and absolute URLs have them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Route(NamedTuple):
    """Where to connect. `proxied`: it is a proxy; `authorization`: what it is to be shown, or empty."""

    host: str
    port: int
    proxied: bool = False
    authorization: str = ""


def route_to(origin: Origin) -> Route:
    """The way to an origin by the present environment. Raises `UpstreamUnavailable` for other proxies."""
    proxies = getproxies()
    url = proxies.get("https" if origin.tls else "http") or proxies.get("all")
    if not url or _is_local(origin.host) or proxy_bypass(origin.authority):
        return Route(origin.host, origin.port)
    proxy = urlsplit(url if "://" in url else f"http://{url}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise UpstreamUnavailable(
            f"The engine's proxy is a {proxy.scheme} one; only http:// proxies are supported."
        )
    return Route(proxy.hostname, proxy.port or 80, True, _basic(proxy))


async def dial(origin: Origin, route: Route, context: ssl.SSLContext | None, timeout_s: float) -> Connection:
    """A connection to the origin, handshakes included, within `timeout_s` seconds.

    `context` is needed for TLS origins. Addresses of a name are tried one after the other. Raises
    `UpstreamUnavailable`.
    """
    cause: Exception
    try:
        async with asyncio.timeout(timeout_s):
            if route.proxied and origin.tls:
                return await _through(origin, route, context)
            name = origin.host if origin.tls else None
            loop = asyncio.get_running_loop()
            secure = context if origin.tls else None
            _, connection = await loop.create_connection(
                Connection, route.host, route.port, ssl=secure, server_hostname=name
            )
            return connection
    except TimeoutError as error:
        reason, cause = f"no connection within {timeout_s:g} s", error
    except ssl.SSLError as error:
        reason, cause = f"TLS failed ({getattr(error, 'verify_message', '') or error.reason or error})", error
    except (OSError, UnicodeError) as error:  # UnicodeError: no host can have that name
        reason, cause = _reason(error), error
    way = f" by way of {route.host}:{route.port}" if route.proxied else ""
    logger.warning("no connection to %s%s: %s", origin.authority, way, cause)
    raise UpstreamUnavailable(f"The engine cannot be reached: {reason}.") from cause


def _reason(error: OSError | UnicodeError) -> str:
    """In words for clients: asyncio's own name the address, which is ours to know."""
    if not isinstance(error, OSError):
        return "no connection"
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or "no connection"


async def _through(origin: Origin, route: Route, context: ssl.SSLContext | None) -> Connection:
    """By a tunnel (RFC 9110, 9.3.6), with TLS to the origin inside."""
    loop = asyncio.get_running_loop()
    transport, tunnel = await loop.create_connection(_Tunnel, route.host, route.port)
    try:
        extra = f"proxy-authorization: {route.authorization}\r\n" if route.authorization else ""
        transport.write(
            f"CONNECT {origin.authority} HTTP/1.1\r\nhost: {origin.authority}\r\n{extra}\r\n".encode("ascii")
        )
        await tunnel.opened
        connection = Connection()
        assert context is not None
        secure = await loop.start_tls(transport, connection, context, server_hostname=origin.host)
        if secure is None:
            raise ConnectionResetError(0, "lost in the TLS handshake")
        connection.connection_made(secure)  # start_tls leaves that to us
        return connection
    except BaseException:
        transport.abort()
        raise


class _Tunnel(asyncio.Protocol):
    """Waits for a proxy's word on a CONNECT."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if self.opened.done():
            return
        head, end, behind = self._head.partition(b"\r\n\r\n")
        if end and head[:7] == b"HTTP/1." and head[9:10] == b"2" and not behind:
            self.opened.set_result(None)
        elif end or len(head) > HEAD_MAX_BYTES:
            status = head.partition(b"\r\n")[0].decode("ascii", "replace")[:100]
            self.opened.set_exception(ConnectionRefusedError(0, f"the proxy answered {status!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionResetError(0, "the proxy closed the connection"))
        if not self.opened.cancelled():
            self.opened.exception()  # counts as seen: a cancelled dial does not look


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _basic(proxy: SplitResult) -> str:
    if proxy.username is None:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode("ascii")
