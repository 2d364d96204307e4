"""The sources of jobs, with their full text, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.store.postgres import PostgresDatabase, fetch
from core.codec import decode, encode
from core.errors import JobNotFound, StaleAttempt
from core.job import ResearchJob
from core.source import Source

_LOCK_JOB = "SELECT 1 FROM jobs WHERE id = %s FOR NO KEY UPDATE"
_NEWEST = "SELECT COALESCE(MAX(attempt), 0) FROM sources WHERE job_id = %s"
_UPSERT = """
    INSERT INTO sources (job_id, number, tenant, visibility, attempt, source) VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (job_id, number) DO UPDATE SET
        tenant = excluded.tenant, visibility = excluded.visibility, attempt = excluded.attempt,
        source = excluded.source
"""


class PostgresSourceStore:
    """A `SourceStore`. The job must have been saved, else `JobNotFound`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None:
        """Add or replace by number. A newer attempt's first put drops the older one's; an older one's is refused."""
        tenant, visibility = job.scope.tenant, job.scope.visibility
        async with self._database.transaction() as connection:
            if not await fetch(connection, _LOCK_JOB, (job.id,)):
                raise JobNotFound(job.id)
            ((newest,),) = await fetch(connection, _NEWEST, (job.id,))
            if newest > job.attempt:
                raise StaleAttempt(f"attempt {job.attempt} of {job.id} put sources after attempt {newest}")
            await connection.execute("DELETE FROM sources WHERE job_id = %s AND attempt < %s", (job.id, job.attempt))
            rows = [(job.id, source.number, tenant, visibility, job.attempt, encode(source)) for source in sources]
            if rows:
                await connection.cursor().executemany(_UPSERT.encode(), rows)

    async def sources(self, job_id: str) -> list[Source]:
        query = "SELECT source FROM sources WHERE job_id = %s ORDER BY number"
        return [decode(text, Source) for (text,) in await self._database.rows(query, (job_id,))]
