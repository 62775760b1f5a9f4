"""`/ws`: prompts on one socket, one after the other."""

import asyncio
import json
import time
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from tests.clients import articles
from tests.integration.articles import (
    SHORT,
    Doors,
    prompt_of,
)
from tests.integration.upstream import Reply, Upstream, says
from tests.integration.waiting import closed_within

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_prompts_on_one_socket_are_answered_one_after_the_other(doors: Doors, upstream: Upstream):
    texts = [[f"{who}{number} " for number in range(5)] for who in "abc"]
    stages = [upstream.stage(Reply(says(*said, delay_ms=10))) for said in texts]
    async with articles.opened(doors) as socket_:
        for stage in stages:
            await socket_.send(prompt_of(stage))
        for said in texts:
            *frames, last = [frame async for frame in articles.answer(socket_)]
            assert "".join(map(articles.socket, frames)) == "".join(said)
            assert last == "event:end\ndata: \n\n"


async def test_an_empty_prompt_is_refused_in_its_turn(doors: Doors, upstream: Upstream):
    stage = upstream.stage(Reply(says(*SHORT)))
    async with articles.opened(doors) as socket_:
        await socket_.send("")
        await socket_.send(prompt_of(stage))
        (refused,) = [frame async for frame in articles.answer(socket_)]
        error = json.loads(articles.events(refused)[0][1])["error"]
        assert (error["code"], error["param"]) == ("invalid_request", "prompt")
        *frames, _ = [frame async for frame in articles.answer(socket_)]
        assert "".join(map(articles.socket, frames)) == "".join(SHORT)


@pytest.mark.parametrize(
    ("frames", "code"),
    [([b"binary"], 1003), (["a" * 1_048_577], 1009), (["wait"] * 18, 1013)],
    ids=["binary", "too big", "too many"],
)
async def test_a_frame_that_is_none_closes_the_socket_and_ends_the_answer(
    doors: Doors, upstream: Upstream, frames: list[Any], code: int
):
    stage = upstream.stage(Reply(says(*["word "] * 2000, delay_ms=20)))
    async with asyncio.timeout(20), articles.opened(doors) as socket_:
        await socket_.send(prompt_of(stage))
        await socket_.recv()
        for frame in frames:
            await socket_.send(frame)
        with pytest.raises(ConnectionClosedError):
            async for _ in socket_:
                pass  # what was on its way
    assert socket_.close_code == code
    await closed_within(stage, time.monotonic(), 1000)
