"""Asked at once? Of identical questions in one scope one is researched; the others follow it and share its answer.

A leader that fails, is cancelled or falls silent costs who follows it time, never the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

from core.model.answer import JobResult
from core.model.errors import GorkdError, StaleAttempt
from core.model.events import Event
from core.model.job import TERMINAL_STATUSES, JobStatus, ResearchJob
from core.pipeline.deps import Deps
from core.presentation.progress import Progress
from core.stages.cache import answer_key, is_hidden, may_repeat, repeat_result

log = logging.getLogger(__name__)

CLAIM_TTL = timedelta(hours=1)  # longer than any job; what is left of an older one is nobody's
SILENCE_S = 75.0  # a call may take 60 s (core/model/config.py); a job whose worker is lost goes on elsewhere after 20 s
MAX_LEADERS = 3  # who was let down as often looks for itself


async def shared_result(job: ResearchJob, deps: Deps, progress: Progress) -> JobResult | None:
    """The answer to the same question that is being researched as another job, once it is there.

    None when this job is to research it. Until the answer comes, the other job's progress is told as this one's.
    """
    if is_hidden(job) or not await may_repeat(job, deps):
        return None
    key = answer_key(job.request, job.intent, now=deps.clock())
    for _ in range(MAX_LEADERS):
        leader_id = await deps.flights.claim(job.scope, key, job.id, ttl=CLAIM_TTL)
        if leader_id == job.id:
            return None
        with deps.stage("join"):
            result = await _share(leader_id, job, deps, progress)
        if result is not None:
            log.info("shared an answer", extra={"leader": leader_id})
            return result
        await progress.take_back()
        if await deps.steering.read(job.id):
            return None
        await deps.flights.release(job.scope, key, leader_id)
    return None


async def _share(leader_id: str, job: ResearchJob, deps: Deps, progress: Progress) -> JobResult | None:
    try:
        leader = await deps.jobs.get(leader_id)
        if leader.status not in TERMINAL_STATUSES:
            await _retell(leader_id, deps, progress)
            leader = await deps.jobs.get(leader_id)
        answered_at = leader.completed_at
        if leader.status is not JobStatus.COMPLETED or answered_at is None or answered_at <= job.created_at:
            return None  # an answer from before this question was asked is the cache's business
        if await deps.steering.read(leader_id) or await deps.steering.read(job.id):
            return None  # what people said to either has made them different questions
        return await repeat_result(leader_id, job, deps, answered_at=answered_at)
    except StaleAttempt:
        raise
    except GorkdError as exc:
        deps.count_error("join", exc)
        return None


async def _retell(leader_id: str, deps: Deps, progress: Progress) -> None:
    """Tell the leader's events as this job's own until it ends, falls silent, or this job is told something else."""
    if progress.job.attempt > 1:
        await progress.take_back()
    events, silence_s = deps.events.follow(leader_id), SILENCE_S * deps.settings.patience
    while (event := await _next(events, silence_s)) is not None and event.type != "complete":
        if event.type != "status":
            await progress.emit(event.type, event.data)
        elif await deps.steering.read(progress.job.id):
            return
        else:
            await _retell_status(event, progress)


async def _next(events: AsyncIterator[Event], silence_s: float) -> Event | None:
    try:
        async with asyncio.timeout(silence_s):
            return await anext(events, None)
    except TimeoutError:
        return None


async def _retell_status(event: Event, progress: Progress) -> None:
    stage, details = event.data["stage"], event.data["data"]
    status = JobStatus(str(stage))
    if status is not JobStatus.PENDING:
        await progress.status(
            status,
            message=str(event.data["message"]),
            share=float(str(event.data["progress"])),
            data=details if isinstance(details, dict) else {},
        )
