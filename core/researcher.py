"""The only door inward: submit a question, follow it, read what became of it, cancel it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from core.answer import JobResult
from core.deps import Deps
from core.errors import QueueFull, StoreError
from core.events import Event
from core.job import TERMINAL_STATUSES, JobError, JobStatus, ResearchJob, ResearchRequest, Scope
from core.modes import find_mode
from core.ports import JobQueue
from core.render import job_json
from core.source import Source
from core.stages.deliver import deliver_failure
from core.stages.intake import parse_intent, read_query

log = logging.getLogger(__name__)


class Researcher:
    """What every interface talks to. It knows nothing of how jobs are run: that is the queue's business."""

    def __init__(
        self, deps: Deps, queue: JobQueue, *, admit: Callable[[ResearchRequest], Awaitable[None]] | None = None
    ) -> None:
        """`admit` raises a `GorkdError` for a request that may not be researched now (core/budget.py)."""
        self._deps = deps
        self._queue = queue
        self._admit = admit

    async def submit(self, request: ResearchRequest, *, dedupe_key: str = "") -> ResearchJob:
        """Store a job for the question, then enqueue it. The same `dedupe_key` in one scope gives the same job.

        Raises `InvalidQuery`, `QueueFull`, `StoreError`, and what refuses admission.
        """
        with self._deps.stage("intake"):
            query = read_query(request.query)
            for name in request.modes:
                find_mode(name)
        if self._admit is not None:
            await self._admit(request)
        job = ResearchJob(
            id=self._deps.new_id(),
            request=replace(request, query=query),
            intent=parse_intent(query),
            status=JobStatus.PENDING,
            created_at=self._deps.clock(),
        )
        stored = await self._deps.jobs.save(job, dedupe_key=dedupe_key)
        is_new = stored.id == job.id
        if is_new:
            log.info("submitted", extra={"job": job.id, "mode": ",".join(request.modes), "tenant": job.scope.tenant})
        await self._enqueue(stored, is_new=is_new)
        return stored

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """The job's events after `after`, past and coming; ends with `complete`.

        Of a job whose events are no longer kept, `complete` alone. Raises `JobNotFound`.
        """
        job = await self._deps.jobs.get(job_id)
        if job.status in TERMINAL_STATUSES and not await self._deps.events.read(job_id):
            result, sources = await self.result(job_id), await self.sources(job_id)
            at = job.completed_at or job.created_at
            yield Event(after + 1, "complete", job.attempt, at, job_json(job, result, sources))
            return
        async for event in self._deps.events.follow(job_id, after=after):
            yield event

    async def told(self, job_id: str) -> list[Event]:
        """The job's events so far; empty when they are no longer kept."""
        return await self._deps.events.read(job_id)

    async def job(self, job_id: str) -> ResearchJob:
        """Raises `JobNotFound`."""
        return await self._deps.jobs.get(job_id)

    async def result(self, job_id: str) -> JobResult | None:
        """None until the job has ended."""
        return await self._deps.jobs.result(job_id)

    async def sources(self, job_id: str) -> list[Source]:
        return await self._deps.sources.sources(job_id)

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        """The scope's jobs, newest first."""
        return await self._deps.jobs.recent(scope, limit=limit)

    async def cancel(self, job_id: str) -> None:
        """End a job that has not ended; one that has is left as it is."""
        await self._queue.cancel(job_id)

    async def _enqueue(self, job: ResearchJob, *, is_new: bool) -> None:
        """A stored job that the queue cannot take now is found by a worker later; one that is refused has failed."""
        try:
            await self._queue.enqueue(job)
        except QueueFull as exc:
            if is_new:
                error = JobError(exc.code, exc.user_message, exc.retryable)
                await deliver_failure(job, self._deps, JobStatus.FAILED, error=error)
            raise
        except StoreError as exc:
            self._deps.count_error("intake", exc)
