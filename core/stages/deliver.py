"""Stage 5: store the outcome, tell everyone who follows, remember the answer.

A store that fails is logged and the answer still goes out (S003-18).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from time import perf_counter

from core.evidence.authority import is_retracted
from core.model.answer import JobResult
from core.model.errors import GorkdError, JobNotFound, StaleAttempt, StoreError
from core.model.job import JobError, JobStatus, ResearchJob
from core.model.ports import Measurement
from core.model.source import Source
from core.pipeline.deps import Deps
from core.pipeline.tool_traces import ToolTraces, trace_id_of
from core.pipeline.work import Progress
from core.presentation.card import checks_json, read_checks
from core.presentation.render import is_used, job_json
from core.presentation.wording import language_of
from core.stages.cache import keep_result
from core.text.saying import speaking
from core.works.standing import (
    AGAIN_AFTER,
    AT_DELIVERY_S,
    BEHIND_S,
    SOON,
    WATCHED_FOR,
    StandingChecks,
    newly_retracted,
    stand,
    told_of,
    withdraw,
)

LOOK_EVERY_S = 5.0  # for answers whose registries were late; those of months before come by as they are due
LOOKED_AT = 20  # answers of one look
AT_ONCE = 5  # of them together: each may wait half a minute for a registry, and reads eight records

log = logging.getLogger(__name__)


async def deliver_result(job: ResearchJob, deps: Deps, result: JobResult, *, started: float) -> None:
    """End a job with its answer. `started` is `perf_counter` at its beginning."""
    with deps.stage("deliver"):
        result, is_known = await _stood(job, deps, result)
        result = replace(result, duration_s=perf_counter() - started)
        job = replace(job, status=JobStatus.COMPLETED, completed_at=deps.clock())
        await _watch(job, deps, is_known=is_known)
        sources = await _finish(job, deps, result)
        if not job.request.is_fresh:
            deps.record(Measurement("cache_lookup", 1 if result.cached_at else 0))
        try:
            await keep_result(job, deps, result, sources)
        except GorkdError as exc:
            deps.count_error("cache", exc)


async def correct_result(job_id: str, deps: Deps) -> bool:
    """Ask the registries again about the works behind an answer, and correct it where one was retracted.

    True if every registry has answered. A corrected answer is dropped from the cache, and those who show it are told.
    Raises `StoreError`, `JobNotFound`.
    """
    before = await deps.sources.sources(job_id)
    stood = await stand(before, deps.works, within_s=BEHIND_S)
    job, result = await deps.jobs.get(job_id), await deps.jobs.result(job_id)
    if result is None or await deps.sources.sources(job_id) != before:
        return False  # the answer is being stored, or another process has just corrected it
    if result.answer is None or stood.sources == tuple(before):
        return stood.is_whole
    cited = [source for source in newly_retracted(before, stood.sources) if is_used(source, result.answer)]
    with speaking(language_of(job)):
        revised, told = _revised(job, result, stood.sources, deps), told_of(cited)
    await deps.jobs.finish(job, revised)
    if cited:
        await deps.cache.drop([job_id])
        if deps.standing is not None:
            await deps.standing.corrected(job_id, told)
        log.info("an answer was corrected", extra={"job": job_id, "retracted": len(cited)})
    await deps.sources.put(job, stood.sources)  # last: until then it is all done again
    return stood.is_whole


async def keep_standing(deps: Deps, checks: StandingChecks) -> None:
    """Ask again about the works behind answers when they are due, until cancelled."""
    while True:
        looked_at = 0
        try:
            looked_at = await recheck_due(deps, checks)
        except StoreError as exc:
            deps.count_error("standing", exc)
        except Exception:  # the boundary of this worker: nobody else would look again
            log.exception("answers were not looked at again")
        if not looked_at:
            await asyncio.sleep(LOOK_EVERY_S)


async def recheck_due(deps: Deps, checks: StandingChecks) -> int:
    """Look again at what is due, some at a time; at how many. Raises `StoreError`."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def look(job_id: str, until: datetime) -> bool:
        async with slots:
            return await _look_again(job_id, until, deps, checks)

    due = await checks.due(deps.clock(), limit=LOOKED_AT)
    return sum(await asyncio.gather(*(look(job_id, until) for job_id, until in due)))


async def _look_again(job_id: str, until: datetime, deps: Deps, checks: StandingChecks) -> bool:
    """Whether it was looked at. One that cannot be keeps no other waiting: its turn comes again with those to come."""
    again_after, is_looked_at = SOON, False
    try:
        again_after = AGAIN_AFTER if await correct_result(job_id, deps) else SOON
        is_looked_at = True
    except JobNotFound:
        until = deps.clock()
    except StoreError as exc:
        deps.count_error("standing", exc)
    except Exception:  # the boundary of one answer
        log.exception("an answer was not looked at again", extra={"job": job_id})
    again_at = deps.clock() + again_after
    try:
        await (checks.expect(job_id, again_at, until) if again_at < until else checks.end(job_id))
    except StoreError as exc:
        deps.count_error("standing", exc)
        return False
    return is_looked_at


async def _stood(job: ResearchJob, deps: Deps, result: JobResult) -> tuple[JobResult, bool]:
    """The result with what registries say in time, and whether all of them have said it."""
    if result.answer is None:
        return result, True
    before = await _sources(job, deps)
    stood = await stand(before, deps.works, within_s=AT_DELIVERY_S)
    if stood.sources == tuple(before):  # what pages say of themselves is known already
        is_cited = any(is_retracted(source) and is_used(source, result.answer) for source in before)
        return (_revised(job, result, before, deps) if is_cited else result), stood.is_whole
    try:
        await deps.sources.put(job, stood.sources)
    except StaleAttempt:
        raise
    except StoreError as exc:
        deps.count_error("deliver", exc)
        return result, False
    return _revised(job, result, stood.sources, deps), stood.is_whole


def _revised(job: ResearchJob, result: JobResult, sources: Sequence[Source], deps: Deps) -> JobResult:
    if result.answer is None:
        return result
    kind = result.question_type or job.intent.question_type
    asked = result.understood or job.query
    answer = withdraw(result.answer, sources, question=asked, question_type=kind, now=deps.clock())
    gone = {source.id for source in sources if is_retracted(source)}
    checks = [check.without(gone) for check in read_checks(result)]
    return replace(result, answer=answer, details={**result.details, **(checks_json(checks) if checks else {})})


async def _watch(job: ResearchJob, deps: Deps, *, is_known: bool) -> None:
    """Its works are asked about again tomorrow, or at once where a registry was late."""
    sources = await _sources(job, deps) if deps.standing else []
    if deps.standing is None or all(source.metadata.ids.is_none for source in sources):
        return
    now = deps.clock()
    try:
        await deps.standing.expect(job.id, now + AGAIN_AFTER if is_known else now, now + WATCHED_FOR)
    except StoreError as exc:
        deps.count_error("deliver", exc)


async def deliver_failure(
    job: ResearchJob, deps: Deps, status: JobStatus, *, error: JobError | None, started: float | None = None
) -> None:
    """End a job without an answer; what was found stays with it, for Retry and for people to see.

    `started` is None for a job that never began.
    """
    job = replace(job, status=status, error=error, completed_at=deps.clock())
    log.info("job ended", extra={"status": status.value, "error_type": error.code if error else ""})
    try:
        await _finish(
            job, deps, JobResult(answer=None, duration_s=perf_counter() - started if started is not None else 0.0)
        )
        await _close_trace(job, deps)
    except StaleAttempt as exc:
        log.warning("a newer attempt has taken over", extra={"error": str(exc)})


async def _close_trace(job: ResearchJob, deps: Deps) -> None:
    """The trace of a tool that wrote one ends as its job did."""
    traces = ToolTraces(deps.traces, clock=deps.clock)
    try:
        if await traces.get_trace(trace_id_of(job.id)) is None:
            return
        if job.error is not None:
            await traces.fail_trace(trace_id_of(job.id), job.error.message)
        else:
            await traces.cancel_trace(trace_id_of(job.id))
    except StoreError as exc:
        deps.count_error("deliver", exc)


async def _finish(job: ResearchJob, deps: Deps, result: JobResult) -> list[Source]:
    sources = await _sources(job, deps)
    try:
        await deps.jobs.finish(job, result)
        await deps.memo.clear(job.id)
    except StaleAttempt:
        raise
    except StoreError as exc:
        deps.count_error("deliver", exc)
    await Progress(job, deps).emit("complete", job_json(job, result, sources))
    return sources


async def _sources(job: ResearchJob, deps: Deps) -> list[Source]:
    try:
        return await deps.sources.sources(job.id)
    except StoreError as exc:
        deps.count_error("deliver", exc)
        return []
