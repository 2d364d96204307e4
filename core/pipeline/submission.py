"""The way of a question into the queue: checked, admitted, stored with what belongs to it, then enqueued once.

Nothing is lost between two of these steps: whatever is sent again goes on where the first try ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from time import perf_counter

from core.model.attachments import MAX_ATTACHMENTS, Attachment
from core.model.delivery import Address
from core.model.errors import InvalidQuery, QueueFull, StaleAttempt, StoreError
from core.model.job import TERMINAL_STATUSES, JobError, JobStatus, ResearchJob, ResearchRequest
from core.model.ports import JobQueue
from core.modes import check_modes
from core.pipeline.conversation import read_reply
from core.pipeline.deps import Deps
from core.presentation.progress import Progress
from core.presentation.wording import CHECK_QUESTION, NO_LIST
from core.section.sections import read_section_request
from core.stages.cache import cached_result
from core.stages.deliver import deliver_failure, deliver_result
from core.stages.intake import parse_intent, read_query, read_quoted

log = logging.getLogger(__name__)

Admit = Callable[[ResearchRequest], Awaitable[ResearchRequest]]


class Submission:
    """`Researcher.submit`, step by step."""

    def __init__(self, deps: Deps, queue: JobQueue, admit: Admit | None) -> None:
        self._deps = deps
        self._queue = queue
        self._admit = admit
        self._telling: set[asyncio.Task[None]] = set()

    async def submit(
        self, request: ResearchRequest, *, dedupe_key: str, attachments: Sequence[Attachment], address: Address | None
    ) -> ResearchJob:
        with self._deps.stage("intake"):
            request = _read_request(request, attachments)
        twin = await self._deps.jobs.asked(request.scope, dedupe_key) if dedupe_key else None
        if twin is not None:
            await self._begin(twin, attachments, is_new=False)
            return twin
        if self._admit is not None:
            request = await self._admit(request)
        job = ResearchJob(
            id=self._deps.new_id(),
            request=request,
            intent=parse_intent(request.query),
            status=JobStatus.PENDING,
            created_at=self._deps.clock(),
        )
        stored = await self._deps.jobs.save(job, dedupe_key=dedupe_key)
        is_new = stored.id == job.id
        if is_new:
            log.info("submitted", extra={"job": job.id, "mode": ",".join(request.modes), "tenant": job.scope.tenant})
        if address is not None and is_new:
            await self._deps.deliveries.put(stored, address)
        await self._begin(stored, attachments, is_new=is_new)
        return stored

    async def position(self, job_id: str) -> int | None:
        """How many jobs must begin before this one does; None for one that runs, has ended or is not known."""
        try:
            return await self._queue.position(job_id)
        except StoreError as exc:
            self._deps.count_error("intake", exc)
            return None

    async def settle(self) -> None:
        """Wait until everybody who must wait has been told."""
        await asyncio.gather(*self._telling, return_exceptions=True)

    async def _begin(self, job: ResearchJob, attachments: Sequence[Attachment], *, is_new: bool) -> None:
        """Attachments are kept before any worker can begin; a re-sent event may have to do it for a crashed one."""
        if attachments and (is_new or not await self._deps.attachments.of(job.id)):
            await self._deps.attachments.put(job, attachments)
        if is_new and (earlier := await cached_result(job, self._deps)):
            await deliver_result(job, self._deps, earlier, started=perf_counter())
            return
        await self._enqueue(job, is_new=is_new)
        if is_new:  # behind the acknowledgement: in a rush, finding its place takes longer than storing it
            telling = asyncio.create_task(self._tell_wait(job))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def _enqueue(self, job: ResearchJob, *, is_new: bool) -> None:
        """What the queue cannot take now is found by a worker later; a new job that it refuses has failed."""
        if job.status in TERMINAL_STATUSES:
            return
        try:
            await self._queue.enqueue(job)
        except QueueFull as exc:
            if not is_new:
                return  # it was accepted when it was first sent
            error = JobError(exc.code, exc.user_message, exc.retryable, exc.operator_message)
            await deliver_failure(job, self._deps, JobStatus.FAILED, error=error)
            await self._deps.deliveries.erase(job.id)  # whoever asked is told by the error
            raise
        except StoreError as exc:
            self._deps.count_error("intake", exc)

    async def _tell_wait(self, job: ResearchJob) -> None:
        if ahead := await self.position(job.id):
            try:
                await Progress(job, self._deps).waiting(ahead)
            except StaleAttempt:
                log.info("it did not wait", extra={"job": job.id})


def _read_request(request: ResearchRequest, attachments: Sequence[Attachment]) -> ResearchRequest:
    """The request with its texts as they are researched. Raises `InvalidQuery`."""
    if len(attachments) > MAX_ATTACHMENTS:
        raise InvalidQuery(f"Please attach at most {MAX_ATTACHMENTS} files to one question.", rule="attachments")
    check_modes(request.modes)
    names = tuple(attachment.name for attachment in attachments)
    if attachments and request.modes == ResearchRequest.modes and read_reply(request.query).kind == "references":
        request = replace(request, modes=("references",))
    if "references" in request.modes and not attachments:
        raise InvalidQuery(NO_LIST, rule="references")
    request = read_section_request(request, attachments)
    if "check" in request.modes or request.quoted:
        return replace(
            request,
            query=read_query(request.query or CHECK_QUESTION),
            quoted=read_quoted(request.quoted),
            attachments=names,
        )
    return replace(request, query=read_query(request.query), attachments=names)
