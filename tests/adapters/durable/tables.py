"""What a data folder keeps of somebody, looked at from outside of the processes that write it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path


def rows_of(data: Path, tenant: str) -> dict[str, int]:
    """How many rows of every table say that they are a tenant's, in any column."""
    with closing(sqlite3.connect(f"file:{data}/gorkd.db?mode=ro", uri=True)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: count for table in tables if (count := _count(connection, table, tenant))}


def select(data: Path, query: str) -> list[tuple[str, ...]]:
    """What a query of the database finds."""
    with closing(sqlite3.connect(f"file:{data}/gorkd.db?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


async def until(condition: Callable[[], object], within_s: float = 30.0) -> None:
    """Wait for what is seen in files and counters, which tell nobody."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 -- there is nothing that would set an event
            await asyncio.sleep(0.02)


def _count(connection: sqlite3.Connection, table: str, tenant: str) -> int:
    columns = [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")')]
    where = " OR ".join(f'CAST("{column}" AS TEXT) = :tenant' for column in columns)
    (count,) = connection.execute(f'SELECT COUNT(*) FROM "{table}" WHERE {where}', {"tenant": tenant}).fetchone()
    return int(count)
