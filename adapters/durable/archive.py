"""Taking forgotten jobs out of the journal, whose rows hold what steps returned."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from adapters.durable.queue import DurableQueue
from core.model.errors import StoreError
from core.tenancy.forgetting import Whose

SCRUB_WITHIN_S = 15.0
_BUSY_TIMEOUT_S = 5.0
_PAUSE_S = 0.2


class JournalArchive:
    """An `Archive`. `file` is the journal's SQLite file; None with a database server, which vacuums by itself."""

    name = "journal"

    def __init__(self, queue: DurableQueue, file: Path | None) -> None:
        self._queue = queue
        self._file = file

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Raises `StoreError`."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            for job_id in job_ids:
                await self._queue.forget(job_id)
        except SQLAlchemyError as exc:
            raise StoreError(
                f"the journal failed: {exc}", operator_message="The journal of jobs cannot be changed."
            ) from exc
        await self._scrub()
        return 0  # what it held was counted where it is kept

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Workers take ended jobs out within minutes; this cleans the file behind them."""
        await self._scrub()
        return 0

    async def _scrub(self) -> None:
        """Rewrite the file without its free space and empty its write-ahead log. Raises `StoreError`."""
        if self._file is None or not self._file.exists():
            return
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SCRUB_WITHIN_S
        while not await asyncio.to_thread(_is_scrubbed, self._file):
            if loop.time() > ends_at:
                words = f"What was removed may still stand in {self._file.name}, which is in use; please try again."
                raise StoreError(f"{self._file} is in use", operator_message=words)
            await asyncio.sleep(_PAUSE_S)


def _is_scrubbed(file: Path) -> bool:
    """False when another process was in the way."""
    try:
        with closing(sqlite3.connect(file, timeout=_BUSY_TIMEOUT_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("VACUUM")
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not is_busy
    except sqlite3.OperationalError as exc:
        if getattr(exc, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return False
        raise StoreError(f"{file} cannot be cleaned: {exc}") from exc
    except sqlite3.Error as exc:
        raise StoreError(f"{file} cannot be cleaned: {exc}") from exc
