"""Each port's implementations, one after the other, for its contract suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from adapters.store.cache import SqliteAnswerCache
from adapters.store.events import SqliteEventLog
from adapters.store.jobs import SqliteJobStore
from adapters.store.memory import MemoryAnswerCache, MemoryEventLog, MemoryJobStore, MemorySourceStore
from adapters.store.redis import RedisAnswerCache
from adapters.store.sources import SqliteSourceStore
from adapters.store.sqlite import Database
from core.ports import AnswerCache, JobStore, SourceStore
from core.telemetry import Silence
from tests.adapters.store.redis_server import running_redis
from tests.adapters.store.samples import StandingClock, make_job


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
async def database(tmp_path) -> AsyncIterator[Database]:
    """An open database in a fresh folder."""
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


@pytest.fixture(params=["memory", "sqlite"])
def jobs(request, database) -> JobStore:
    return SqliteJobStore(database) if request.param == "sqlite" else MemoryJobStore()


@pytest.fixture(params=["memory", "sqlite"])
async def sources(request, database) -> SourceStore:
    """A source store that knows job 1 and job 2."""
    if request.param == "memory":
        return MemorySourceStore()
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return SqliteSourceStore(database)


@pytest.fixture(params=["memory", "sqlite"])
async def events(request, database, clock) -> MemoryEventLog | SqliteEventLog:
    """An event log that knows job 1 and job 2."""
    if request.param == "memory":
        return MemoryEventLog(clock=clock)
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return SqliteEventLog(database, clock=clock)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory) -> Iterator[str]:
    """A Redis server of this test session."""
    with running_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "redis"])
def cache(request) -> AnswerCache:
    """An answer cache, empty; jobs 1 and 2 are known."""
    found: AnswerCache = request.getfixturevalue(f"{request.param}_cache")
    return found


@pytest.fixture(params=["memory", "sqlite"])
def bounded_cache(request) -> AnswerCache:
    """The same, with three rows at most."""
    found: AnswerCache = request.getfixturevalue(f"{request.param}_cache")
    return found


@pytest.fixture
def memory_cache(clock) -> MemoryAnswerCache:
    return MemoryAnswerCache(clock=clock, max_rows=3)


@pytest.fixture
async def sqlite_cache(database, clock) -> SqliteAnswerCache:
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return SqliteAnswerCache(database, clock=clock, max_rows=3)


@pytest.fixture
async def redis_cache(redis_url, clock) -> AsyncIterator[RedisAnswerCache]:
    async with Redis.from_url(redis_url) as connection:
        await connection.flushall()
    cache = RedisAnswerCache(redis_url, clock=clock, recorder=Silence())
    yield cache
    await cache.aclose()
