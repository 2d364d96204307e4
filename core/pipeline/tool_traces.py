"""What a long-running tool did, kept so that people can look at it later (S002).

Each tool keeps what is its own in four JSON fields; everything else is the same for all. A trace that
has ended does not change any more, whoever still reports.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Protocol

from core.model.job import Json, Scope
from core.model.ports import Clock

MAX_TOOL_NAME_CHARS = 100  # the column is VARCHAR(100) (S002-16), as are those of the next two
MAX_STAGE_CHARS = 100
MAX_ID_CHARS = 36


class TraceStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({TraceStatus.COMPLETED, TraceStatus.FAILED, TraceStatus.CANCELLED})


@dataclass(frozen=True)
class ToolTrace:
    """One run of a tool. `user_id` and `org_id` are the platform's ids; `progress` is 0…1; times are UTC."""

    id: str
    scope: Scope
    user_id: str
    org_id: str | None
    tool_name: str
    input_params: Mapping[str, Json]
    created_at: datetime
    status: TraceStatus = TraceStatus.PENDING
    progress: float = 0.0
    current_stage: str | None = None
    state: Mapping[str, Json] = field(default_factory=dict)
    result: Mapping[str, Json] | None = None
    error_message: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    metrics: Mapping[str, Json] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


Change = Callable[[ToolTrace], ToolTrace]


Kind = Literal["stage", "model", "search", "page", "mark"]


@dataclass(frozen=True)
class Exchange:
    """What a model was sent and what it said, word for word; "" once it is hidden or no longer kept."""

    system: str = ""
    user: str = ""
    answer: str = ""


@dataclass(frozen=True)
class TraceEntry:
    """One thing a job did. `at` is when it ended, `seconds` how long it took.

    `kind` says what the other fields hold:

    - `stage`: `name` is the stage
    - `model`: `name` is the call's purpose, `detail` the model; tokens, cost (None without a price), `exchange`
    - `search`: `name` is the provider, `detail` the query, `results` how many hits
    - `page`: `name` is "page", `detail` the address, `results` the characters of text
    - `mark`: something that happened, such as an error counted or the job resumed: `name` what, `detail` where

    `outcome` is `done`, `cancelled`, or in a few words why it failed.
    """

    kind: Kind
    name: str
    at: datetime
    seconds: float = 0.0
    outcome: str = "done"
    detail: str = ""
    results: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False
    cost_usd: float | None = None
    exchange: Exchange = Exchange()


class TraceStore(Protocol):
    """Where it is kept what tools and jobs did. Raises `StoreError`, also for changing a trace that does not exist."""

    async def put(self, trace: ToolTrace) -> ToolTrace:
        """Insert; a trace of this id that has not ended is returned unchanged, one that has is replaced."""

    async def change(self, trace_id: str, change: Change) -> ToolTrace:
        """Apply a pure function to the stored trace with no other writer in between."""

    async def get(self, trace_id: str) -> ToolTrace | None: ...

    async def find(self, scope: Scope, user_id: str, *, tool_name: str | None, limit: int) -> list[ToolTrace]:
        """The user's traces in this scope, newest first."""

    async def completed(self, scope: Scope, tool_name: str, *, limit: int) -> list[ToolTrace]:
        """The traces of everybody in this scope that ended well, newest first: for who learns from earlier runs."""

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None:
        """Add to what a job did, in this order; silently nothing for a job that is not stored, or no longer."""

    async def read(self, job_id: str) -> list[TraceEntry]:
        """In the order they were added; empty when there are none (any more)."""


@dataclass
class ToolTraces:
    """The life of traces: created, in progress, ended once (S002-19)."""

    store: TraceStore
    clock: Clock

    async def create_trace(
        self,
        tool_name: str,
        user_id: str,
        input_params: Mapping[str, Json],
        *,
        scope: Scope,
        org_id: str | None = None,
        trace_id: str = "",
    ) -> ToolTrace:
        """With a `trace_id` whose run is still under way, that trace as it stands; one that has ended starts over.

        Raises `ValueError` for a tool name over 100 or an id over 36 characters.
        """
        if not 0 < len(tool_name) <= MAX_TOOL_NAME_CHARS or len(trace_id) > MAX_ID_CHARS:
            raise ValueError(f"tool {tool_name!r} or trace {trace_id!r} has no name or one that is too long")
        trace = ToolTrace(
            id=trace_id or str(uuid.uuid4()),
            scope=scope,
            user_id=user_id,
            org_id=org_id,
            tool_name=tool_name,
            input_params=input_params,
            created_at=self.clock(),
        )
        return await self.store.put(trace)

    async def update_progress(
        self, trace_id: str, stage: str, progress: float, state: Mapping[str, Json] | None = None
    ) -> ToolTrace:
        """`stage` is for people and cut to 100 characters; `state` replaces the whole state unless it is None.

        Raises `ValueError` unless `progress` is 0…1.
        """
        if not 0 <= progress <= 1:
            raise ValueError(f"progress {progress} is not between 0 and 1")
        now = self.clock()

        def advance(trace: ToolTrace) -> ToolTrace:
            return replace(
                trace,
                status=TraceStatus.IN_PROGRESS,
                current_stage=_text(stage)[:MAX_STAGE_CHARS],
                progress=float(progress),
                state=trace.state if state is None else state,
                started_at=trace.started_at or now,
            )

        return await self._change(trace_id, advance)

    async def complete_trace(self, trace_id: str, result: Mapping[str, Json], metrics: Mapping[str, Json]) -> ToolTrace:
        """At progress 1; one that has ended already stays as it is, here as in the next two."""
        return await self._end(trace_id, TraceStatus.COMPLETED, progress=1.0, result=result, metrics=metrics)

    async def fail_trace(self, trace_id: str, error_message: str) -> ToolTrace:
        """Progress and state stay as they were, so that one sees how far it came."""
        return await self._end(trace_id, TraceStatus.FAILED, error_message=_text(error_message))

    async def cancel_trace(self, trace_id: str) -> ToolTrace:
        return await self._end(trace_id, TraceStatus.CANCELLED)

    async def get_trace(self, trace_id: str) -> ToolTrace | None:
        return await self.store.get(trace_id)

    async def list_traces(
        self, user_id: str, tool_name: str | None = None, *, scope: Scope, limit: int = 50
    ) -> list[ToolTrace]:
        """The user's traces in this scope, of one tool or of all, newest first."""
        return await self.store.find(scope, user_id, tool_name=tool_name, limit=limit)

    async def _change(self, trace_id: str, change: Change) -> ToolTrace:
        return await self.store.change(trace_id, lambda trace: trace if trace.has_ended else change(trace))

    async def _end(self, trace_id: str, status: TraceStatus, **more: Any) -> ToolTrace:
        def end(trace: ToolTrace) -> ToolTrace:
            now = self.clock()
            return replace(trace, status=status, started_at=trace.started_at or now, completed_at=now, **more)

        return await self._change(trace_id, end)


def trace_id_of(job_id: str) -> str:
    """The id of a job's own trace: a UUID that a step which runs again finds again, and that `forget` can compute."""
    return str(uuid.uuid5(_NAMESPACE, job_id))


_NAMESPACE = uuid.UUID("6f3c2f0e-53c4-4f0e-9d0a-5a1f5f0c7b11")  # random; fixed for ever, since ids are derived from it


def _text(text: str) -> str:
    """PostgreSQL has no place for NUL in text."""
    return text.replace("\x00", "\ufffd")
