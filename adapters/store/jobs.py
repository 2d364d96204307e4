"""Jobs and their results in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlite_utils import Database as Connection

from adapters.store.figures import figures_of
from adapters.store.sqlite import Database
from core.answer import JobResult
from core.codec import decode, encode
from core.errors import JobNotFound, StaleAttempt
from core.job import TERMINAL_STATUSES, ResearchJob, Scope

_UPSERT = """
    INSERT INTO jobs (id, tenant, visibility, status, attempt, created_at, thread, asker, dedupe_key, job,
        result, seconds, confidence, cost_usd, is_cached)
    VALUES (:id, :tenant, :visibility, :status, :attempt, :created_at, :thread, :asker, :dedupe_key, :job, :result,
        :seconds, :confidence, :cost_usd, :is_cached)
    ON CONFLICT (id) DO UPDATE SET
        tenant = excluded.tenant, visibility = excluded.visibility, status = excluded.status,
        attempt = excluded.attempt, created_at = excluded.created_at, job = excluded.job,
        dedupe_key = COALESCE(excluded.dedupe_key, dedupe_key),
        result = CASE WHEN :keep_result THEN result ELSE excluded.result END,
        seconds = CASE WHEN :keep_result THEN seconds ELSE excluded.seconds END,
        confidence = CASE WHEN :keep_result THEN confidence ELSE excluded.confidence END,
        cost_usd = CASE WHEN :keep_result THEN cost_usd ELSE excluded.cost_usd END,
        is_cached = CASE WHEN :keep_result THEN is_cached ELSE excluded.is_cached END
"""
_RECENT = "SELECT job FROM jobs WHERE tenant = ? AND visibility = ? ORDER BY created_at DESC, rowid DESC LIMIT ?"
_IN_THREAD = """
    SELECT job FROM jobs WHERE tenant = ? AND visibility = ? AND thread = ? AND thread != '' AND status = 'completed'
        AND created_at < ? ORDER BY created_at DESC, rowid DESC LIMIT ?
"""
_ASKED_BY = """
    SELECT job FROM jobs WHERE tenant = ? AND asker = ? AND asker != '' ORDER BY created_at DESC, rowid DESC LIMIT ?
"""

_UNFINISHED = """
    SELECT job FROM jobs WHERE status NOT IN ('completed', 'failed', 'cancelled') ORDER BY created_at, rowid LIMIT ?
"""


class SqliteJobStore:
    """A `JobStore`. Both writes are fenced: an attempt older than the stored one raises `StaleAttempt`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        """Saving a job that is under way takes back the result of an earlier attempt."""

        def change(connection: Connection) -> ResearchJob:
            if dedupe_key and (twin := _find_twin(connection, job.scope, dedupe_key)):
                return twin
            _refuse_stale(connection, job)
            keep_result = job.status in TERMINAL_STATUSES
            connection.execute(_UPSERT, {**_row(job), "dedupe_key": dedupe_key or None, "keep_result": keep_result})
            return job

        return await self._database.write(change)

    async def get(self, job_id: str) -> ResearchJob:
        rows = await self._database.rows("SELECT job FROM jobs WHERE id = ?", (job_id,))
        if not rows:
            raise JobNotFound(job_id)
        return decode(rows[0][0], ResearchJob)

    async def finish(self, job: ResearchJob, result: JobResult) -> None:
        """Also stores a job that was never saved. Raises `ValueError` unless the status is terminal."""
        if job.status not in TERMINAL_STATUSES:
            raise ValueError(f"{job.id} is {job.status}, which is not an end")

        def change(connection: Connection) -> None:
            _refuse_stale(connection, job)
            row = {
                **_row(job),
                **figures_of(result),
                "dedupe_key": None,
                "result": encode(result),
                "keep_result": False,
            }
            connection.execute(_UPSERT, row)

        await self._database.write(change)

    async def result(self, job_id: str) -> JobResult | None:
        rows = await self._database.rows("SELECT result FROM jobs WHERE id = ?", (job_id,))
        return None if not rows or rows[0][0] is None else decode(rows[0][0], JobResult)

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        return await self._list(_RECENT, (scope.tenant, scope.visibility, max(limit, 0)))

    async def asked(self, scope: Scope, dedupe_key: str) -> ResearchJob | None:
        return await self._database.read(lambda connection: _find_twin(connection, scope, dedupe_key))

    async def in_thread(self, scope: Scope, thread: str, *, before: datetime, limit: int) -> list[ResearchJob]:
        return await self._list(_IN_THREAD, (scope.tenant, scope.visibility, thread, before, max(limit, 0)))

    async def asked_by(self, tenant: str, asker: str, *, limit: int) -> list[ResearchJob]:
        return await self._list(_ASKED_BY, (tenant, asker, max(limit, 0)))

    async def unfinished(self, *, limit: int) -> list[ResearchJob]:
        return await self._list(_UNFINISHED, (max(limit, 0),))

    async def _list(self, query: str, values: Sequence[object]) -> list[ResearchJob]:
        return [decode(text, ResearchJob) for (text,) in await self._database.rows(query, values)]


def _find_twin(connection: Connection, scope: Scope, dedupe_key: str) -> ResearchJob | None:
    row = connection.execute(
        "SELECT job FROM jobs WHERE tenant = ? AND visibility = ? AND dedupe_key = ?",
        (scope.tenant, scope.visibility, dedupe_key),
    ).fetchone()
    return None if row is None else decode(row[0], ResearchJob)


def _refuse_stale(connection: Connection, job: ResearchJob) -> None:
    row = connection.execute("SELECT attempt FROM jobs WHERE id = ?", (job.id,)).fetchone()
    if row is not None and row[0] > job.attempt:
        raise StaleAttempt(f"attempt {job.attempt} of {job.id} wrote after attempt {row[0]} had begun")


def _row(job: ResearchJob) -> dict[str, str | int | float | None]:
    return {
        "id": job.id,
        "tenant": job.scope.tenant,
        "visibility": job.scope.visibility,
        "status": job.status.value,
        "attempt": job.attempt,
        "created_at": job.created_at.timestamp(),
        "thread": job.request.thread,
        "asker": job.request.asker,
        "job": encode(job),
        "result": None,
        **figures_of(None),
    }
