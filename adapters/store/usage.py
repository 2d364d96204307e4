"""How gorkd is used.

The figures of a result are columns that an index holds, so that counting reads no job and no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from string import Template
from typing import Any

from adapters.store.sql import POSITION, Dialect, Tables
from core.usage import Period, Usage, UsageKey

_DAY: dict[Dialect, str] = {
    "sqlite": "date(CAST(j.created_at AS INTEGER), 'unixepoch')",
    "postgres": "to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}
_KEYS: dict[UsageKey, str] = {
    "day": "'' AS tenant, $day AS day",
    "tenant": "j.tenant, '' AS day",
    "tenant and day": "j.tenant, $day AS day",
}
_GOOD = '"is_good":true'  # as the codec writes it; within a text its quotes would be escaped
_WHERE = "j.created_at >= :since AND j.created_at < :until $whose"

# `place` counts the answered ones from the fastest, so the nearest rank of p is the first whose place is p × n.
_JOBS = Template(f"""
    WITH asked AS (
        SELECT $key, j.status, j.confidence, j.is_cached, j.cost_usd,
            CASE WHEN j.status = 'completed' THEN j.seconds END AS seconds
        FROM jobs j WHERE {_WHERE}),
    ranked AS (
        SELECT asked.*, COUNT(seconds) OVER (PARTITION BY tenant, day) AS n,
            ROW_NUMBER() OVER (PARTITION BY tenant, day ORDER BY seconds IS NULL, seconds) AS place
        FROM asked)
    SELECT tenant, day, COUNT(*),
        COUNT(*) FILTER (WHERE status = 'completed'),
        COUNT(*) FILTER (WHERE status = 'failed'),
        COUNT(*) FILTER (WHERE status = 'cancelled'),
        COUNT(*) FILTER (WHERE status NOT IN ('completed', 'failed', 'cancelled')),
        COUNT(*) FILTER (WHERE status = 'completed' AND is_cached = 1),
        COUNT(*) FILTER (WHERE status = 'completed' AND confidence = 'high'),
        COUNT(*) FILTER (WHERE status = 'completed' AND confidence = 'medium'),
        COUNT(*) FILTER (WHERE status = 'completed' AND confidence = 'low'),
        COUNT(*) FILTER (WHERE status = 'completed' AND confidence = 'insufficient'),
        0, 0,
        COALESCE(SUM(cost_usd) FILTER (WHERE status = 'completed' AND is_cached = 0), 0.0),
        COUNT(*) FILTER (WHERE status = 'completed' AND is_cached = 0 AND cost_usd IS NULL),
        MIN(seconds) FILTER (WHERE place >= 0.5 * n),
        MIN(seconds) FILTER (WHERE place >= 0.95 * n)
    FROM ranked GROUP BY tenant, day ORDER BY tenant, day
""")  # noqa: S608 -- our words
_VOTES = Template(f"""
    SELECT tenant, day, COUNT(*) FILTER (WHERE is_good), COUNT(*) FILTER (WHERE NOT is_good) FROM (
        SELECT $key, $is_good AS is_good FROM ratings r JOIN jobs j ON j.id = r.job_id WHERE {_WHERE}) AS votes
    GROUP BY tenant, day
""")  # noqa: S608 -- our words


class SqlUsageLog:
    """A `UsageLog`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def usage(self, period: Period, *, tenant: str = "", by: UsageKey = "tenant and day") -> list[Usage]:
        jobs, votes = counting_queries(self._tables.dialect, by, tenant)
        values = {"since": period.begins_at, "until": period.ends_at, "tenant": tenant}
        return await self._tables.read(lambda sql: _entries(sql.rows(jobs, values), sql.rows(votes, values)))


def counting_queries(dialect: Dialect, by: UsageKey, tenant: str) -> tuple[str, str]:
    """What counts jobs and what counts votes, by `:since`, `:until` and `:tenant`."""
    key = Template(_KEYS[by]).substitute(day=_DAY[dialect])
    words = {"key": key, "whose": "AND j.tenant = :tenant" if tenant else ""}
    return _JOBS.substitute(words), _VOTES.substitute(words, is_good=f"{POSITION[dialect]}(r.rating, '{_GOOD}') > 0")


def _entries(counted: Iterable[Sequence[Any]], voted: Iterable[Sequence[Any]]) -> list[Usage]:
    votes = {(tenant, day): (good, bad) for tenant, day, good, bad in voted}
    entries = [Usage(*row) for row in counted]
    pairs = [(entry, votes.get((entry.tenant, entry.day), (0, 0))) for entry in entries]
    return [replace(entry, good=good, bad=bad) for entry, (good, bad) in pairs]
