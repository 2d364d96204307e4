"""SQLite's write-ahead log, for every file that several of gorkd's processes open: the records and the journal."""

from __future__ import annotations

import sqlite3
import time

_PAUSE_S = 0.02


def switch_to_write_ahead(connection: sqlite3.Connection, *, within_s: float) -> None:
    """Readers and the writer no longer wait for each other; the mode stays with the file. Blocks.

    SQLite does not wait for its time-out where two processes switch at once. Raises `sqlite3.Error`.
    """
    ends_at = time.monotonic() + within_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends_at:
                raise
        time.sleep(_PAUSE_S)
