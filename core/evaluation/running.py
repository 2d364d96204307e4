"""Running the questions of an evaluation: several at once, each with ports of its own, what is done told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from core.evaluation.cases import Answered, Case, Met, check_expectations
from core.evidence.judge import SupportJudge
from core.model.answer import Confidence, Verdict
from core.model.errors import GorkdError
from core.model.job import JobStatus, ResearchJob
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.wording import failure_sentence

Ask = Callable[[Case], Awaitable[Answered]]


@dataclass(frozen=True)
class SaidClaim:
    text: str
    verdict: Verdict


@dataclass(frozen=True)
class Outcome:
    """What became of one case in one configuration. `confidence` is "" and `error` a sentence where it failed.

    `cost_usd` is None where the model has no price; `cited` are the addresses that the answer cites.
    """

    case_id: str
    question: str
    job_id: str
    summary: str = ""
    detail: str = ""
    confidence: str = ""
    claims: tuple[SaidClaim, ...] = ()
    cited: tuple[str, ...] = ()
    cost_usd: float | None = 0.0
    tokens: int = 0
    seconds: float = 0.0
    met: tuple[Met, ...] = ()
    error: str = ""

    @property
    def has_failed(self) -> bool:
        """No answer, or one that lacks what was expected."""
        return bool(self.error) or any(one.is_met is False for one in self.met)

    @property
    def is_answered(self) -> bool:
        return not self.error and self.confidence != Confidence.INSUFFICIENT

    @property
    def ticked(self) -> int:
        """Claims with ✓."""
        return sum(claim.verdict in (Verdict.SUPPORTED, Verdict.MOVED) for claim in self.claims)


async def run_cases(
    cases: Sequence[Case],
    ask: Ask,
    *,
    judge: SupportJudge | None,
    at_once: int,
    done: Mapping[str, Outcome] | None = None,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """In the order of the cases. What is `done` is not asked again; `tell` hears of each other one when it ends."""
    gate, known = asyncio.Semaphore(at_once), done or {}

    async def run(case: Case) -> Outcome:
        if case.id in known:
            return known[case.id]
        async with gate:
            outcome = await _run(case, ask, judge)
        tell(outcome)
        return outcome

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(case), name=case.id) for case in cases]
    return [task.result() for task in tasks]


async def _run(case: Case, ask: Ask, judge: SupportJudge | None) -> Outcome:
    try:
        answered = await ask(case)
    except GorkdError as error:
        return Outcome(case.id, case.question, "", error=error.operator_message, cost_usd=None)
    met = await check_expectations(case, answered, judge)
    job, answer = answered.job, answered.answer
    if answer is None:
        return Outcome(
            case.id, case.question, job.id, seconds=answered.seconds, met=met, error=failure_sentence(job)
        )  # fmt: skip
    spent = answer.metadata
    cited = {citation.source_id for citation in answer.citations}
    return Outcome(
        case.id, case.question, job.id, answer.summary, answer.detail, answer.confidence.value,
        tuple(SaidClaim(claim.text, claim.verdict) for claim in answer.claims),
        tuple(source.url for source in answered.sources if source.id in cited),
        spent.cost_usd if spent.model_calls else 0.0, spent.tokens_used, answered.seconds, met,
    )  # fmt: skip


def asking(deps_of: Callable[[Case], Deps], *, is_replayed: bool = False) -> Ask:
    """Asks by the pipeline itself, with what `deps_of` gives for a case; nothing waits in a queue."""

    async def ask(case: Case) -> Answered:
        deps = deps_of(case)
        began = perf_counter()
        job = await Researcher(deps, _NoQueue()).submit(replace(case.request, is_fresh=True))
        await run_job(job.id, deps, DirectSteps())
        job = await deps.jobs.get(job.id)
        result = await deps.jobs.result(job.id) if job.status is JobStatus.COMPLETED else None
        sources = await deps.sources.sources(job.id)
        return Answered(job, result, sources, is_replayed, perf_counter() - began)

    return ask


class _NoQueue:
    """A `JobQueue` for who runs the job itself."""

    async def enqueue(self, job: ResearchJob) -> None: ...

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        return None
