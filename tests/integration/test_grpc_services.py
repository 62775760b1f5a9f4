"""gRPC's own services as stock clients use them: health and reflection; and requests that are refused."""

import asyncio
import signal
from typing import Any

import grpc as grpcio
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from tests.clients import grpc
from tests.integration.conftest import Serve
from tests.integration.server import Server

pytestmark = pytest.mark.asyncio(loop_scope="session")

STREAMS = "polystream.v1.Streams"
ARTICLES = "stream.ResponseStreamingService"
SERVICES = {
    ARTICLES,
    STREAMS,
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
}
STATES = health_pb2.HealthCheckResponse


async def test_health_knows_its_services_and_no_others(scripted: Server):
    async with grpc.opened(scripted) as channel:
        stub: Any = HealthStub(channel)
        for service in ("", STREAMS, ARTICLES):
            reply = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=20)
            assert reply.status == STATES.SERVING
        with pytest.raises(grpcio.aio.AioRpcError) as refused:
            await stub.Check(health_pb2.HealthCheckRequest(service="other"), timeout=20)
        assert refused.value.code() == grpcio.StatusCode.NOT_FOUND
        watching = stub.Watch(health_pb2.HealthCheckRequest(service="other"), timeout=20)
        assert (await watching.read()).status == STATES.SERVICE_UNKNOWN
        watching.cancel()


async def test_a_watcher_learns_of_a_drain_and_is_sent_away(serve: Serve):
    server = await serve(ENGINE_URL="scripted:")
    async with grpc.opened(server) as channel:
        stub: Any = HealthStub(channel)
        watching = stub.Watch(health_pb2.HealthCheckRequest(service=STREAMS), timeout=20)
        assert (await watching.read()).status == STATES.SERVING
        server.signal(signal.SIGTERM)
        assert (await watching.read()).status == STATES.NOT_SERVING
        assert await watching.code() == grpcio.StatusCode.UNAVAILABLE
    assert await server.ended() == 0


async def test_a_stock_reflection_client_finds_the_service_and_its_messages(scripted: Server):
    def look() -> tuple[set[str], list[str], bool]:
        with grpcio.insecure_channel(scripted.grpc) as channel:
            database = ProtoReflectionDescriptorDatabase(channel)
            pool = DescriptorPool(database)
            service = pool.FindServiceByName(STREAMS)
            try:
                database.FindFileContainingSymbol("no.such.Thing")
            except KeyError:
                unknown = True
            else:
                unknown = False
            return set(database.get_services()), [method.name for method in service.methods], unknown

    services, methods, unknown = await asyncio.to_thread(look)
    assert services == SERVICES
    assert methods == ["Start", "Follow", "Cancel", "GetStatus", "ListModels"]
    assert unknown


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_reflection_answers_under_both_names(scripted: Server, version: str):
    asked = {
        "services": ServerReflectionRequest(list_services="", host="here"),
        "file": ServerReflectionRequest(file_by_filename="polystream/v1/streams.proto"),
        "symbol": ServerReflectionRequest(file_containing_symbol="polystream.v1.Event.seq"),
        "extension": ServerReflectionRequest(
            file_containing_extension={"containing_type": "polystream.v1.Event", "extension_number": 1}
        ),
        "extensions": ServerReflectionRequest(all_extension_numbers_of_type="polystream.v1.Event"),
        "nothing": ServerReflectionRequest(),
    }
    async with grpc.opened(scripted) as channel:
        method = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=ServerReflectionRequest.SerializeToString,
            response_deserializer=ServerReflectionResponse.FromString,
        )
        answers = [answer async for answer in method(iter(asked.values()), timeout=20)]
    got = dict(zip(asked, answers, strict=True))
    assert {row.name for row in got["services"].list_services_response.service} == SERVICES
    assert [answer.original_request for answer in answers] == list(asked.values())
    files = got["file"].file_descriptor_response.file_descriptor_proto
    assert list(got["symbol"].file_descriptor_response.file_descriptor_proto) == list(files)
    assert len(files) > 1  # with what it imports
    assert got["extension"].error_response.error_code == 5
    assert got["extensions"].all_extension_numbers_response.base_type_name == "polystream.v1.Event"
    assert got["nothing"].error_response.error_code == 3


async def test_a_compressed_request_is_refused_in_words(scripted: Server):
    async with grpc.opened(scripted) as channel:
        stub: Any = HealthStub(channel)
        call = stub.Check(
            health_pb2.HealthCheckRequest(service="a" * 10_000),
            timeout=20,
            compression=grpcio.Compression.Gzip,
        )
        assert await call.code() == grpcio.StatusCode.UNIMPLEMENTED


async def test_a_request_far_above_the_limit_is_refused_like_any_other(scripted: Server):
    asked = {"prompt": "a" * 6 * 1024 * 1024}
    with pytest.raises(Exception, match="larger than 1048576 bytes") as refused:
        async for _ in grpc.start(scripted, asked):
            pass
    assert getattr(refused.value, "code", None) == "too_large"
