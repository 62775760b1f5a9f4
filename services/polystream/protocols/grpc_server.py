"""The gRPC listener: the streams, the article's service, health, and reflection under both of its names."""

import asyncio

from polystream.edge.readers import Readers
from polystream.protocols import grpc_articles, grpc_health, grpc_reflection
from polystream.protocols.grpc import SERVICE, Streams
from polystream.protocols.grpc_connection import Connection
from polystream.protocols.grpc_service import Service
from polystream.protocols.sockets import BACKLOG, listening

#: What calls are given to take their status when the drain is over, seconds.
_LAST_CALLS_S = 2.0
_SERVICES = (SERVICE, grpc_articles.SERVICE, grpc_health.SERVICE, *grpc_reflection.SERVICES)


class GrpcListener:
    """See `edge.drain.Listener`. `message_max_bytes`: largest request message."""

    def __init__(self, readers: Readers, host: str, port: int, message_max_bytes: int, heartbeat_s: float):
        self._address = host, port
        self._health = grpc_health.Health(readers, ("", SERVICE, grpc_articles.SERVICE))
        reflection = grpc_reflection.Reflection(_SERVICES)
        doors = Streams(readers).methods() | grpc_articles.ResponseStreaming(readers).methods()
        methods = doors | self._health.methods() | reflection.methods()
        self._service = Service(methods, message_max_bytes, heartbeat_s)

    async def start(self) -> str:
        """Listen."""
        host, _ = self._address
        listener = listening(*self._address)
        await self._health.refresh()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._service), sock=listener, backlog=BACKLOG
        )
        self._refreshing = loop.create_task(self._health.refresh_forever())
        return f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"

    async def stop_listening(self) -> None:
        """Say NOT_SERVING, refuse new connections and calls; calls under way go on."""
        self._refreshing.cancel()
        await self._health.refresh()
        self._server.close()
        self._service.drain()

    async def stop(self) -> None:
        """End; every call has its status by now, or a moment to get it."""
        self._health.end()
        await self._service.stop(_LAST_CALLS_S)
