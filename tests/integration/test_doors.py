"""The rarer ways through the doors: starts without streaming and by GET, forms, refs, models, taken ports."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import aiohttp
import grpc
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from polystream.proto.polystream.v1 import streams_pb2 as pb
from polystream.proto.polystream.v1 import streams_pb2_grpc
from tests.integration.server import Server

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLOW = {"prompt": "hi", "metadata": {"script": json.dumps({"pieces": ["a"] * 50, "pace_ms": 200})}}


async def rest(server: Server, method: str, path: str, **options: Any) -> tuple[int, Any, str]:
    """Status, headers and text of an answer."""
    async with (
        asyncio.timeout(20),
        aiohttp.request(method, f"{server.rest}{path}", **options) as answer,
    ):
        return answer.status, answer.headers, await answer.text()


async def error_of(server: Server, method: str, path: str, **options: Any) -> tuple[int, str | None]:
    """Status and `param` of a refusal."""
    status, _, text = await rest(server, method, path, **options)
    return status, json.loads(text)["error"].get("param")


async def told(socket: ClientConnection, **message: Any) -> dict[str, Any]:
    """The first answer to a message that is no event."""
    await socket.send(json.dumps(message))
    async with asyncio.timeout(20):
        while True:
            answer: dict[str, Any] = json.loads(await socket.recv())
            if "seq" not in answer:
                return answer


async def test_a_start_may_be_answered_before_it_is_done(scripted: Server):
    headers = {"Prefer": "respond-async"}
    status, told_headers, text = await rest(scripted, "POST", "/v1/streams", json=SLOW, headers=headers)
    assert (status, json.loads(text)["state"]) == (202, "running")
    assert told_headers["Preference-Applied"] == "respond-async"
    status, _, text = await rest(scripted, "DELETE", told_headers["Location"])
    assert (status, json.loads(text)["id"]) == (202, told_headers["Stream-Id"])


async def test_a_browser_starts_by_get_and_comes_back_with_the_id_of_its_last_event(scripted: Server):
    _, headers, text = await rest(scripted, "GET", "/v1/streams?prompt=hi")
    id = headers["Stream-Id"]
    assert text.startswith(f"id: {id}:0\nevent: started\n")
    last = text.rstrip().rsplit("\n\n", 1)[-1].partition("\n")[0].removeprefix("id: ")
    status, _, _ = await rest(scripted, "GET", "/v1/streams?prompt=hi", headers={"Last-Event-ID": last})
    assert status == 204
    before = {"Last-Event-ID": f"{id}:1"}
    _, _, text = await rest(scripted, "GET", "/v1/streams?prompt=hi", headers=before)
    assert text.startswith(f"id: {id}:2\n")


@pytest.mark.parametrize(
    ("path", "headers", "status", "param"),
    [
        ("/v1/streams?prompt=hi&n=2", {}, 400, "n"),
        ("/v1/streams?model=m", {}, 400, "prompt"),
        ("/v1/streams?prompt=hi", {"Last-Event-ID": "7"}, 400, "Last-Event-ID"),
        ("/v1/streams/gen_x?after=-1", {}, 400, "after"),
        ("/v1/streams/gen_x?afetr=7", {}, 400, "afetr"),
        ("/v1/streams/gen_x", {"Accept": "image/png"}, 406, None),
        ("/v1/streams/gen_x", {}, 404, None),
    ],
)
async def test_a_get_that_cannot_be_obeyed_says_what_is_wrong(
    scripted: Server, path: str, headers: dict[str, str], status: int, param: str | None
):
    assert await error_of(scripted, "GET", path, headers=headers) == (status, param)


async def test_a_ref_is_cancelled_and_unknown_ones_are_refused(scripted: Server):
    async with connect(f"{scripted.websocket}/v1/streams") as socket:
        await socket.send(json.dumps({"type": "start", "ref": "a", "request": SLOW}))
        used = await told(socket, type="start", ref="a", request={"prompt": "hi"})
        assert used["error"]["param"] == "ref"
        assert (await told(socket, type="cancel", ref="a"))["type"] == "status"
        assert (await told(socket, type="cancel", ref="b"))["error"]["code"] == "not_found"
        assert (await told(socket, type="cancel"))["error"]["param"] == "id"
        await socket.send(json.dumps({"type": "unfollow", "ref": "nobody"}))
        assert (await told(socket, type="follow", ref="c", id="gen_x"))["error"]["code"] == "not_found"


async def test_an_ended_log_answers_a_follow_at_its_end_with_its_status(scripted: Server):
    _, headers, text = await rest(scripted, "POST", "/v1/streams", json={"prompt": "hi"})
    last = json.loads(text.splitlines()[-1])["seq"]
    async with connect(f"{scripted.websocket}/v1/streams") as socket:
        answer = await told(socket, type="follow", ref="a", id=headers["Stream-Id"], after=last)
        assert (answer["type"], answer["ref"], answer["state"]) == ("status", "a", "finished")


async def test_a_left_ref_is_silent_and_free(scripted: Server):
    async with connect(f"{scripted.websocket}/v1/streams") as socket:
        await socket.send(json.dumps({"type": "start", "ref": "a", "request": SLOW}))
        await socket.recv()
        await socket.send(json.dumps({"type": "unfollow", "ref": "a"}))
        await socket.send(json.dumps({"type": "start", "ref": "a", "request": {"prompt": "hi"}}))
        async with asyncio.timeout(20):
            while json.loads(await socket.recv())["type"] != "finished":
                pass


async def test_a_binary_frame_closes_the_socket_with_1003(scripted: Server):
    async with connect(f"{scripted.websocket}/v1/streams") as socket:
        await socket.send(b"{}")
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(socket.recv(), 20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1003


async def test_the_websocket_port_knows_its_door_and_its_health(scripted: Server):
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"{scripted.websocket}/elsewhere")
    assert refused.value.response.status_code == 404
    base = scripted.websocket.replace("ws://", "http://")
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        for path in ("/healthz", "/readyz"):
            async with session.get(f"{base}{path}") as answer:
                assert answer.status == 200


async def test_grpc_lists_the_models(scripted: Server):
    async with grpc.aio.insecure_channel(scripted.grpc) as channel:
        listed = await streams_pb2_grpc.StreamsStub(channel).ListModels(pb.ListModelsRequest(), timeout=20)
    assert [(model.id, model.state) for model in listed.models] == [("scripted", "ready")]


@pytest.mark.parametrize("protocol", ["rest", "websocket", "grpc"])
async def test_a_taken_port_is_named_with_its_setting(scripted: Server, protocol: str):
    port = getattr(scripted, protocol).rpartition(":")[2]
    name = f"{protocol.upper()}_PORT"
    command = [sys.executable, "-m", "polystream", protocol]
    ended = await asyncio.to_thread(
        subprocess.run, command, env=os.environ | {name: port}, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"polystream {protocol}: {name}: Address already in use")
