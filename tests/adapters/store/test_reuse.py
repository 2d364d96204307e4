"""The contract of a ReuseStore, kept by SQLite and Redis alike (S002-23)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from adapters.store.redis_reuse import RedisReuseStore
from adapters.store.reuse import SqlReuseStore
from core.ports import ReuseStore
from tests.servers import free_port

HOUR = timedelta(hours=1)


@pytest.fixture(params=["sqlite", "redis"])
def reuse(request) -> ReuseStore:
    """A store, empty."""
    found: ReuseStore = request.getfixturevalue(f"{request.param}_reuse")
    return found


@pytest.fixture
def sqlite_reuse(database, clock) -> SqlReuseStore:
    return SqlReuseStore(database, clock=clock)


@pytest.fixture
async def redis_reuse(redis_url) -> AsyncIterator[RedisReuseStore]:
    store = RedisReuseStore(redis_url, timeout_s=10.0)  # a busy machine is no Redis that is away
    yield store
    await store.aclose()


async def test_what_was_put_is_found_until_it_is_cleared(reuse):
    """The newest text of a key; nothing of another."""
    await reuse.put("page", "first", ttl=HOUR)
    await reuse.put("page", "second", ttl=HOUR)

    found, other = await reuse.get("page"), await reuse.get("another page")
    gone = await reuse.clear()

    assert (found, other, gone) == ("second", None, 1)
    assert await reuse.get("page") is None


async def test_what_is_over_is_not_given(database, clock):
    """A page of yesterday is read again."""
    store = SqlReuseStore(database, clock=clock)
    await store.put("page", "text", ttl=HOUR)

    clock.advance(HOUR)

    assert await store.get("page") is None


async def test_an_absent_redis_is_a_miss():
    """Reading goes on without it."""
    store = RedisReuseStore(f"redis://127.0.0.1:{free_port()}/0")

    await store.put("page", "text", ttl=HOUR)

    assert await store.get("page") is None
    await store.aclose()
