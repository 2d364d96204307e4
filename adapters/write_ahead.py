"""SQLite's files that several of gorkd's processes open (records, journal, index of files): mode, log and loss."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

_PAUSE_S = 0.02


def make_private(file: Path) -> None:
    """An empty file that its owner alone reads, where there is none; SQLite's side files take its mode.

    SQLite would make it with the mode that the shell leaves. Raises `OSError`.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600)


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


class OpenedFile:
    """A file that is open, and may be taken away from its place meanwhile: what is then written is lost in silence.

    It is looked at through SQLite alone. A process that closes a descriptor of its own on a database loses all of
    SQLite's locks on it, and another process that comes and goes then takes its log away: the file is damaged
    (sqlite.org/howtocorrupt.html, 2.2).
    """

    def __init__(self, path: Path) -> None:
        """Raises `OSError`."""
        self._path = path
        self._identity = _identity(path)

    def damage(self) -> str:
        """What is wrong with it, "" for nothing. Blocks."""
        try:
            if _identity(self._path) != self._identity:
                return f"{self._path.name} was replaced while gorkd runs"
            # the file as it stands, without its log; of that only how it begins can be told
            handle = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
            try:
                handle.execute("PRAGMA schema_version")
            finally:
                handle.close()
        except FileNotFoundError:
            return f"{self._path.name} is gone"
        except OSError as exc:
            return f"{self._path.name}: {exc.strerror}"
        except sqlite3.Error as exc:
            is_other = exc.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB
            return f"{self._path.name} is not a database" if is_other else ""
        return ""


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
