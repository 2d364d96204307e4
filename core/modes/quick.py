"""The default mode: one round of search, one cited answer, within a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.model.answer import JobResult, ResearchAnswer
from core.model.job import JobStatus, Json, ResearchJob
from core.model.source import SearchMetadata, Source, SourceCollection
from core.modes.mode import DEPTH, Mode
from core.pipeline.conversation import turns_behind
from core.pipeline.work import Work
from core.stages.cache import cached_result, find_earlier, repeat_confirmed, shown_meanwhile
from core.stages.drafting import HeadStart
from core.stages.gathering import Given, addresses_in, earlier_sources, read_given, renumbered, without_addresses
from core.stages.intake import parse_intent
from core.stages.plan import ResearchPlan, is_otherwise, plan_by_rules, plan_research
from core.stages.search import collect_sources
from core.stages.synthesize import answer_question, usage_metadata
from core.text.saying import later

_END_RESERVE_S = 2.0  # of the deadline, kept for delivery
_WRITE_RESERVE_S = 25.0  # of the deadline, kept for the answer: a late page is worth less than an answer


@dataclass(frozen=True)
class SearchOutcome:
    """What the search step leaves in the journal; the sources themselves are in the source store.

    `early` is from how many of them, the first ones, the answer was begun while the plan was made.
    """

    metadata: SearchMetadata
    considered: int
    early: int = 0


async def run(work: Work) -> JobResult:
    """Plan, search, answer: each a durable step. A follow-up may have been answered before, once it is understood."""
    ends_at = work.deadline.ends_at - _END_RESERVE_S
    head = HeadStart(work.job, work.deps, work.progress, work.gathering, ends_at=ends_at)
    try:
        return await _run(work, head)
    finally:
        await head.aclose()


async def _run(work: Work, head: HeadStart) -> JobResult:
    plan = await work.steps.run("plan", lambda: _plan(work, head), ResearchPlan)
    if not plan.question and (earlier := await repeat_confirmed(plan.same_as, work.job, work.deps)):
        return _repeated(earlier, plan, work)
    if plan.question and (earlier := await cached_result(_asking(work.job, plan.question), work.deps)):
        return replace(earlier, understood=plan.question)
    searched = without_addresses(plan.question or work.job.query)  # what was understood
    request = replace(work.job.request, query=searched)
    asked, work = work.job, replace(work, job=replace(work.job, request=request, intent=plan.intent))
    work.gathering.job = work.job
    outcome = await work.steps.run("search", lambda: _search(work, plan, asked, head), SearchOutcome)
    sources = await work.deps.sources.sources(work.job.id)
    found = SourceCollection(tuple(sources), outcome.metadata, outcome.considered)
    early = sources[: outcome.early]
    answer = await work.steps.run("synthesize", lambda: _answer(work, plan, found, head, early), ResearchAnswer)
    return JobResult(
        answer=answer,
        source_ids=tuple(source.id for source in sources),
        sources_considered=outcome.considered,
        queries=outcome.metadata.queries_executed,
        providers=outcome.metadata.providers_used,
        question_type=plan.intent.question_type,
        understood=plan.question,
    )


def _asking(job: ResearchJob, question: str) -> ResearchJob:
    """The job as if it had asked `question`."""
    return replace(job, request=replace(job.request, query=question, thread=""), intent=parse_intent(question))


def _repeated(earlier: JobResult, plan: ResearchPlan, work: Work) -> JobResult:
    """An earlier answer, at the price of the call that confirmed it."""
    if earlier.answer is None:
        return earlier
    model = earlier.answer.metadata.model
    metadata = replace(usage_metadata(work.deps, plan.usage, seconds=0.0), model=model)
    return replace(earlier, answer=replace(earlier.answer, metadata=metadata))


async def _plan(work: Work, head: HeadStart) -> ResearchPlan:
    with work.deps.stage("plan"):
        turns = await turns_behind(work.job, work.deps)
        if _is_retry(work.job) and not turns and await earlier_sources(work.job, work.deps):
            return plan_by_rules(work.job, work.deps)
        earlier = await find_earlier(work.job, work.deps)
        by_rules = plan_by_rules(work.job, work.deps)
        if not (turns or earlier) and _may_begin(work):
            head.begin(by_rules.search)
        async with shown_meanwhile(earlier, work.deps, work.progress) as showing:
            left_s = work.deadline.remaining()
            plan = await plan_research(
                work.job, work.gathering, work.deps, timeout_s=left_s, turns=turns, earlier=earlier
            )
            showing.confirmed = "" if plan.question else plan.same_as
        if is_otherwise(plan, by_rules):
            plan = replace(plan, usage=(*plan.usage, *await head.discard()))
        return plan


def _may_begin(work: Work) -> bool:
    """Whether the answer may be begun from what the question itself finds: nothing else belongs into it."""
    request = work.job.request
    brings = request.attachments or request.basis or request.feedback or addresses_in(request.query)
    return work.deps.writes_in_parallel and not brings


def _is_retry(job: ResearchJob) -> bool:
    """The same question once more, with nothing to be better: what was found then will do."""
    return bool(job.request.basis) and not job.request.feedback


async def _search(work: Work, plan: ResearchPlan, asked: ResearchJob, head: HeadStart) -> SearchOutcome:
    within_s = work.deadline.remaining(reserve_s=_WRITE_RESERVE_S * work.deps.settings.patience)
    given = await read_given(asked, work.gathering, work.deps, within_s=within_s)
    if _is_retry(asked) and given.earlier:
        return await _take_over(work, given)
    queries = [query.text for query in plan.search.queries]
    told: dict[str, Json] = {"queries": [*queries], "providers": [*plan.search.providers]}
    if plan.question:
        told["understood"] = plan.question
    await work.progress.status(JobStatus.SEARCHING, data=told)
    for source in given.sources:
        await work.progress.source(source)

    async def on_fetching(results: int) -> None:
        await work.progress.status(JobStatus.FETCHING, data={"results": results})

    if work.job.attempt > 1 and _may_begin(work) and not plan.question:
        head.begin(plan_by_rules(asked, work.deps).search, may_choose=False)
    with work.deps.stage("search"):
        found = await collect_sources(
            work.gathering,
            plan.search,
            within_s=work.deadline.remaining(reserve_s=_WRITE_RESERVE_S * work.deps.settings.patience),
            on_fetching=on_fetching,
            on_source=work.progress.source,
            given=given.sources,
            earlier=given.earlier,
            notes=given.notes,
            begun=head.sources,
        )
        await work.deps.sources.put(work.job, found.sources)
    return SearchOutcome(found.search_metadata, found.considered, len(await head.sources()))


async def _take_over(work: Work, given: Given) -> SearchOutcome:
    """The sources that a failed attempt at this question had found, instead of a search (D14)."""
    await work.progress.status(JobStatus.SEARCHING)
    brought = {source.url for source in given.sources}
    sources = renumbered([*given.sources, *(source for source in given.earlier if source.url not in brought)])
    for source in sources:
        await work.progress.source(source)
    await work.deps.sources.put(work.job, sources)
    providers = tuple(dict.fromkeys(source.metadata.provider for source in sources))
    metadata = SearchMetadata((work.job.query,), providers, total_results=len(sources), notes=given.notes)
    return SearchOutcome(metadata, len(sources))


async def _answer(
    work: Work, plan: ResearchPlan, found: SourceCollection, head: HeadStart, early: Sequence[Source]
) -> ResearchAnswer:
    await work.progress.status(JobStatus.SYNTHESIZING, data={"sources": len(found.sources)})
    with work.deps.stage("synthesize"):
        return await answer_question(
            work.job,
            found,
            work.deps,
            work.progress,
            usage=plan.usage,
            within_s=work.deadline.remaining(reserve_s=_END_RESERVE_S),
            begun=await head.resumed(early),
        )


MODE = Mode(
    name="quick",
    title=later("Quick answer"),
    description=later("One search, one cited answer, usually in seconds"),
    deadline_s=60.0,
    run=run,
    options=(DEPTH,),
)
