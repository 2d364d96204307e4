"""Public pages and search results by digest, for whoever needs them next."""

from __future__ import annotations

import logging
from datetime import timedelta

from adapters.store.sql import Sql, Tables, digest
from core.errors import StoreError
from core.ports import Clock

log = logging.getLogger(__name__)

MAX_ROWS = 5_000  # a page is 20 KB on average, so this is about 100 MB
MAX_CHARS = 1_000_000  # of one entry; a longer page is read again
_PUT = """
    INSERT INTO reused (key, text, expires_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET text = excluded.text, expires_at = excluded.expires_at
"""
_TRIM = """
    DELETE FROM reused WHERE key IN (SELECT key FROM reused ORDER BY expires_at DESC LIMIT 9223372036854775807 OFFSET ?)
"""


class SqlReuseStore:
    """A `ReuseStore`."""

    def __init__(self, tables: Tables, *, clock: Clock, max_rows: int = MAX_ROWS) -> None:
        self._tables = tables
        self._clock = clock
        self._max_rows = max_rows

    async def get(self, key: str) -> str | None:
        find = "SELECT text FROM reused WHERE key = ? AND expires_at > ?"
        try:
            rows = await self._tables.rows(find, (digest(key), self._clock()))
        except StoreError as exc:
            log.warning("nothing can be reused: %s", exc)
            return None
        return str(rows[0][0]) if rows else None

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None:
        now = self._clock()

        def change(sql: Sql) -> None:
            sql.execute(_PUT, (digest(key), text, now + ttl))
            sql.execute("DELETE FROM reused WHERE expires_at <= ?", (now,))
            sql.execute(_TRIM, (self._max_rows,))

        if len(text) > MAX_CHARS:
            return
        try:
            await self._tables.write(change)
        except StoreError as exc:
            log.warning("nothing is kept to be reused: %s", exc)

    async def clear(self) -> int:
        return await self._tables.execute("DELETE FROM reused")
