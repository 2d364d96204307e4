"""Signs of life of the workers of all machines, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

from adapters.store.postgres import PostgresDatabase

_BEAT = """
    INSERT INTO heartbeats (worker_id, beat_at) VALUES (%s, %s)
    ON CONFLICT (worker_id) DO UPDATE SET beat_at = excluded.beat_at
"""


class PostgresHeartbeats:
    """`Heartbeats`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def beat(self, worker_id: str, now: datetime) -> None:
        await self._database.execute(_BEAT, (worker_id, now))

    async def beats(self) -> dict[str, datetime]:
        return dict(await self._database.rows("SELECT worker_id, beat_at FROM heartbeats"))

    async def forget(self, worker_id: str) -> None:
        await self._database.execute("DELETE FROM heartbeats WHERE worker_id = %s", (worker_id,))
