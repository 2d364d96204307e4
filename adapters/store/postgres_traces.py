"""The traces of long-running tools in PostgreSQL."""

from __future__ import annotations

from psycopg import AsyncConnection

from adapters.store.postgres import PostgresDatabase, fetch
from adapters.store.trace_rows import COLUMNS, JSON_COLUMNS, from_row, no_such_trace, to_row
from core.job import Scope
from core.trace import Change, ToolTrace

_MARKS = ", ".join("%s" for _ in COLUMNS)
_WRITE = f"""
    INSERT INTO tool_traces ({", ".join(COLUMNS)}) VALUES ({_MARKS})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])}
"""  # noqa: S608  # names and marks
# As text, since the driver would parse JSON on its own.
_SELECTED = ", ".join(f"{name}::text" if name in JSON_COLUMNS else name for name in COLUMNS)
_SELECT = f"SELECT {_SELECTED} FROM tool_traces"  # noqa: S608  # names
_FIND = f"{_SELECT} WHERE tenant = %s AND visibility = %s AND user_id = %s"
_COMPLETED = f"{_SELECT} WHERE tenant = %s AND visibility = %s AND tool_name = %s AND status = 'completed'"
_GET = f"{_SELECT} WHERE id = %s"
_NEWEST_FIRST = " ORDER BY created_at DESC, id DESC LIMIT %s"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"  # two puts of a trace that is not there yet


class PostgresTraceStore:
    """A `TraceStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(self, trace: ToolTrace) -> ToolTrace:
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK, (f"tool_traces:{trace.id}",))
            stored = await _get(connection, trace.id)
            if stored is not None and not stored.has_ended:
                return stored
            await connection.execute(_WRITE.encode(), to_row(trace))
        return trace

    async def change(self, trace_id: str, change: Change) -> ToolTrace:
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK, (f"tool_traces:{trace_id}",))
            stored = await _get(connection, trace_id)
            if stored is None:
                raise no_such_trace(trace_id)
            changed = change(stored)
            if changed is not stored:
                await connection.execute(_WRITE.encode(), to_row(changed))
        return changed

    async def get(self, trace_id: str) -> ToolTrace | None:
        rows = await self._database.rows(_GET, (trace_id,))
        return from_row(rows[0]) if rows else None

    async def find(self, scope: Scope, user_id: str, *, tool_name: str | None, limit: int) -> list[ToolTrace]:
        query, values = _FIND, [scope.tenant, scope.visibility, user_id]
        if tool_name is not None:
            query, values = query + " AND tool_name = %s", [*values, tool_name]
        rows = await self._database.rows(query + _NEWEST_FIRST, (*values, max(limit, 0)))
        return [from_row(row) for row in rows]

    async def completed(self, scope: Scope, tool_name: str, *, limit: int) -> list[ToolTrace]:
        values = (scope.tenant, scope.visibility, tool_name, max(limit, 0))
        return [from_row(row) for row in await self._database.rows(_COMPLETED + _NEWEST_FIRST, values)]


async def _get(connection: AsyncConnection, trace_id: str) -> ToolTrace | None:
    rows = await fetch(connection, _GET, (trace_id,))
    return from_row(rows[0]) if rows else None
