"""PostgreSQL itself: unusable databases, restarts, timeouts, several processes, and kills (S003-18)."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace

import psycopg
import pytest

from adapters.records.jobs import SqlEventLog, SqlJobMemo, SqlJobStore
from adapters.records.postgres import MIGRATING, PostgresDatabase, look_at
from adapters.records.schema import NEWEST, Outlook, steps
from adapters.records.sql import Sql, digest
from core.model.codec import encode
from core.model.errors import SetupError, StoreError
from tests.adapters.durable.tables import until
from tests.adapters.records.processes import python
from tests.adapters.records.samples import CHANNEL, RESULT, StandingClock, finished, make_job
from tests.servers import free_port


@pytest.fixture
async def postgres(postgres_url, another) -> PostgresDatabase:
    """An open, fresh database of the test's own, whose schema and server it may hurt."""
    return await another(postgres_url)


@pytest.fixture
async def another():
    """Opens databases that are closed when the test ends, however it ends."""
    opened = []

    async def open_another(url, **settings) -> PostgresDatabase:
        opened.append(await PostgresDatabase.open(url, **settings))
        return opened[-1]

    yield open_another
    for database in opened:
        await database.aclose()


@pytest.mark.parametrize(
    ("make_url", "reason"),
    [
        pytest.param(
            lambda _: f"postgresql://gorkd:hunter2@127.0.0.1:{free_port()}/gorkd",
            "cannot be reached",
            id="connection refused",
        ),
        pytest.param(
            lambda server: server.url("nowhere").replace("@", ":hunter2@"), "no such database", id="unknown database"
        ),
        pytest.param(
            lambda server: f"postgresql://stranger:hunter2@127.0.0.1:{server.port}/postgres",
            "no such database|refuses the user",
            id="unknown user",
        ),
        pytest.param(
            lambda _: "mysql://gorkd:hunter2@127.0.0.1/gorkd", "is not an address", id="another kind of address"
        ),
    ],
)
async def test_unusable_database_gets_one_sentence_without_the_password(postgres_server, make_url, reason):
    """The operator reads what is wrong, where, and which setting mends it."""
    with pytest.raises(SetupError, match=reason) as caught:
        await PostgresDatabase.open(make_url(postgres_server))

    assert "DATABASE_URL" in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_silent_server_is_given_up():
    """A machine that accepts and never answers costs the timeout, no more."""

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    began = time.monotonic()

    with pytest.raises(SetupError, match="does not answer"):
        await PostgresDatabase.open(f"postgresql://gorkd@127.0.0.1:{port}/gorkd", connect_timeout_s=0.2)

    assert time.monotonic() - began < 4
    silent.close()
    await silent.wait_closed()


async def test_database_of_a_newer_gorkd_is_left_alone(postgres, postgres_url):
    """An older program must not write tables that it does not know."""
    await postgres.execute("INSERT INTO schema_version VALUES (%s, now())", (NEWEST + 1,))

    with pytest.raises(SetupError, match="newer gorkd"):
        await PostgresDatabase.open(postgres_url)


@pytest.mark.parametrize(("written", "called"), [(1, 2), (5, 6), (6, 8), (13, 15), (14, 15), (17, 18), (18, 19)])
async def test_what_an_older_gorkd_has_stored_stays(postgres_url, another, written: int, called: int):
    """Its versions were counted apart from those of SQLite; one of them had its events in Redis."""
    job = make_job()
    whose = (job.id, job.scope.tenant, job.scope.visibility)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ)")
        connection.execute("INSERT INTO schema_version VALUES (%s, now())", (written,))
        for statement in [statement for version in steps("postgres")[:called] for statement in version]:
            connection.execute(statement.encode())
        if written < 14:
            connection.execute(EVENTS_OF_VERSION_1)
        connection.execute(
            "INSERT INTO jobs (id, tenant, visibility, status, attempt, created_at, dedupe_key, job)"
            " VALUES (%s, %s, %s, 'pending', 1, now(), %s, %s)",
            (*whose, digest("message 7"), encode(job)),
        )
        connection.execute("INSERT INTO memos VALUES (%s, %s, %s, %s, 'zwölf')", (job.id, digest("ü"), *whose[1:]))
    found = look_at(postgres_url)

    database = await another(postgres_url)
    await another(postgres_url)

    assert await SqlJobStore(database).save(make_job(2), dedupe_key="message 7") == job
    assert await SqlJobMemo(database).get(job.id, "ü") == "zwölf"
    assert (await SqlEventLog(database, clock=StandingClock()).append(job.id, 1, "status", {})).seq == 1
    assert await database.rows("SELECT MAX(version), COUNT(*) FROM schema_version") == [(NEWEST, NEWEST)]
    assert (found.version, "papers" in found.tables) == (called, True)
    assert look_at(postgres_url) == Outlook(NEWEST, ())


EVENTS_OF_VERSION_1 = """
    CREATE TABLE events (
        job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, seq INTEGER NOT NULL,
        tenant TEXT NOT NULL, visibility TEXT NOT NULL, attempt INTEGER NOT NULL, type TEXT NOT NULL,
        at TIMESTAMPTZ NOT NULL, data TEXT NOT NULL, PRIMARY KEY (job_id, seq))
"""


async def test_restart_of_the_server_costs_no_restart_of_ours(postgres, postgres_server, another):
    """While it is away calls fail in our words and in time; when it is back the next call succeeds."""
    jobs = SqlJobStore(postgres)
    await asyncio.gather(*(jobs.save(make_job(number)) for number in range(5)))
    impatient = await another(postgres_server.url(), connect_timeout_s=1.0)

    postgres_server.stop()
    try:
        began = time.monotonic()
        with pytest.raises(StoreError, match="DATABASE_URL") as caught:
            await impatient.rows("SELECT 1")
        failed_after = time.monotonic() - began
    finally:
        postgres_server.start()
    back = await asyncio.gather(*(jobs.get(f"job_{number}") for number in range(5)))

    assert failed_after < 4
    assert "127.0.0.1" not in caught.value.operator_message
    assert back == [make_job(number) for number in range(5)]
    assert await impatient.rows("SELECT 1") == [(1,)]


async def test_an_outage_is_two_lines_of_the_log(postgres_server, another, caplog):
    """One when it goes, one when it is back, however many calls failed meanwhile and however often it was dialled."""
    impatient = await another(postgres_server.url(), connect_timeout_s=1.0)
    await asyncio.gather(*(impatient.rows("SELECT pg_sleep(0.05)") for _ in range(4)))  # so that there are several

    postgres_server.stop()
    try:
        failures = await asyncio.gather(*(impatient.rows("SELECT 1") for _ in range(8)), return_exceptions=True)
    finally:
        postgres_server.start()
    await asyncio.gather(*(impatient.rows("SELECT 1") for _ in range(4)))

    told = [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert [type(failure) for failure in failures] == [StoreError] * 8
    assert all(failure.is_told for failure in failures)
    assert len(told) == 2, told
    assert told[0].startswith("the database 127.0.0.1:")
    assert "is away" in told[0]
    assert "is back" in told[1]


async def test_too_many_connections_are_named(postgres_url, another):
    """At the start, and later when the pool gets none: each by the cause, not as a server that is away."""
    url = re.sub("//[^@]+@", "//lonely@", postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS lonely")
        connection.execute("CREATE ROLE lonely SUPERUSER LOGIN")  # whom no limit holds
        opened = await another(url, connect_timeout_s=1.0)
        connection.execute("ALTER ROLE lonely NOSUPERUSER CONNECTION LIMIT 0")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lonely'")

        with pytest.raises(StoreError, match="it has too many connections"):
            await opened.rows("SELECT 1")
        with pytest.raises(SetupError, match="it has too many connections"):
            await another(url)


async def test_a_pool_that_is_in_use_is_no_server_that_is_away(postgres_url, another, caplog):
    opened = await another(postgres_url, connect_timeout_s=1.0, max_connections=1)

    with psycopg.connect(postgres_url) as other:  # holds a lock for as long as the test wishes
        other.execute("LOCK TABLE jobs")
        holding = asyncio.create_task(opened.rows("SELECT 1 FROM jobs"))
        await asyncio.sleep(0)  # it takes the only connection
        with pytest.raises(StoreError, match="all connections are in use"):
            await opened.rows("SELECT 1")
    await holding

    assert "is away" not in caplog.text


async def test_a_server_that_is_away_says_why_at_once(postgres_server, another):
    """Whoever asks whether gorkd is ready waits no longer than for a page."""
    opened = await another(postgres_server.url())
    before = await asyncio.to_thread(opened.damage)

    postgres_server.stop()
    try:
        meanwhile = await asyncio.to_thread(opened.damage)
    finally:
        postgres_server.start()

    assert (before, meanwhile) == ("", "it cannot be reached")


async def test_connection_that_is_cut_inside_a_write_leaves_nothing_of_it(postgres):
    """The half-done change is gone, the caller hears of it, and the next write goes through."""
    jobs = SqlJobStore(postgres)
    await jobs.save(make_job())

    def lose_the_connection(sql: Sql) -> None:
        sql.execute("UPDATE jobs SET status = 'failed'")
        sql.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(StoreError, match="shutting down"):
        await postgres.write(lose_the_connection)

    assert await postgres.rows("SELECT status FROM jobs") == [("pending",)]
    await jobs.finish(finished(make_job()), RESULT)


async def test_statement_that_takes_too_long_is_ended(postgres, postgres_url, another):
    """A lock that somebody does not let go of is an error in our words, not a worker that hangs."""
    impatient = await another(postgres_url, statement_timeout_s=0.1)
    await SqlJobStore(postgres).save(make_job())

    async with await psycopg.AsyncConnection.connect(postgres_url) as holder:
        await holder.execute("SELECT 1 FROM jobs FOR UPDATE")
        with pytest.raises(StoreError, match="took too long"):
            await SqlJobStore(impatient).save(make_job())

    await SqlJobStore(impatient).save(make_job())


async def test_read_only_database_is_said(postgres_url):
    """A stand-by takes no writes, not even those of a first start."""
    with pytest.raises(SetupError, match="it is read-only"):
        await PostgresDatabase.open(f"{postgres_url}?options=-c%20default_transaction_read_only%3Don")


@pytest.mark.parametrize("text", ["\x00", "\ud83d"], ids=["NUL", "half a surrogate pair"])
async def test_names_that_no_column_holds_are_a_store_error(postgres, text):
    """Ids are ours and never hold such text; if one does, it is refused in our words."""
    jobs = SqlJobStore(postgres)

    with pytest.raises(StoreError):
        await jobs.get(text)
    with pytest.raises(StoreError):
        await jobs.save(replace(make_job(), id=text))
    with pytest.raises(StoreError):
        await jobs.finish(finished(replace(make_job(), id=text)), RESULT)


async def test_who_comes_second_waits_for_the_migration(postgres_url, another):
    """Two starts meet a third process in the middle of its migration, and go on when it has ended."""
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as first:
        await first.execute("SELECT pg_advisory_lock(%s)", (MIGRATING,))

        starts = [asyncio.create_task(another(postgres_url)) for _ in range(2)]
        while not any(start.done() for start in starts) and await (await first.execute(waiting)).fetchone() != (2,):
            pass
        have_gone_on = [start.done() for start in starts]
        await first.execute("SELECT pg_advisory_unlock(%s)", (MIGRATING,))

        databases = await asyncio.gather(*starts, return_exceptions=True)
    assert have_gone_on == [False, False]
    versions = [(number + 1,) for number in range(NEWEST)]
    assert [await database.rows("SELECT version FROM schema_version") for database in databases] == [versions] * 2


async def test_processes_that_start_together_migrate_once(postgres_url, another):
    """Four processes open an empty database at the same moment."""
    processes = [await python(START, postgres_url, number) for number in range(4)]

    await asyncio.gather(*(process.communicate(b"go\n") for process in processes))

    assert [process.returncode for process in processes] == [0] * 4
    database = await another(postgres_url)
    assert len(await SqlJobStore(database).recent(CHANNEL, limit=10)) == 4
    assert await database.rows("SELECT version FROM schema_version") == [(n + 1,) for n in range(NEWEST)]


START = """
import asyncio, sys
from adapters.records.jobs import SqlJobStore
from adapters.records.postgres import PostgresDatabase
from tests.adapters.records.samples import make_job

async def main():
    sys.stdin.readline()
    database = await PostgresDatabase.open(sys.argv[1])
    await SqlJobStore(database).save(make_job(int(sys.argv[2])))
    await database.aclose()

asyncio.run(main())
"""


async def test_one_question_delivered_to_many_at_once_is_one_job(postgres, postgres_url, another):
    """The dedupe key holds between processes that see no row yet."""
    other = await another(postgres_url)
    stores = [SqlJobStore(postgres), SqlJobStore(other)]

    saved = await asyncio.gather(
        *(stores[number % 2].save(make_job(number), dedupe_key="message 7\x00" + "ü" * 5000) for number in range(20))
    )

    assert len(set(saved)) == 1
    assert await stores[0].recent(CHANNEL, limit=20) == [saved[0]]


async def test_closing_twice_is_fine_and_then_everything_is_refused(postgres_url, another):
    """A closed database says so, and leaves no connection behind."""
    database = await another(postgres_url)
    await SqlJobStore(database).save(make_job())

    await database.aclose()
    await database.aclose()

    with pytest.raises(StoreError, match="closed"):
        await SqlJobStore(database).get("job_1")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        count = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gorkd' AND datname = current_database()"
        )
        await until(lambda: connection.execute(count).fetchone() == (0,))  # a backend takes a moment to go
