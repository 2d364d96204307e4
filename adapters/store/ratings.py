"""Votes on answers in SQLite; each goes with its job, and with the person who gave it."""

from __future__ import annotations

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.codec import decode, encode
from core.errors import JobNotFound
from core.feedback import Rating
from core.job import ResearchJob


class SqliteRatings:
    """`Ratings`. The job must have been saved, else `JobNotFound`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, job: ResearchJob, rating: Rating) -> bool:
        def change(connection: Connection) -> bool:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job.id,)).fetchone() is None:
                raise JobNotFound(job.id)
            earlier = connection.execute(
                "SELECT rating FROM ratings WHERE job_id = ? AND asker = ?", (job.id, rating.asker)
            ).fetchone()
            scope = job.scope
            row = (job.id, rating.asker, scope.tenant, scope.visibility, rating.at.timestamp(), encode(rating))
            connection.execute("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?)", row)
            return earlier is None or decode(earlier[0], Rating).is_good != rating.is_good

        return await self._database.write(change)

    async def of(self, job_id: str) -> list[Rating]:
        query = "SELECT rating FROM ratings WHERE job_id = ? ORDER BY at, asker"
        return [decode(text, Rating) for (text,) in await self._database.rows(query, (job_id,))]
