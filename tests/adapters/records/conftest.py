"""Each port's implementations, one after the other, for its contract suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from adapters.records.cache import SqlAnswerCache
from adapters.records.deliveries import SqlMessages
from adapters.records.jobs import (
    SqlEvaluations,
    SqlEventLog,
    SqlHeartbeats,
    SqlJobMemo,
    SqlJobStore,
    SqlSourceStore,
)
from adapters.records.postgres import PostgresDatabase
from adapters.records.sql import Tables
from adapters.records.sqlite import FILE_NAME, Database
from adapters.records.tenants import SqlAppTenants, SqlSettings, SqlTurns
from adapters.records.traces import SqlTraceStore
from tests.adapters.records.samples import StandingClock, make_job
from tests.records import BOX, empty_tables
from tests.servers import fresh_database

DATABASES = ("sqlite", "postgres")  # the fixtures that open them
# As `TRUNCATE … RESTART IDENTITY CASCADE` would, which makes each table and index anew.
EMPTIED = """
DO $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;  -- in any order, whatever refers to what
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version' LOOP
        EXECUTE 'DELETE FROM ' || quote_ident(name);
    END LOOP;
    PERFORM setval(quote_ident(sequencename)::regclass, start_value, false)
        FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL;
END $$
"""


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
async def sqlite(tmp_path) -> AsyncIterator[Database]:
    """The same over a file in which the tables are made already: that takes longer than most tests of it."""
    (tmp_path / FILE_NAME).write_bytes(empty_tables())
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
    await opened.execute(EMPTIED)
    yield opened
    await opened.aclose()


async def knowing_jobs(tables: Tables) -> Tables:
    for number in (1, 2):
        await SqlJobStore(tables).save(make_job(number))
    return tables


@pytest.fixture
async def jobs_in_sqlite(sqlite) -> Tables:
    """The SQLite file that knows job 1 and job 2."""
    return await knowing_jobs(sqlite)


@pytest.fixture(params=DATABASES)
def tables(request: pytest.FixtureRequest) -> Tables:
    """Each database in turn, with nothing in it."""
    found: Tables = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def with_jobs(tables) -> Tables:
    """Each database in turn; it knows job 1 and job 2."""
    return await knowing_jobs(tables)


@pytest.fixture
def jobs(tables) -> SqlJobStore:
    return SqlJobStore(tables)


@pytest.fixture
def sources(with_jobs) -> SqlSourceStore:
    return SqlSourceStore(with_jobs)


@pytest.fixture
def memo(with_jobs) -> SqlJobMemo:
    return SqlJobMemo(with_jobs)


@pytest.fixture
def events(with_jobs, clock) -> SqlEventLog:
    return SqlEventLog(with_jobs, clock=clock)


@pytest.fixture
def trace_store(tables) -> SqlTraceStore:
    return SqlTraceStore(tables)


@pytest.fixture
def messages(with_jobs, clock) -> SqlMessages:
    return SqlMessages(with_jobs, BOX, clock=clock)


@pytest.fixture
def additions(with_jobs) -> SqlJobStore:
    return SqlJobStore(with_jobs)


@pytest.fixture
def ratings(with_jobs) -> SqlEvaluations:
    return SqlEvaluations(with_jobs)


@pytest.fixture
def heartbeats(tables) -> SqlHeartbeats:
    return SqlHeartbeats(tables)


@pytest.fixture
def app_tenants(tables, clock) -> SqlAppTenants:
    return SqlAppTenants(tables, BOX, clock=clock)


@pytest.fixture
def turns(tables, clock) -> SqlTurns:
    return SqlTurns(tables, clock=clock)


@pytest.fixture
def settings_store(tables) -> SqlSettings:
    return SqlSettings(tables)


@pytest.fixture
def cache(with_jobs, clock) -> SqlAnswerCache:
    """With three rows at most."""
    return SqlAnswerCache(with_jobs, clock=clock, max_rows=3)
