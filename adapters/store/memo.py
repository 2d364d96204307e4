"""What jobs have paid for, in SQLite; it goes with its job."""

from __future__ import annotations

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.errors import StoreError

_PUT = """
    INSERT OR REPLACE INTO memos (job_id, key, tenant, visibility, text)
    SELECT id, ?, tenant, visibility, ? FROM jobs WHERE id = ?
"""


class SqliteJobMemo:
    """A `JobMemo`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, job_id: str, key: str) -> str | None:
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT text FROM memos WHERE job_id = ? AND key = ?", (job_id, key)
            ).fetchone()
        )
        return None if row is None else str(row[0])

    async def put(self, job_id: str, key: str, text: str) -> None:
        def change(connection: Connection) -> None:
            if connection.execute(_PUT, (key, text, job_id)).rowcount == 0:
                raise StoreError(f"{job_id} is not stored, so nothing is kept for it")

        await self._database.write(change)

    async def clear(self, job_id: str) -> None:
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM memos WHERE job_id = ?", (job_id,))
        )
