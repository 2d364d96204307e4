"""What people say to running jobs, in SQLite; it goes with its job."""

from __future__ import annotations

from adapters.store.sqlite import Database
from core.codec import decode, encode
from core.errors import StoreError
from core.steering import Steering

_ADD = """
    INSERT INTO steering (job_id, number, tenant, visibility, steering)
    SELECT id, (SELECT COUNT(*) + 1 FROM steering WHERE job_id = jobs.id), tenant, visibility, ?
    FROM jobs WHERE id = ? RETURNING number
"""
_READ = "SELECT steering FROM steering WHERE job_id = ? AND number > ? ORDER BY number"


class SqliteSteeringStore:
    """A `SteeringStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, job_id: str, steering: Steering) -> int:
        rows = await self._database.rows(_ADD, (encode(steering), job_id))
        if not rows:
            raise StoreError(f"{job_id} is not stored, so it cannot be steered")
        return int(rows[0][0])

    async def read(self, job_id: str, *, after: int = 0) -> list[Steering]:
        return [decode(text, Steering) for (text,) in await self._database.rows(_READ, (job_id, max(after, 0)))]
