"""What jobs did, step by step, in SQLite, and what their model calls cost."""

from __future__ import annotations

from collections.abc import Sequence

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.budget import Spent, month_of
from core.codec import decode, encode
from core.tracing import TraceEntry

_JOB = "SELECT tenant, visibility, json_extract(job, '$.value.request.asker') FROM jobs WHERE id = ?"
_LAST = "SELECT COALESCE(MAX(number), 0) FROM trace_entries WHERE job_id = ?"
_INSERT = "INSERT INTO trace_entries (job_id, number, tenant, visibility, at, entry) VALUES (?, ?, ?, ?, ?, ?)"
_BOOK = """
    INSERT INTO spending (tenant, asker, month, model, prompt_tokens, completion_tokens, cost_usd)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, asker, month, model) DO UPDATE SET
        prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens,
        cost_usd = cost_usd + excluded.cost_usd
"""
_SPENT = """
    SELECT COALESCE(SUM(CASE WHEN asker = :asker THEN cost_usd END), 0), COALESCE(SUM(cost_usd), 0)
    FROM spending WHERE tenant = :tenant AND month = :month
"""


class SqliteTraceLog:
    """A `TraceLog` that also books model calls to the job's asker and tenant, for `SqliteSpending`."""

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
                    connection.execute(_BOOK, booking(entry, tenant, asker or ""))

        await self._database.write(change)

    async def read(self, job_id: str) -> list[TraceEntry]:
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT entry FROM trace_entries WHERE job_id = ? ORDER BY number", (job_id,)
            ).fetchall()
        )
        return [decode(text, TraceEntry) for (text,) in rows]


class SqliteSpending:
    """A `Spending`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def spent(self, tenant: str, asker: str, month: str) -> Spent:
        values = {"tenant": tenant, "asker": asker, "month": month}
        user_usd, workspace_usd = await self._database.read(
            lambda connection: connection.execute(_SPENT, values).fetchone()
        )
        return Spent(user_usd, workspace_usd)


def booking(entry: TraceEntry, tenant: str, asker: str) -> tuple[str, str, str, str, int, int, float]:
    """A model call as a row of `spending`; one without a price is booked with its tokens alone."""
    tokens = entry.prompt_tokens, entry.completion_tokens
    return (tenant, asker, month_of(entry.at), entry.detail, *tokens, entry.cost_usd or 0.0)
