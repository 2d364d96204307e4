"""What jobs did, step by step, in PostgreSQL, and what their model calls cost."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.store.postgres import PostgresDatabase, fetch
from adapters.store.tracelog import booking
from core.budget import Spent
from core.codec import decode, encode
from core.job import ResearchJob
from core.tracing import TraceEntry

# The row lock puts those who append to one job in a line, so that no number is given twice.
_JOB = "SELECT job FROM jobs WHERE id = %s FOR UPDATE"
_LAST = "SELECT COALESCE(MAX(number), 0) FROM trace_entries WHERE job_id = %s"
_INSERT = "INSERT INTO trace_entries (job_id, number, tenant, visibility, at, entry) VALUES (%s, %s, %s, %s, %s, %s)"
_BOOK = """
    INSERT INTO spending AS booked (tenant, asker, month, model, prompt_tokens, completion_tokens, cost_usd)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, asker, month, model) DO UPDATE SET
        prompt_tokens = booked.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = booked.completion_tokens + excluded.completion_tokens,
        cost_usd = booked.cost_usd + excluded.cost_usd
"""
_SPENT = """
    SELECT COALESCE(SUM(cost_usd) FILTER (WHERE asker = %s), 0), COALESCE(SUM(cost_usd), 0)
    FROM spending WHERE tenant = %s AND month = %s
"""


class PostgresTraceLog:
    """A `TraceLog` that also books model calls to the job's asker and tenant, for `PostgresSpending`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None:
        async with self._database.transaction() as connection:
            jobs = await fetch(connection, _JOB, (job_id,))
            if not jobs:
                return
            request = decode(jobs[0][0], ResearchJob).request
            scope = request.scope
            ((last,),) = await fetch(connection, _LAST, (job_id,))
            for number, entry in enumerate(entries, start=last + 1):
                row = (job_id, number, scope.tenant, scope.visibility, entry.at, encode(entry))
                await connection.execute(_INSERT, row)
                if entry.kind == "model":
                    await connection.execute(_BOOK, booking(entry, scope.tenant, request.asker))

    async def read(self, job_id: str) -> list[TraceEntry]:
        rows = await self._database.rows("SELECT entry FROM trace_entries WHERE job_id = %s ORDER BY number", (job_id,))
        return [decode(text, TraceEntry) for (text,) in rows]


class PostgresSpending:
    """A `Spending`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def spent(self, tenant: str, asker: str, month: str) -> Spent:
        ((user_usd, workspace_usd),) = await self._database.rows(_SPENT, (asker, tenant, month))
        return Spent(user_usd, workspace_usd)
