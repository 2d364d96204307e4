"""Taking things out of PostgreSQL for good: at somebody's wish, and when their time is over.

The tables are asked for their columns: whatever carries a `job_id` or a `tenant` goes with it. The
server's own write-ahead log and backups are its operator's business (docs/privacy.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from psycopg import AsyncConnection

from adapters.store.archive import TOMBSTONES_KEPT_S
from adapters.store.postgres import PostgresDatabase, fetch
from core.forgetting import Filed, Whose
from core.job import TERMINAL_STATUSES

_ENDED = [status.value for status in TERMINAL_STATUSES]
_OF_JOB = "SELECT id, status FROM jobs WHERE id = %(job)s"
_OF_TENANT = "SELECT id, status FROM jobs WHERE tenant = %(tenant)s"
_OF_USER = """
    SELECT id, status FROM jobs
    WHERE (strpos(job, %(asker)s) > 0 OR visibility = 'user:' || %(user)s
           OR tenant = 'discord:user:' || %(user)s) AND (%(tenant)s = '' OR tenant = %(tenant)s)
"""
_MAKE_NAMELESS = """
    INSERT INTO spending AS kept (tenant, asker, month, model, prompt_tokens, completion_tokens, cost_usd)
    SELECT tenant, '', month, model, prompt_tokens, completion_tokens, cost_usd FROM spending
    WHERE asker = %(user)s AND (%(tenant)s = '' OR tenant = %(tenant)s)
    ON CONFLICT (tenant, month, asker, model) DO UPDATE SET
        prompt_tokens = kept.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = kept.completion_tokens + excluded.completion_tokens,
        cost_usd = kept.cost_usd + excluded.cost_usd
"""
_OWN_SPENDING = "DELETE FROM spending WHERE asker = %(user)s AND (%(tenant)s = '' OR tenant = %(tenant)s)"
_OWN_TRACES = "DELETE FROM tool_traces WHERE user_id = %(user)s AND (%(tenant)s = '' OR tenant = %(tenant)s)"
_OWN_RATINGS = "DELETE FROM ratings WHERE asker = %(user)s AND (%(tenant)s = '' OR tenant = %(tenant)s)"
_OWN_CHANGES = "UPDATE setting_changes SET who = '' WHERE who = %(user)s AND (%(tenant)s = '' OR tenant = %(tenant)s)"
_OWN_MESSAGES = "DELETE FROM open_messages WHERE asker = %(user)s AND (%(tenant)s = '' OR tenant = %(tenant)s)"
_OWN_TALKS = """DELETE FROM conversations WHERE %(user)s = ANY(string_to_array(asker, chr(10)))
    AND (%(tenant)s = '' OR tenant = %(tenant)s)"""
_TOMBSTONE = "INSERT INTO forgotten (job_id, at) VALUES (%s, %s) ON CONFLICT (job_id) DO UPDATE SET at = excluded.at"
_TABLES_WITH = """
    SELECT table_name FROM information_schema.columns
    JOIN information_schema.tables USING (table_catalog, table_schema, table_name)
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
        AND column_name = %s AND table_name != 'forgotten'
    ORDER BY table_name = 'jobs', table_name
"""


class PostgresArchive:
    """A `Register` and an `Archive`."""

    name = "database"

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def jobs_of(self, whose: Whose) -> list[Filed]:
        query = _OF_JOB if whose.job_id else _OF_USER if whose.user_id else _OF_TENANT
        rows = await self._database.rows(query, _values(whose))
        return [Filed(job_id, status in TERMINAL_STATUSES) for job_id, status in rows]

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Also keeps a worker that still runs one of them from storing it again. Raises `StoreError`."""
        async with self._database.transaction() as connection:
            for job_id in job_ids:
                await connection.execute(_TOMBSTONE, (job_id, datetime.now(UTC)))
            gone = await _delete_jobs(connection, job_ids)
            if whose.user_id:
                gone += await _delete_user(connection, whose)
            elif whose.tenant:
                gone += await _delete_where(connection, "tenant", whose.tenant)
        await self._scrub()
        return gone

    async def outlived(self, tenant: str, *, before: datetime) -> list[str]:
        query = "SELECT id FROM jobs WHERE tenant = %s AND created_at < %s AND status = ANY(%s)"
        return [job_id for (job_id,) in await self._database.rows(query, (tenant, before, _ENDED))]

    async def drop_talks(self, tenant: str, *, before: datetime) -> int:
        query = "DELETE FROM conversations WHERE tenant = %s AND put_at < %s"
        return await self._database.execute(query, (tenant, before))

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Raises `StoreError`."""
        tombstones_before = datetime.now(UTC) - timedelta(seconds=TOMBSTONES_KEPT_S)
        async with self._database.transaction() as connection:
            gone = (await connection.execute("DELETE FROM trace_entries WHERE at < %s", (traces_before,))).rowcount
            naive = traces_before.astimezone(UTC).replace(tzinfo=None)
            gone += (await connection.execute("DELETE FROM tool_traces WHERE created_at < %s", (naive,))).rowcount
            expired = "DELETE FROM addresses WHERE expires_at <= %s"
            gone += (await connection.execute(expired, (datetime.now(UTC),))).rowcount
            await connection.execute("DELETE FROM forgotten WHERE at < %s", (tombstones_before,))
            if answers_before is not None:
                old = "SELECT id FROM jobs WHERE created_at < %s AND status = ANY(%s)"
                rows = await fetch(connection, old, (answers_before, _ENDED))
                gone += await _delete_jobs(connection, [job_id for (job_id,) in rows])
                talks = "DELETE FROM conversations WHERE put_at < %s"
                gone += (await connection.execute(talks, (answers_before,))).rowcount
        return gone

    async def _scrub(self) -> None:
        """Write the tables anew, so that nothing stays in the free space of their files."""
        for (table,) in [("jobs",), *await self._database.rows(_TABLES_WITH, ("tenant",))]:
            await self._database.execute(f'VACUUM (FULL) "{table}"')


async def _delete_jobs(connection: AsyncConnection, job_ids: Sequence[str]) -> int:
    ids = list(job_ids)
    gone = 0
    for (table,) in await fetch(connection, _TABLES_WITH, ("job_id",)):
        gone += (await connection.execute(f'DELETE FROM "{table}" WHERE job_id = ANY(%s)'.encode(), (ids,))).rowcount  # noqa: S608
    for table in ("tool_traces", "jobs"):
        gone += (await connection.execute(f"DELETE FROM {table} WHERE id = ANY(%s)".encode(), (ids,))).rowcount  # noqa: S608
    return gone


async def _delete_user(connection: AsyncConnection, whose: Whose) -> int:
    """What a workspace has spent and set stays true, but says no longer by whom."""
    values = _values(whose)
    await connection.execute(_MAKE_NAMELESS, values)
    await connection.execute(_OWN_CHANGES, values)
    gone = 0
    for statement in (_OWN_SPENDING, _OWN_TRACES, _OWN_RATINGS, _OWN_MESSAGES, _OWN_TALKS):
        gone += (await connection.execute(statement, values)).rowcount
    if not whose.tenant:
        gone += await _delete_where(connection, "visibility", f"user:{whose.user_id}")
        gone += await _delete_where(connection, "tenant", f"discord:user:{whose.user_id}")
    return gone


async def _delete_where(connection: AsyncConnection, column: str, value: str) -> int:
    gone = 0
    for (table,) in await fetch(connection, _TABLES_WITH, (column,)):
        gone += (await connection.execute(f'DELETE FROM "{table}" WHERE {column} = %s'.encode(), (value,))).rowcount  # noqa: S608
    return gone


def _values(whose: Whose) -> dict[str, str]:
    # As the codec writes it; in a question the quotes would be escaped. The JSON functions refuse an escaped NUL.
    asker = f'"asker":{json.dumps(whose.user_id, ensure_ascii=False)}'
    return {"job": whose.job_id, "user": whose.user_id, "tenant": whose.tenant, "asker": asker}
