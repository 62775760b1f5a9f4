"""The store in Redis when replies are lost, connections break, or Redis forgets scripts or cannot write."""

import asyncio
from functools import partial
from typing import Any

import pytest

from polystream.core.errors import StoreUnavailable
from polystream.core.events import Event, Finished, Text
from polystream.core.log import Log, LogLimits
from polystream.core.ports import Verdict
from polystream.core.record import Record
from polystream.stores.redis import RedisStore, keys, rare
from polystream.stores.redis import store as redis_store_side
from tests.contract.redis_stores import Heard, opened, redis_store
from tests.fakes import OWNER, Answer, append, record, started, stored, texts, until
from tests.redis_proxy import redis_proxy
from tests.redis_server import RedisServer


def fail() -> None:
    raise AssertionError("the log was lost, cancelled or full")


async def producing(store: RedisStore) -> tuple[Record, Log]:
    """A log as a producer writes it, with its own copy."""
    made = record()
    await store.create(made, started(made))
    return made, Log(store, made, started(made), LogLimits(100_000, 10**9), fail, fail, fail)


@pytest.mark.parametrize("faults", [("cut",), ("swallow",), ("skip",), ("cut", "swallow", "skip")])
async def test_lost_replies_double_and_lose_nothing_in_ten_thousand_appends(
    redis: RedisServer, faults: tuple[str, ...]
):
    async with (
        redis_proxy(redis.port, faults=faults) as proxy,
        redis_store(proxy.port, reply_timeout_s=0.03, connect_timeout_s=0.1) as store,
        redis_store(redis.port) as other,
    ):
        made = [await producing(store) for _ in range(20)]
        local, remote = [Heard() for _ in made], [Heard() for _ in made]
        for (its, _), here, there in zip(made, local, remote, strict=True):
            await store.watch(its.id, OWNER, here.append)
            await other.watch(its.id, OWNER, there.append)
        proxy.chance = 0.1
        for number in range(500):
            for _, log in made:
                log.append([Text(f"{number} ")])
            if number % 2:  # else it travels with what comes next
                await until(partial(local[0].has, number + 1))
        for _, log in made:
            log.end(Finished("stop"))
        everything = list(range(1, 502))
        async with asyncio.timeout(60):
            while not all(heard.seqs[-1:] == [501] for heard in (*local, *remote)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert all(heard.seqs == everything for heard in (*local, *remote))
        assert proxy.lost > 10
        expected: list[Event] = [Text(f"{number} ") for number in range(500)]
        for its, _ in made:
            assert [event for _, event in await stored(other, its.id, 0)][:-1] == expected
            kept = await other.record(its.id, OWNER)
            assert (kept.events, kept.last_seq, kept.reason) == (502, 501, "stop")


async def test_rare_commands_bear_lost_replies(redis: RedisServer):
    async with (
        redis_proxy(redis.port, faults=("cut",), chance=0.3) as proxy,
        redis_store(proxy.port, reply_timeout_s=0.1) as store,
    ):
        for number in range(8):
            made = await opened(store)
            assert await store.claim(f"key {number}", made.id, "d") == (made.id, "d")
            assert (await store.record(made.id, OWNER)).events == 1
            assert (await store.cancel(made.id, OWNER)).cancel
            assert len(await store.read(made.id, OWNER, -1)) == 1
        assert proxy.lost > 5


async def test_a_break_is_mended_while_watchers_wait(redis: RedisServer):
    async with (
        redis_proxy(redis.port) as proxy,
        redis_store(proxy.port) as store,
        redis_store(redis.port) as other,
    ):
        near, far = await opened(store), await opened(other)
        heard, heard_far = Heard(), Heard()
        await store.watch(near.id, OWNER, heard.append)
        await store.watch(far.id, OWNER, heard_far.append)
        for seq in range(1, 6):
            proxy.refuse = True
            proxy.sever()
            answered = asyncio.ensure_future(append(store, near.id, seq, texts("a")))
            await append(other, far.id, seq, texts("b"))
            proxy.refuse = False
            assert await answered == Answer(Verdict.OK, seq)
            await until(partial(heard.has, seq))
            await until(partial(heard_far.has, seq))
        assert heard.seqs == heard_far.seqs == list(range(1, 6))


async def test_forgotten_scripts_are_loaded_again(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store)
        heard = Heard()
        await store.watch(made.id, OWNER, heard.append)
        for seq in range(1, 10):
            redis.ask("SCRIPT", "FLUSH")
            if seq % 2:
                await store.read(made.id, OWNER, -1)
            assert await append(store, made.id, seq, texts("a")) == Answer(Verdict.OK, seq)
        assert heard.seqs == list(range(1, 10))


async def test_what_does_not_fit_the_buffer_is_asked_for_again(redis: RedisServer):
    async with (
        redis_proxy(redis.port) as proxy,
        redis_store(proxy.port, buffer=50) as store,
        redis_store(redis.port) as other,
    ):
        made, log = await producing(store)
        heard = Heard()
        await store.watch(made.id, OWNER, heard.append)
        log.append([Text("0")])
        await until(lambda: heard.seqs == [1])
        proxy.refuse = True
        proxy.sever()
        for number in range(1, 500):
            log.append([Text(f"{number}")])
            await asyncio.sleep(0)
        writing = store._appends._writings[made.id].waiting
        assert writing is not None
        assert writing.events is None
        proxy.refuse = False
        await until(lambda: heard.seqs[-1] == 500)
        log.end(Finished("stop"))
        await until(lambda: heard.seqs == list(range(1, 502)))
        assert [seq for seq, _ in await stored(other, made.id)] == list(range(502))


async def test_a_redis_that_is_full_holds_appends_up_and_loses_none(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store)
        redis.ask("CONFIG", "SET", "maxmemory", "1")
        try:
            answers: list[Answer] = []
            store.append(made.id, 0, 1, texts("a"), lambda *said: answers.append(Answer(*said)))
            with pytest.raises(StoreUnavailable, match="cannot write"):
                await opened(store)
            assert answers == []
        finally:
            redis.ask("CONFIG", "SET", "maxmemory", "0")
        await until(lambda: answers)
        assert answers == [Answer(Verdict.OK, 1)]


async def test_an_append_that_redis_can_never_take_is_fenced(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made, other = await opened(store), await opened(store)
        redis.ask("DEL", keys.log(made.id))
        redis.ask("SET", keys.log(made.id), "no stream")
        assert (await append(store, made.id, 1, texts("a"))).verdict is Verdict.FENCED
        assert await append(store, other.id, 1, texts("a")) == Answer(Verdict.OK, 1)


async def test_what_was_appended_last_is_written_before_the_store_closes(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store)
        store.append(made.id, 0, 1, [Text("a"), Finished("stop")], lambda *answer: None)
    async with redis_store(redis.port) as store:
        assert (await store.record(made.id, OWNER)).reason == "stop"


async def test_a_redis_that_is_away_is_told_in_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rare, "PATIENCE_S", 0.2)
    monkeypatch.setattr(redis_store_side, "_LAST_WRITES_S", 0.2)
    async with redis_store(1) as store:
        calls: list[Any] = [
            store.check(), opened(store), store.record("gen_x", OWNER), store.cancel("gen_x", OWNER),
            store.read("gen_x", OWNER, -1), store.watch("gen_x", OWNER, Heard().append),
            store.claim("k", "gen_x", "d"),
        ]  # fmt: skip
        for call in calls:
            with pytest.raises(StoreUnavailable, match=r"redis://127.0.0.1:1/0 cannot be reached"):
                await call
        store.append("gen_x", 0, 1, texts("a"), lambda *answer: fail())
        await asyncio.sleep(0.01)


async def test_a_log_that_redis_lost_is_created_again_and_watchers_hear_nothing_twice(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made, log = await producing(store)
        heard = Heard()
        await store.watch(made.id, OWNER, heard.append)
        log.append(texts("a", "b"))
        await until(lambda: heard.seqs == [1, 2])
        redis.ask("FLUSHALL")
        log.append(texts("c"))
        await until(lambda: heard.seqs == [1, 2, 3])
        log.end(Finished("stop"))
        await until(lambda: heard.seqs == [1, 2, 3, 4])
        assert [seq for seq, _ in await stored(store, made.id)] == [0, 1, 2, 3, 4]


async def test_what_a_failed_create_left_is_taken_away(redis: RedisServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rare, "PATIENCE_S", 0.05)
    async with redis_proxy(redis.port, faults=("cut",)) as proxy, redis_store(proxy.port) as store:
        await store.check()
        proxy.chance = 1.0
        for number in range(20):  # until one has run, and its answer was lost
            with pytest.raises(StoreUnavailable):
                await opened(store)
            if redis.keys():
                break
            assert number < 19
        proxy.chance = 0.0
        await until(lambda: not redis.keys())
