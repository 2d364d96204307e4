"""The default mode: one round of search, one cited answer, within a minute."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.answer import JobResult, ResearchAnswer
from core.job import JobStatus
from core.modes.mode import Mode, Work
from core.source import SearchMetadata, SourceCollection
from core.stages.plan import ResearchPlan, plan_research
from core.stages.search import collect_sources
from core.stages.synthesize import answer_question

_WRITE_RESERVE_S = 25.0  # of the deadline, kept for the answer: a late page is worth less than an answer


@dataclass(frozen=True)
class SearchOutcome:
    """What the search step leaves in the journal; the sources themselves are in the source store."""

    metadata: SearchMetadata
    considered: int


async def run(work: Work) -> JobResult:
    """Plan, search, answer: each a durable step."""
    plan = await work.steps.run("plan", lambda: _plan(work), ResearchPlan)
    work = replace(work, job=replace(work.job, intent=plan.intent))
    outcome = await work.steps.run("search", lambda: _search(work, plan), SearchOutcome)
    sources = await work.deps.sources.sources(work.job.id)
    found = SourceCollection(tuple(sources), outcome.metadata, outcome.considered)
    answer = await work.steps.run("synthesize", lambda: _answer(work, plan, found), ResearchAnswer)
    return JobResult(
        answer=answer,
        source_ids=tuple(source.id for source in sources),
        sources_considered=outcome.considered,
        queries=outcome.metadata.queries_executed,
        providers=outcome.metadata.providers_used,
        question_type=plan.intent.question_type,
    )


async def _plan(work: Work) -> ResearchPlan:
    with work.deps.stage("plan"):
        return await plan_research(work.job, work.gathering, work.deps, timeout_s=work.deadline.remaining())


async def _search(work: Work, plan: ResearchPlan) -> SearchOutcome:
    queries = [query.text for query in plan.search.queries]
    await work.progress.status(JobStatus.SEARCHING, data={"queries": [*queries], "providers": [*plan.search.providers]})

    async def on_fetching(results: int) -> None:
        await work.progress.status(JobStatus.FETCHING, data={"results": results})

    with work.deps.stage("search"):
        found = await collect_sources(
            work.gathering,
            plan.search,
            within_s=work.deadline.remaining(reserve_s=_WRITE_RESERVE_S),
            on_fetching=on_fetching,
            on_source=work.progress.source,
        )
        await work.deps.sources.put(work.job, found.sources)
    return SearchOutcome(found.search_metadata, found.considered)


async def _answer(work: Work, plan: ResearchPlan, found: SourceCollection) -> ResearchAnswer:
    await work.progress.status(JobStatus.SYNTHESIZING, data={"sources": len(found.sources)})
    with work.deps.stage("synthesize"):
        return await answer_question(
            work.job, found, work.deps, work.progress, usage=plan.usage, within_s=work.deadline.remaining(reserve_s=2.0)
        )


MODE = Mode(
    name="quick",
    title="Quick answer",
    description="One search, one cited answer, usually in seconds",
    deadline_s=60.0,
    run=run,
)
