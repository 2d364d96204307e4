"""Jobs and their results in SQLite."""

from __future__ import annotations

from sqlite_utils import Database as Connection

from adapters.store.figures import figures_of
from adapters.store.job_rows import JobRows, row_of
from adapters.store.sqlite import Database
from core.answer import JobResult
from core.codec import decode, encode
from core.errors import StaleAttempt
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


class SqliteJobStore(JobRows):
    """A `JobStore`. Both writes are fenced: an attempt older than the stored one raises `StaleAttempt`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, number="rowid")
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

    async def finish(self, job: ResearchJob, result: JobResult) -> None:
        """Also stores a job that was never saved. Raises `ValueError` unless the status is terminal."""
        if job.status not in TERMINAL_STATUSES:
            raise ValueError(f"{job.id} is {job.status}, which is not an end")

        def change(connection: Connection) -> None:
            _refuse_stale(connection, job)
            row = {**_row(job), **figures_of(result), "result": encode(result), "keep_result": False}
            connection.execute(_UPSERT, row)

        await self._database.write(change)

    async def asked(self, scope: Scope, dedupe_key: str) -> ResearchJob | None:
        return await self._database.read(lambda connection: _find_twin(connection, scope, dedupe_key))


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


def _row(job: ResearchJob) -> dict[str, object]:
    return {**row_of(job), "created_at": job.created_at.timestamp()}
