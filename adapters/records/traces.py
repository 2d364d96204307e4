"""What jobs did and what it cost: tool traces, each job's steps, what models were paid, and how gorkd is used.

A trace is a row of `tool_traces`: JSON as text, times as naive UTC. The figures of a result are columns that an index
holds, so that counting reads no job and no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from string import Template
from typing import Any

from pydantic import TypeAdapter

from adapters.records.sql import POSITION, Dialect, Sql, SqlStore, insertion
from core.model.codec import decode, encode
from core.model.errors import StoreError
from core.model.job import Json, ResearchJob, Scope
from core.pipeline.tool_traces import Change, ToolTrace, TraceEntry
from core.tenancy.admission import Spent, month_of
from core.tenancy.usage import Period, Usage, UsageKey

_COLUMNS = (
    "id", "user_id", "org_id", "tool_name", "input_params", "status", "progress", "current_stage", "state", "result",
    "error_message", "created_at", "started_at", "completed_at", "metrics", "tenant", "visibility",
)  # fmt: skip
_JSON_COLUMNS = frozenset({"input_params", "state", "result", "metrics"})  # which one driver would parse on its own
_TIMES = frozenset({"created_at", "started_at", "completed_at"})
_SELECTED = ", ".join(f"CAST({name} AS TEXT)" if name in _JSON_COLUMNS else name for name in _COLUMNS)
_SELECT = f"SELECT {_SELECTED} FROM tool_traces"  # noqa: S608 -- our words
_WRITE = insertion("tool_traces", ", ".join(_COLUMNS), key="id", changes=", ".join(_COLUMNS[1:]))
_FIND = f"{_SELECT} WHERE tenant = ? AND visibility = ? AND user_id = ?"
_COMPLETED = f"{_SELECT} WHERE tenant = ? AND visibility = ? AND tool_name = ? AND status = 'completed'"
_NEWEST_FIRST = " ORDER BY created_at DESC, id DESC LIMIT ?"

_LAST = "SELECT COALESCE(MAX(number), 0) FROM trace_entries WHERE job_id = ?"
_APPEND = insertion("trace_entries", "job_id, number, tenant, visibility, at, entry")
_BOOK = """
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

Cell = str | float | None

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


class SqlTraceStore(SqlStore):
    """A `TraceStore` that books model calls for `SqlSpending`; of a watch's looks nothing else is kept."""

    async def put(self, trace: ToolTrace) -> ToolTrace:
        def put(sql: Sql) -> ToolTrace:
            stored = _find(sql, trace.id)
            if stored is not None and not stored.has_ended:
                return stored
            sql.execute(_WRITE, _row(trace))
            return trace

        return await self._tables.write(put, key=f"tool_traces:{trace.id}")

    async def change(self, trace_id: str, change: Change) -> ToolTrace:
        def apply(sql: Sql) -> ToolTrace:
            stored = _find(sql, trace_id)
            if stored is None:
                raise StoreError(f"no trace {trace_id}")
            changed = change(stored)
            if changed is not stored:
                sql.execute(_WRITE, _row(changed))
            return changed

        return await self._tables.write(apply, key=f"tool_traces:{trace_id}")

    async def get(self, trace_id: str) -> ToolTrace | None:
        return await self._tables.read(lambda sql: _find(sql, trace_id))

    async def find(self, scope: Scope, user_id: str, *, tool_name: str | None, limit: int) -> list[ToolTrace]:
        query, values = _FIND, [scope.tenant, scope.visibility, user_id]
        if tool_name is not None:
            query, values = query + " AND tool_name = ?", [*values, tool_name]
        rows = await self._tables.rows(query + _NEWEST_FIRST, (*values, max(limit, 0)))
        return [_trace(row) for row in rows]

    async def completed(self, scope: Scope, tool_name: str, *, limit: int) -> list[ToolTrace]:
        values = (scope.tenant, scope.visibility, tool_name, max(limit, 0))
        return [_trace(row) for row in await self._tables.rows(_COMPLETED + _NEWEST_FIRST, values)]

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None:
        def append(sql: Sql) -> None:
            jobs = sql.rows("SELECT job FROM jobs WHERE id = ?", (job_id,))
            if not jobs:
                _book_look(sql, job_id, entries)
                return
            request = decode(jobs[0][0], ResearchJob).request
            scope = request.scope
            ((last,),) = sql.rows(_LAST, (job_id,))
            numbered = enumerate(entries, start=last + 1)
            rows = [
                (job_id, number, scope.tenant, scope.visibility, entry.at, encode(entry)) for number, entry in numbered
            ]
            sql.execute_all(_APPEND, rows)
            calls = [entry for entry in entries if entry.kind == "model"]
            sql.execute_all(_BOOK, [_booking(entry, scope.tenant, request.asker) for entry in calls])

        await self._tables.write(append, key=job_id)

    async def read(self, job_id: str) -> list[TraceEntry]:
        query = "SELECT entry FROM trace_entries WHERE job_id = ? ORDER BY number"
        return await self._all(TraceEntry, query, (job_id,))


class SqlSpending(SqlStore):
    """What model calls have cost, by month, model and whoever asked, and how gorkd is used."""

    async def spent(self, tenant: str, asker: str, month: str) -> Spent:
        ((user_usd, workspace_usd),) = await self._tables.rows(_SPENT, (asker, tenant, month))
        return Spent(user_usd, workspace_usd)

    async def usage(self, period: Period, tenant: str = "", by: UsageKey = "tenant and day") -> list[Usage]:
        """A `CountUsage`."""
        jobs, votes = counting_queries(self._tables.dialect, by, tenant)
        values = {"since": period.begins_at, "until": period.ends_at, "tenant": tenant}
        return await self._tables.read(lambda sql: _entries(sql.rows(jobs, values), sql.rows(votes, values)))


def _book_look(sql: Sql, watch_id: str, entries: Sequence[TraceEntry]) -> None:
    calls = [entry for entry in entries if entry.kind == "model"]
    for tenant, asker in sql.rows("SELECT tenant, asker FROM watches WHERE id = ?", (watch_id,)) if calls else ():
        sql.execute_all(_BOOK, [_booking(entry, tenant, asker) for entry in calls])
        cost_usd = sum(entry.cost_usd or 0.0 for entry in calls)
        sql.execute("UPDATE watches SET looks_usd = looks_usd + ? WHERE id = ?", (cost_usd, watch_id))


def _booking(entry: TraceEntry, tenant: str, asker: str) -> tuple[str, str, str, str, int, int, float]:
    """A model call as a row of `spending`; one without a price is booked with its tokens alone."""
    tokens = entry.prompt_tokens, entry.completion_tokens
    return (tenant, asker, month_of(entry.at), entry.detail, *tokens, entry.cost_usd or 0.0)


def _find(sql: Sql, trace_id: str) -> ToolTrace | None:
    rows = sql.rows(f"{_SELECT} WHERE id = ?", (trace_id,))
    return _trace(rows[0]) if rows else None


def _row(trace: ToolTrace) -> list[Cell]:
    """One value a column, in their order."""
    told = {**vars(trace), "tenant": trace.scope.tenant, "visibility": trace.scope.visibility}
    return [_cell(name, told[name]) for name in _COLUMNS]


def _cell(name: str, value: Any) -> Cell:
    if value is None:
        return None
    if name in _JSON_COLUMNS:
        return _JSON.dump_json(dict(value)).decode()
    return naive(value) if isinstance(value, datetime) else str(value) if isinstance(value, str) else float(value)


def _trace(row: Sequence[object]) -> ToolTrace:
    """Raises `StoreError` when another program has written something else there."""
    told = {name: value for name, value in zip(_COLUMNS, row, strict=True) if value is not None}
    try:
        told |= {name: _JSON.validate_json(str(told[name])) for name in _JSON_COLUMNS & told.keys()}
        told |= {name: _TIME.validate_python(told[name]).replace(tzinfo=UTC) for name in _TIMES & told.keys()}
        scope = Scope(str(told.pop("tenant")), str(told.pop("visibility")))
        return _TRACE.validate_python(
            {"org_id": None, "input_params": {}, "created_at": _NEVER, **told, "scope": scope}
        )
    except ValueError as exc:  # pydantic's own included
        raise StoreError(f"trace {told['id']} cannot be read: {type(exc).__name__}") from exc


def naive(time: datetime) -> str:
    """As `tool_traces` keeps times."""
    return str(time.astimezone(UTC).replace(tzinfo=None))


_JSON: TypeAdapter[dict[str, Json]] = TypeAdapter(dict[str, Json])
_TIME: TypeAdapter[datetime] = TypeAdapter(datetime)
_TRACE: TypeAdapter[ToolTrace] = TypeAdapter(ToolTrace)
_NEVER = datetime.fromtimestamp(0, UTC)


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
