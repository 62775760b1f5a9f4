"""What stands in Redis: today's format stays readable, tomorrow's is borne, and a slot holds a generation."""

import asyncio
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from hiredis import Reader, pack_command

from polystream.core.errors import Internal, NotFound, StoreUnavailable
from polystream.core.events import ATTEMPT_SPAN, Event, Finished, Notice, Started, Text, Usage
from polystream.core.record import Record
from polystream.core.request import OnDisconnect
from polystream.stores.redis import RedisStore, codec, keys
from tests.contract.redis_stores import Heard, opened, redis_store
from tests.contract.test_stores import EVENTS, FULL, USAGE
from tests.fakes import (
    OWNER,
    HeldEngine,
    append,
    generations,
    gone,
    record,
    request,
    started,
    stored,
    texts,
    until,
)
from tests.redis_server import RedisServer

#: A generation as version 0.1 wrote it, key by key. Never written again: a new format is another file.
FROZEN = Path(__file__).with_name("redis_format_1.json")
ID = "gen_frozen"
RECORD = Record(
    ID, OWNER, FULL, "m", "e", 7, dialect="chat", echo={"user": "u"}, on_disconnect=OnDisconnect.CONTINUE,
    on_cut="restart", attempt=0, replica="r", watched=1.5, fold=2,
)  # fmt: skip
LOG: list[Event] = [
    Started(ID, "m", "e", 7),
    *EVENTS,
    Text("\ud800"),
    Finished("stop", USAGE, "m-1", 9, "ab"),
]


def dump(redis: RedisServer) -> dict[str, Any]:
    """The generation's keys, without what depends on the clock."""
    fields = redis.ask("HGETALL", keys.record(ID))
    named = {name.decode(): value.decode() for name, value in zip(fields[::2], fields[1::2], strict=True)}
    assert int(named.pop("until")) > 0
    entries = [
        [entry.decode(), *map(bytes.decode, pair)]
        for entry, pair in redis.ask("XRANGE", keys.log(ID), "-", "+")
    ]
    return {keys.record(ID): named, keys.log(ID): entries}


def load(redis: RedisServer, kept: dict[str, Any]) -> None:
    """Put them there."""
    for name, value in kept[keys.record(ID)].items():
        redis.ask("HSET", keys.record(ID), name, value)
    for entry in kept[keys.log(ID)]:
        redis.ask("XADD", keys.log(ID), *entry)


async def write(store: RedisStore) -> None:
    """The frozen generation, anew."""
    await store.create(RECORD, LOG[0])  # type: ignore[arg-type]
    await append(store, ID, 1, LOG[1:3])
    await store.cancel(ID, OWNER)
    await append(store, ID, 3, LOG[3:])


async def test_the_first_format_is_still_read(redis: RedisServer):
    load(redis, json.loads(FROZEN.read_text()))
    async with redis_store(redis.port) as store:
        assert [event for _, event in await stored(store, ID)] == LOG
        kept = await store.record(ID, OWNER)
        assert (kept.request, kept.echo, kept.on_disconnect, kept.watched) == (
            FULL,
            {"user": "u"},
            "continue",
            1.5,
        )
        assert (kept.cancel, kept.reason, kept.events, kept.last_seq) == (
            True,
            "stop",
            len(LOG),
            len(LOG) - 1,
        )


async def test_what_is_written_today_is_that_format(redis: RedisServer):
    async with redis_store(redis.port) as store:
        await write(store)
        assert dump(redis) == json.loads(FROZEN.read_text())


async def test_fields_and_events_of_a_version_to_come_are_passed_over_and_kept(redis: RedisServer):
    kept = json.loads(FROZEN.read_text())
    fields, log = kept[keys.record(ID)], kept[keys.log(ID)]
    fields["record"] = fields["record"].replace('"request":{', '"more":{"a":1},"request":{"more":2,')
    fields |= {"more": "3"}
    del fields["cancel"], fields["last"]
    log[2][2] = '{"type":"later","text":"?"}'
    log[3][2] = log[3][2].replace('{"type"', '{"more":4,"type"')
    load(redis, kept)
    async with redis_store(redis.port) as store:
        await store.cancel(ID, OWNER)
        await append(store, ID, len(LOG), texts("x"))
        assert (await store.record(ID, OWNER)).request == FULL
        events = [event for _, event in await stored(store, ID)]
        assert events == [*LOG[:2], Notice("skipped", {"what": "later"}), *LOG[3:], Text("x")]
    assert redis.ask("HGET", keys.record(ID), "more") == b"3"
    assert b'"more":{"a":1}' in redis.ask("HGET", keys.record(ID), "record")


async def test_a_format_that_an_older_version_must_not_read_is_refused(redis: RedisServer):
    async with redis_store(redis.port) as one, redis_store(redis.port) as other:
        made = await opened(one)
        redis.ask("HSET", keys.record(made.id), "format", codec.FORMAT + 1)
        for call in (
            other.record(made.id, OWNER), other.read(made.id, OWNER, -1), other.cancel(made.id, OWNER),
            other.watch(made.id, OWNER, Heard().append),
        ):  # fmt: skip
            with pytest.raises(StoreUnavailable, match="newer version"):
                await call


@pytest.mark.parametrize(
    "event",
    [
        Text("half a pair \udc00"),
        Text("x", tokens=1),
        Notice("n", {"huge": 2**90, "usage": Usage(1, 2), "half": "\ud800"}),
    ],
)
def test_what_json_makes_hard_is_written_too(event: Event):
    value = codec.write_event(event)
    assert b"\n" not in value
    read = codec.read_event(value)
    if isinstance(read, Notice):
        read.detail["usage"] = Usage(**read.detail["usage"])
    assert read == event


async def test_a_record_of_what_json_makes_hard_is_kept(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store, request=request("half a pair \ud800", seed=2**90))
        assert (await store.record(made.id, OWNER)).request == made.request


async def test_no_command_touches_keys_of_two_generations(redis: RedisServer):
    with socket.create_connection(("127.0.0.1", redis.port), 5) as watching:
        watching.sendall(pack_command(("MONITOR",)))
        watching.recv(100)
        async with redis_store(redis.port) as one, redis_store(redis.port) as other:
            engine = HeldEngine()
            core, elsewhere = generations(engine, one), generations(HeldEngine(), other)
            for number in range(3):
                made = await core.start(request(), OWNER, key=f"k{number}")
                assert (await elsewhere.start(request(), OWNER, key=f"k{number}")).id == made.id
                follow = await elsewhere.follow(made.id, None, OWNER)
                engine.run.say("a", "b")
                await core.status(made.id, OWNER)
                if number:
                    engine.run.end()
                else:
                    await elsewhere.cancel(made.id, OWNER)
                assert [batch async for batch in follow][-1].last
                await gone_from_open(redis, made.id)
        said = seen(watching)
    assert len(said) > 50
    for line in said:
        assert len(set(re.findall(r"\{gen_[^}]+\}", line.partition("local ")[0]))) <= 1, line
        if "EVALSHA" in line.upper():
            words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
            named = words[3 : 3 + int(words[2])]
            assert len({re.sub(r".*\{(.+)\}.*", r"\1", name) for name in named}) == 1, line


async def gone_from_open(redis: RedisServer, id: str) -> None:
    """Until the generation is not among the open ones."""
    await until(lambda: redis.ask("ZSCORE", keys.OPEN, id) is None)


def seen(watching: socket.socket) -> list[str]:
    """What a MONITOR has said, script by script's own commands included."""
    watching.settimeout(0.3)
    reader = Reader()
    said = []
    try:
        while True:
            reader.feed(watching.recv(1 << 16))
            while (line := reader.gets()) is not False:
                said.append(line.decode())
    except TimeoutError:
        return said


async def test_open_generations_are_a_set_and_nothing_is_left_behind(redis: RedisServer):
    async with redis_store(redis.port, retention_s=0.2) as store:
        made, other = await opened(store), await opened(store)
        await store.claim("key", made.id, "digest")
        assert redis.ask("ZRANGE", keys.OPEN, 0, -1) == sorted([made.id.encode(), other.id.encode()])
        await append(store, made.id, 1, [Finished("stop")])
        await gone_from_open(redis, made.id)
        assert redis.ask("PTTL", keys.claim("key")) <= 200
        await gone(store, made.id)
        left = {keys.OPEN, keys.log(other.id), keys.record(other.id)}
        await until(lambda: redis.keys() == left)


async def test_a_log_that_never_ends_has_a_life_too(redis: RedisServer):
    async with redis_store(redis.port, open_s=0.2) as store:
        made = await opened(store)
        await store.claim("key", made.id, "digest")
        await gone(store, made.id)
        await until(lambda: redis.keys() == {keys.OPEN})


async def test_the_same_create_again_is_one_and_another_under_its_id_is_refused(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store)
        await append(store, made.id, 1, texts("a"))
        await store.create(made, started(made))
        assert [seq for seq, _ in await stored(store, made.id)] == [0, 1]
        with pytest.raises(Internal):
            await store.create(record(id=made.id, model="other"), started(made))


async def test_a_long_append_is_many_short_scripts(redis: RedisServer):
    async with redis_store(redis.port) as store:
        made = await opened(store, attempt=1)
        heard = Heard()
        await store.watch(made.id, OWNER, heard.append)
        pieces: list[Event] = [Notice("takeover", {"from": 0}), *texts(*["x" * 300] * 5000), Finished("stop")]
        first = ATTEMPT_SPAN
        answer = await append(store, made.id, first, pieces, attempt=1)
        assert answer.tail == first + len(pieces) - 1
        assert await append(store, made.id, first, pieces, attempt=1) == answer
        assert [event for _, event in await stored(store, made.id, 0)] == pieces
        assert heard.seqs == [*range(first, first + len(pieces))]
        with pytest.raises(NotFound):
            await store.read(made.id, "somebody", -1)
        await asyncio.sleep(0)
