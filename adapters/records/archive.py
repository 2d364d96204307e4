"""Taking things out of a database for good: at somebody's wish, and when their time is over.

The tables are asked for their columns: whatever carries a `job_id` or a `tenant` goes with it, so a table that is
added later is covered without a word here. Of PostgreSQL, the server's own write-ahead log and backups are its
operator's business (docs/privacy.md).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from adapters.records.library import drop_deleted_words
from adapters.records.sql import LISTED, POSITION, Dialect, Sql, SqlStore, insertion
from adapters.records.traces import naive
from core.model.errors import StoreError
from core.model.job import TERMINAL_STATUSES, personal
from core.tenancy.forgetting import Filed, Whose

TOMBSTONES_KEPT = timedelta(days=1)  # no worker still runs a job after a day
SCRUB_WITHIN_S = 40.0  # forgetting takes 60 s at most
_PAUSE_S = 0.2

_WHERE_TENANT = "(:tenant = '' OR tenant = :tenant)"
_MAKE_NAMELESS = f"""
    INSERT INTO spending AS kept (tenant, asker, month, model, prompt_tokens, completion_tokens, cost_usd)
    SELECT tenant, '', month, model, prompt_tokens, completion_tokens, cost_usd FROM spending
    WHERE asker = :user AND {_WHERE_TENANT}
    ON CONFLICT (tenant, month, asker, model) DO UPDATE SET
        prompt_tokens = kept.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = kept.completion_tokens + excluded.completion_tokens,
        cost_usd = kept.cost_usd + excluded.cost_usd
"""  # noqa: S608 -- our words
_NAMELESS_CHANGES = f"UPDATE setting_changes SET who = '' WHERE who = :user AND {_WHERE_TENANT}"  # noqa: S608 -- our words
_OWN = (("spending", "asker"), ("tool_traces", "user_id"), ("ratings", "asker"), ("open_messages", "asker"),
        ("watches", "asker"))  # fmt: skip
_TOMBSTONE = insertion("forgotten", "job_id, at", key="job_id", changes="at")
_ENDED = "status IN (" + ", ".join(f"'{status.value}'" for status in sorted(TERMINAL_STATUSES)) + ")"
_TABLES_WITH: dict[Dialect, str] = {  # our own tables with this column; jobs last, since others refer to it
    "sqlite": """
        SELECT tables.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table' AND columns.name = ? AND tables.name != 'forgotten'
        ORDER BY tables.name = 'jobs', tables.name
    """,
    "postgres": """
        SELECT table_name FROM information_schema.columns
        JOIN information_schema.tables USING (table_catalog, table_schema, table_name)
        WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
            AND column_name = ? AND table_name != 'forgotten'
        ORDER BY table_name = 'jobs', table_name
    """,
}


class SqlArchive(SqlStore):
    """An `Archive`, which also knows what is kept."""

    name = "database"

    async def jobs_of(self, whose: Whose) -> list[Filed]:
        values = _values(whose)
        position = POSITION[self._tables.dialect]
        condition = "id = :job" if whose.job_id else "tenant = :tenant"
        if whose.user_id and not whose.job_id:
            condition = f"""({position}(job, :asker) > 0 OR visibility = :own OR {_own_tenant(self._tables.dialect)})
                AND {_WHERE_TENANT}"""
        rows = await self._tables.rows(f"SELECT id, status FROM jobs WHERE {condition}", values)  # noqa: S608 -- our words
        return [Filed(job_id, status in TERMINAL_STATUSES) for job_id, status in rows]

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Also keeps a worker that still runs one of them from storing it again. Raises `StoreError`."""
        now = datetime.now(UTC)

        def erase(sql: Sql) -> int:
            _overwrite(sql)
            sql.execute_all(_TOMBSTONE, [(job_id, now) for job_id in job_ids])
            gone = _delete_jobs(sql, job_ids)
            if whose.user_id:
                gone += _delete_user(sql, whose)
            elif whose.tenant:
                gone += _delete_tenant(sql, whose.tenant)
            if (whose.user_id or whose.tenant) and sql.dialect == "sqlite":
                drop_deleted_words(sql)
            return gone

        gone = await self._tables.write(erase)
        await self._scrub()
        return gone

    async def expire_tenant(self, tenant: str, before: datetime) -> list[str]:
        """An `ExpireTenant`."""
        await self._drop_talks(tenant, before)
        query = f"SELECT id FROM jobs WHERE tenant = ? AND created_at < ? AND {_ENDED}"  # noqa: S608 -- our words
        return [job_id for (job_id,) in await self._tables.rows(query, (tenant, before))]

    async def _drop_talks(self, tenant: str, before: datetime) -> None:
        def drop(sql: Sql) -> int:
            _overwrite(sql)
            return sql.execute("DELETE FROM conversations WHERE tenant = ? AND put_at < ?", (tenant, before))

        if await self._tables.write(drop):
            await self._scrub_file()

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Events of a job stay until it has ended. Raises `StoreError`."""
        now = datetime.now(UTC)

        def expire(sql: Sql) -> int:
            _overwrite(sql)
            gone = sql.execute("DELETE FROM trace_entries WHERE at < ?", (traces_before,))
            gone += sql.execute("DELETE FROM tool_traces WHERE created_at < ?", (naive(traces_before),))
            gone += sql.execute("DELETE FROM addresses WHERE expires_at <= ?", (now,))
            sql.execute("DELETE FROM forgotten WHERE at < ?", (now - TOMBSTONES_KEPT,))
            ended = f"(SELECT id FROM jobs WHERE {_ENDED})"  # noqa: S608 -- our words
            gone += sql.execute(f"DELETE FROM events WHERE at < ? AND job_id IN {ended}", (traces_before,))  # noqa: S608
            if answers_before is not None:
                old = sql.rows(f"SELECT id FROM jobs WHERE created_at < ? AND {_ENDED}", (answers_before,))  # noqa: S608
                gone += _delete_jobs(sql, [job_id for (job_id,) in old])
                gone += sql.execute("DELETE FROM conversations WHERE put_at < ?", (answers_before,))
            return gone

        gone = await self._tables.write(expire)
        if gone:
            await self._scrub_file()
        return gone

    async def _scrub(self) -> None:
        """Let nothing that was deleted stay in the free space of the files."""
        if self._tables.dialect == "sqlite":
            await self._scrub_file()
            return
        for (table,) in [("jobs",), *await self._tables.rows(_TABLES_WITH["postgres"], ("tenant",))]:
            await self._tables.execute(f'VACUUM (FULL) "{table}"')

    async def _scrub_file(self) -> None:
        """Rewrite the file without its free space and empty the write-ahead log; PostgreSQL does it by itself."""
        if self._tables.dialect != "sqlite":
            return
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SCRUB_WITHIN_S
        while not await self._tables.read(_scrubbed):
            if loop.time() > ends_at:
                raise StoreError(
                    "gorkd.db-wal is in use",
                    operator_message="What was removed may still stand in gorkd.db-wal, which is in use; try again.",
                )
            await asyncio.sleep(_PAUSE_S)


def _overwrite(sql: Sql) -> None:
    """What is deleted from now on leaves no trace in its page."""
    if sql.dialect == "sqlite":
        sql.execute("PRAGMA secure_delete = ON")


def _scrubbed(sql: Sql) -> bool:
    _overwrite(sql)
    sql.execute("VACUUM")
    ((is_busy, _, _),) = sql.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return not is_busy


def _delete_jobs(sql: Sql, job_ids: Sequence[str]) -> int:
    listed, values = LISTED[sql.dialect], (json.dumps(list(job_ids)),)
    gone = 0
    for table in _tables_with(sql, "job_id"):
        gone += sql.execute(f'DELETE FROM "{table}" WHERE job_id IN {listed}', values)  # noqa: S608 -- our own tables
    for table in ("tool_traces", "jobs"):
        gone += sql.execute(f"DELETE FROM {table} WHERE id IN {listed}", values)  # noqa: S608 -- our own tables
    return gone


def _delete_user(sql: Sql, whose: Whose) -> int:
    """What a workspace has spent and set stays true, but says no longer by whom."""
    values = _values(whose)
    sql.execute(_MAKE_NAMELESS, values)
    sql.execute(_NAMELESS_CHANGES, values)
    _delete_buckets(sql, whose.user_id)
    gone = 0
    for table, column in _OWN:
        gone += sql.execute(f"DELETE FROM {table} WHERE {column} = :user AND {_WHERE_TENANT}", values)  # noqa: S608
    theirs = f"{POSITION[sql.dialect]}( :line || asker || :line, :line || :user || :line) > 0"
    gone += sql.execute(f"DELETE FROM conversations WHERE {theirs} AND {_WHERE_TENANT}", values)  # noqa: S608
    for column, is_own in (("visibility", "visibility = :own"), ("tenant", _own_tenant(sql.dialect))):
        for table in _tables_with(sql, column):
            gone += sql.execute(f'DELETE FROM "{table}" WHERE {is_own} AND {_WHERE_TENANT}', values)  # noqa: S608
    return gone


def _own_tenant(dialect: Dialect) -> str:
    """Whether a tenant is the person's own on its platform: it ends as the visibility of what is theirs alone."""
    return f"{POSITION[dialect]}(tenant || :line, ':' || :own || :line) > 0"


def _delete_tenant(sql: Sql, tenant: str) -> int:
    _delete_buckets(sql, tenant)
    return sum(
        sql.execute(f'DELETE FROM "{table}" WHERE tenant = ?', (tenant,))  # noqa: S608 -- our own tables
        for table in _tables_with(sql, "tenant")
    )


def _delete_buckets(sql: Sql, name: str) -> None:
    if sql.dialect == "sqlite":  # elsewhere Redis keeps them
        sql.execute("DELETE FROM buckets WHERE instr(key, ?)", (name,))


def _tables_with(sql: Sql, column: str) -> list[str]:
    return [name for (name,) in sql.rows(_TABLES_WITH[sql.dialect], (column,))]


def _values(whose: Whose) -> dict[str, str]:
    # As the codec writes it; in a question the quotes would be escaped.
    asker = f'"asker":{json.dumps(whose.user_id, ensure_ascii=False)}'
    user, own = whose.user_id, personal(whose.user_id)
    return {"job": whose.job_id, "user": user, "own": own, "tenant": whose.tenant, "asker": asker, "line": "\n"}
