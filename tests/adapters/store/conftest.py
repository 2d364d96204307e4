"""Each port's implementations, one after the other, for its contract suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest

from adapters.secrets import SecretBox
from adapters.store.belongings import SqlAttachments, SqlJobMemo, SqlRatings, SqlSourceStore, SqlSteeringStore
from adapters.store.cache import SqlAnswerCache
from adapters.store.deliveries import SqlDeliveries, SqlOpenMessages, SqlShownMessages
from adapters.store.events import SqlEventLog
from adapters.store.health import SqlHeartbeats
from adapters.store.jobs import SqlJobStore
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
from adapters.store.sqlite import Database
from adapters.store.tenants import SqlDepartures, SqlMemberships, SqlOneTimeStates, SqlSettings, SqlTokens, SqlTurns
from adapters.store.traces import SqlTraceStore
from core.ports import AnswerCache
from tests.adapters.store.samples import StandingClock, make_job
from tests.servers import fresh_database, postgres_server, postgres_url, redis_server, redis_url

__all__ = ["postgres_server", "postgres_url", "redis_server", "redis_url"]

DURABLE = ["memory", "sqlite", "postgres"]
DATABASES = {"sqlite": "database", "postgres": "postgres"}  # by parameter, the fixture that opens it
JOBS_1_AND_2 = {"sqlite": "jobs_in_sqlite", "postgres": "jobs_in_postgres"}
BOX = SecretBox(("a secret of these tests",))


def chosen(request: pytest.FixtureRequest, over: Mapping[str, str], **kinds: Callable[..., Any]) -> Any:
    """The kind of store that the parameter names, over the database in the fixture of that name; memory has none."""
    kind = kinds[request.param]
    return kind(request.getfixturevalue(over[request.param])) if request.param in over else kind()


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
async def database(tmp_path) -> AsyncIterator[Database]:
    """An open database in a fresh folder."""
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="session")
def shared_postgres_url(postgres_server) -> Iterator[str]:
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
async def postgres(shared_postgres_url) -> AsyncIterator[PostgresDatabase]:
    """An open database with nothing in it. It is made once: that takes longer than most tests of it."""
    opened = await PostgresDatabase.open(shared_postgres_url)
    tables = await opened.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    filled = ", ".join(name for (name,) in tables if name != "schema_version")
    await opened.execute(f"TRUNCATE {filled} RESTART IDENTITY CASCADE")
    yield opened
    await opened.aclose()


@pytest.fixture
async def jobs_in_sqlite(database) -> Database:
    """The SQLite file that knows job 1 and job 2."""
    store = SqlJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return database


@pytest.fixture
async def jobs_in_postgres(postgres) -> PostgresDatabase:
    """The PostgreSQL database that knows job 1 and job 2."""
    store = SqlJobStore(postgres)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return postgres


@pytest.fixture(params=DURABLE)
def jobs(request):
    """A job store, empty."""
    return chosen(request, DATABASES, memory=MemoryJobStore, sqlite=SqlJobStore, postgres=SqlJobStore)


@pytest.fixture(params=DURABLE)
def sources(request):
    """A source store that knows job 1 and job 2."""
    return chosen(request, JOBS_1_AND_2, memory=MemorySourceStore, sqlite=SqlSourceStore, postgres=SqlSourceStore)


@pytest.fixture(params=DURABLE)
def memo(request):
    """A memo that knows job 1 and job 2."""
    return chosen(request, JOBS_1_AND_2, memory=MemoryJobMemo, sqlite=SqlJobMemo, postgres=SqlJobMemo)


@pytest.fixture(params=DURABLE)
def events(request, clock):
    """An event log that knows job 1 and job 2."""
    if request.param == "memory":
        return MemoryEventLog(clock=clock)
    return SqlEventLog(request.getfixturevalue(JOBS_1_AND_2[request.param]), clock=clock)


@pytest.fixture(params=DURABLE)
def trace_store(request):
    """A trace store, empty."""
    return chosen(request, DATABASES, memory=MemoryTraceStore, sqlite=SqlTraceStore, postgres=SqlTraceStore)


@pytest.fixture(params=DURABLE)
def steering(request):
    """A store of what was said to jobs; it knows job 1 and job 2."""
    return chosen(request, JOBS_1_AND_2, memory=MemorySteeringStore, sqlite=SqlSteeringStore, postgres=SqlSteeringStore)


@pytest.fixture(params=DURABLE)
def deliveries(request, clock):
    """Addresses, none yet; jobs 1 and 2 are known."""
    if request.param == "memory":
        return MemoryDeliveries(clock=clock)
    return SqlDeliveries(request.getfixturevalue(f"jobs_in_{request.param}"), BOX, clock=clock)


@pytest.fixture(params=DURABLE)
def attachments(request):
    """Attachments, none yet; jobs 1 and 2 are known."""
    return chosen(request, JOBS_1_AND_2, memory=MemoryAttachments, sqlite=SqlAttachments, postgres=SqlAttachments)


@pytest.fixture(params=DURABLE)
def ratings(request):
    """Votes, none yet; jobs 1 and 2 are known."""
    return chosen(request, JOBS_1_AND_2, memory=MemoryRatings, sqlite=SqlRatings, postgres=SqlRatings)


@pytest.fixture(params=DURABLE)
def heartbeats(request):
    """Heartbeats, nobody's yet."""
    if request.param == "memory":
        return MemoryHeartbeats()
    return SqlHeartbeats(request.getfixturevalue(DATABASES[request.param]))


@pytest.fixture(params=["sqlite", "postgres"])
def tenancy(request, clock):
    """Tokens, one-time states, turns and departures, none yet."""
    kept = request.getfixturevalue(DATABASES[request.param])
    tokens = SqlTokens(kept, BOX, clock=clock)
    return tokens, SqlOneTimeStates(kept, clock=clock), SqlTurns(kept, clock=clock), SqlDepartures(kept)


@pytest.fixture(params=["sqlite", "postgres"])
def memberships(request):
    """Who has which app, nobody yet."""
    return SqlMemberships(request.getfixturevalue(DATABASES[request.param]))


@pytest.fixture(params=["sqlite", "postgres"])
def shown(request, clock):
    """What chats show, nothing yet, and the addresses of what waits; jobs 1 and 2 are known."""
    kept = request.getfixturevalue(f"jobs_in_{request.param}")
    return SqlShownMessages(kept, BOX, clock=clock), SqlDeliveries(kept, BOX, clock=clock)


@pytest.fixture(params=["sqlite", "postgres"])
def open_messages(request, clock):
    """Messages without a job, none yet."""
    return SqlOpenMessages(request.getfixturevalue(DATABASES[request.param]), BOX, clock=clock)


@pytest.fixture(params=DURABLE)
def settings_store(request):
    """Settings, nobody's yet."""
    return chosen(request, DATABASES, memory=MemorySettings, sqlite=SqlSettings, postgres=SqlSettings)


@pytest.fixture(params=DURABLE)
def cache(request) -> AnswerCache:
    """An answer cache, empty; jobs 1 and 2 are known."""
    found: AnswerCache = request.getfixturevalue(f"{request.param}_cache")
    return found


@pytest.fixture(params=DURABLE)
def bounded_cache(request) -> AnswerCache:
    """The same, with three rows at most."""
    found: AnswerCache = request.getfixturevalue(f"{request.param}_cache")
    return found


@pytest.fixture
def memory_cache(clock) -> MemoryAnswerCache:
    return MemoryAnswerCache(clock=clock, max_rows=3)


@pytest.fixture
def sqlite_cache(jobs_in_sqlite, clock) -> SqlAnswerCache:
    return SqlAnswerCache(jobs_in_sqlite, clock=clock, max_rows=3)


@pytest.fixture
def postgres_cache(jobs_in_postgres, clock) -> SqlAnswerCache:
    return SqlAnswerCache(jobs_in_postgres, clock=clock, max_rows=3)
