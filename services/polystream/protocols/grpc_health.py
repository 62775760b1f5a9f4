"""`grpc.health.v1`, https://github.com/grpc/grpc/blob/master/doc/health-checking.md, over `edge.health`."""

import asyncio
from typing import Any

from google.rpc.status_pb2 import Status
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from polystream.dialects import proto
from polystream.edge import health
from polystream.edge.readers import Readers
from polystream.protocols.grpc import answering
from polystream.protocols.grpc_call import Call, Method

SERVICE = "grpc.health.v1.Health"
#: How often watchers learn of a change, seconds.
_EVERY_S = 2.0
_NOT_FOUND, _UNAVAILABLE = 5, 14


class Health:
    """The state of some services, which is one for all."""

    def __init__(self, readers: Readers, services: tuple[str, ...]):
        self._readers = readers
        self._services = services
        self._serving = False
        self._changed = asyncio.Event()
        self._over = False

    def methods(self) -> dict[str, Method]:
        """By path."""
        return {f"/{SERVICE}/Check": Method(self.check), f"/{SERVICE}/Watch": Method(self.watch)}

    async def refresh(self) -> None:
        """Ask store and engine, and tell watchers of a change."""
        serving = (await health.check(self._readers.generations)).ready
        if serving != self._serving:
            self._serving = serving
            self._tell()

    async def refresh_forever(self) -> None:
        """`refresh`, again and again."""
        while True:
            await asyncio.sleep(_EVERY_S)
            await self.refresh()

    def end(self) -> None:
        """Send watchers away."""
        self._over = True
        self._tell()

    @answering
    async def check(self, message: bytes, call: Call) -> bytes | None:
        """The state now."""
        request = proto.parse(message, HealthCheckRequest)
        if request.service not in self._services:
            call.end(Status(code=_NOT_FOUND, message="There is no such service."))
            return None
        await self.refresh()
        return HealthCheckResponse(status=self._state(request.service)).SerializeToString()

    @answering
    async def watch(self, message: bytes, call: Call) -> None:
        """The state now and at each change; a service that there is not may come."""
        service = proto.parse(message, HealthCheckRequest).service
        call.send_initial_metadata()
        told = None
        while not self._over:
            if (state := self._state(service)) != told:
                told = state
                await call.write(HealthCheckResponse(status=state).SerializeToString())
            else:
                await self._changed.wait()
        call.end(Status(code=_UNAVAILABLE, message="This server is shutting down."))

    def _state(self, service: str) -> Any:
        if service not in self._services:
            return HealthCheckResponse.SERVICE_UNKNOWN
        return HealthCheckResponse.SERVING if self._serving else HealthCheckResponse.NOT_SERVING

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
