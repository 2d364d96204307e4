"""Public pages and search results in SQLite, by digest, for whoever needs them next."""

from __future__ import annotations

import logging
from datetime import timedelta

from sqlite_utils import Database as Connection

from adapters.store.digest import digest
from adapters.store.sqlite import Database
from core.errors import StoreError
from core.ports import Clock

log = logging.getLogger(__name__)

MAX_ROWS = 5_000  # a page is 20 KB on average, so this is about 100 MB
MAX_CHARS = 1_000_000  # of one entry; a longer page is read again
_TRIM = "DELETE FROM reused WHERE key IN (SELECT key FROM reused ORDER BY expires_at DESC LIMIT -1 OFFSET ?)"


class SqliteReuseStore:
    """A `ReuseStore`."""

    def __init__(self, database: Database, *, clock: Clock, max_rows: int = MAX_ROWS) -> None:
        self._database = database
        self._clock = clock
        self._max_rows = max_rows

    async def get(self, key: str) -> str | None:
        find = "SELECT text FROM reused WHERE key = ? AND expires_at > ?"
        try:
            rows = await self._database.rows(find, (digest(key), self._clock()))
        except StoreError as exc:
            log.warning("nothing can be reused: %s", exc)
            return None
        return str(rows[0][0]) if rows else None

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None:
        now = self._clock()

        def change(connection: Connection) -> None:
            row = (digest(key), text, (now + ttl).timestamp())
            connection.execute("INSERT OR REPLACE INTO reused (key, text, expires_at) VALUES (?, ?, ?)", row)
            connection.execute("DELETE FROM reused WHERE expires_at <= ?", (now.timestamp(),))
            connection.execute(_TRIM, (self._max_rows,))

        if len(text) > MAX_CHARS:
            return
        try:
            await self._database.write(change)
        except StoreError as exc:
            log.warning("nothing is kept to be reused: %s", exc)

    async def clear(self) -> int:
        return await self._database.execute("DELETE FROM reused")
