"""Signs of life: of the workers that share a database, and of the database itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from adapters.store.sql import Tables, moment
from core.errors import StoreError
from core.ports import Clock

_BEAT = """
    INSERT INTO heartbeats (worker_id, beat_at) VALUES (?, ?)
    ON CONFLICT (worker_id) DO UPDATE SET beat_at = excluded.beat_at
"""
_TRY = "INSERT INTO tries (name, at) VALUES ('ready', ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at"


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


async def try_out(tables: Tables, clock: Clock, damage: Callable[[], str] = str) -> None:
    """Whether what is kept can still be used: a row is written, as every question does.

    `damage` says what is wrong with the database itself, "" for nothing. Raises `StoreError`.
    """
    if reason := await asyncio.to_thread(damage):
        raise StoreError(
            f"the records are not sound: {reason}",
            user_message=f"gorkd cannot use its records ({reason}); whoever runs it should look at them.",
        )
    await tables.execute(_TRY, (clock(),))
