"""What people say to running jobs, in PostgreSQL; it goes with its job."""

from __future__ import annotations

from adapters.store.postgres import PostgresDatabase, fetch
from core.codec import decode, encode
from core.errors import StoreError
from core.steering import Steering

_LOCK = "SELECT 1 FROM jobs WHERE id = %s FOR UPDATE"  # two who speak at once get two numbers
_ADD = """
    INSERT INTO steering (job_id, number, tenant, visibility, steering)
    SELECT id, (SELECT COUNT(*) + 1 FROM steering WHERE job_id = jobs.id), tenant, visibility, %s
    FROM jobs WHERE id = %s RETURNING number
"""
_READ = "SELECT steering FROM steering WHERE job_id = %s AND number > %s ORDER BY number"


class PostgresSteeringStore:
    """A `SteeringStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def add(self, job_id: str, steering: Steering) -> int:
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK, (job_id,))
            rows = await fetch(connection, _ADD, (encode(steering), job_id))
        if not rows:
            raise StoreError(f"{job_id} is not stored, so it cannot be steered")
        return int(rows[0][0])

    async def read(self, job_id: str, *, after: int = 0) -> list[Steering]:
        return [decode(row[0], Steering) for row in await self._database.rows(_READ, (job_id, max(after, 0)))]
