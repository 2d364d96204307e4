"""The SQLite file itself: unusable folders, full disks, several processes, and kills (S003-18)."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.records.jobs import SqlEventLog, SqlJobMemo, SqlJobStore, SqlSourceStore
from adapters.records.schema import NEWEST, Outlook
from adapters.records.sqlite import FILE_NAME, Database, _open, look_at
from core.model.codec import encode
from core.model.errors import SetupError, StoreError
from tests.adapters.records.processes import python
from tests.adapters.records.samples import CHANNEL, RESULT, finished, make_job, make_source, older_file, version_before


def a_file(folder: Path) -> Path:
    (folder / "taken").write_text("not a folder")
    return folder / "taken"


def not_a_database(folder: Path) -> Path:
    (folder / FILE_NAME).write_bytes(b"GIF89a" + bytes(range(256)) * 20)
    return folder


def a_folder_in_place_of_the_file(folder: Path) -> Path:
    (folder / FILE_NAME).mkdir()
    return folder


def a_newer_database(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at REAL)")
        connection.execute("INSERT INTO schema_version VALUES (?, 0)", (NEWEST + 1,))
    return folder


def a_damaged_database(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at REAL)")
    whole = (folder / FILE_NAME).read_bytes()
    (folder / FILE_NAME).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    return folder


@pytest.mark.parametrize(
    ("make_folder", "reason"),
    [
        pytest.param(a_file, "exists", id="a file in place of the folder"),
        pytest.param(not_a_database, "is not a database", id="another file format"),
        pytest.param(a_folder_in_place_of_the_file, "cannot be opened", id="a folder in place of the file"),
        pytest.param(not_a_database, "Put it back from a backup", id="no database is mended elsewhere"),
        pytest.param(a_damaged_database, "is damaged. Put it back from a backup", id="damaged"),
        pytest.param(a_newer_database, "newer gorkd", id="written by a newer version"),
        pytest.param(lambda _: Path("/proc/gorkd-data"), "No such file", id="cannot be created"),
    ],
)
async def test_unusable_folder_gets_one_sentence_that_names_it(tmp_path, make_folder, reason):
    """The operator reads what is wrong, where, and which setting mends it."""
    folder = make_folder(tmp_path)

    with pytest.raises(SetupError, match=reason) as caught:
        await Database.open(folder)

    assert str(folder) in str(caught.value)
    assert "GORKD_DATA" in str(caught.value)


async def test_a_file_that_another_process_holds_is_waited_for_and_left(tmp_path):
    """Another folder would be another library."""
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SetupError) as caught:
            await Database.open(tmp_path, busy_timeout_s=0.01)

    assert str(caught.value).endswith("does not let go. End that process, or start again when it is done (GORKD_DATA).")


async def test_full_disk_is_said_and_corrupts_nothing(database, tmp_path):
    """What was stored before stays readable, the failed write leaves no trace, and room lets the next one through."""
    jobs, sources = SqlJobStore(database), SqlSourceStore(database)
    await jobs.save(make_job())
    big = [make_source(number, content="x" * 100_000) for number in (1, 2)]
    await limit_pages(database, 30)

    with pytest.raises(StoreError, match="database or disk is full") as caught:
        await sources.put(make_job(), big)
    kept = await sources.sources("job_1")
    await limit_pages(database, 10_000)
    await sources.put(make_job(), big)

    assert kept == []
    assert caught.value.is_told
    assert str(tmp_path) in str(caught.value)
    assert "GORKD_DATA" in str(caught.value)
    assert str(tmp_path) not in caught.value.operator_message
    assert await sources.sources("job_1") == big
    assert await database.rows("PRAGMA integrity_check") == [("ok",)]


async def limit_pages(database: Database, pages: int) -> None:
    """Let SQLite report a full disk beyond so many pages of 4 KiB."""
    await database.rows(f"PRAGMA max_page_count = {pages}")


async def test_read_only_database_is_said(database):
    """A write that the file refuses is our error, not SQLite's."""
    await database.rows("PRAGMA query_only = ON")

    with pytest.raises(StoreError, match="it is read-only"):
        await SqlJobStore(database).save(make_job())


async def test_database_that_another_process_holds_is_said(database, tmp_path):
    """A write that waits in vain is an error in our words, and the next one finds the lock free."""
    impatient = await Database.open(tmp_path, busy_timeout_s=0.05)
    holder = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="another process holds"):
        await SqlJobStore(impatient).save(make_job())
    holder.close()
    await SqlJobStore(impatient).save(make_job())

    assert await SqlJobStore(database).get("job_1") == make_job()
    await impatient.aclose()


async def test_only_the_owner_can_read_what_is_stored(database, tmp_path):
    """Questions asked in private lie in these files, the write-ahead log included."""
    await SqlJobStore(database).save(make_job())

    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


async def test_text_that_no_encoding_holds_is_a_store_error(database):
    """Half a surrogate pair, as a careless JSON server sends it, is refused in our words."""
    jobs, sources = SqlJobStore(database), SqlSourceStore(database)
    await jobs.save(make_job())

    with pytest.raises(StoreError):
        await sources.put(make_job(), [make_source(1, content="\ud83d")])
    with pytest.raises(StoreError):
        await jobs.get("\ud83d")


async def test_closing_twice_is_fine_and_then_everything_is_refused(tmp_path):
    """A closed database says so; what was stored is there when it is opened again."""
    database = await Database.open(tmp_path)
    await SqlJobStore(database).finish(finished(make_job()), RESULT)

    await database.aclose()
    await database.aclose()

    with pytest.raises(StoreError, match="closed"):
        await SqlJobStore(database).get("job_1")
    again = await Database.open(tmp_path)
    assert await SqlJobStore(again).result("job_1") == RESULT
    await again.aclose()


class CountedTables:
    """The tables of a database, with how many transactions were written."""

    dialect = "sqlite"

    def __init__(self, database: Database) -> None:
        self.database, self.writes = database, 0
        self.read = database.read

    async def write(self, work, *, key: str = ""):
        self.writes += 1
        return await self.database.write(work, key=key)


async def test_events_of_a_job_are_written_in_groups(database, clock):
    """Whoever appends is answered once its event is stored; what comes meanwhile is stored in one go."""
    await SqlJobStore(database).save(make_job())
    tables = CountedTables(database)
    log = SqlEventLog(tables, clock=clock)

    appended = await asyncio.gather(*(log.append("job_1", 1, "source", {"place": place}) for place in range(10)))

    assert [event.seq for event in appended] == list(range(1, 11))
    assert await log.read("job_1") == appended
    assert tables.writes == 2  # the first, and all that came behind it


async def test_older_database_grows_the_tables_it_lacks(tmp_path):
    """What an earlier gorkd has stored stays, and the newest tables are there."""
    with older_file(tmp_path) as connection:
        connection.execute(
            "INSERT INTO jobs (id, tenant, visibility, status, attempt, created_at, job)"
            " VALUES ('old', 't', 'v', '', 1, 0, '')"
        )

    database = await Database.open(tmp_path)

    tables = {name for (name,) in await database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"tool_traces", "heartbeats", "buckets", "flights"} <= tables
    assert await database.rows("SELECT id FROM jobs") == [("old",)]
    await database.aclose()


async def test_what_a_start_would_change_is_told_and_left_as_it_is(tmp_path):
    """Of nothing, of the first version and of this one's."""
    assert look_at(tmp_path) == Outlook(0, ())
    with older_file(tmp_path):
        pass
    before = (tmp_path / FILE_NAME).read_bytes()

    found = look_at(tmp_path)

    assert found.version == 1
    assert {"jobs", "papers", "heartbeats"} <= set(found.tables)
    assert (tmp_path / FILE_NAME).read_bytes() == before
    await (await Database.open(tmp_path)).aclose()
    assert look_at(tmp_path) == Outlook(NEWEST, ())


START = """
import asyncio, sys
from pathlib import Path
from adapters.records.jobs import SqlJobStore
from adapters.records.sqlite import Database
from tests.adapters.records.processes import python
from tests.adapters.records.samples import make_job

async def main():
    sys.stdin.readline()
    database = await Database.open(Path(sys.argv[1]))
    await SqlJobStore(database).save(make_job(int(sys.argv[2])))
    await database.aclose()

asyncio.run(main())
"""


async def test_what_an_older_gorkd_was_asked_and_paid_for_is_found_again(tmp_path):
    """Its keys are plain; a message that is delivered again after the upgrade is no second question."""
    job = make_job()
    with older_file(tmp_path, version_before("dedupe_key = digest")) as connection:
        whose = (job.scope.tenant, job.scope.visibility)
        connection.execute(
            "INSERT INTO jobs (id, tenant, visibility, status, attempt, created_at, dedupe_key, job)"
            " VALUES (?, ?, ?, 'pending', 1, 0, 'message 7', ?)",
            (job.id, *whose, encode(job)),
        )
        connection.execute("INSERT INTO memos VALUES (?, 'search:ü', ?, ?, 'zwölf')", (job.id, *whose))

    database = await Database.open(tmp_path)

    assert await SqlJobStore(database).save(make_job(2), dedupe_key="message 7") == job
    assert await SqlJobMemo(database).get(job.id, "search:ü") == "zwölf"
    await database.aclose()


async def test_processes_that_start_together_migrate_once(tmp_path):
    """Six processes open a folder that does not exist yet, at the same moment."""
    processes = [await python(START, tmp_path / "new", number) for number in range(6)]

    await asyncio.gather(*(process.communicate(b"go\n") for process in processes))

    assert [process.returncode for process in processes] == [0] * 6
    database = await Database.open(tmp_path / "new")
    assert len(await SqlJobStore(database).recent(CHANNEL, limit=10)) == 6
    await database.aclose()


APPEND = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from adapters.records.jobs import SqlEventLog
from adapters.records.sqlite import Database

async def main():
    database = await Database.open(Path(sys.argv[1]))
    log = SqlEventLog(database, clock=lambda: datetime.now(UTC))
    print("ready", flush=True)
    for kind in ("status", "source", "complete"):
        sys.stdin.readline()
        await log.append("job_1", 1, kind, {})
    await database.aclose()

asyncio.run(main())
"""


async def test_follower_sees_events_of_another_process_soon(database, tmp_path):
    """Within 300 ms, without being told; the clock of both is the machine's."""
    await SqlJobStore(database).save(make_job())
    process = await python(APPEND, tmp_path)
    await process.stdout.readline()
    delays = []

    process.stdin.write(b"go\n")
    async for event in SqlEventLog(database, clock=lambda: datetime.now(UTC)).follow("job_1"):
        delays.append(datetime.now(UTC) - event.at)
        process.stdin.write(b"go\n")
    await process.communicate()

    assert len(delays) == 3
    assert sorted(delays)[1] < timedelta(milliseconds=300)


HOLD = """
import asyncio, sys, time
from pathlib import Path
from adapters.records.sqlite import Database

def change(sql):
    sql.execute("UPDATE jobs SET status = 'failed'")
    print("inside", flush=True)
    time.sleep(60)

async def main():
    database = await Database.open(Path(sys.argv[1]))
    await database.write(change)

asyncio.run(main())
"""


async def test_process_killed_inside_a_write_leaves_nothing_of_it(database, tmp_path):
    """After kill -9 the file is whole, the half-done change is gone, and the lock is free."""
    jobs = SqlJobStore(database)
    await jobs.save(make_job())
    process = await python(HOLD, tmp_path)
    await process.stdout.readline()

    process.kill()
    await process.wait()
    await jobs.save(make_job(2))

    rows = await database.rows("SELECT DISTINCT status FROM jobs")
    assert rows == [("pending",)]


def test_many_may_open_a_new_folder_at_once(tmp_path: Path) -> None:
    """Processes that start together all get in: the switch to the write-ahead log waits for its turn."""
    for number in range(10):
        folder = tmp_path / str(number)
        with ThreadPoolExecutor(8) as pool:
            opened = [pool.submit(_open, folder, 5.0) for _ in range(8)]
        connections = [one.result() for one in opened]
        assert [one.execute("PRAGMA journal_mode").fetchone() for one in connections] == [("wal",)] * 8
        for one in connections:
            one.close()
