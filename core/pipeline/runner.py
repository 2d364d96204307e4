"""The spine: one job from the queue to its last event. Read this first.

    plan → search → synthesize (by the job's mode) → deliver

Whatever happens, the log ends with `complete` and the job with a terminal status. A job that an
earlier attempt has begun goes on under the next attempt number, which fences the earlier one off.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import TypeVar

from core.evidence.answering import unanswered_by_rules
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.same_question import veto
from core.llm.ask_model import RememberingModel
from core.model.answer import JobResult
from core.model.errors import GorkdError, JobNotFound, StaleAttempt, StoreError, TookTooLong
from core.model.job import TERMINAL_STATUSES, Event, JobError, JobStatus, ResearchJob
from core.model.ports import Measurement, job_id_var
from core.modes import find_modes
from core.pipeline.deps import Deps
from core.pipeline.work import SILENCE_S, Deadline, DirectSteps, Progress, Work
from core.presentation.render import job_json
from core.presentation.wording import SOMETHING_BROKE, language_of
from core.stages.cache import answer_key, cached_result, is_hidden, may_repeat, repeat_result
from core.stages.deliver import deliver_failure, deliver_result
from core.stages.gathering import Gathering
from core.text.injection import instructions_in
from core.text.language import detect_language, rarity
from core.text.saying import say, speaking
from core.text.sentences import split_sentences
from core.text.terms import question_terms

log = logging.getLogger(__name__)
T = TypeVar("T")

TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)  # of the process, or of the machine: it passes
MAX_ATTEMPTS = 60  # restarts during one job: storms of kills have shown 20, and what takes its worker down must end
OVERTIME_S = 30.0  # modes keep their deadline themselves; this ends one that does not


class _Resuming(DirectSteps):
    """Steps of a later attempt: the first that really runs takes back what the one before it had shown."""

    def __init__(self, steps: DirectSteps, progress: Progress) -> None:
        self._steps = steps
        self._progress = progress
        self._is_clean = False

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        async def afresh() -> T:
            if not self._is_clean:
                self._is_clean = True
                await self._progress.take_back()
            return await step()

        return await self._steps.run(name, afresh, returns)


class JobCancelled(Exception):
    """Whoever asked, or the operator, has cancelled the job; durable steps raise it."""


async def run_job(job_id: str, deps: Deps, steps: DirectSteps, *, is_resumable: bool = False) -> None:
    """Carry a stored job to its end. Raises only `CancelledError`, and `StoreError` when the job cannot be read.

    An interrupted job is cancelled, unless it `is_resumable`. Such a job is left for the next attempt and also raises
    `StoreError` where a store is away or no more files can be opened (run it again later), and `StaleAttempt` where a
    newer attempt has the job.
    """
    token = job_id_var.set(job_id)
    try:
        job = await deps.jobs.get(job_id)
        if job.status in TERMINAL_STATUSES:
            await _tell_end(job, deps)
            return
        job = job if job.status is JobStatus.PENDING else replace(job, attempt=job.attempt + 1)
        with speaking(language_of(job)):
            await _attempt(job, deps, steps, is_resumable=is_resumable)
        if is_resumable:
            await _see_to_the_end(job, deps)
    except JobNotFound:
        log.info("the job is gone")
    except StaleAttempt as exc:
        log.warning("a newer attempt has taken over", extra={"error": str(exc)})
        if is_resumable:
            raise
    finally:
        job_id_var.reset(token)


async def _attempt(job: ResearchJob, deps: Deps, steps: DirectSteps, *, is_resumable: bool) -> None:
    started = perf_counter()
    progress = Progress(job, deps)

    async def fail(code: str, message: str, *, retryable: bool, cause: str = "") -> None:
        error = JobError(code, message, retryable, cause)
        await deliver_failure(progress.job, deps, JobStatus.FAILED, error=error, started=started)

    try:
        await _research(job, deps, steps, progress, started)
    except JobCancelled:
        await deliver_failure(progress.job, deps, JobStatus.CANCELLED, error=None, started=started)
    except asyncio.CancelledError:
        if not is_resumable:
            ending = deliver_failure(progress.job, deps, JobStatus.CANCELLED, error=None, started=started)
            await asyncio.shield(ending)
        raise
    except StaleAttempt:
        raise
    except GorkdError as exc:
        log.warning("job ended", extra={"attempt": progress.job.attempt, "error": str(exc)})
        if is_resumable and isinstance(exc, StoreError):
            raise
        await fail(exc.code, exc.user_message, retryable=exc.retryable, cause=exc.operator_message)
    except Exception as exc:  # process boundary: a bug must still end in words, with its traceback in the log
        if is_resumable and isinstance(exc, OSError) and exc.errno in TOO_MANY_FILES:
            raise StoreError(f"no file can be opened: {exc}") from exc
        log.exception("job broke")
        await fail("INTERNAL_ERROR", say(SOMETHING_BROKE), retryable=True)


async def _research(job: ResearchJob, deps: Deps, steps: DirectSteps, progress: Progress, started: float) -> None:
    await progress.status(JobStatus.PLANNING)
    if job.attempt > 1:
        log.info("resumed", extra={"attempt": job.attempt})
        deps.record(Measurement("jobs_resumed", 1))
        steps = _Resuming(steps, progress)
    if job.attempt > MAX_ATTEMPTS:
        raise GorkdError(f"{MAX_ATTEMPTS} attempts ended with their worker", user_message=say(SOMETHING_BROKE))
    earlier = await cached_result(job, deps) or await shared_result(job, deps, progress)
    if earlier:
        await deliver_result(progress.job, deps, earlier, started=started)
        return
    mode = find_modes(job.request.modes)
    model = deps.models.get(mode.name, deps.model)
    if model is not None:
        deps = replace(deps, model=RememberingModel(model, deps.memo, job.id))
    if deps.check_model is not None:
        deps = replace(deps, check_model=RememberingModel(deps.check_model, deps.memo, job.id))
    deps = deps.within(job.request.policy)
    gathering = Gathering(job, deps)
    try:
        deadline_s = mode.deadline_s * deps.settings.patience
        work = Work(job, deps, steps, progress, gathering, Deadline.after(deadline_s))
        async with asyncio.timeout(deadline_s + OVERTIME_S):
            result = await mode.run(work)
    except TimeoutError as exc:
        raise TookTooLong(mode.name) from exc
    finally:
        await gathering.aclose()
    await deliver_result(replace(progress.job, intent=job.intent), deps, result, started=started)


async def _see_to_the_end(job: ResearchJob, deps: Deps) -> None:
    """Whoever delivers an answer goes on when a store fails; here it is noticed."""
    stored = await deps.jobs.get(job.id)
    if stored.status in TERMINAL_STATUSES:
        await _tell_end(stored, deps)
    elif stored.attempt > job.attempt:
        raise StaleAttempt(f"attempt {stored.attempt} of {job.id} has begun")
    else:
        raise StoreError(f"the end of {job.id} could not be stored")


async def _tell_end(job: ResearchJob, deps: Deps) -> None:
    """Append the `complete` of a job whose end was stored only. Raises `StoreError`: nobody else would tell of it."""
    if any(event.type == "complete" for event in await deps.events.read(job.id)):
        return
    result = await deps.jobs.result(job.id) or JobResult(answer=None)
    await deps.memo.clear(job.id)
    told = job_json(job, result, await deps.sources.sources(job.id))
    await deps.events.append(job.id, job.attempt, "complete", told)


# What is read in with its first use, read in before: language model, word lists, tables, patterns. It takes one to two
# seconds of processor time, which else the first question pays for.


_QUESTION = "What causes the tides in the Bay of Fundy?"
_CLAIM = "The Moon and the Sun cause tides of up to 16 metres there, which fell by 5 % in March 2019."
_PASSAGE = (
    "In the Bay of Fundy the tide rises by as much as 16 m (52 ft). It is not the wind that moves the water, but the "
    "gravity of the Moon and the Sun. Since 3 March 2019 the range has not grown."
)
_FOREIGN = "Welche Kräfte verursachen dort die Gezeiten?"  # no function word tells its language for certain


def rehearse() -> None:
    """Go once through what every answer goes through. Blocks: to be run in a thread."""
    for text in (_FOREIGN, _QUESTION):
        detect_language(text)
        question_terms(text)
    rarity("tide", "en")
    split_sentences(_PASSAGE)
    instructions_in(_PASSAGE)
    unanswered_by_rules(_QUESTION, _CLAIM)
    veto(_QUESTION, _FOREIGN)
    find_vetoes(_CLAIM, _PASSAGE, context=_PASSAGE)


# Asked at once? Of identical questions in one scope one is researched; the others follow it and share its answer


CLAIM_TTL = timedelta(hours=1)  # longer than any job; what is left of an older one is nobody's
MAX_LEADERS = 3  # who was let down as often looks for itself


async def shared_result(job: ResearchJob, deps: Deps, progress: Progress) -> JobResult | None:
    """The answer to the same question that is being researched as another job, once it is there.

    None when this job is to research it. Until the answer comes, the other job's progress is told as this one's.
    """
    if is_hidden(job) or not await may_repeat(job, deps):
        return None
    key = answer_key(job.request, job.intent, now=deps.clock())
    for _ in range(MAX_LEADERS):
        leader_id = await deps.limits.claim(job.scope, key, job.id, ttl=CLAIM_TTL)
        if leader_id == job.id:
            return None
        with deps.stage("join"):
            result = await _share(leader_id, job, deps, progress)
        if result is not None:
            log.info("shared an answer", extra={"leader": leader_id})
            return result
        await progress.take_back()
        if await deps.jobs.steered(job.id):
            return None
        await deps.limits.release(job.scope, key, leader_id)
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
        if await deps.jobs.steered(leader_id) or await deps.jobs.steered(job.id):
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
        elif await deps.jobs.steered(progress.job.id):
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
