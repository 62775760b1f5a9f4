"""How a replica meets its Redis: what it refuses, and in which words; the password is in none of them."""

import logging
import ssl
from pathlib import Path

import pytest
import trustme

from polystream.core.errors import StoreUnavailable
from polystream.core.ports import Verdict
from polystream.stores.redis import Address, RedisStore, rare
from tests.contract.redis_stores import opened, redis_store
from tests.fakes import append, stored, texts
from tests.redis_proxy import redis_proxy
from tests.redis_server import RedisServer, redis_server


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
async def test_a_redis_that_may_throw_logs_away_is_refused(redis: RedisServer, policy: str):
    async with redis_store(redis.port) as store:
        redis.ask("CONFIG", "SET", "maxmemory-policy", policy)
        try:
            with pytest.raises(
                StoreUnavailable, match=f"maxmemory-policy is {policy}, and must be noeviction"
            ):
                await store.check()
        finally:
            redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        await store.check()


@pytest.mark.parametrize("commands", ["-info", "-info -config"])
async def test_a_redis_that_does_not_tell_its_policy_is_taken_with_a_warning(
    redis: RedisServer, commands: str, caplog: pytest.LogCaptureFixture
):
    redis.ask("ACL", "SETUSER", "default", *commands.split())
    try:
        async with redis_store(redis.port) as store:
            for _ in range(2):
                await store.check()
    finally:
        redis.ask("ACL", "SETUSER", "default", "+@all")
    warned = [line for line in caplog.messages if "does not tell its maxmemory-policy" in line]
    assert len(warned) == (0 if commands == "-info" else 1)


async def test_user_and_password_open_a_redis_and_wrong_ones_are_told(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    users = ("--user", "app", "on", ">p@ss:w0rd", "~*", "&*", "+@all", "--user", "default", "off")
    with redis_server(*users) as server:
        place = f"127.0.0.1:{server.port}"
        address = Address.parse(f"redis://app:p%40ss%3Aw0rd@{place}/2")
        store = RedisStore(address, retention_s=60, open_s=60, buffer=10)
        await store.check()
        made = await opened(store)
        assert (await append(store, made.id, 1, texts("a"))).verdict is Verdict.OK
        await store.close()
        for wrong in ("app:s3cret", "nobody:s3cret", ":s3cret"):
            address = Address.parse(f"redis://{wrong}@{place}")
            store = RedisStore(address, retention_s=60, open_s=60, buffer=10)
            with pytest.raises(StoreUnavailable, match=f"{place}/0 refuses user or password"):
                await store.check()
            assert "s3cret" not in repr(address) + str(address)
            await store.close()
    assert "s3cret" not in caplog.text
    assert "w0rd" not in caplog.text


async def test_tls_is_spoken_and_only_with_whom_the_ca_vouches_for(
    redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rare, "PATIENCE_S", 0.2)
    ca, stranger = trustme.CA(), trustme.CA()
    behind = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("localhost").configure_cert(behind)
    for name, one in (("ca.pem", ca), ("stranger.pem", stranger)):
        one.cert_pem.write_to_path(str(tmp_path / name))
    async with redis_proxy(redis.port, ssl=behind) as proxy:
        address = Address.parse(f"rediss://localhost:{proxy.port}", str(tmp_path / "ca.pem"))
        assert str(address) == f"rediss://localhost:{proxy.port}/0"
        store = RedisStore(address, retention_s=60, open_s=60, buffer=10)
        await store.check()
        made = await opened(store)
        await append(store, made.id, 1, texts("a"))
        assert len(await stored(store, made.id)) == 2
        await store.close()
        address = Address.parse(f"rediss://localhost:{proxy.port}", str(tmp_path / "stranger.pem"))
        store = RedisStore(address, retention_s=60, open_s=60, buffer=10)
        with pytest.raises(StoreUnavailable, match="certificate"):
            await store.check()
        await store.close()


def test_a_ca_that_is_not_there_is_named(tmp_path: Path):
    (tmp_path / "empty.pem").touch()
    for name in ("none.pem", "empty.pem"):
        with pytest.raises(OSError, match=rf"^STORE_CA: {tmp_path}/{name}: "):
            Address.parse("rediss://localhost", str(tmp_path / name))


def test_an_address_has_redis_own_defaults():
    address = Address.parse("redis://[::1]")
    assert (address.host, address.port, address.db, str(address)) == ("::1", 6379, 0, "redis://[::1]:6379/0")
