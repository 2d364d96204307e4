"""What model calls have cost, by month, model and whoever asked."""

from __future__ import annotations

from adapters.store.tables import Tables
from core.budget import Spent, month_of
from core.tracing import TraceEntry

BOOK = """
    INSERT INTO spending AS booked (tenant, asker, month, model, prompt_tokens, completion_tokens, cost_usd)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, asker, month, model) DO UPDATE SET
        prompt_tokens = booked.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = booked.completion_tokens + excluded.completion_tokens,
        cost_usd = booked.cost_usd + excluded.cost_usd
"""
_SPENT = """
    SELECT COALESCE(SUM(CASE WHEN asker = ? THEN cost_usd END), 0), COALESCE(SUM(cost_usd), 0)
    FROM spending WHERE tenant = ? AND month = ?
"""


class SqlSpending:
    """A `Spending`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def spent(self, tenant: str, asker: str, month: str) -> Spent:
        ((user_usd, workspace_usd),) = await self._tables.rows(_SPENT, (asker, tenant, month))
        return Spent(user_usd, workspace_usd)


def booking(entry: TraceEntry, tenant: str, asker: str) -> tuple[str, str, str, str, int, int, float]:
    """A model call as a row of `spending`; one without a price is booked with its tokens alone."""
    tokens = entry.prompt_tokens, entry.completion_tokens
    return (tenant, asker, month_of(entry.at), entry.detail, *tokens, entry.cost_usd or 0.0)
