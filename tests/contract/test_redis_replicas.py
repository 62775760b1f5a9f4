"""Two replicas on one Redis: each follows what the other appends, and hears what the other cancels."""

import asyncio

import pytest

from polystream.core.errors import NotFound
from polystream.core.events import ATTEMPT_SPAN, Event, Finished, Notice, Text
from polystream.core.ports import Verdict
from polystream.stores.redis import keys, watches
from tests.contract.redis_stores import Heard, opened, redis_store
from tests.fakes import (
    OWNER,
    Answer,
    HeldEngine,
    HeldSink,
    append,
    generations,
    request,
    stored,
    texts,
    until,
)
from tests.redis_server import RedisServer


@pytest.mark.parametrize("after", range(-1, 4))
async def test_a_reader_on_another_replica_gets_what_is_stored_then_what_comes(
    redis: RedisServer, after: int
):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        await append(one, made.id, 1, texts("a", "b", "c"))
        sink = HeldSink()
        await generations(HeldEngine(), other).attach(made.id, after, OWNER, sink)
        await append(one, made.id, 4, texts("d"))
        await append(one, made.id, 5, [Text("e"), Finished("stop")])
        await until(lambda: sink.seqs == list(range(after + 1, 7)))


async def test_readers_on_both_replicas_get_each_event_once(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        sinks = [HeldSink(), HeldSink(), HeldSink()]
        for store, sink in zip((one, other, other), sinks, strict=True):
            await generations(HeldEngine(), store).attach(made.id, None, OWNER, sink)
        for seq in range(1, 200):
            one.append(made.id, 0, seq, texts("x"), lambda *answer: None)
            if seq % 7 == 0:
                await asyncio.sleep(0.001)
        await append(one, made.id, 200, [Finished("stop")])
        await until(lambda: all(sink.seqs == list(range(201)) for sink in sinks))


async def test_a_cancel_elsewhere_stops_a_silent_producer(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        engine = HeldEngine()
        made = await generations(engine, one).start(request(), OWNER)
        await one._tail.subscribe(keys.CANCELLED)
        await generations(HeldEngine(), other).cancel(made.id, OWNER)
        await until(lambda: engine.run.stopped)
        await until(lambda: redis.ask("HEXISTS", keys.record(made.id), "until"))
        assert (await other.record(made.id, OWNER)).reason == "cancelled"


async def test_a_cancel_elsewhere_is_in_the_answer_to_an_append(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        await other.cancel(made.id, OWNER)
        assert await append(one, made.id, 1, texts("a")) == Answer(Verdict.OK, 1, cancel=True)


async def test_who_lost_a_generation_is_fenced_and_its_readers_follow_the_new_producer(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        heard = Heard()
        await one.watch(made.id, OWNER, heard.append)
        await append(one, made.id, 1, texts("a"))
        redis.ask("HSET", keys.record(made.id), "attempt", 1, "replica", "other")  # as a takeover does
        assert (await append(one, made.id, 2, texts("b"))).verdict is Verdict.FENCED
        taken: list[Event] = [Notice("takeover", {"from": 1}), Text("c")]
        await append(other, made.id, ATTEMPT_SPAN, taken, attempt=1)
        await append(other, made.id, ATTEMPT_SPAN + 2, [Finished("stop")], attempt=1)
        await until(lambda: heard.seqs == [1, *range(ATTEMPT_SPAN, ATTEMPT_SPAN + 3)])
        assert [seq for seq, _ in await stored(one, made.id)] == [0, *heard.seqs]


async def test_what_was_published_unheard_is_found_after_a_silence(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watches, "SILENCE_S", 0.1)
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        heard = Heard()
        await other.watch(made.id, OWNER, heard.append)
        redis.ask("XADD", keys.log(made.id), "1-1", "e", '"unheard"')
        redis.ask("HSET", keys.record(made.id), "tail", 1, "events", 2)
        await until(lambda: heard.seqs == [1])


async def test_a_hole_in_what_is_heard_is_filled_from_the_log(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        heard = Heard()
        await other.watch(made.id, OWNER, heard.append)
        redis.ask("XADD", keys.log(made.id), "1-1", "e", '"unheard"')
        redis.ask("HSET", keys.record(made.id), "tail", 1, "events", 2)
        await append(one, made.id, 2, texts("b"))
        await until(lambda: heard.seqs == [1, 2])
        await append(one, made.id, 3, texts("c"))
        await until(lambda: heard.seqs == [1, 2, 3])


async def test_a_thousand_watched_generations_take_six_connections_at_most(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        logs = [await opened(one) for _ in range(1000)]
        heard = Heard()
        leave = await asyncio.gather(*(other.watch(made.id, OWNER, heard.append) for made in logs))
        for made in logs:
            one.append(made.id, 0, 1, texts("a"), lambda *answer: None)
        await until(lambda: len(heard) == 1000)
        await asyncio.gather(*(other.read(made.id, OWNER, -1) for made in logs))
        clients = redis.ask("CLIENT", "LIST").decode().splitlines()
        assert len(clients) - 1 <= 2 * 6
        for stop in leave:
            stop()
            stop()
        channels = redis.ask("PUBSUB", "CHANNELS", "*:log")
        await until(lambda: not redis.ask("PUBSUB", "CHANNELS", "*:log"))
        assert len(channels) <= 1000
        await append(one, logs[0].id, 2, texts("b"))
        assert len(heard) == 1000


async def test_a_foreign_owner_subscribes_to_nothing(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        for store in (one, other):
            with pytest.raises(NotFound):
                await store.watch(made.id, "somebody", Heard().append)
        assert not redis.ask("PUBSUB", "CHANNELS", "*:log")


async def test_a_log_that_has_ended_is_watched_without_a_subscription(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        await append(one, made.id, 1, [Finished("stop")])
        (await other.watch(made.id, OWNER, Heard().append))()
        assert not redis.ask("PUBSUB", "CHANNELS", "*:log")
