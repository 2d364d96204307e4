"""What people say to running jobs, in SQLite; it goes with its job."""

from __future__ import annotations

from sqlite_utils import Database as Connection

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
        def change(connection: Connection) -> int:
            row = connection.execute(_ADD, (encode(steering), job_id)).fetchone()
            if row is None:
                raise StoreError(f"{job_id} is not stored, so it cannot be steered")
            return int(row[0])

        return await self._database.write(change)

    async def read(self, job_id: str, *, after: int = 0) -> list[Steering]:
        rows = await self._database.read(
            lambda connection: connection.execute(_READ, (job_id, max(after, 0))).fetchall()
        )
        return [decode(text, Steering) for (text,) in rows]
