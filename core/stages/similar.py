"""Answered before in other words? Up to three near questions, past a guard, for the plan call to confirm (D12).

What the strict guard too lets pass is shown at once, under its own question and marked as unconfirmed. Without a
model nobody can confirm, so that alone is repeated, and only where the operator allows it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from core.evidence.same_question import strict_veto, veto
from core.model.answer import Claim, JobResult
from core.model.errors import GorkdError, JobNotFound
from core.model.events import Json
from core.model.job import JobStatus, ResearchJob
from core.model.ports import warm_up
from core.pipeline.deps import Deps
from core.presentation.progress import Progress
from core.presentation.render import cut, iso_utc, one_line
from core.presentation.wording import CHECKING_EARLIER, STATUS_MESSAGES
from core.stages.cache import comparable_group, embed_question, may_repeat, repeat_result

log = logging.getLogger(__name__)

SHOWN_CHARS = 120  # of the earlier question in a status line


@dataclass(frozen=True)
class EarlierAnswer:
    """An answer to a question that may be the same. `is_near` says that the strict guard sees no difference either."""

    job_id: str
    question: str
    answered_at: datetime
    is_near: bool
    result: JobResult = field(repr=False)


async def find_earlier(job: ResearchJob, deps: Deps) -> tuple[EarlierAnswer, ...]:
    """Fresh answers of the scope to near questions that no rule tells apart, nearest first. Never fails."""
    settings = deps.settings.cache
    if deps.embedder is None or not await may_repeat(job, deps):
        return ()
    try:
        await warm_up(deps.embedder)  # a process that has just started loads an SDK; that is no slow endpoint
        async with asyncio.timeout(settings.look_up_timeout_s):
            vector = await embed_question(job, deps, timeout_s=settings.look_up_timeout_s)
            if vector is None:
                return ()
            near = await deps.cache.similar(
                job.scope,
                comparable_group(job, deps),
                vector,
                limit=settings.candidates,
                at_least=settings.min_similarity,
            )
            found = [await _read(answer.job_id, answer.answered_at, answer.similarity, job, deps) for answer in near]
    except (GorkdError, TimeoutError) as exc:
        deps.count_error("cache", exc)
        return ()
    return tuple(earlier for earlier in found if earlier is not None)


def instant_answer(earlier: Sequence[EarlierAnswer], deps: Deps) -> EarlierAnswer | None:
    """What may be repeated although no model confirms it."""
    if deps.model is not None or not deps.settings.cache.is_instant:
        return None
    return next((answer for answer in earlier if answer.is_near), None)


async def repeat_confirmed(same_as: str, job: ResearchJob, deps: Deps) -> JobResult | None:
    """The answer of job `same_as` as this job's; None for "", and when it was forgotten meanwhile."""
    if not same_as:
        return None
    try:
        earlier = await deps.jobs.get(same_as)
        answered_at = earlier.completed_at or earlier.created_at
        return await repeat_result(same_as, job, deps, answered_at=answered_at)
    except JobNotFound:
        return None
    except GorkdError as exc:
        deps.count_error("cache", exc)
        return None


@dataclass
class Showing:
    """What is being shown; name its job in `confirmed` to let it stand when the block is left."""

    confirmed: str = ""


@asynccontextmanager
async def shown_meanwhile(earlier: Sequence[EarlierAnswer], deps: Deps, progress: Progress) -> AsyncIterator[Showing]:
    """Show the nearest answer, if one is near enough, while it is being confirmed; take it back unless it is."""
    near = next((answer for answer in earlier if answer.is_near), None) if deps.model is not None else None
    showing = Showing()
    if near is not None:
        await _show(near, progress)
    yield showing
    if near is not None and showing.confirmed != near.job_id:
        await _take_back(near, progress)


async def _show(earlier: EarlierAnswer, progress: Progress) -> None:
    """The mark comes first, and once more when all sentences are there: what is shown then is whole."""
    message = f"{CHECKING_EARLIER}: “{cut(one_line(earlier.question), SHOWN_CHARS)}”"
    asked: dict[str, Json] = {"question": one_line(earlier.question), "answered_at": iso_utc(earlier.answered_at)}
    await progress.status(JobStatus.PLANNING, message=message, data={"earlier": asked})
    for claim in _claims(earlier):
        numbers = ", ".join(str(int(one.source_id.removeprefix("src_"))) for one in claim.evidence)
        await progress.sentence(claim, f"{claim.text} [{numbers}]" if numbers else claim.text)
    await progress.status(JobStatus.PLANNING, message=message, data={"earlier": asked})


async def _take_back(earlier: EarlierAnswer, progress: Progress) -> None:
    for claim in _claims(earlier):
        await progress.retract(claim.id)
    await progress.status(JobStatus.PLANNING, message=STATUS_MESSAGES[JobStatus.PLANNING], data={"earlier": None})


def _claims(earlier: EarlierAnswer) -> list[Claim]:
    answer = earlier.result.answer
    return [claim for claim in answer.claims if claim.id.startswith("summary")] if answer else []


async def _read(
    earlier_id: str, answered_at: datetime, similarity: float, job: ResearchJob, deps: Deps
) -> EarlierAnswer | None:
    """None when a rule tells the questions apart, and for what is forgotten or of another scope."""
    try:
        earlier = await deps.jobs.get(earlier_id)
    except JobNotFound:
        return None
    result = await deps.jobs.result(earlier_id)
    if result is None or result.answer is None or earlier.scope != job.scope:
        return None
    question = result.understood or earlier.query
    reason = veto(job.query, question)
    if reason:
        log.info("near, but another question", extra={"rule": reason.split(" ", 1)[0], "similarity": similarity})
        return None
    is_near = similarity > deps.settings.cache.instant_similarity and not strict_veto(job.query, question)
    return EarlierAnswer(earlier_id, question, answered_at, is_near, result)
