"""The stores for tests that are not about them: the real ones, over SQLite in memory instead of a file.

Nothing waits for a thread: what is stored is there at once.
"""

from __future__ import annotations

import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlite_utils import Database as Connection

from adapters.durable import journal
from adapters.records.jobs import SqlJobStore
from adapters.records.library import SqlLibrary
from adapters.records.sql import Dialect, Sql, Tables
from adapters.records.sqlite import FILE_NAME, _migrate, sql_on
from adapters.secrets import SecretBox
from adapters.write_ahead import make_private
from core.model.errors import StoreError
from core.model.job import ResearchJob

T = TypeVar("T")

SCRATCH = Path(tempfile.gettempdir())  # for mirrors of vectors, which have no name
BOX = SecretBox(("a secret of these tests",))


class MemoryTables(Tables):
    """Tables with nothing in them but these jobs."""

    dialect: Dialect = "sqlite"

    def __init__(self, *jobs: ResearchJob) -> None:
        handle = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        handle.deserialize(empty_tables())
        handle.execute("PRAGMA foreign_keys = ON")
        self._handle, self._sql = handle, sql_on(Connection(handle, execute_plugins=False))
        weakref.finalize(self, handle.close)
        for job in jobs:
            at_once(SqlJobStore(self).save(job))

    async def read(self, work: Callable[[Sql], T]) -> T:
        try:
            return work(self._sql)
        except (sqlite3.Error, ValueError) as exc:
            raise StoreError(f"a statement failed: {exc}") from exc

    async def write(self, work: Callable[[Sql], T], *, key: str = "") -> T:
        def in_transaction(sql: Sql) -> T:
            sql.execute("BEGIN IMMEDIATE")
            with self._handle:
                return work(sql)

        return await self.read(in_transaction)

    def damage(self) -> str:
        return ""

    async def aclose(self) -> None: ...


def memory_library() -> SqlLibrary:
    return SqlLibrary(MemoryTables(), SCRATCH)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing, as those of stores over `MemoryTables`."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")


@cache
def empty_tables() -> bytes:
    """A file of SQLite as a first start makes it."""
    with sqlite3.connect(":memory:", isolation_level=None) as handle:
        _migrate(Connection(handle, execute_plugins=False), Path())
        return handle.serialize()


def lay_tables(folder: Path) -> None:
    """Leave there what a first start makes, and a later one finds: that takes longer than answering a question."""
    for name, content in {FILE_NAME: empty_tables(), journal.FILE_NAME: _empty_journal()}.items():
        if not (folder / name).exists():
            make_private(folder / name)
            (folder / name).write_bytes(content)


@cache
def _empty_journal() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        settings = journal.DurableSettings.from_env({}, folder=Path(folder), max_waiting_jobs=1)
        journal.open_client(settings).destroy()
        return (Path(folder) / journal.FILE_NAME).read_bytes()
