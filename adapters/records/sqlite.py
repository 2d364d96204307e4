"""The file that keeps gorkd's records: opening it, and running work on it off the event loop.

One connection lives on one thread of its own: work never interleaves, and a caller that is cancelled leaves no half
transaction, since the thread ends what it began. Several processes share the file through WAL.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from sqlite_utils import Database as Connection

from adapters.records.schema import Outlook, migrate, outlook
from adapters.records.sql import Dialect, Sql, Tables, Values, digest, place_token
from adapters.write_ahead import OpenedFile, make_private, switch_to_write_ahead
from core.model.errors import SetupError, StoreError, Unstorable

T = TypeVar("T")
log = logging.getLogger(__name__)

FILE_NAME = "gorkd.db"
LEAST_FREE = 512 * 1024  # bytes; the files beside a write-ahead log take some 100 KiB before anything is written
BUSY_TIMEOUT_S = 5.0  # writers hold the lock for milliseconds; longer means something is stuck

_REASONS = {  # by the beginning of SQLite's own name of the error
    "SQLITE_FULL": "database or disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_CANTOPEN": f"{FILE_NAME} cannot be opened",
    "SQLITE_PERM": f"{FILE_NAME} cannot be opened",
    "SQLITE_NOTADB": f"{FILE_NAME} is not a database",
    "SQLITE_CORRUPT": f"{FILE_NAME} is damaged",
    "SQLITE_BUSY": f"another process holds {FILE_NAME} and does not let go",
    "SQLITE_IOERR": "the disk reports an error",
}
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


class Database(Tables):
    """gorkd.db in one folder, shared by the stores of a process. Close it with `aclose`."""

    dialect: Dialect = "sqlite"

    def __init__(self, folder: Path, connection: Connection, thread: ThreadPoolExecutor) -> None:
        self._folder = folder
        self._connection = connection
        self._thread = thread
        self._closed = False
        self._file = OpenedFile(folder / FILE_NAME)
        self._damage = ""
        self._told = ""  # the reason in the log, until a write is done again

    @classmethod
    async def open(cls, folder: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> Database:
        """Open or create the file and migrate it. Raises `SetupError` when the folder or the file cannot be used.

        `busy_timeout_s` is how long a write waits for another process to end its own.
        """
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gorkd-sqlite")
        try:
            connection = await asyncio.get_running_loop().run_in_executor(thread, _open, folder, busy_timeout_s)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(folder, connection, thread)

    async def read(self, work: Callable[[Sql], T]) -> T:
        return await self._run(lambda connection: work(sql_on(connection)))

    async def write(self, work: Callable[[Sql], T], *, key: str = "") -> T:
        """There is one writer at a time, whatever the `key`."""

        def in_transaction(connection: Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            with connection.conn:
                return work(sql_on(connection))

        done = await self._run(in_transaction)
        if self._told:
            log.warning("the data folder %s can be written again", self._folder)
            self._told = ""
        return done

    def damage(self) -> str:
        """As far as it was met or shows by itself."""
        return self._damage or self._file.damage()

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        if self._closed:
            raise StoreError(f"the database in {self._folder} is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._connection)
        except sqlite3.Error as exc:
            reason = _reason(exc)
            if getattr(exc, "sqlite_errorname", "").startswith(_DAMAGE):
                self._damage = reason  # it does not mend itself
            if reason in _REASONS.values() and reason != self._told:
                log.warning("the data folder %s failed: %s", self._folder, reason)
                self._told = reason
            error = StoreError(
                f"the data folder {self._folder} (GORKD_DATA) failed: {reason}",
                operator_message=f"gorkd cannot use its data folder ({reason}); look at GORKD_DATA.",
            )
            error.is_told = reason == self._told
            raise error from exc
        except ValueError as exc:  # e.g. half a surrogate pair, which neither JSON nor SQLite can hold
            raise Unstorable(f"a value cannot be stored: {exc}") from exc


def sql_on(connection: Connection) -> Sql:
    return Sql("sqlite", connection.conn.cursor, lambda query, values: (query, _kept(values)))


def _kept(values: Values) -> Sequence[object] | dict[str, object]:
    """Moments as seconds since 1970."""
    if isinstance(values, Mapping):
        return {name: _seconds(value) for name, value in values.items()}
    return [_seconds(value) for value in values]


def _seconds(value: object) -> object:
    return value.timestamp() if isinstance(value, datetime) else value


def _open(folder: Path, busy_timeout_s: float) -> Connection:
    try:
        make_private(folder / FILE_NAME)  # what people asked in private
        handle = sqlite3.connect(
            folder / FILE_NAME,
            timeout=busy_timeout_s,
            isolation_level=None,  # transactions begin where the code says BEGIN
            check_same_thread=False,  # `aclose` and garbage collection may come from another thread
        )
    except (OSError, sqlite3.Error) as exc:
        raise _unusable(folder, exc) from exc
    try:
        connection = Connection(handle, execute_plugins=False)
        switch_to_write_ahead(handle, within_s=busy_timeout_s)
        connection.execute("PRAGMA synchronous = NORMAL")  # survives kill -9; a power cut may cost the last moments
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, folder)
    except sqlite3.Error as exc:
        handle.close()
        raise _unusable(folder, exc) from exc
    except BaseException:
        handle.close()
        raise
    return connection


def look_at(folder: Path) -> Outlook:
    """What a start would do to the file. Nothing is changed. Raises `SetupError`. Blocks."""
    file = folder / FILE_NAME
    if not file.exists():
        return Outlook(0, ())
    try:
        handle = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
        try:
            return outlook(sql_on(Connection(handle, execute_plugins=False)))
        finally:
            handle.close()
    except sqlite3.Error as exc:
        raise _unusable(folder, exc) from exc


def _migrate(connection: Connection, folder: Path) -> None:
    """The write lock comes before the version is read: whoever opens it too waits, and then finds nothing to do."""
    connection.conn.create_function("digest", 1, digest, deterministic=True)
    connection.conn.create_function("place_token", -1, place_token, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    with connection.conn:
        migrate(sql_on(connection), named=f"The data folder {folder}", setting="GORKD_DATA")


def _unusable(folder: Path, exc: OSError | sqlite3.Error) -> SetupError:
    reason = _reason(exc) if isinstance(exc, sqlite3.Error) else exc.strerror or str(exc)
    if folder.is_dir() and shutil.disk_usage(folder).free < LEAST_FREE:  # which SQLite tells in several ways
        reason = "the disk is full"
    advice = {
        "the disk is full": "Make room there, or point GORKD_DATA elsewhere.",
        _REASONS["SQLITE_BUSY"]: "End that process, or start again when it is done (GORKD_DATA).",
        **{_REASONS[name]: "Put it back from a backup, or point GORKD_DATA elsewhere." for name in _DAMAGE},
    }.get(reason, "Point GORKD_DATA to a folder that gorkd may write to.")
    return SetupError(f"The data folder {folder} cannot be used: {reason}. {advice}")


def _reason(exc: sqlite3.Error) -> str:
    name = getattr(exc, "sqlite_errorname", "")
    return next((reason for start, reason in _REASONS.items() if name.startswith(start)), str(exc))
