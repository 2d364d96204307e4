"""Taking things out of gorkd.db for good: at somebody's wish, and when their time is over.

The tables are asked for their columns: whatever carries a `job_id` or a `tenant` goes with it, so a
table that is added later is covered without a word here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlite_utils import Database as Connection

from adapters.store.library import drop_deleted_words
from adapters.store.sqlite import Database
from core.errors import StoreError
from core.forgetting import Filed, Whose
from core.job import TERMINAL_STATUSES

TOMBSTONES_KEPT_S = 86_400  # no worker still runs a job after a day
SCRUB_WITHIN_S = 40.0  # forgetting takes 60 s at most
_PAUSE_S = 0.2

_LISTED = "(SELECT value FROM json_each(?))"
_OF_USER = """
    SELECT id, status FROM jobs
    WHERE (json_extract(job, '$.value.request.asker') = :user OR visibility = 'user:' || :user
           OR tenant = 'discord:user:' || :user) AND (:tenant = '' OR tenant = :tenant)
"""
_MAKE_NAMELESS = """
    INSERT INTO spending (tenant, asker, month, model, prompt_tokens, completion_tokens, cost_usd)
    SELECT tenant, '', month, model, prompt_tokens, completion_tokens, cost_usd FROM spending
    WHERE asker = :user AND (:tenant = '' OR tenant = :tenant)
    ON CONFLICT (tenant, month, asker, model) DO UPDATE SET
        prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens,
        cost_usd = cost_usd + excluded.cost_usd
"""
_OWN_SPENDING = "DELETE FROM spending WHERE asker = :user AND (:tenant = '' OR tenant = :tenant)"
_OWN_TRACES = "DELETE FROM tool_traces WHERE user_id = :user AND (:tenant = '' OR tenant = :tenant)"
_OWN_RATINGS = "DELETE FROM ratings WHERE asker = :user AND (:tenant = '' OR tenant = :tenant)"
_OWN_CHANGES = "UPDATE setting_changes SET who = '' WHERE who = :user AND (:tenant = '' OR tenant = :tenant)"
_OWN_MESSAGES = "DELETE FROM open_messages WHERE asker = :user AND (:tenant = '' OR tenant = :tenant)"
_OWN_TALKS = """DELETE FROM conversations WHERE (:tenant = '' OR tenant = :tenant)
    AND instr(char(10) || asker || char(10), char(10) || :user || char(10))"""

_ENDED = "status IN (" + ", ".join(f"'{status.value}'" for status in sorted(TERMINAL_STATUSES)) + ")"
_OLD_EVENTS = f"DELETE FROM events WHERE at < ? AND job_id IN (SELECT id FROM jobs WHERE {_ENDED})"  # noqa: S608  # our words
_OLD_JOBS = f"SELECT id FROM jobs WHERE created_at < ? AND {_ENDED}"  # noqa: S608  # our words

_OUTLIVED = f"SELECT id FROM jobs WHERE tenant = ? AND created_at < ? AND {_ENDED}"  # noqa: S608  # our words
_OLD_TALKS = "DELETE FROM conversations WHERE tenant = ? AND put_at < ?"


class SqliteArchive:
    """A `Register` and an `Archive`."""

    name = "database"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def jobs_of(self, whose: Whose) -> list[Filed]:
        def query(connection: Connection) -> list[tuple[str, str]]:
            if whose.job_id:
                return connection.execute("SELECT id, status FROM jobs WHERE id = ?", (whose.job_id,)).fetchall()
            if whose.user_id:
                return connection.execute(_OF_USER, {"user": whose.user_id, "tenant": whose.tenant}).fetchall()
            return connection.execute("SELECT id, status FROM jobs WHERE tenant = ?", (whose.tenant,)).fetchall()

        rows = await self._database.read(query)
        return [Filed(job_id, status in TERMINAL_STATUSES) for job_id, status in rows]

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Also keeps a worker that still runs one of them from storing it again. Raises `StoreError`."""

        def change(connection: Connection) -> int:
            connection.execute("PRAGMA secure_delete = ON")
            for job_id in job_ids:
                row = (job_id, datetime.now(UTC).timestamp())
                connection.execute("INSERT OR REPLACE INTO forgotten (job_id, at) VALUES (?, ?)", row)
            gone = _delete_jobs(connection, job_ids)
            if whose.user_id:
                gone += _delete_user(connection, whose)
            elif whose.tenant:
                gone += _delete_tenant(connection, whose.tenant)
            if whose.user_id or whose.tenant:
                drop_deleted_words(connection)
            return gone

        gone = await self._database.write(change)
        await self._scrub()
        return gone

    async def outlived(self, tenant: str, *, before: datetime) -> list[str]:
        return [job_id for (job_id,) in await self._database.rows(_OUTLIVED, (tenant, before))]

    async def drop_talks(self, tenant: str, *, before: datetime) -> int:
        values = (tenant, before.timestamp())

        def change(connection: Connection) -> int:
            connection.execute("PRAGMA secure_delete = ON")
            return int(connection.execute(_OLD_TALKS, values).rowcount)

        gone = await self._database.write(change)
        if gone:
            await self._scrub()
        return gone

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Events of a job stay until it has ended. Raises `StoreError`."""
        before = traces_before.timestamp()

        def change(connection: Connection) -> int:
            connection.execute("PRAGMA secure_delete = ON")
            now = datetime.now(UTC).timestamp()
            gone = connection.execute("DELETE FROM trace_entries WHERE at < ?", (before,)).rowcount
            gone += connection.execute(_OLD_EVENTS, (before,)).rowcount
            gone += connection.execute(
                "DELETE FROM tool_traces WHERE created_at < ?", (_naive(traces_before),)
            ).rowcount
            gone += connection.execute("DELETE FROM addresses WHERE expires_at <= ?", (now,)).rowcount
            connection.execute("DELETE FROM forgotten WHERE at < ?", (now - TOMBSTONES_KEPT_S,))
            if answers_before is not None:
                old = (answers_before.timestamp(),)
                gone += connection.execute("DELETE FROM conversations WHERE put_at < ?", old).rowcount
                rows = connection.execute(_OLD_JOBS, old).fetchall()
                gone += _delete_jobs(connection, [job_id for (job_id,) in rows])
            return gone

        gone = await self._database.write(change)
        if gone:
            await self._scrub()
        return gone

    async def _scrub(self) -> None:
        """Rewrite the file without its free space and empty the write-ahead log."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SCRUB_WITHIN_S
        while not await self._database.read(_scrubbed):
            if loop.time() > ends_at:
                raise StoreError(
                    "gorkd.db-wal is in use",
                    user_message="What was removed may still stand in gorkd.db-wal, which is in use; please try again.",
                )
            await asyncio.sleep(_PAUSE_S)


def _scrubbed(connection: Connection) -> bool:
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("VACUUM")
    (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


def _delete_jobs(connection: Connection, job_ids: Sequence[str]) -> int:
    listed = (json.dumps(list(job_ids)),)
    gone = 0
    for table in _tables_with(connection, "job_id"):
        gone += connection.execute(f'DELETE FROM "{table}" WHERE job_id IN {_LISTED}', listed).rowcount  # noqa: S608
    for table in ("tool_traces", "jobs"):
        gone += connection.execute(f"DELETE FROM {table} WHERE id IN {_LISTED}", listed).rowcount  # noqa: S608
    return gone


def _delete_user(connection: Connection, whose: Whose) -> int:
    """What a workspace has spent and set stays true, but says no longer by whom."""
    values = {"user": whose.user_id, "tenant": whose.tenant}
    connection.execute(_MAKE_NAMELESS, values)
    connection.execute(_OWN_CHANGES, values)
    connection.execute("DELETE FROM buckets WHERE instr(key, ?)", (whose.user_id,))
    own = (_OWN_SPENDING, _OWN_TRACES, _OWN_RATINGS, _OWN_MESSAGES, _OWN_TALKS)
    gone = sum(connection.execute(statement, values).rowcount for statement in own)
    for place, value in (("visibility", f"user:{whose.user_id}"), ("tenant", f"discord:user:{whose.user_id}")):
        for table in _tables_with(connection, place):
            theirs = f"DELETE FROM \"{table}\" WHERE {place} = :value AND (:tenant = '' OR tenant = :tenant)"  # noqa: S608
            gone += connection.execute(theirs, {**values, "value": value}).rowcount
    return gone


def _delete_tenant(connection: Connection, tenant: str) -> int:
    connection.execute("DELETE FROM buckets WHERE instr(key, ?)", (tenant,))
    tables = _tables_with(connection, "tenant")
    return sum(connection.execute(f'DELETE FROM "{table}" WHERE tenant = ?', (tenant,)).rowcount for table in tables)  # noqa: S608


def _tables_with(connection: Connection, column: str) -> list[str]:
    """Our own tables with this column; jobs last, since others refer to it."""
    rows = connection.execute(
        """SELECT tables.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
           WHERE tables.type = 'table' AND columns.name = ? AND tables.name != 'forgotten'
           ORDER BY tables.name = 'jobs', tables.name""",
        (column,),
    ).fetchall()
    return [name for (name,) in rows]


def _naive(moment: datetime) -> str:
    """As `tool_traces` keeps times."""
    return str(moment.astimezone(UTC).replace(tzinfo=None))
