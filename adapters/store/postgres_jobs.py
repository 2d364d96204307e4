"""Jobs and their results in PostgreSQL."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation

from adapters.store.digest import digest
from adapters.store.figures import figures_of
from adapters.store.job_rows import JobRows, row_of
from adapters.store.postgres import PostgresDatabase, fetch
from core.answer import JobResult
from core.codec import decode, encode
from core.errors import StaleAttempt
from core.job import TERMINAL_STATUSES, ResearchJob, Scope

# The row's lock makes of the fence and the write one step.
_UPSERT = """
    INSERT INTO jobs (id, tenant, visibility, status, attempt, created_at, thread, asker, dedupe_key, job,
        result, seconds, confidence, cost_usd, is_cached)
    VALUES (%(id)s, %(tenant)s, %(visibility)s, %(status)s, %(attempt)s, %(created_at)s, %(thread)s, %(asker)s,
        %(dedupe_key)s, %(job)s, %(result)s, %(seconds)s, %(confidence)s, %(cost_usd)s, %(is_cached)s)
    ON CONFLICT (id) DO UPDATE SET
        tenant = excluded.tenant, visibility = excluded.visibility, status = excluded.status,
        attempt = excluded.attempt, created_at = excluded.created_at, job = excluded.job,
        dedupe_key = COALESCE(excluded.dedupe_key, jobs.dedupe_key),
        result = CASE WHEN %(keep_result)s THEN jobs.result ELSE excluded.result END,
        seconds = CASE WHEN %(keep_result)s THEN jobs.seconds ELSE excluded.seconds END,
        confidence = CASE WHEN %(keep_result)s THEN jobs.confidence ELSE excluded.confidence END,
        cost_usd = CASE WHEN %(keep_result)s THEN jobs.cost_usd ELSE excluded.cost_usd END,
        is_cached = CASE WHEN %(keep_result)s THEN jobs.is_cached ELSE excluded.is_cached END
        WHERE jobs.attempt <= excluded.attempt
"""
_TWIN = "SELECT job FROM jobs WHERE tenant = %s AND visibility = %s AND dedupe_key = %s"


class PostgresJobStore(JobRows):
    """A `JobStore`. Both writes are fenced: an attempt older than the stored one raises `StaleAttempt`."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, number="number")
        self._database = database

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        """Saving a job that is under way takes back the result of an earlier attempt."""
        place = (job.scope.tenant, job.scope.visibility, digest(dedupe_key)) if dedupe_key else None
        async with self._database.transaction() as connection:
            row = {**row_of(job), "keep_result": job.status in TERMINAL_STATUSES}
            if place is None:
                await _upsert(connection, job, row)
                return job
            if twins := await fetch(connection, _TWIN, place):
                return decode(twins[0][0], ResearchJob)
            try:
                async with connection.transaction():
                    await _upsert(connection, job, {**row, "dedupe_key": place[2]})
            except UniqueViolation:  # another process has just saved the same question
                return decode((await fetch(connection, _TWIN, place))[0][0], ResearchJob)
            return job

    async def finish(self, job: ResearchJob, result: JobResult) -> None:
        """Also stores a job that was never saved. Raises `ValueError` unless the status is terminal."""
        if job.status not in TERMINAL_STATUSES:
            raise ValueError(f"{job.id} is {job.status}, which is not an end")
        async with self._database.transaction() as connection:
            row = {**row_of(job), **figures_of(result), "result": encode(result), "keep_result": False}
            await _upsert(connection, job, row)

    async def asked(self, scope: Scope, dedupe_key: str) -> ResearchJob | None:
        rows = await self._database.rows(_TWIN, (scope.tenant, scope.visibility, digest(dedupe_key)))
        return decode(rows[0][0], ResearchJob) if rows else None


async def _upsert(connection: AsyncConnection, job: ResearchJob, row: dict[str, object]) -> None:
    if (await connection.execute(_UPSERT.encode(), row)).rowcount == 0:
        ((newest,),) = await fetch(connection, "SELECT attempt FROM jobs WHERE id = %s", (job.id,))
        raise StaleAttempt(f"attempt {job.attempt} of {job.id} wrote after attempt {newest} had begun")
