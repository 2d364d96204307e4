"""Traces as rows of `tool_traces`, the same for every database: JSON as text, times as naive UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pydantic import TypeAdapter

from core.errors import StoreError
from core.events import Json
from core.job import Scope
from core.trace import ToolTrace, TraceStatus

COLUMNS = (
    "id", "user_id", "org_id", "tool_name", "input_params", "status", "progress", "current_stage", "state", "result",
    "error_message", "created_at", "started_at", "completed_at", "metrics", "tenant", "visibility",
)  # fmt: skip
JSON_COLUMNS = frozenset({"input_params", "state", "result", "metrics"})
SELECT = f"SELECT {', '.join(COLUMNS)} FROM tool_traces"  # noqa: S608  # names from above

Cell = str | float | datetime | None


def to_row(trace: ToolTrace) -> tuple[Cell, ...]:
    """One value a column, in their order."""
    return (
        trace.id, trace.user_id, trace.org_id, trace.tool_name, _dump(trace.input_params), trace.status.value,
        trace.progress, trace.current_stage, _dump(trace.state), _dump(trace.result), trace.error_message,
        _naive(trace.created_at), _naive(trace.started_at), _naive(trace.completed_at), _dump(trace.metrics),
        trace.scope.tenant, trace.scope.visibility,
    )  # fmt: skip


def from_row(row: Sequence[object]) -> ToolTrace:
    """Raises `StoreError` when another program has written something else there."""
    cells = dict(zip(COLUMNS, row, strict=True))
    try:
        return ToolTrace(
            id=str(cells["id"]),
            scope=Scope(str(cells["tenant"]), str(cells["visibility"])),
            user_id=str(cells["user_id"]),
            org_id=_TEXT.validate_python(cells["org_id"]),
            tool_name=str(cells["tool_name"]),
            input_params=_load(cells["input_params"]) or {},
            created_at=_aware(cells["created_at"]) or datetime.fromtimestamp(0, UTC),
            status=TraceStatus(str(cells["status"])),
            progress=_NUMBER.validate_python(cells["progress"]),
            current_stage=_TEXT.validate_python(cells["current_stage"]),
            state=_load(cells["state"]) or {},
            result=_load(cells["result"]),
            error_message=_TEXT.validate_python(cells["error_message"]),
            started_at=_aware(cells["started_at"]),
            completed_at=_aware(cells["completed_at"]),
            metrics=_load(cells["metrics"]) or {},
        )
    except ValueError as exc:  # pydantic's own included
        raise StoreError(f"trace {cells['id']} cannot be read: {type(exc).__name__}") from exc


def no_such_trace(trace_id: str) -> StoreError:
    return StoreError(f"no trace {trace_id}")


def _dump(value: Mapping[str, Json] | None) -> str | None:
    return None if value is None else _JSON.dump_json(dict(value)).decode()


def _load(value: object) -> dict[str, Json] | None:
    return None if value is None else _JSON.validate_json(str(value))


def _naive(time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(UTC).replace(tzinfo=None)


def _aware(value: object) -> datetime | None:
    time = _TIME.validate_python(value)
    return None if time is None else time.replace(tzinfo=UTC)


_JSON: TypeAdapter[dict[str, Json]] = TypeAdapter(dict[str, Json])
_TEXT: TypeAdapter[str | None] = TypeAdapter(str | None)
_NUMBER: TypeAdapter[float] = TypeAdapter(float)
_TIME: TypeAdapter[datetime | None] = TypeAdapter(datetime | None)
