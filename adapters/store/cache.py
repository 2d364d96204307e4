"""Finished answers by exact key in SQLite: the cache when there is no Redis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.errors import JobNotFound
from core.job import Scope
from core.ports import Clock

MAX_ROWS = 10_000  # a row is a key and a job id, so this is about 2 MB

_FIND = "SELECT job_id, created_at FROM answers WHERE tenant = ? AND visibility = ? AND key = ? AND expires_at > ?"
_PUT = """
    INSERT OR REPLACE INTO answers (tenant, visibility, key, job_id, created_at, expires_at)
    SELECT tenant, visibility, ?, id, ?, ? FROM jobs WHERE id = ? AND tenant = ? AND visibility = ?
"""
_TRIM = """
    DELETE FROM answers WHERE rowid IN (
        SELECT rowid FROM answers ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?)
"""


class SqliteAnswerCache:
    """An `AnswerCache`. Each put drops what has expired and the oldest over `max_rows`."""

    def __init__(self, database: Database, *, clock: Clock, max_rows: int = MAX_ROWS) -> None:
        self._database = database
        self._clock = clock
        self._max_rows = max_rows

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        now = self._clock().timestamp()
        row = await self._database.read(
            lambda connection: connection.execute(_FIND, (scope.tenant, scope.visibility, key, now)).fetchone()
        )
        return None if row is None else (row[0], datetime.fromtimestamp(row[1], UTC))

    async def put(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> None:
        """Raises `JobNotFound` unless the job was saved in this very scope."""
        now = self._clock()

        def change(connection: Connection) -> None:
            row = (key, now.timestamp(), (now + ttl).timestamp(), job_id, scope.tenant, scope.visibility)
            if connection.execute(_PUT, row).rowcount == 0:
                raise JobNotFound(job_id)
            connection.execute("DELETE FROM answers WHERE expires_at <= ?", (now.timestamp(),))
            connection.execute(_TRIM, (self._max_rows,))

        await self._database.write(change)
