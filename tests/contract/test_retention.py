"""How long every store keeps a generation: all of it together, RETENTION_S after its last event."""

from typing import Any

import pytest

from polystream.core.errors import NotFound
from polystream.core.events import Finished
from polystream.core.ports import Store, Verdict
from polystream.core.record import Record
from tests.fakes import OWNER, OpenStore, append, gone, record, started, stored, texts

RETENTION_S = 0.05


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """A store that forgets soon."""
    return await open_store(RETENTION_S)


async def opened(store: Store, **fields: Any) -> Record:
    """A log that holds `started` alone."""
    made = record(**fields)
    await store.create(made, started(made))
    return made


async def forgotten(store: Store, made: Record) -> None:
    """End the generation and wait until the store has forgotten it."""
    await append(store, made.id, 1, [Finished("stop")])
    await gone(store, made.id)


async def test_log_and_record_are_forgotten_some_time_after_the_end(store: Store):
    made = await opened(store)
    await forgotten(store, made)
    for call in (store.read(made.id, OWNER, -1), store.cancel(made.id, OWNER)):
        with pytest.raises(NotFound):
            await call
    assert (await append(store, made.id, 1, texts("a"))).verdict is Verdict.GONE


async def test_a_running_log_is_kept_however_old(store: Store):
    running = await opened(store)
    for _ in range(3):
        await forgotten(store, await opened(store))
    assert (await append(store, running.id, 1, texts("a"))).verdict is Verdict.OK


async def test_a_key_is_forgotten_with_the_log_of_its_holder(store: Store):
    made = await opened(store)
    await store.claim("key", made.id, "digest")
    await forgotten(store, made)
    assert await store.claim("key", "gen_next", "other") == ("gen_next", "other")


async def test_a_key_is_kept_while_its_holder_runs(store: Store):
    running = await opened(store)
    await store.claim("key", running.id, "digest")
    await forgotten(store, await opened(store))
    assert await store.claim("key", "gen_next", "other") == (running.id, "digest")


async def test_a_key_outlives_a_holder_that_was_replaced(store: Store):
    old, new = await opened(store), await opened(store)
    await store.claim("key", old.id, "digest")
    await store.claim("key", new.id, "digest", replacing=old.id)
    await forgotten(store, old)
    assert await store.claim("key", "gen_next", "other") == (new.id, "digest")


async def test_a_holder_that_was_replaced_may_outlive_its_key(store: Store):
    old, new = await opened(store), await opened(store)
    for key in ("key", "key of the old alone"):
        await store.claim(key, old.id, "digest")
    await store.claim("key", new.id, "digest", replacing=old.id)
    await forgotten(store, new)
    await forgotten(store, old)
    for key in ("key", "key of the old alone"):
        assert await store.claim(key, "gen_next", "other") == ("gen_next", "other")


async def test_a_forgotten_log_may_be_created_again(store: Store):
    made = await opened(store)
    await forgotten(store, made)
    await store.create(made, started(made))
    assert await append(store, made.id, 1, texts("a"))
    assert [seq for seq, _ in await stored(store, made.id)] == [0, 1]
