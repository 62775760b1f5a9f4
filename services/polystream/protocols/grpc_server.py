"""The gRPC listener: the streams, health, and reflection under both of its names."""

import asyncio
from typing import Any

import grpc
from grpc_health.v1 import health as grpc_health
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha import reflection_pb2 as reflection_messages

from polystream.edge import health
from polystream.edge.readers import Readers
from polystream.protocols.grpc import SERVICE, Context, Streams
from polystream.protocols.sockets import listening

#: How often watchers of the health service learn of a change, seconds.
_HEALTH_S = 2.0
#: Clients may ping as often as every second: with gRPC's own limit of 5 minutes they are sent away (GOAWAY).
_PING_MS = 1000
#: How much larger than the limit a message may be for the refusal to be ours, which says more than gRPC's.
_MESSAGE_ROOM = 4
#: A drain ends calls itself; this only keeps the library from ending them first, seconds.
_CALLS_S = 86_400.0
#: What a call is given to take its status when the drain is over, seconds.
_LAST_CALLS_S = 2.0
#: The library registers v1alpha only; the messages of v1 are the same on the wire.
_REFLECTION_V1 = "grpc.reflection.v1.ServerReflection"
_SERVICES = (SERVICE, grpc_health.SERVICE_NAME, _REFLECTION_V1, reflection.SERVICE_NAME)


class _Health(grpc_health.aio.HealthServicer):
    """The library's servicer, told the present state before each check."""

    def __init__(self, readers: Readers):
        super().__init__()
        self._readers = readers

    async def refresh(self) -> None:
        """Ask store and engine."""
        states = health_pb2.HealthCheckResponse
        ready = (await health.check(self._readers.generations)).ready
        for service in ("", SERVICE):
            await self.set(service, states.SERVING if ready else states.NOT_SERVING)

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> Any:
        """The state now."""
        await self.refresh()
        return await super().Check(request, context)


class GrpcListener:
    """See `edge.drain.Listener`. `message_max_bytes`: largest request message."""

    def __init__(self, readers: Readers, host: str, port: int, message_max_bytes: int, heartbeat_s: float):
        self._host = f"[{host}]" if ":" in host else host
        self._address = f"{self._host}:{port}"
        self._ip, self._port = host, port
        self._health = _Health(readers)
        self._streams = Streams(readers, message_max_bytes)
        self._options = [
            ("grpc.max_receive_message_length", message_max_bytes * _MESSAGE_ROOM),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", int(heartbeat_s * 1000)),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.http2.min_ping_interval_without_data_ms", _PING_MS),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", _PING_MS),
            ("grpc.http2.max_ping_strikes", 0),
        ]

    async def start(self) -> str:
        """Listen."""
        self._server = server = grpc.aio.server(options=self._options)
        server.add_generic_rpc_handlers((self._streams.handlers(), _reflection_v1()))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection(_SERVICES, server)
        listening(self._ip, self._port).close()  # gRPC's own words for a port that is taken are its core's
        try:
            port = server.add_insecure_port(self._address)
        except RuntimeError as error:
            raise OSError(str(error)) from None
        await self._health.refresh()
        await server.start()
        self._refreshing = asyncio.get_running_loop().create_task(self._refresh())
        return f"{self._host}:{port}"

    async def stop_listening(self) -> None:
        """Say NOT_SERVING, refuse new connections and calls; calls under way go on."""
        self._refreshing.cancel()
        await self._health.enter_graceful_shutdown()
        self._stopping = asyncio.get_running_loop().create_task(self._server.stop(_CALLS_S))

    async def stop(self) -> None:
        """End; every call has its status by now, or a moment to get it."""
        await self._server.stop(_LAST_CALLS_S)
        await self._stopping

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(_HEALTH_S)
            await self._health.refresh()


def _reflection_v1() -> grpc.GenericRpcHandler:
    info = grpc.stream_stream_rpc_method_handler(
        reflection.aio.ReflectionServicer(_SERVICES).ServerReflectionInfo,
        request_deserializer=reflection_messages.ServerReflectionRequest.FromString,
        response_serializer=reflection_messages.ServerReflectionResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(_REFLECTION_V1, {"ServerReflectionInfo": info})
