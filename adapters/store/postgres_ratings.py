"""Votes on answers in PostgreSQL; each goes with its job, and with the person who gave it."""

from __future__ import annotations

from adapters.store.postgres import PostgresDatabase, fetch
from core.codec import decode, encode
from core.errors import JobNotFound
from core.feedback import Rating
from core.job import ResearchJob

_EARLIER = "SELECT rating FROM ratings WHERE job_id = %s AND asker = %s"
_PUT = """
    INSERT INTO ratings (job_id, asker, tenant, visibility, at, rating) VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (job_id, asker) DO UPDATE SET at = excluded.at, rating = excluded.rating
"""


class PostgresRatings:
    """`Ratings`. The job must have been saved, else `JobNotFound`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(self, job: ResearchJob, rating: Rating) -> bool:
        async with self._database.transaction() as connection:
            if not await fetch(connection, "SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", (job.id,)):
                raise JobNotFound(job.id)
            earlier = await fetch(connection, _EARLIER, (job.id, rating.asker))
            scope = job.scope
            row = (job.id, rating.asker, scope.tenant, scope.visibility, rating.at, encode(rating))
            await connection.execute(_PUT, row)
            return not earlier or decode(earlier[0][0], Rating).is_good != rating.is_good

    async def of(self, job_id: str) -> list[Rating]:
        query = "SELECT rating FROM ratings WHERE job_id = %s ORDER BY at, asker"
        return [decode(text, Rating) for (text,) in await self._database.rows(query, (job_id,))]
