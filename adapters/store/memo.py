"""What jobs have paid for, in SQLite; it goes with its job."""

from __future__ import annotations

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
        rows = await self._database.rows("SELECT text FROM memos WHERE job_id = ? AND key = ?", (job_id, key))
        return str(rows[0][0]) if rows else None

    async def put(self, job_id: str, key: str, text: str) -> None:
        if await self._database.execute(_PUT, (key, text, job_id)) == 0:
            raise StoreError(f"{job_id} is not stored, so nothing is kept for it")

    async def clear(self, job_id: str) -> None:
        await self._database.execute("DELETE FROM memos WHERE job_id = ?", (job_id,))
