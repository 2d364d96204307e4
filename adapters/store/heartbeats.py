"""Signs of life of the workers of one machine, in SQLite."""

from __future__ import annotations

from datetime import UTC, datetime

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

    async def beats(self) -> dict[str, datetime]:
        query = "SELECT worker_id, beat_at FROM heartbeats"
        rows = await self._database.read(lambda connection: connection.execute(query).fetchall())
        return {worker_id: datetime.fromtimestamp(beat_at, UTC) for worker_id, beat_at in rows}

    async def forget(self, worker_id: str) -> None:
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM heartbeats WHERE worker_id = ?", (worker_id,))
        )
