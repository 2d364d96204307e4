"""Stage 5: store the outcome, tell everyone who follows, remember the answer.

A store that fails is logged and the answer still goes out (S003-18).
"""

from __future__ import annotations

import logging
from dataclasses import replace
from time import perf_counter

from core.model.answer import JobResult
from core.model.errors import GorkdError, StaleAttempt, StoreError
from core.model.job import JobError, JobStatus, ResearchJob
from core.model.ports import Measurement
from core.model.source import Source
from core.pipeline.deps import Deps
from core.pipeline.trace import ToolTraces, trace_id_of
from core.presentation.progress import Progress
from core.presentation.render import job_json
from core.stages.cache import keep_result

log = logging.getLogger(__name__)


async def deliver_result(job: ResearchJob, deps: Deps, result: JobResult, *, started: float) -> None:
    """End a job with its answer. `started` is `perf_counter` at its beginning."""
    with deps.stage("deliver"):
        result = replace(result, duration_s=perf_counter() - started)
        job = replace(job, status=JobStatus.COMPLETED, completed_at=deps.clock())
        sources = await _finish(job, deps, result)
        if not job.request.is_fresh:
            deps.recorder.record(Measurement("cache_lookup", 1 if result.cached_at else 0))
        try:
            await keep_result(job, deps, result, sources)
        except GorkdError as exc:
            deps.count_error("cache", exc)


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
    traces = ToolTraces(deps.tool_traces, clock=deps.clock)
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
