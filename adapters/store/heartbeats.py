"""Signs of life of the workers that share a database."""

from __future__ import annotations

from datetime import datetime

from adapters.store.tables import Tables, moment

_BEAT = """
    INSERT INTO heartbeats (worker_id, beat_at) VALUES (?, ?)
    ON CONFLICT (worker_id) DO UPDATE SET beat_at = excluded.beat_at
"""


class SqlHeartbeats:
    """`Heartbeats`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def beat(self, worker_id: str, now: datetime) -> None:
        await self._tables.execute(_BEAT, (worker_id, now))

    async def beats(self) -> dict[str, datetime]:
        rows = await self._tables.rows("SELECT worker_id, beat_at FROM heartbeats")
        return {worker_id: moment(beat_at) for worker_id, beat_at in rows}

    async def forget(self, worker_id: str) -> None:
        await self._tables.execute("DELETE FROM heartbeats WHERE worker_id = ?", (worker_id,))
