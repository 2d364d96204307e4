"""Files that came with questions, as read, in SQLite; each goes with its job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.attachments import Attachment
from core.codec import decode, encode
from core.errors import JobNotFound
from core.job import ResearchJob


class SqliteAttachments:
    """`Attachments`. The job must have been saved, else `JobNotFound`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        def change(connection: Connection) -> None:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job.id,)).fetchone() is None:
                raise JobNotFound(job.id)
            connection.execute("DELETE FROM attachments WHERE job_id = ?", (job.id,))
            for number, attachment in enumerate(attachments):
                row = (job.id, number, job.scope.tenant, job.scope.visibility, encode(attachment))
                connection.execute("INSERT INTO attachments VALUES (?, ?, ?, ?, ?)", row)

        await self._database.write(change)

    async def of(self, job_id: str) -> list[Attachment]:
        query = "SELECT attachment FROM attachments WHERE job_id = ? ORDER BY number"
        return [decode(text, Attachment) for (text,) in await self._database.rows(query, (job_id,))]
