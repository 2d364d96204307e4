"""Each port's implementations, one after the other, for its contract suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.secrets import SecretBox
from adapters.store.attachments import SqliteAttachments
from adapters.store.cache import SqliteAnswerCache
from adapters.store.deliveries import SqlDeliveries, SqlOpenMessages
from adapters.store.events import SqliteEventLog
from adapters.store.heartbeats import SqlHeartbeats
from adapters.store.installations import (
    SqlDepartures,
    SqliteTokens,
    SqlMemberships,
    SqlOneTimeStates,
    SqlTokens,
    SqlTurns,
)
from adapters.store.jobs import SqliteJobStore
from adapters.store.memo import SqliteJobMemo
from adapters.store.memory import (
    MemoryAttachments,
    MemoryDeliveries,
    MemoryEventLog,
    MemoryHeartbeats,
    MemoryJobMemo,
    MemoryJobStore,
    MemoryRatings,
    MemorySourceStore,
    MemorySteeringStore,
    MemoryTraceStore,
)
from adapters.store.memory_cache import MemoryAnswerCache
from adapters.store.memory_settings import MemorySettings
from adapters.store.postgres import PostgresDatabase
from adapters.store.postgres_attachments import PostgresAttachments
from adapters.store.postgres_jobs import PostgresJobStore
from adapters.store.postgres_memo import PostgresJobMemo
from adapters.store.postgres_ratings import PostgresRatings
from adapters.store.postgres_settings import PostgresSettings
from adapters.store.postgres_sources import PostgresSourceStore
from adapters.store.postgres_steering import PostgresSteeringStore
from adapters.store.postgres_traces import PostgresTraceStore
from adapters.store.ratings import SqliteRatings
from adapters.store.redis import RedisAnswerCache
from adapters.store.redis_events import RedisEventLog
from adapters.store.settings import SqliteSettings
from adapters.store.sources import SqliteSourceStore
from adapters.store.sqlite import Database
from adapters.store.steering import SqliteSteeringStore
from adapters.store.traces import SqliteTraceStore
from core.ports import AnswerCache
from core.telemetry import Silence
from tests.adapters.store.samples import StandingClock, make_job
from tests.servers import postgres_server, postgres_url, redis_server, redis_url

__all__ = ["postgres_server", "postgres_url", "redis_server", "redis_url"]

DURABLE = ["memory", "sqlite", "postgres"]
DATABASES = {"sqlite": "database", "postgres": "postgres"}  # by parameter, the fixture that opens it


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
async def database(tmp_path) -> AsyncIterator[Database]:
    """An open database in a fresh folder."""
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


@pytest.fixture
async def postgres(postgres_url) -> AsyncIterator[PostgresDatabase]:
    """An open, fresh database on the session's server."""
    opened = await PostgresDatabase.open(postgres_url)
    yield opened
    await opened.aclose()


@pytest.fixture
async def jobs_in_sqlite(database) -> Database:
    """The SQLite file that knows job 1 and job 2."""
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return database


@pytest.fixture
async def jobs_in_postgres(postgres) -> PostgresDatabase:
    """The PostgreSQL database that knows job 1 and job 2."""
    store = PostgresJobStore(postgres)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return postgres


@pytest.fixture(params=DURABLE)
def jobs(request):
    """A job store, empty."""
    if request.param == "memory":
        return MemoryJobStore()
    if request.param == "sqlite":
        return SqliteJobStore(request.getfixturevalue("database"))
    return PostgresJobStore(request.getfixturevalue("postgres"))


@pytest.fixture(params=DURABLE)
def sources(request):
    """A source store that knows job 1 and job 2."""
    if request.param == "memory":
        return MemorySourceStore()
    if request.param == "sqlite":
        return SqliteSourceStore(request.getfixturevalue("jobs_in_sqlite"))
    return PostgresSourceStore(request.getfixturevalue("jobs_in_postgres"))


@pytest.fixture(params=DURABLE)
def memo(request):
    """A memo that knows job 1 and job 2."""
    if request.param == "memory":
        return MemoryJobMemo()
    if request.param == "sqlite":
        return SqliteJobMemo(request.getfixturevalue("jobs_in_sqlite"))
    return PostgresJobMemo(request.getfixturevalue("jobs_in_postgres"))


@pytest.fixture(params=["memory", "sqlite", "redis"])
def events(request, clock):
    """An event log that knows job 1 and job 2."""
    if request.param == "redis":
        return request.getfixturevalue("redis_events")
    if request.param == "memory":
        return MemoryEventLog(clock=clock)
    return SqliteEventLog(request.getfixturevalue("jobs_in_sqlite"), clock=clock)


@pytest.fixture
async def redis_events(redis_url, clock) -> AsyncIterator[RedisEventLog]:
    log = RedisEventLog(redis_url, clock=clock, recorder=Silence())
    yield log
    await log.aclose()


@pytest.fixture(params=DURABLE)
def trace_store(request):
    """A trace store, empty."""
    if request.param == "memory":
        return MemoryTraceStore()
    if request.param == "sqlite":
        return SqliteTraceStore(request.getfixturevalue("database"))
    return PostgresTraceStore(request.getfixturevalue("postgres"))


@pytest.fixture(params=DURABLE)
def steering(request):
    """A store of what was said to jobs; it knows job 1 and job 2."""
    if request.param == "memory":
        return MemorySteeringStore()
    if request.param == "sqlite":
        return SqliteSteeringStore(request.getfixturevalue("jobs_in_sqlite"))
    return PostgresSteeringStore(request.getfixturevalue("jobs_in_postgres"))


@pytest.fixture(params=DURABLE)
def deliveries(request, clock):
    """Addresses, none yet; jobs 1 and 2 are known."""
    if request.param == "memory":
        return MemoryDeliveries(clock=clock)
    box = SecretBox(("a secret of this test",))
    return SqlDeliveries(request.getfixturevalue(f"jobs_in_{request.param}"), box, clock=clock)


@pytest.fixture(params=DURABLE)
def attachments(request):
    """Attachments, none yet; jobs 1 and 2 are known."""
    if request.param == "memory":
        return MemoryAttachments()
    if request.param == "sqlite":
        return SqliteAttachments(request.getfixturevalue("jobs_in_sqlite"))
    return PostgresAttachments(request.getfixturevalue("jobs_in_postgres"))


@pytest.fixture(params=DURABLE)
def ratings(request):
    """Votes, none yet; jobs 1 and 2 are known."""
    if request.param == "memory":
        return MemoryRatings()
    if request.param == "sqlite":
        return SqliteRatings(request.getfixturevalue("jobs_in_sqlite"))
    return PostgresRatings(request.getfixturevalue("jobs_in_postgres"))


@pytest.fixture(params=DURABLE)
def heartbeats(request):
    """Heartbeats, nobody's yet."""
    if request.param == "memory":
        return MemoryHeartbeats()
    return SqlHeartbeats(request.getfixturevalue(DATABASES[request.param]))


@pytest.fixture(params=["sqlite", "postgres"])
def tenancy(request, clock):
    """Tokens, one-time states, turns and departures, none yet."""
    box = SecretBox(("a secret of this test",))
    kept = request.getfixturevalue(DATABASES[request.param])
    tokens = (SqliteTokens if request.param == "sqlite" else SqlTokens)(kept, box, clock=clock)
    return tokens, SqlOneTimeStates(kept, clock=clock), SqlTurns(kept, clock=clock), SqlDepartures(kept)


@pytest.fixture(params=["sqlite", "postgres"])
def memberships(request):
    """Who has which app, nobody yet."""
    return SqlMemberships(request.getfixturevalue(DATABASES[request.param]))


@pytest.fixture(params=["sqlite", "postgres"])
def open_messages(request, clock):
    """Messages without a job, none yet."""
    box = SecretBox(("a secret of this test",))
    return SqlOpenMessages(request.getfixturevalue(DATABASES[request.param]), box, clock=clock)


@pytest.fixture(params=DURABLE)
def settings_store(request):
    """Settings, nobody's yet."""
    if request.param == "memory":
        return MemorySettings()
    if request.param == "sqlite":
        return SqliteSettings(request.getfixturevalue("database"))
    return PostgresSettings(request.getfixturevalue("postgres"))


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
def sqlite_cache(jobs_in_sqlite, clock) -> SqliteAnswerCache:
    return SqliteAnswerCache(jobs_in_sqlite, clock=clock, max_rows=3)


@pytest.fixture
async def redis_cache(redis_url, clock) -> AsyncIterator[RedisAnswerCache]:
    cache = RedisAnswerCache(redis_url, clock=clock, recorder=Silence())
    yield cache
    await cache.aclose()
