"""The traces of long-running tools in SQLite."""

from __future__ import annotations

from datetime import datetime

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from adapters.store.trace_rows import COLUMNS, SELECT, from_row, no_such_trace, to_row
from core.job import Scope
from core.trace import Change, ToolTrace

_MARKS = ", ".join("?" for _ in COLUMNS)
_WRITE = f"INSERT OR REPLACE INTO tool_traces ({', '.join(COLUMNS)}) VALUES ({_MARKS})"  # noqa: S608  # names and marks
_FIND = f"{SELECT} WHERE tenant = ? AND visibility = ? AND user_id = ?"
_COMPLETED = f"{SELECT} WHERE tenant = ? AND visibility = ? AND tool_name = ? AND status = 'completed'"
_NEWEST_FIRST = " ORDER BY created_at DESC, rowid DESC LIMIT ?"


class SqliteTraceStore:
    """A `TraceStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, trace: ToolTrace) -> ToolTrace:
        def change(connection: Connection) -> ToolTrace:
            stored = _get(connection, trace.id)
            if stored is not None and not stored.has_ended:
                return stored
            _write(connection, trace)
            return trace

        return await self._database.write(change)

    async def change(self, trace_id: str, change: Change) -> ToolTrace:
        def apply(connection: Connection) -> ToolTrace:
            stored = _get(connection, trace_id)
            if stored is None:
                raise no_such_trace(trace_id)
            changed = change(stored)
            if changed is not stored:
                _write(connection, changed)
            return changed

        return await self._database.write(apply)

    async def get(self, trace_id: str) -> ToolTrace | None:
        return await self._database.read(lambda connection: _get(connection, trace_id))

    async def find(self, scope: Scope, user_id: str, *, tool_name: str | None, limit: int) -> list[ToolTrace]:
        query, values = _FIND, [scope.tenant, scope.visibility, user_id]
        if tool_name is not None:
            query, values = query + " AND tool_name = ?", [*values, tool_name]
        rows = await self._database.rows(query + _NEWEST_FIRST, (*values, max(limit, 0)))
        return [from_row(row) for row in rows]

    async def completed(self, scope: Scope, tool_name: str, *, limit: int) -> list[ToolTrace]:
        values = (scope.tenant, scope.visibility, tool_name, max(limit, 0))
        return [from_row(row) for row in await self._database.rows(_COMPLETED + _NEWEST_FIRST, values)]


def _get(connection: Connection, trace_id: str) -> ToolTrace | None:
    row = connection.execute(f"{SELECT} WHERE id = ?", (trace_id,)).fetchone()
    return None if row is None else from_row(row)


def _write(connection: Connection, trace: ToolTrace) -> None:
    cells = [str(cell) if isinstance(cell, datetime) else cell for cell in to_row(trace)]
    connection.execute(_WRITE, cells)
