"""The trace of a deep research job in `tool_traces`, written after every step (S002-16 … S002-18).

A trace that cannot be written costs its viewer something, never the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from core.answer import SynthesisMetadata
from core.deep.output import TOOL_NAME, metrics_json, state_json
from core.deep.searching import known_sources
from core.deep.state import DeepState
from core.deep.steering import Stop
from core.errors import StoreError
from core.events import Json
from core.job import Tenant
from core.trace import ToolTraces, trace_id_of
from core.work import Work

T = TypeVar("T")


@dataclass(frozen=True)
class Record:
    """What is told about one job to whoever looks at its trace."""

    work: Work
    traces: ToolTraces

    @classmethod
    def of(cls, work: Work) -> Record:
        return cls(work, ToolTraces(work.deps.tool_traces, clock=work.deps.clock))

    @property
    def id(self) -> str:
        return trace_id_of(self.work.job.id)

    async def begin(self) -> None:
        request, scope = self.work.job.request, self.work.job.scope
        params: dict[str, Json] = {
            "question": request.query,
            "context": request.context,
            "max_iterations": request.max_iterations,
        }
        tenant = Tenant.read(scope.tenant)
        creating = self.traces.create_trace(
            TOOL_NAME,
            request.asker or tenant.platform,
            params,
            scope=scope,
            org_id=tenant.account if tenant.account and not tenant.is_person else None,
            trace_id=self.id,
        )
        await self._try(creating)

    async def note(self, stage: str, share: float, state: DeepState, *, stop: Stop = Stop.NONE) -> None:
        sources = await self._try(known_sources(self.work, state.last_number)) or []
        written = state_json(state, sources, job_id=self.work.job.id, stop=stop)
        await self._try(self.traces.update_progress(self.id, stage, share, written))

    async def complete(
        self, state: DeepState, output: Mapping[str, Json], spent: SynthesisMetadata, *, stop: Stop
    ) -> None:
        """`output` is the tool's. Also writes the last state: a resumed job does not tell its finished steps again."""
        await self.note("synthesizing", 1.0, state, stop=stop)
        result = {name: output[name] for name in ("answer", "sources", "checklist_coverage")}
        await self._try(self.traces.complete_trace(self.id, result, metrics_json(state, spent)))

    async def _try(self, writing: Awaitable[T]) -> T | None:
        try:
            return await writing
        except StoreError as exc:
            self.work.deps.count_error("trace", exc)
            return None
