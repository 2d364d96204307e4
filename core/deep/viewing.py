"""Deep research as people and programs see it: plan and progress as they go, the trace, the specification's shapes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from pydantic import TypeAdapter

from core.deep.searching import known_sources
from core.deep.state import Coverage, DeepState, Fact, Stop
from core.evidence.authority import pmid_of, quality_of
from core.model.answer import Claim, JobResult, ResearchAnswer, SynthesisMetadata, Verdict
from core.model.errors import StoreError
from core.model.job import JobStatus, Json, Tenant, rows
from core.model.source import Source
from core.pipeline.tool_traces import ToolTrace, ToolTraces, trace_id_of
from core.pipeline.work import Progress, Work
from core.presentation.render import cut, one_line
from core.presentation.wording import counted
from core.text.saying import say, say_many, say_number

STANDS = {Coverage.SATISFIED: "✓", Coverage.PARTIAL: "◐ partly", Coverage.UNSATISFIED: "○ not found"}
MARKS = {Coverage.SATISFIED: "✓", Coverage.PARTIAL: "◐", Coverage.UNSATISFIED: "○"}


@dataclass(frozen=True)
class CardItem:
    """One item of the checklist; `id` is what `drop_item` names."""

    id: str
    description: str
    coverage: Coverage

    @property
    def line(self) -> str:
        return f"{MARKS[self.coverage]} {self.id}. {self.description}"


@dataclass(frozen=True)
class ChecklistCard:
    """All text is on one line and safe to print; nothing of it may ping or link."""

    question: str
    items: tuple[CardItem, ...]
    iteration: int
    max_iterations: int
    facts: int
    duration: str
    constraints: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()

    @property
    def satisfied(self) -> int:
        return sum(item.coverage is Coverage.SATISFIED for item in self.items)

    @property
    def headline(self) -> str:
        """`Round 2 of 10 · 3 of 5 items · 14 facts`; before the first round how long it takes."""
        if not self.iteration:
            return self.duration
        done = say("Round {number} of {most}", number=self.iteration, most=self.max_iterations)
        items = say("{number} of {all} items", number=self.satisfied, all=len(self.items))
        return f"{done} · {items} · {say_many('{number} fact', '{number} facts', self.facts)}"


def read_card(data: Json) -> ChecklistCard | None:
    """The card in a status event's data; None where there is none."""
    card = data.get("card") if isinstance(data, dict) else None
    if not isinstance(card, dict):
        return None
    return ChecklistCard(
        question=_text(card, "question"),
        items=tuple(
            CardItem(_text(row, "id"), _text(row, "description"), coverage_of(row))
            for row in rows(card.get("checklist"))
        ),
        iteration=_number(card, "iteration"),
        max_iterations=_number(card, "max_iterations"),
        facts=_number(card, "facts"),
        duration=_text(card, "duration"),
        constraints=_texts(card, "constraints"),
        out_of_scope=_texts(card, "out_of_scope"),
    )


@dataclass(frozen=True)
class CoveredItem:
    """An item when the research has ended; `line` is the answer's sentence about it with its citations, "" for none."""

    description: str
    coverage: Coverage
    line: str

    @property
    def stand(self) -> str:
        return say(STANDS[self.coverage])

    @property
    def text(self) -> str:
        """`✓ Who was studied: 4,000 adults took part [1].`"""
        return f"{self.stand} {one_line(self.description)}" + (f": {self.line}" if self.line else "")


def covered_items(result: JobResult) -> tuple[CoveredItem, ...]:
    """What became of each item, those that were found first; none where nothing was researched in rounds.

    An item's line is the sentence that shares most words with it, so that it can be read beside its item.
    """
    told, claims = result.details.get("checklist_coverage"), result.answer.claims if result.answer else ()
    if not isinstance(told, dict):
        return ()
    found = [(text, Coverage.SATISFIED) for text in _texts(told, "satisfied")]
    for gap in _texts(told, "gaps"):
        text, _, kind = gap.rpartition(" - ")
        found.append((text, Coverage.PARTIAL if kind.startswith("partial") else Coverage.UNSATISFIED))
    return tuple(_covered(text, coverage, claims) for text, coverage in found)


def _covered(item: str, coverage: Coverage, claims: Sequence[Claim]) -> CoveredItem:
    """A sentence whose sources were retracted covers nothing, and what is covered in part has a sentence there."""
    best = _claim_on(item, [claim for claim in claims if claim.evidence])
    if coverage is not Coverage.UNSATISFIED and best and best.verdict is Verdict.UNSUPPORTED:
        coverage = Coverage.PARTIAL
        best = _claim_on(item, [one for one in claims if one.evidence and one.verdict is not Verdict.UNSUPPORTED])
    if coverage is Coverage.UNSATISFIED or (best is None and coverage is Coverage.PARTIAL):
        return CoveredItem(item, Coverage.UNSATISFIED, "")
    return CoveredItem(item, coverage, _line(best) if best else "")


def _claim_on(item: str, claims: Sequence[Claim]) -> Claim | None:
    wanted = _long_words(item)
    best = max(claims, key=lambda claim: len(wanted & _long_words(claim.text)), default=None)
    return best if best and wanted & _long_words(best.text) else None


def _line(claim: Claim) -> str:
    carrying = [entry for entry in claim.evidence if entry.verdict is not Verdict.UNSUPPORTED]
    numbers = "".join(f"[{entry.source_id.removeprefix('src_')}]" for entry in carrying)
    return f"{one_line(claim.text).rstrip('.')} {numbers}."


def _long_words(text: str) -> set[str]:
    """The beginnings of the words that carry its meaning, so that forms of a word are one."""
    return {word[:6] for word in re.findall(r"\w{4,}", text.casefold())}


def coverage_of(row: Mapping[str, Json]) -> Coverage:
    """Of an item of a checklist as it is told or kept; what is not known is not covered."""
    value = row.get("coverage")
    return Coverage(value) if value in list(Coverage) else Coverage.UNSATISFIED


def _text(row: Mapping[str, Json], key: str) -> str:
    return one_line(str(row.get(key) or ""))


def _texts(row: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = row.get(key)
    return tuple(one_line(str(text)) for text in value) if isinstance(value, list) else ()


def _number(row: Mapping[str, Json], key: str) -> int:
    value = row.get(key)
    return value if isinstance(value, int) else 0


def trace_lines(trace: ToolTrace) -> list[str]:
    """Headline, refined question, checklist with marks, rounds, facts; everything on one line each."""
    lines = [_headline(trace)]
    if trace.error_message:
        lines.append(one_line(trace.error_message))
    if question := trace.state.get("refined_question"):
        lines.append(f"Question: {one_line(str(question))}")
    lines += [_item_line(row) for row in rows(trace.state.get("checklist"))]
    lines += [_round_line(row) for row in rows(trace.state.get("iterations"))]
    return [*lines, *(_fact_line(row) for row in evidence_of(trace))]


def evidence_of(trace: ToolTrace) -> list[dict[str, Json]]:
    """The facts as `state_json` keeps them."""
    knowledge = trace.state.get("knowledge_base")
    return rows(knowledge.get("evidence")) if isinstance(knowledge, dict) else []


def tool_trace_json(trace: ToolTrace) -> dict[str, Json]:
    """The stored row, as S002-16 names its columns."""
    told: dict[str, Json] = _TRACE.dump_python(trace, mode="json", exclude={"scope", "user_id", "org_id"})
    return told


_TRACE: TypeAdapter[ToolTrace] = TypeAdapter(ToolTrace)


def _headline(trace: ToolTrace) -> str:
    figures = trace.metrics
    parts = [trace.tool_name, trace.status.value]
    if trace.current_stage and not trace.has_ended:
        parts.append(one_line(trace.current_stage))
    if figures:
        parts += [
            _counted(figures, "total_iterations", "iteration"),
            f"{figures.get('pubmed_queries', 0)} PubMed and {figures.get('web_queries', 0)} web queries",
            _counted(figures, "sources_processed", "source"),
            _counted(figures, "llm_calls", "model call"),
        ]
    return " · ".join(parts)


def _counted(figures: Mapping[str, Json], name: str, noun: str) -> str:
    value = figures.get(name)
    return counted(value if isinstance(value, int) else 0, noun)


def _item_line(row: Mapping[str, Json]) -> str:
    missing = f" (missing: {one_line(str(row['missing']))})" if row.get("missing") else ""
    return f"  {MARKS[coverage_of(row)]} {row.get('id')}. {one_line(str(row.get('description')))}{missing}"


def _round_line(row: Mapping[str, Json]) -> str:
    queries = row.get("queries")
    asked = "; ".join(one_line(str(query)) for query in queries) if isinstance(queries, list) else ""
    found = f"{_counted(row, 'results_count', 'result')}, {_counted(row, 'new_facts', 'new fact')}"
    return f"  Iteration {row.get('iteration')}: {row.get('checklist_progress')} satisfied, {found}: {asked}"


def _fact_line(row: Mapping[str, Json]) -> str:
    source = str(row.get("source_id")).removeprefix("src_")
    learned = f", read on {row['learned_on']}" if row.get("learned_on") else ""
    return f"  Fact: {one_line(str(row.get('fact')))} [{source}]{learned}"


# What a running job says: how long it may take, the lines of its specification (S002-13), and the card. Every status
# event carries its line and the whole card, so that whoever looks later or loses a line sees all.


USUAL = "Deep research typically takes 1–3 minutes."  # the specification's own estimate (S002-02)
TAKES = "Deep research here typically takes {minutes} (the last {number} jobs)."
TAKES_AND_COSTS = "Deep research here typically takes {minutes} and costs about ${cost} (the last {number} jobs)."
MIN_JOBS = 3  # fewer say nothing of the next
STARTING = "🔍 Starting deep research..."
REFINING = "📝 Refining question and generating research plan..."
COMPLETE = "✓ Research complete. Synthesizing answer..."
CHECKED = "  → Checklist: {number}/{all} items satisfied"
REFINED_SHARE = 0.1  # S002-15
FIRST_ROUND_SHARE = 0.3
LAST_ROUND_SHARE = 0.85


@dataclass(frozen=True)
class Estimate:
    """Medians of `jobs` earlier ones; the cost None where the model has no price."""

    minutes: float
    cost_usd: float | None
    jobs: int

    @property
    def sentence(self) -> str:
        minutes = say("under a minute") if self.minutes < 0.75 else f"{round(self.minutes)} min"
        if self.cost_usd is None or self.cost_usd < 0.005:
            return say(TAKES, minutes=minutes, number=self.jobs)
        return say(TAKES_AND_COSTS, minutes=minutes, cost=say_number(self.cost_usd, 2), number=self.jobs)

    def as_json(self) -> dict[str, Json]:
        return {"minutes": round(self.minutes, 2), "cost_usd": self.cost_usd, "jobs": self.jobs}


def estimate_from(traces: Sequence[ToolTrace]) -> Estimate | None:
    """None of too few."""
    lasted = [
        (trace.completed_at - trace.started_at).total_seconds() / 60
        for trace in traces
        if trace.completed_at is not None and trace.started_at is not None
    ]
    if len(lasted) < MIN_JOBS:
        return None
    costs = [cost for trace in traces if isinstance(cost := trace.metrics.get("cost_usd"), int | float)]
    return Estimate(median(lasted), median(costs) if costs else None, len(lasted))


def usual_duration(estimate: Estimate | None) -> str:
    """One sentence for who is about to wait."""
    return estimate.sentence if estimate else say(USUAL)


@dataclass
class Teller:
    """The voice of one attempt. `estimate` is known once the plan is being made."""

    progress: Progress
    max_rounds: int
    estimate: Estimate | None = None
    _stage: str = field(default="starting")
    _iteration: int = 0

    async def starting(self, state: DeepState) -> None:
        await self._say(say(STARTING), JobStatus.PLANNING, state, share=0.0, note=usual_duration(self.estimate))

    async def refining(self, state: DeepState) -> None:
        self._stage = "refining"
        await self._say(say(REFINING), JobStatus.PLANNING, state, share=REFINED_SHARE)

    async def planned(self, state: DeepState) -> None:
        line = say("✓ Generated checklist with {number} items to investigate", number=len(state.checklist))
        await self._say(line, JobStatus.PLANNING, state, share=REFINED_SHARE)

    async def known(self, state: DeepState) -> None:
        line = say_many(
            "  → Starting from {number} fact of earlier research",
            "  → Starting from {number} facts of earlier research",
            len(state.facts),
        )
        await self._say(line, JobStatus.PLANNING, state, share=REFINED_SHARE)

    async def heard(self, line: str, state: DeepState) -> None:
        await self._say(f"  → {line}", JobStatus.PLANNING, state)

    async def round(self, number: int, state: DeepState) -> None:
        self._stage, self._iteration = f"iteration_{number}", number
        line = say("🔄 Iteration {number}/{most}", number=number, most=self.max_rounds)
        await self._say(line, JobStatus.SEARCHING, state)

    async def searching(self, state: DeepState) -> None:
        now = state.rounds[-1]
        lines = [say('  → Searching PubMed: "{query}"', query=query) for query in now.pubmed]
        lines += [say('  → Searching Web: "{query}"', query=query) for query in now.web]
        for line in lines:
            await self._say(line, JobStatus.SEARCHING, state, queries=[*now.queries])

    async def processing(self, state: DeepState) -> None:
        line = say("  → Processing {number} results...", number=state.rounds[-1].results)
        await self._say(line, JobStatus.FETCHING, state)

    async def checked(self, state: DeepState) -> None:
        await self._say(say(CHECKED, number=state.satisfied, all=len(state.checklist)), JobStatus.FETCHING, state)

    async def synthesizing(self, state: DeepState) -> None:
        self._stage = "synthesizing"
        await self._say(say(COMPLETE), JobStatus.SYNTHESIZING, state, share=LAST_ROUND_SHARE)

    async def _say(
        self, line: str, status: JobStatus, state: DeepState, *, share: float | None = None, **more: Json
    ) -> None:
        """`share` is that of the rounds where it is not given; `more` is told with the line, but for what is empty."""
        share = share_of(state, self.max_rounds) if share is None else share
        data: dict[str, Json] = {
            "line": line,
            "stage": self._stage,
            "iteration": self._iteration,
            "card": card_json(state, self.estimate, max_rounds=self.max_rounds),
            **{name: value for name, value in more.items() if value},
        }
        await self.progress.status(status, message=line.strip(), share=share, data=data)


def share_of(state: DeepState, max_rounds: int) -> float:
    """How far the search is, between the first round's share and the answer's: by rounds or by items, the more."""
    rounds = (max(1, len(state.rounds)) - 1) / max(1, max_rounds)
    items = state.satisfied / len(state.checklist) if state.checklist else 0.0
    return round(FIRST_ROUND_SHARE + (LAST_ROUND_SHARE - FIRST_ROUND_SHARE) * max(rounds, items), 2)


def card_json(state: DeepState, estimate: Estimate | None, *, max_rounds: int) -> dict[str, Json]:
    """What a message shows while it waits: the plan, and how much of it is covered."""
    items: list[Json] = [
        {"id": item.id, "description": item.description, "coverage": item.coverage.value} for item in state.checklist
    ]
    return {
        "question": state.refined.question or state.question,
        "in_scope": [*state.refined.in_scope],
        "out_of_scope": [*state.refined.out_of_scope],
        "checklist": items,
        "satisfied": state.satisfied,
        "facts": len(state.facts),
        "iteration": len(state.rounds),
        "max_iterations": max_rounds,
        "constraints": [*state.constraints],
        "estimate": estimate.as_json() if estimate else None,
        "duration": usual_duration(estimate),
    }


# A deep research job in the shapes of its specification: the tool's output, and the trace that every step writes.
#
# A trace that cannot be written costs its viewer something, never the answer.

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


def state_json(state: DeepState, sources: Sequence[Source], *, job_id: str, stop: Stop) -> dict[str, Json]:
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
