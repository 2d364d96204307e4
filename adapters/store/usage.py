"""How gorkd is used, counted in SQLite or in PostgreSQL.

The figures of a result are columns (figures.py) that an index holds, so that counting reads no job and no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from string import Template
from typing import TYPE_CHECKING, Any

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.usage import Period, Usage, UsageKey

if TYPE_CHECKING:
    from adapters.store.postgres import PostgresDatabase

_KEYS: dict[UsageKey, str] = {
    "day": "'' AS tenant, $day AS day",
    "tenant": "j.tenant, '' AS day",
    "tenant and day": "j.tenant, $day AS day",
}
_GOOD = '"is_good":true'  # as the codec writes it; within a text its quotes would be escaped
_WHERE = "j.created_at >= $since AND j.created_at < $until $whose"

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


class SqliteUsageLog:
    """A `UsageLog`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def usage(self, period: Period, *, tenant: str = "", by: UsageKey = "tenant and day") -> list[Usage]:
        jobs, values = counting_query(by, tenant, period)
        votes = _VOTES.substitute(_sqlite_words(by, tenant), is_good=f"instr(r.rating, '{_GOOD}') > 0")

        def read(connection: Connection) -> list[Usage]:
            return _entries(connection.execute(jobs, values).fetchall(), connection.execute(votes, values).fetchall())

        return await self._database.read(read)


def counting_query(by: UsageKey, tenant: str, period: Period) -> tuple[str, dict[str, str | float]]:
    """What SQLite counts jobs with, and its values."""
    since, until = period.begins_at.timestamp(), period.ends_at.timestamp()
    return _JOBS.substitute(_sqlite_words(by, tenant)), {"since": since, "until": until, "tenant": tenant}


def _sqlite_words(by: UsageKey, tenant: str) -> dict[str, str]:
    day = "date(CAST(j.created_at AS INTEGER), 'unixepoch')"
    whose = "AND j.tenant = :tenant" if tenant else ""
    return {"key": Template(_KEYS[by]).substitute(day=day), "since": ":since", "until": ":until", "whose": whose}


class PostgresUsageLog:
    """A `UsageLog`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def usage(self, period: Period, *, tenant: str = "", by: UsageKey = "tenant and day") -> list[Usage]:
        day = "to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
        key, whose = Template(_KEYS[by]).substitute(day=day), "AND j.tenant = %(tenant)s" if tenant else ""
        words = {"key": key, "since": "%(since)s", "until": "%(until)s", "whose": whose}
        values = {"since": period.begins_at, "until": period.ends_at, "tenant": tenant}
        votes = _VOTES.substitute(words, is_good=f"position('{_GOOD}' IN r.rating) > 0")
        counted = await self._database.rows(_JOBS.substitute(words), values)
        return _entries(counted, await self._database.rows(votes, values))


def _entries(counted: Iterable[Sequence[Any]], voted: Iterable[Sequence[Any]]) -> list[Usage]:
    votes = {(tenant, day): (good, bad) for tenant, day, good, bad in voted}
    entries = [Usage(*row) for row in counted]
    pairs = [(entry, votes.get((entry.tenant, entry.day), (0, 0))) for entry in entries]
    return [replace(entry, good=good, bad=bad) for entry, (good, bad) in pairs]
