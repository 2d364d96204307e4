"""The sources of jobs, with their full text, in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.codec import decode, encode
from core.errors import JobNotFound, StaleAttempt
from core.job import ResearchJob
from core.source import Source

_UPSERT = """
    INSERT OR REPLACE INTO sources (job_id, number, tenant, visibility, attempt, source) VALUES (?, ?, ?, ?, ?, ?)
"""


class SqliteSourceStore:
    """A `SourceStore`. The job must have been saved, else `JobNotFound`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None:
        """Add or replace by number. A newer attempt's first put drops the older one's; an older one's is refused."""

        def change(connection: Connection) -> None:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job.id,)).fetchone() is None:
                raise JobNotFound(job.id)
            (newest,) = connection.execute(
                "SELECT COALESCE(MAX(attempt), 0) FROM sources WHERE job_id = ?", (job.id,)
            ).fetchone()
            if newest > job.attempt:
                raise StaleAttempt(f"attempt {job.attempt} of {job.id} put sources after attempt {newest}")
            connection.execute("DELETE FROM sources WHERE job_id = ? AND attempt < ?", (job.id, job.attempt))
            tenant, visibility = job.scope.tenant, job.scope.visibility
            for source in sources:
                row = (job.id, source.number, tenant, visibility, job.attempt, encode(source))
                connection.execute(_UPSERT, row)

        await self._database.write(change)

    async def sources(self, job_id: str) -> list[Source]:
        rows = await self._database.rows("SELECT source FROM sources WHERE job_id = ? ORDER BY number", (job_id,))
        return [decode(text, Source) for (text,) in rows]
