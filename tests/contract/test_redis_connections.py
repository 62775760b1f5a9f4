"""The store's two connections of its own: silence, refusals and rubbish end them, and they come back."""

import asyncio
from functools import partial
from typing import Any

import pytest

from polystream.core.errors import StoreUnavailable
from polystream.core.events import ATTEMPT_SPAN, Event, Notice
from polystream.core.ports import Verdict
from polystream.stores.redis import keys, rare, tail, watches
from polystream.stores.redis import store as redis_store_side
from tests.contract.redis_stores import Heard, opened, redis_store
from tests.fakes import OWNER, Answer, append, stored, texts, until
from tests.redis_proxy import redis_proxy
from tests.redis_server import RedisServer


def subscribers(redis: RedisServer) -> set[bytes]:
    """Ids of the connections that subscribe."""
    return {line.split()[0] for line in redis.ask("CLIENT", "LIST", "TYPE", "pubsub").splitlines()}


async def test_a_subscriber_connection_that_went_dumb_is_replaced(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tail, "_PING_S", 0.05)
    async with (
        redis_proxy(redis.port, faults=("swallow",)) as proxy,
        redis_store(proxy.port, reply_timeout_s=0.1, connect_timeout_s=0.2) as store,
        redis_store(redis.port) as other,
    ):
        made = await opened(other)
        heard = Heard()
        await store.watch(made.id, OWNER, heard.append)
        before = subscribers(redis)
        await asyncio.sleep(0.2)  # pings are answered: it stays
        assert subscribers(redis) == before
        proxy.chance = 1.0
        await append(other, made.id, 1, texts("a"))
        await asyncio.sleep(0.15)
        proxy.chance = 0.0
        await until(partial(heard.has, 1))
        assert subscribers(redis) != before


async def test_a_subscription_that_is_refused_is_told_and_works_when_it_is_allowed(redis: RedisServer):
    async with redis_store(redis.port, connect_timeout_s=0.2) as store, redis_store(redis.port) as other:
        made = await opened(other)
        redis.ask("ACL", "SETUSER", "default", "-subscribe")
        try:
            with pytest.raises(StoreUnavailable):
                await store.watch(made.id, OWNER, Heard().append)
        finally:
            redis.ask("ACL", "SETUSER", "default", "+@all")
        heard = Heard()
        async with asyncio.timeout(5):
            while not heard:
                try:
                    await store.watch(made.id, OWNER, heard.append)
                    await append(other, made.id, 1, texts("a"))
                    await until(partial(heard.has, 1))
                except StoreUnavailable:
                    await asyncio.sleep(0.05)


async def test_a_peer_that_is_no_redis_is_given_up_each_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rare, "PATIENCE_S", 0.1)
    monkeypatch.setattr(redis_store_side, "_LAST_WRITES_S", 0.2)
    met = 0

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        met += 1
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    async with redis_store(server.sockets[0].getsockname()[1]) as store:
        with pytest.raises(StoreUnavailable):
            await store.check()
        asked = met
        store.append("gen_x", 0, 1, texts("a"), lambda *answer: None)
        await until(lambda: met > asked + 1)
    server.close()


async def test_a_primary_that_is_none_for_a_while_holds_appends_up(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store)
        redis.ask("CONFIG", "SET", "replica-read-only", "yes")
        redis.ask("REPLICAOF", "127.0.0.1", "1")
        try:
            answered = asyncio.ensure_future(append(store, made.id, 1, texts("a")))
            cancelled = asyncio.ensure_future(store.cancel(made.id, OWNER))
            await asyncio.sleep(0.3)
            assert not answered.done()
        finally:
            redis.ask("REPLICAOF", "NO", "ONE")
        assert (await answered).verdict is Verdict.OK
        assert (await cancelled).cancel


async def test_a_primary_that_stays_none_is_told(redis: RedisServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rare, "PATIENCE_S", 0.1)
    redis.ask("REPLICAOF", "127.0.0.1", "1")
    try:
        async with redis_store(redis.port) as store:
            with pytest.raises(StoreUnavailable, match="cannot write"):
                await store.claim("key", "gen_x", "digest")
    finally:
        redis.ask("REPLICAOF", "NO", "ONE")


async def test_a_hole_that_cannot_be_filled_now_is_filled_after_a_silence(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rare, "PATIENCE_S", 0.05)
    monkeypatch.setattr(watches, "SILENCE_S", 0.1)
    async with redis_store(redis.port) as store, redis_store(redis.port) as other:
        made = await opened(other)
        heard = Heard()
        await store.watch(made.id, OWNER, heard.append)
        read, troubles = store._watches._read, [StoreUnavailable(), StoreUnavailable()]

        async def troubled(*place: Any) -> Any:
            if troubles:
                raise troubles.pop()
            return await read(*place)

        store._watches._read = troubled
        redis.ask("XADD", keys.log(made.id), "1-1", "e", '"unheard"')
        redis.ask("HSET", keys.record(made.id), "tail", 1, "events", 2)
        await append(other, made.id, 2, texts("b"))
        await until(lambda: heard.seqs == [1, 2])
        assert not troubles


async def test_an_answer_that_breaks_who_got_it_keeps_nobody_from_theirs(redis: RedisServer):
    def broken(*answer: object) -> None:
        raise ValueError

    async with redis_store(redis.port) as store:
        made, other = await opened(store), await opened(store)
        store.append(made.id, 0, 1, texts("a"), broken)
        assert await append(store, other.id, 1, texts("a")) == Answer(Verdict.OK, 1)


async def test_appends_of_two_attempts_that_wait_together_keep_their_own_words(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store, attempt=1)
        answers: dict[str, Answer] = {}
        said: list[tuple[str, int, int, list[Event]]] = [
            ("old", 0, 1, texts("x")),
            ("new", 1, ATTEMPT_SPAN, [Notice("takeover", {"from": 0})]),
            ("hole", 1, ATTEMPT_SPAN + 5, texts("y")),
            ("next", 1, ATTEMPT_SPAN + 1, texts("a")),
        ]
        for name, attempt, first_seq, events in said:
            store.append(made.id, attempt, first_seq, events, partial(_note, answers, name))
        await until(lambda: len(answers) == 4)
        assert answers["old"].verdict is Verdict.FENCED
        assert answers["hole"] == Answer(Verdict.BEHIND, ATTEMPT_SPAN)
        assert answers["next"] == Answer(Verdict.OK, ATTEMPT_SPAN + 1)
        assert [seq for seq, _ in await stored(store, made.id)] == [0, ATTEMPT_SPAN, ATTEMPT_SPAN + 1]


def _note(answers: dict[str, Answer], name: str, *said: Any) -> None:
    answers[name] = Answer(*said)
