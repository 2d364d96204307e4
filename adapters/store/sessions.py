"""Which signed-in sessions of the pages were ended before their time."""

from __future__ import annotations

from datetime import datetime

from adapters.store.tables import Tables
from core.ports import Clock

_END = "INSERT INTO ended_sessions (id, until) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"


class SqlEndedSessions:
    """`EndedSessions`."""

    def __init__(self, tables: Tables, *, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    async def end(self, session_id: str, *, until: datetime) -> None:
        await self._tables.execute("DELETE FROM ended_sessions WHERE until <= ?", (self._clock(),))
        await self._tables.execute(_END, (session_id, until))

    async def has_ended(self, session_id: str) -> bool:
        return bool(await self._tables.rows("SELECT 1 FROM ended_sessions WHERE id = ?", (session_id,)))
