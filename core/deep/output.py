"""A deep research job in the shapes of its specification: the tool's output, and the trace that every step writes.

A trace that cannot be written costs its viewer something, never the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.deep.searching import known_sources
from core.deep.state import Coverage, DeepState, Fact, Stop
from core.evidence.authority import pmid_of, quality_of
from core.model.answer import ResearchAnswer, SynthesisMetadata
from core.model.errors import StoreError
from core.model.job import Json, Tenant
from core.model.source import Source
from core.pipeline.trace import ToolTraces, trace_id_of
from core.pipeline.work import Work
from core.presentation.render import cut

TOOL_NAME = "deep_research"
SNIPPET_CHARS = 300  # of a source nothing was taken from
T = TypeVar("T")


def tool_output(
    trace_id: str, state: DeepState, answer: ResearchAnswer, sources: Sequence[Source], stop: Stop
) -> dict[str, Json]:
    """S002's output schema and nothing else (D16); what else there is to know is in the trace."""
    return {
        "trace_id": trace_id,
        "answer": "\n\n".join(part for part in (answer.summary, answer.detail) if part),
        "sources": [source_json(source, state.facts) for source in sources],
        "checklist_coverage": coverage_json(state),
        "iterations_used": len(state.rounds),
        "status": "max_iterations_reached" if stop is Stop.MAX_ITERATIONS else "completed",
    }


def coverage_json(state: DeepState) -> dict[str, Json]:
    """Lists, from which counts follow (D5); what is partly covered is a gap."""
    satisfied: list[Json] = [item.description for item in state.checklist if item.is_satisfied]
    gaps: list[Json] = [
        f"{item.description} - {'partial' if item.coverage is Coverage.PARTIAL else 'no'} coverage"
        for item in state.checklist
        if not item.is_satisfied
    ]
    return {"satisfied": satisfied, "gaps": gaps}


def source_json(source: Source, facts: Sequence[Fact]) -> dict[str, Json]:
    """`{id, type, title, url, snippet}`; the snippet is what was taken from it."""
    quote = next((fact.evidence.quote for fact in facts if fact.evidence.source_id == source.id), "")
    return {
        "id": source.id,
        "type": "pubmed" if pmid_of(source.url) else "web",
        "title": source.title,
        "url": source.url,
        "snippet": cut(quote or source.content, SNIPPET_CHARS),
    }


def checklist_json(state: DeepState) -> list[dict[str, Json]]:
    """Each item with its boolean, its three-valued coverage (D5) and its evidence."""
    return [
        {
            "id": item.id,
            "description": item.description,
            "satisfied": item.is_satisfied,
            "coverage": item.coverage.value,
            "evidence": "; ".join(map(_cited, filter(None, map(state.fact, item.facts)))),
            "missing": item.missing,
        }
        for item in state.checklist
    ]


def state_json(state: DeepState, sources: Sequence[Source], *, job_id: str, stop: Stop = Stop.NONE) -> dict[str, Json]:
    """The trace's state (S002-17); `evidence` binds each fact to its words, for later jobs to check again."""
    iterations: list[Json] = [
        {
            "iteration": round_.number,
            "queries": [*round_.queries],
            "results_count": round_.results,
            "new_facts": round_.new_facts,
            "checklist_progress": f"{round_.satisfied}/{round_.items}",
        }
        for round_ in state.rounds
    ]
    knowledge: dict[str, Json] = {
        "facts": [fact.text for fact in state.facts],
        "sources": [_source_line(source) for source in sources],
        "gaps": [item.missing or item.description for item in state.checklist if not item.is_satisfied],
        "evidence": [_evidence_json(fact) for fact in state.facts],
    }
    return {
        "refined_question": state.refined.question,
        "scope": {"in": [*state.refined.in_scope], "out": [*state.refined.out_of_scope]},
        "key_terms": [*state.refined.key_terms],
        "checklist": [*checklist_json(state)],
        "knowledge_base": knowledge,
        "iterations": iterations,
        "constraints": [*state.constraints],
        "stopped_because": stop.value,
        "job_id": job_id,
    }


def metrics_json(state: DeepState, spent: SynthesisMetadata) -> dict[str, Json]:
    """The five figures of S002-18, and articles, pages, tokens and cost; `spent` is that of all calls."""
    articles, pages = sum(r.articles for r in state.rounds), sum(r.pages for r in state.rounds)
    return {
        "total_iterations": len(state.rounds),
        "pubmed_queries": sum(len(round_.pubmed) for round_ in state.rounds),
        "web_queries": sum(len(round_.web) for round_ in state.rounds),
        "sources_processed": articles + pages,
        "llm_calls": spent.model_calls,
        "articles_processed": articles,
        "pages_processed": pages,
        "tokens": spent.tokens_used,
        "cost_usd": spent.cost_usd,
    }


def _cited(fact: Fact) -> str:
    return f"{fact.text} [{fact.evidence.source_id.removeprefix('src_')}]"


def _source_line(source: Source) -> dict[str, Json]:
    pmid = pmid_of(source.url)
    entry: dict[str, Json] = {
        "id": source.id,
        "type": "pubmed" if pmid else "web",
        "title": source.title,
        "quality": quality_of(source).value,
    }
    return entry | ({"pmid": pmid} if pmid else {"url": source.url})


def _evidence_json(fact: Fact) -> dict[str, Json]:
    evidence = fact.evidence
    return {
        "fact": fact.text,
        "items": [*fact.items],
        "source_id": evidence.source_id,
        "quote": evidence.quote,
        "start": evidence.start,
        "end": evidence.end,
        "verdict": evidence.verdict.value,
        "learned_on": fact.learned_on,
    }


@dataclass(frozen=True)
class TraceNotes:
    """What is told about one job to whoever looks at its trace."""

    work: Work
    traces: ToolTraces

    @classmethod
    def of(cls, work: Work) -> TraceNotes:
        return cls(work, ToolTraces(work.deps.traces, clock=work.deps.clock))

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
