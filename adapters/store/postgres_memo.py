"""What jobs have paid for, in PostgreSQL; it goes with its job."""

from __future__ import annotations

from adapters.store.digest import digest
from adapters.store.postgres import PostgresDatabase
from core.errors import StoreError

_PUT = """
    INSERT INTO memos (job_id, key, tenant, visibility, text)
    SELECT id, %s, tenant, visibility, %s FROM jobs WHERE id = %s
    ON CONFLICT (job_id, key) DO UPDATE SET text = excluded.text
"""


class PostgresJobMemo:
    """A `JobMemo`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def get(self, job_id: str, key: str) -> str | None:
        query = "SELECT text FROM memos WHERE job_id = %s AND key = %s"
        rows = await self._database.rows(query, (job_id, digest(key)))
        return bytes(rows[0][0]).decode() if rows else None

    async def put(self, job_id: str, key: str, text: str) -> None:
        try:
            content = text.encode()
        except UnicodeEncodeError as exc:  # half a surrogate pair
            raise StoreError(f"a value cannot be stored: {exc}") from exc
        if await self._database.execute(_PUT, (digest(key), content, job_id)) == 0:
            raise StoreError(f"{job_id} is not stored, so nothing is kept for it")

    async def clear(self, job_id: str) -> None:
        await self._database.execute("DELETE FROM memos WHERE job_id = %s", (job_id,))
