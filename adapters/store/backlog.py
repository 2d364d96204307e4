"""How many jobs wait and how many run."""

from __future__ import annotations

from adapters.store.tables import Tables
from core.job import TERMINAL_STATUSES, JobStatus

# The condition is that of an index on either database.
_ENDED = ", ".join(f"'{status.value}'" for status in sorted(TERMINAL_STATUSES))
_COUNT = f"SELECT status, COUNT(*) FROM jobs WHERE status NOT IN ({_ENDED}) GROUP BY status"  # noqa: S608  # our words


class SqlBacklog:
    """A `Backlog`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def count(self) -> tuple[int, int]:
        by_status: dict[str, int] = dict(await self._tables.rows(_COUNT))
        waiting = by_status.pop(JobStatus.PENDING.value, 0)
        return waiting, sum(by_status.values())
