"""Answered before? The exact question in the same scope, while the answer is fresh (S003-04).

A cache that fails costs time, never an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.answer import Confidence, JobResult
from core.answer_key import answer_key
from core.conversation import needs_context
from core.deps import Deps
from core.errors import GorkdError
from core.job import ResearchJob
from core.render import iso_utc
from core.source import Source, SourceKind
from core.stages.intake import parse_intent
from core.telemetry import Measurement

_WORTH_KEEPING = frozenset({Confidence.HIGH, Confidence.MEDIUM})  # D12


async def cached_result(job: ResearchJob, deps: Deps) -> JobResult | None:
    """The earlier answer with its sources put under this job, and when it was given; None when there is none."""
    if job.request.is_fresh or not job.request.stands_alone or _leans_on_thread(job):
        return None
    with deps.stage("cache"):
        found = await _look_up(job, deps)
    deps.recorder.record(Measurement("cache_lookup", 1 if found else 0))
    return found


async def keep_result(job: ResearchJob, deps: Deps, result: JobResult, sources: Sequence[Source]) -> None:
    """Remember a finished answer that is worth repeating. Local files are read anew each time: they change unseen."""
    answer = result.answer
    if not job.request.stands_alone:
        return
    if any(source.metadata.kind is SourceKind.LOCAL for source in sources):
        return
    if answer is None or result.cached_at or answer.confidence not in _WORTH_KEEPING or answer.stopped_because:
        return
    if result.understood:
        request = replace(job.request, query=result.understood, thread="")
        job = replace(job, request=request, intent=parse_intent(request.query))
    elif _leans_on_thread(job):
        return
    key = answer_key(job.request, job.intent, now=deps.clock())
    lives = deps.settings.cache.ttl
    ttl = min(lives[job.intent.question_type], lives[result.question_type or job.intent.question_type])
    await deps.cache.put(job.scope, key, job.id, ttl=ttl)


async def repeat_result(earlier_id: str, job: ResearchJob, deps: Deps, *, answered_at: datetime) -> JobResult | None:
    """What another job of the scope has answered, with its sources put under this job; None when it is not kept.

    Raises `StoreError`.
    """
    result = await deps.jobs.result(earlier_id)
    sources = await deps.sources.sources(earlier_id)
    if result is None or (result.source_ids and not sources):
        return None
    await deps.sources.put(job, sources)
    return replace(result, cached_at=iso_utc(answered_at))


async def _look_up(job: ResearchJob, deps: Deps) -> JobResult | None:
    try:
        entry = await deps.cache.get(job.scope, answer_key(job.request, job.intent, now=deps.clock()))
        if entry is None:
            return None
        earlier_id, answered_at = entry
        found = await repeat_result(earlier_id, job, deps, answered_at=answered_at)
        return replace(found, understood="") if found else None
    except GorkdError as exc:
        deps.count_error("cache", exc)
        return None


def _leans_on_thread(job: ResearchJob) -> bool:
    """A follow-up means something else in another conversation, and at another time in the same one."""
    return bool(job.request.thread) and needs_context(job.query)
