"""What jobs did, step by step, in SQLite, and what their model calls cost."""

from __future__ import annotations

from collections.abc import Sequence

from sqlite_utils import Database as Connection

from adapters.store.spending import BOOK, booking
from adapters.store.sqlite import Database
from core.codec import decode, encode
from core.tracing import TraceEntry

_JOB = "SELECT tenant, visibility, json_extract(job, '$.value.request.asker') FROM jobs WHERE id = ?"
_LAST = "SELECT COALESCE(MAX(number), 0) FROM trace_entries WHERE job_id = ?"
_INSERT = "INSERT INTO trace_entries (job_id, number, tenant, visibility, at, entry) VALUES (?, ?, ?, ?, ?, ?)"


class SqliteTraceLog:
    """A `TraceLog` that also books model calls to the job's asker and tenant, for `SqlSpending`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None:
        def change(connection: Connection) -> None:
            job = connection.execute(_JOB, (job_id,)).fetchone()
            if job is None:
                return
            tenant, visibility, asker = job
            (last,) = connection.execute(_LAST, (job_id,)).fetchone()
            for number, entry in enumerate(entries, start=last + 1):
                row = (job_id, number, tenant, visibility, entry.at.timestamp(), encode(entry))
                connection.execute(_INSERT, row)
                if entry.kind == "model":
                    connection.execute(BOOK, booking(entry, tenant, asker or ""))

        await self._database.write(change)

    async def read(self, job_id: str) -> list[TraceEntry]:
        rows = await self._database.rows("SELECT entry FROM trace_entries WHERE job_id = ? ORDER BY number", (job_id,))
        return [decode(text, TraceEntry) for (text,) in rows]
