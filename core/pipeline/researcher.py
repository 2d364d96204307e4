"""The only door inward: submit a question, follow it, read what became of it, ask again, forget it.

Whatever names an earlier job also names the scope of whoever asks: a job of another scope is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import Literal

from core.library.paper import LibraryStore
from core.model.answer import MAX_REASON_CHARS, JobResult, Rating
from core.model.delivery import Address, Delivery
from core.model.errors import GorkdError, InvalidQuery, JobNotFound, QueueFull, SetupError, StaleAttempt, StoreError
from core.model.job import (
    MAX_ATTACHMENTS,
    MAX_STEERING_CHARS,
    MAX_STEERINGS,
    TERMINAL_STATUSES,
    Attachment,
    Event,
    JobError,
    JobStatus,
    ResearchJob,
    ResearchRequest,
    Scope,
    Steering,
)
from core.model.ports import JobQueue, Measurement
from core.model.source import Source
from core.modes import MODES, can_be_steered, check_modes
from core.modes.mode import Mode
from core.pipeline.conversation import conversation_of, first_of, read_reply
from core.pipeline.deps import Deps
from core.pipeline.tool_traces import ToolTrace, trace_id_of
from core.pipeline.work import SILENCE_S, Progress
from core.presentation.render import job_json, one_line
from core.presentation.wording import CHECK_QUESTION, IMPROVE_IT, NO_LIST, NOT_ANSWERED_YET, WAS_ANSWERED
from core.section.sections import read_section_request
from core.stages.cache import cached_result
from core.stages.deliver import deliver_failure, deliver_result
from core.stages.intake import parse_intent, read_query, read_quoted
from core.tenancy.forgetting import Forgotten, Whose
from core.text.saying import say
from core.watch.comparison import AnswerChanges, compare_answers
from core.watch.desk import WatchDesk

MAX_FEEDBACK_CHARS = 1000  # of what is to be better
MAX_LATELY = 50  # of a scope's newest jobs, looked through for one that still runs, or renews an answer

Renewal = Literal["retry", "refresh", "improve"]
RENEWALS: tuple[Renewal, ...] = ("retry", "refresh", "improve")

Admit = Callable[[ResearchRequest], Awaitable[ResearchRequest]]

log = logging.getLogger(__name__)


class Researcher:
    """What every interface talks to. It knows nothing of how jobs are run: that is the queue's business."""

    def __init__(
        self,
        deps: Deps,
        queue: JobQueue,
        *,
        admit: Admit | None = None,
        erase: Callable[[Whose], Awaitable[Forgotten]] | None = None,
        watching: WatchDesk | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`admit` gives a request its tenant's policy, or raises a `GorkdError` where it may not be researched now.

        `erase` lets go of everything that is somebody's (core/tenancy/forgetting.py); None where nothing is kept.
        """
        self._deps = deps
        self._queue = queue
        self._admit = admit
        self._telling: set[asyncio.Task[None]] = set()
        self._elsewhere: dict[str, asyncio.Task[None]] = {}  # by job that runs elsewhere
        self._erase = erase
        self._sleep = sleep
        self.watching = watching or WatchDesk(deps)

    def can_research(self, mode: Mode) -> bool:
        """Whether what the mode cannot do without is configured."""
        return not mode.needs_model or self._deps.models.get(mode.name, self._deps.model) is not None

    async def submit(
        self,
        request: ResearchRequest,
        *,
        dedupe_key: str = "",
        attachments: Sequence[Attachment] = (),
        address: Address | None = None,
    ) -> ResearchJob:
        """Store a job for the question with its attachments, then enqueue it, or answer it from the cache at once.

        `address` is the message that waits for its answer, stored before any work can start. The same `dedupe_key`
        in one scope gives the same job, which counts once against quotas. Raises `InvalidQuery`, `QueueFull`,
        `StoreError`, and what refuses admission.
        """
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
            await self._deps.messages.expect(stored, address)
        await self._begin(stored, attachments, is_new=is_new)
        return stored

    async def conversation(self, job: ResearchJob) -> list[ResearchJob]:
        """The questions that a job follows or that followed it, with itself, oldest first; [] where it stands alone."""
        return await conversation_of(job, self._deps.jobs, now=self._deps.clock())

    async def submit_run(self, request: ResearchRequest, dedupe_key: str, origin: str) -> ResearchJob:
        """A run of a watch: as `submit`, which the same key makes once, with the files of the job `origin`."""
        kept = await self._deps.jobs.attached(origin) if origin else []
        return await self.submit(request, dedupe_key=dedupe_key, attachments=kept)

    async def retry(
        self, job_id: str, asker: str, *, scope: Scope, dedupe_key: str = "", address: Address | None = None
    ) -> ResearchJob:
        """Ask the question of a failed job again, beginning with the sources it had found (D14).

        By default two presses of one button are one job. A job that still runs is given back as it is.
        """
        old = await self._visible(job_id, scope)
        if old.status not in TERMINAL_STATUSES:
            return old
        basis = old.id if await self.sources(old.id) else old.request.basis
        request = replace(old.request, basis=basis, asker=asker)
        return await self._again(old, request, dedupe_key or retry_key(old.id), address)

    async def ask_again(
        self, job_id: str, asker: str, *, scope: Scope, dedupe_key: str = "", address: Address | None = None
    ) -> ResearchJob:
        """Ask the same question anew: nothing of the earlier answer is used."""
        old = await self._visible(job_id, scope)
        asked = await self._asked(old)
        return await self._again(old, replace(asked, basis="", feedback="", asker=asker), dedupe_key, address)

    async def refresh(
        self, job_id: str, asker: str, *, scope: Scope, dedupe_key: str = "", address: Address | None = None
    ) -> ResearchJob:
        """Renew an answer that was given before: nothing of it is used, and `changes` then says what is different.

        By default an answer is renewed once a day, however many press. A job that still runs is given back as it is.
        """
        old = await self._visible(job_id, scope)
        if old.status not in TERMINAL_STATUSES:
            return old
        request = replace(await self._asked(old), basis="", feedback="", refreshes=old.id, asker=asker)
        return await self._again(old, request, dedupe_key or f"refresh:{old.id}:{self._deps.clock():%F}", address)

    async def changes(self, job_id: str, *, scope: Scope) -> AnswerChanges | None:
        """What a refreshed answer says otherwise than the one it renews (D12); of either of the two jobs.

        None where none of the two was lately asked to renew the other, or an answer is still missing or forgotten.
        """
        job = await self._visible(job_id, scope)
        if not job.request.refreshes:
            lately = await self.recent(scope, limit=MAX_LATELY)
            job = next((one for one in lately if one.request.refreshes == job.id), job)
        before, now = await self.result(job.request.refreshes), await self.result(job.id)
        if not (before and now and before.answer and now.answer):
            return None
        return await asyncio.to_thread(compare_answers, before.answer, now.answer)

    async def is_first_answer(self, job: ResearchJob) -> bool:
        """Whether who asked has had no answer before: what its marks mean is explained then, and not again."""
        if not job.request.asker or job.status is not JobStatus.COMPLETED:
            return False
        asked = await self.history(job.request.asker, tenant=job.scope.tenant, limit=MAX_LATELY)
        return not any(one.status is JobStatus.COMPLETED and one.created_at < job.created_at for one in asked)

    async def first_asker(self, job_id: str, *, scope: Scope) -> str:
        """Who first got the answer that this job repeats, by platform id; "" where that may not be told.

        It is told only in the place where that was, and not where it was asked in private, was forgotten, or is one's
        own question.
        """
        job = await self._visible(job_id, scope)
        result = await self.result(job.id)
        try:
            first = await self._visible(result.cached_job if result else "", scope)
        except JobNotFound:
            return ""
        is_told = not first.request.is_private and first.request.asker != job.request.asker
        return first.request.asker if is_told else ""

    async def improve(
        self,
        job_id: str,
        feedback: str,
        asker: str,
        *,
        scope: Scope,
        is_deeper: bool = False,
        dedupe_key: str = "",
        digest: str = "",
        address: Address | None = None,
    ) -> ResearchJob:
        """A new job for the same question that minds `feedback` and starts from the earlier sources.

        `is_deeper` asks for depth instead of, or besides, feedback.
        """
        old = await self._visible(job_id, scope)
        wish = feedback.strip()[:MAX_FEEDBACK_CHARS] or IMPROVE_IT
        request = replace(await self._asked(old), basis=old.id, feedback=wish, asker=asker, digest=digest)
        if is_deeper:
            request = replace(request, depth="deep", modes=("deep",) if "deep" in MODES else request.modes)
        return await self._again(old, request, dedupe_key, address)

    async def renewed(
        self, how: Renewal, job_id: str, *, tenant: str, feedback: str = "", dedupe_key: str = "", digest: str = ""
    ) -> ResearchJob:
        """Retry, refresh or improve an earlier job where nobody has a name: on pages, at terminals and for programs.

        Raises `JobNotFound` for a job of another tenant, such as a chat's, and `InvalidQuery` for a retry of what was
        answered and an improvement of what is not answered yet. `dedupe_key` and `digest` are for improvements.
        """
        old = await self.job(job_id)
        if old.scope.tenant != tenant:
            raise JobNotFound(job_id)
        asker, scope = old.request.asker, old.scope
        if how == "refresh":
            return await self.refresh(old.id, asker, scope=scope)
        if how == "retry":
            if old.status is JobStatus.COMPLETED:
                raise InvalidQuery(say(WAS_ANSWERED), rule="answered")
            return await self.retry(old.id, asker, scope=scope)
        if old.status not in TERMINAL_STATUSES:
            raise InvalidQuery(say(NOT_ANSWERED_YET), rule="running")
        return await self.improve(old.id, feedback, asker, scope=scope, dedupe_key=dedupe_key, digest=digest)

    async def ask_changed(
        self, job_id: str, question: str, asker: str, *, scope: Scope, dedupe_key: str, address: Address | None = None
    ) -> ResearchJob:
        """Research an earlier job's question as its asker has changed it since; the earlier one ends where it runs."""
        old = await self._visible(job_id, scope)
        if not asker or old.request.asker != asker:
            raise JobNotFound(job_id)
        await self.cancel(old.id)
        request = replace(old.request, query=question, basis="", feedback="", refreshes="", corrects=old.id)
        return await self._again(old, request, dedupe_key, address)

    async def read_attachment(self, name: str, media_type: str, content: bytes) -> Attachment:
        """Raises `AttachmentUnreadable`, whose `user_message` names the file and says why."""
        return await self._deps.read_attachment(name, media_type, content)

    @property
    def library(self) -> LibraryStore:
        """The papers of all shelves; whoever asks names theirs."""
        return self._deps.library

    async def attach(self, job_id: str, address: Address) -> None:
        """Remember which message waits for the job's answer; a later address replaces an earlier one."""
        await self._deps.messages.expect(await self._deps.jobs.get(job_id), address)

    async def undelivered(self, platform: str) -> list[Delivery]:
        """Messages of a platform that still wait, with their jobs, oldest first: what a restarted bot follows again."""
        found: list[Delivery] = []
        for job_id, address in await self._deps.messages.waiting(platform):
            try:
                found.append(Delivery(await self._deps.jobs.get(job_id), address))
            except JobNotFound:
                log.info("the job of a waiting message is gone", extra={"job": job_id})
        return found

    async def delivered(self, job_id: str, shown: Sequence[Address] = ()) -> None:
        """The answer has arrived and stands at `shown`; the address that waited for it is erased."""
        await self.note_shown(job_id, shown)
        await self._deps.messages.delivered(job_id)

    async def take_correction(self, job_id: str) -> str:
        """What is to be said, once, below an answer that was corrected since; "" for nothing."""
        return await self._deps.standing.take_correction(job_id) if self._deps.standing else ""

    async def note_shown(self, job_id: str, shown: Sequence[Address]) -> None:
        """Messages that show something of the job go with it when it is forgotten. Raises `StoreError`."""
        if shown:
            await self._deps.messages.show(job_id, shown)

    async def job_shown(self, address: Address) -> ResearchJob | None:
        """The job that a message shows, by the address it was noted with. Raises `StoreError`."""
        job_id = await self._deps.messages.job_at(address)
        try:
            return await self._deps.jobs.get(job_id) if job_id else None
        except JobNotFound:  # forgotten just now
            return None

    async def condemned(self, platform: str) -> list[tuple[str, Address]]:
        """Messages of a platform that show what has been forgotten, with their keys. Raises `StoreError`."""
        return await self._deps.messages.condemned(platform)

    async def taken_away(self, key: str) -> None:
        """One of them is gone. Raises `StoreError`."""
        await self._deps.messages.taken_away(key)

    async def rate(self, job_id: str, asker: str, *, good: bool, reason: str = "", scope: Scope) -> None:
        """One vote each; a later one replaces the earlier. Raises `JobNotFound`, `StoreError`."""
        job = await self._visible(job_id, scope)
        rating = Rating(asker, good, reason.strip()[:MAX_REASON_CHARS], self._deps.clock())
        if await self._deps.evaluations.rate(job, rating):
            self._deps.record(Measurement("ratings", 1, "good" if good else "bad"))

    async def asked(self, dedupe_key: str, *, scope: Scope) -> ResearchJob | None:
        """The job that was submitted with this key, None when there is none."""
        return await self._deps.jobs.asked(scope, dedupe_key)

    async def asked_last(self, dedupe_key: str, *, scope: Scope) -> ResearchJob | None:
        """The same as its asker has changed it since."""
        job = await self.asked(dedupe_key, scope=scope)
        while job is not None and (changed := await self._changed(job)):
            job = changed[0]
        return job

    async def latest(self, thread: str, *, scope: Scope) -> ResearchJob | None:
        """The last job of a conversation, whatever became of it: what `retry`, `improve` and `forget` are about. What a
        watch has researched is none before it is told.
        """
        for job in await self._deps.jobs.in_thread(scope, thread, before=self._deps.clock(), limit=MAX_LATELY):
            if not job.request.watch or await self._deps.messages.shown(job.id):
                return job
        return next(iter(await first_of(thread, scope, self._deps.jobs)), None)

    async def history(self, asker: str, *, tenant: str, limit: int) -> list[ResearchJob]:
        """One's own jobs, newest first, of every visibility: to be shown to `asker` alone."""
        return await self._deps.jobs.asked_by(tenant, asker, limit=limit)

    async def forget(self, job_id: str, asker: str, *, scope: Scope) -> None:
        """Cancel and erase one's own job for good. Raises `JobNotFound` when it is somebody else's, `GorkdError`."""
        job = await self._visible(job_id, scope)
        if not asker or job.request.asker != asker:
            raise JobNotFound(job_id)
        await self._forget(job.id)

    async def forget_asked(self, dedupe_key: str, *, scope: Scope) -> bool:
        """Erase the job of a question that was taken back (its message was deleted), its retries, and what it became.

        Whether there was one.
        """
        first = await self._deps.jobs.asked(scope, dedupe_key)
        waiting = [first] if first else []
        while waiting:
            job = waiting.pop()
            retry = await self._deps.jobs.asked(scope, retry_key(job.id))
            waiting += [*await self._changed(job), *([retry] if retry else [])]
            await self._forget(job.id)
        return first is not None

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncGenerator[Event, None]:
        """The job's events after `after`, past and coming; ends with `complete`.

        Of a job that has ended and whose events are no longer kept, or cannot be read now, `complete` alone. Raises
        `JobNotFound` and `StoreError`.
        """
        job = await self._deps.jobs.get(job_id)
        if job.status in TERMINAL_STATUSES and not await self._kept_events(job_id):
            result, sources = await self.result(job_id), await self.sources(job_id)
            at = job.completed_at or job.created_at
            yield Event(after + 1, "complete", job.attempt, at, job_json(job, result, sources))
            return
        async for event in self._deps.events.follow(job_id, after=after):
            yield event

    async def _kept_events(self, job_id: str) -> list[Event]:
        try:
            return await self._deps.events.read(job_id)
        except StoreError:
            return []

    async def told(self, job_id: str) -> list[Event]:
        """The job's events so far; empty when they are no longer kept."""
        return await self._deps.events.read(job_id)

    async def job(self, job_id: str) -> ResearchJob:
        """Raises `JobNotFound`."""
        return await self._deps.jobs.get(job_id)

    async def settle(self) -> None:
        """Wait until everybody who must wait has been told; what runs elsewhere is watched no more."""
        for task in (watched := [*self._elsewhere.values()]):
            task.cancel()
        await asyncio.gather(*self._telling, *watched, return_exceptions=True)

    async def read_first(self, request: ResearchRequest, within_s: float, tell: Callable[[str], None]) -> None:
        """Before a question in a process that ends with it. Raises `InvalidQuery` for one that need not wait."""
        _read_request(request, ())
        reading = (getattr(one, "read_first", None) for one in self._deps.providers.values())
        await asyncio.gather(*(read(within_s, tell) for read in reading if read))

    async def position(self, job_id: str) -> int | None:
        """How many jobs must begin before this one does; None for one that runs, has ended or is not known."""
        try:
            return await self._queue.position(job_id)
        except StoreError as exc:
            self._deps.count_error("intake", exc)
            return None

    async def tool_trace(self, job_id: str) -> ToolTrace | None:
        """What a job that researches in rounds has written of its plan and its rounds."""
        return await self._deps.traces.get(trace_id_of(job_id))

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

    async def steer(self, job_id: str, steering: Steering, *, scope: Scope) -> None:
        """Say something to a running job; it hears it before its next round, also after a crash.

        Raises `JobNotFound`, `StoreError`, and `InvalidQuery` for a job that has ended or cannot be steered.
        """
        job = await self._visible(job_id, scope)
        is_written = job.status is JobStatus.SYNTHESIZING and len(job.request.modes) == 1  # no other round is made
        if job.status in TERMINAL_STATUSES or (is_written and steering.kind != "cancel"):
            raise InvalidQuery(say("That research has ended; ask a follow-up instead."), rule="ended")
        if steering.kind == "cancel":
            await self.cancel(job.id)
            return
        if not can_be_steered(job.request.modes):
            raise InvalidQuery(say("Only deep research can be steered while it runs."), rule="not-steerable")
        if len(await self._deps.jobs.steered(job.id)) >= MAX_STEERINGS:
            raise InvalidQuery(say("That is more than one job can mind; please wait for its answer."), rule="too-much")
        text = one_line(steering.text)[:MAX_STEERING_CHARS]
        await self._deps.jobs.steer(job.id, replace(steering, text=text))

    async def under_way(self, thread: str, *, scope: Scope) -> ResearchJob | None:
        """The newest job of a conversation that can be steered and has not ended: who a reply there speaks to."""
        for job in await self._deps.jobs.recent(scope, limit=MAX_LATELY):
            is_steerable = can_be_steered(job.request.modes) and job.status not in TERMINAL_STATUSES
            if job.request.thread == thread and is_steerable:
                return job
        return None

    async def unended(self, asker: str, *, scope: Scope) -> list[ResearchJob]:
        """What of somebody's waits or runs in the scope, newest first."""
        lately = await self._deps.jobs.recent(scope, limit=MAX_LATELY)
        return [job for job in lately if job.request.asker == asker and job.status not in TERMINAL_STATUSES]

    async def _begin(self, job: ResearchJob, attachments: Sequence[Attachment], *, is_new: bool) -> None:
        """Attachments are kept before any worker can begin; a re-sent event may have to do it for a crashed one."""
        if attachments and (is_new or not await self._deps.jobs.attached(job.id)):
            await self._deps.jobs.attach(job, attachments)
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
        if not is_new and await self._heard_for_s(job) > 0:
            if job.id not in self._elsewhere:
                task = self._elsewhere[job.id] = asyncio.create_task(self._take_when_silent(job))
                task.add_done_callback(lambda _: self._elsewhere.pop(job.id))
            return
        try:
            await self._queue.enqueue(job)
        except QueueFull as exc:
            if not is_new:
                return  # it was accepted when it was first sent
            error = JobError(exc.code, exc.user_message, exc.retryable, exc.operator_message)
            await deliver_failure(job, self._deps, JobStatus.FAILED, error=error)
            await self._deps.messages.delivered(job.id)  # whoever asked is told by the error
            raise
        except StoreError as exc:
            self._deps.count_error("intake", exc)

    async def _heard_for_s(self, job: ResearchJob) -> float:
        """How long it still counts as under way, in whichever process: whoever began it, too, would take it from there.

        Who is silent for long has lost it.
        """
        told = [] if job.status is JobStatus.PENDING else await self._deps.events.read(job.id)
        silence = timedelta(seconds=SILENCE_S * self._deps.settings.patience)
        return (told[-1].at + silence - self._deps.clock()).total_seconds() if told else 0.0

    async def _take_when_silent(self, job: ResearchJob) -> None:
        """Begin it here once its process has lost it: who is killed tells nobody, and who watches would wait on."""
        try:
            while (left_s := await self._heard_for_s(job)) > 0:
                await self._sleep(left_s)
                job = await self._deps.jobs.get(job.id)
            if job.status not in TERMINAL_STATUSES:
                await self._queue.enqueue(job)
        except GorkdError as exc:  # forgotten meanwhile, or for a worker to find
            self._deps.count_error("intake", exc)

    async def _tell_wait(self, job: ResearchJob) -> None:
        if ahead := await self.position(job.id):
            try:
                await Progress(job, self._deps).waiting(ahead)
            except StaleAttempt:
                log.info("it did not wait", extra={"job": job.id})

    async def _visible(self, job_id: str, scope: Scope) -> ResearchJob:
        job = await self._deps.jobs.get(job_id)
        if job.scope != scope:
            raise JobNotFound(job_id)
        return job

    async def _changed(self, job: ResearchJob) -> list[ResearchJob]:
        """What its asker has changed its question to, newest first."""
        asker = job.request.asker
        lately = await self.history(asker, tenant=job.scope.tenant, limit=MAX_LATELY) if asker else []
        return [one for one in lately if one.request.corrects == job.id]

    async def _asked(self, job: ResearchJob) -> ResearchRequest:
        """What was asked, as it was understood then: what was said since must not change it."""
        result = await self.result(job.id)
        query = (result.understood if result else "") or job.query
        return replace(job.request, query=query, is_fresh=True, corrects="")

    async def _again(
        self, old: ResearchJob, request: ResearchRequest, dedupe_key: str, address: Address | None = None
    ) -> ResearchJob:
        kept = await self._deps.jobs.attached(old.id) if old.request.attachments else []
        request = replace(request, heard_before=old.request.heard_before or old.created_at)
        return await self.submit(request, dedupe_key=dedupe_key, attachments=kept, address=address)

    async def _forget(self, job_id: str) -> None:
        if self._erase is None:
            raise SetupError("nothing can be forgotten here: no archive is open")
        forgotten = await self._erase(Whose(job_id=job_id))
        for sentence in forgotten.failures.values():
            raise StoreError(f"{job_id} is not wholly forgotten", user_message=sentence)


_TOO_MANY_FILES = "Please attach at most {most} files to one question."


def retry_key(job_id: str) -> str:
    """Under which the retry of a job is submitted: however often it is asked for, it is one."""
    return f"retry:{job_id}"


def _read_request(request: ResearchRequest, attachments: Sequence[Attachment]) -> ResearchRequest:
    """The request with its texts as they are researched. Raises `InvalidQuery`."""
    if len(attachments) > MAX_ATTACHMENTS:
        raise InvalidQuery(say(_TOO_MANY_FILES, most=MAX_ATTACHMENTS), rule="attachments")
    check_modes(request.modes)
    names = tuple(attachment.name for attachment in attachments)
    if attachments and request.modes == ResearchRequest.modes and read_reply(request.query).kind == "references":
        request = replace(request, modes=("references",))
    if "references" in request.modes and not attachments:
        raise InvalidQuery(say(NO_LIST), rule="references")
    request = read_section_request(request, attachments)
    if "check" in request.modes or request.quoted:
        return replace(
            request,
            query=read_query(request.query or CHECK_QUESTION),
            quoted=read_quoted(request.quoted),
            attachments=names,
        )
    return replace(request, query=read_query(request.query), attachments=names)
