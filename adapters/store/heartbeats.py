"""Signs of life of the workers of one machine, in SQLite."""

from __future__ import annotations

from datetime import datetime

from adapters.store.sqlite import Database


class SqliteHeartbeats:
    """`Heartbeats`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def beat(self, worker_id: str, now: datetime) -> None:
        row = (worker_id, now.timestamp())
        await self._database.write(
            lambda connection: connection.execute("INSERT OR REPLACE INTO heartbeats VALUES (?, ?)", row)
        )

    async def silent_since(self, cutoff: datetime) -> list[str]:
        query = "SELECT worker_id FROM heartbeats WHERE beat_at < ? ORDER BY beat_at"
        rows = await self._database.read(lambda connection: connection.execute(query, (cutoff.timestamp(),)).fetchall())
        return [worker_id for (worker_id,) in rows]

    async def forget(self, worker_id: str) -> None:
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM heartbeats WHERE worker_id = ?", (worker_id,))
        )
