"""How many jobs wait and how many run, counted in SQLite or in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from adapters.store.sqlite import Database
from core.job import TERMINAL_STATUSES, JobStatus

if TYPE_CHECKING:
    from adapters.store.postgres import PostgresDatabase

# The condition is that of an index on either database.
_ENDED = ", ".join(f"'{status.value}'" for status in sorted(TERMINAL_STATUSES))
_COUNT = f"SELECT status, COUNT(*) FROM jobs WHERE status NOT IN ({_ENDED}) GROUP BY status"  # noqa: S608  # our words


class SqliteBacklog:
    """A `Backlog`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self) -> tuple[int, int]:
        return _sums(await self._database.read(lambda connection: connection.execute(_COUNT).fetchall()))


class PostgresBacklog:
    """A `Backlog`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def count(self) -> tuple[int, int]:
        return _sums([(status, number) for status, number in await self._database.rows(_COUNT)])


def _sums(rows: Iterable[tuple[str, int]]) -> tuple[int, int]:
    by_status = dict(rows)
    waiting = by_status.pop(JobStatus.PENDING.value, 0)
    return waiting, sum(by_status.values())
