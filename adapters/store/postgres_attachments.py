"""Files that came with questions, as read, in PostgreSQL; each goes with its job."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.store.postgres import PostgresDatabase, fetch
from core.attachments import Attachment
from core.codec import decode, encode
from core.errors import JobNotFound
from core.job import ResearchJob


class PostgresAttachments:
    """`Attachments`. The job must have been saved, else `JobNotFound`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        async with self._database.transaction() as connection:
            if not await fetch(connection, "SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", (job.id,)):
                raise JobNotFound(job.id)
            await connection.execute("DELETE FROM attachments WHERE job_id = %s", (job.id,))
            for number, attachment in enumerate(attachments):
                row = (job.id, number, job.scope.tenant, job.scope.visibility, encode(attachment))
                await connection.execute("INSERT INTO attachments VALUES (%s, %s, %s, %s, %s)", row)

    async def of(self, job_id: str) -> list[Attachment]:
        query = "SELECT attachment FROM attachments WHERE job_id = %s ORDER BY number"
        return [decode(text, Attachment) for (text,) in await self._database.rows(query, (job_id,))]
