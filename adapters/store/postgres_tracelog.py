"""What jobs did, step by step, in PostgreSQL, and what their model calls cost."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.store.postgres import PostgresDatabase, fetch, marked
from adapters.store.spending import BOOK, booking
from core.codec import decode, encode
from core.job import ResearchJob
from core.tracing import TraceEntry

# The row lock puts those who append to one job in a line, so that no number is given twice.
_JOB = "SELECT job FROM jobs WHERE id = %s FOR UPDATE"
_LAST = "SELECT COALESCE(MAX(number), 0) FROM trace_entries WHERE job_id = %s"
_INSERT = "INSERT INTO trace_entries (job_id, number, tenant, visibility, at, entry) VALUES (%s, %s, %s, %s, %s, %s)"


class PostgresTraceLog:
    """A `TraceLog` that also books model calls to the job's asker and tenant, for `SqlSpending`."""

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
                    await connection.execute(marked(BOOK), booking(entry, scope.tenant, request.asker))

    async def read(self, job_id: str) -> list[TraceEntry]:
        rows = await self._database.rows("SELECT entry FROM trace_entries WHERE job_id = %s ORDER BY number", (job_id,))
        return [decode(text, TraceEntry) for (text,) in rows]
