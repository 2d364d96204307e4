"""Answered before? The exact question in the same scope, while the answer is fresh (S003-04).

A cache that fails costs time, never an answer. Questions that only mean the same are in similar.py.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import regex

from core.model.answer import Confidence, JobResult, SynthesisMetadata, Verdict
from core.model.errors import GorkdError, JobNotFound, ModelError
from core.model.job import QueryIntent, ResearchJob, ResearchRequest
from core.model.ports import Vector
from core.model.source import Source, SourceKind
from core.pipeline.conversation import leans_on_thread, needs_context, turns_behind
from core.pipeline.deps import Deps
from core.pipeline.freshness import is_of_the_day, time_to_live
from core.presentation.render import iso_utc
from core.stages.intake import parse_intent
from core.text.leaning import leaning

_WORTH_KEEPING = frozenset({Confidence.HIGH, Confidence.MEDIUM})  # D12
KEEP_TIMEOUT_S = 10.0  # of embedding an answered question; nobody waits for it


async def may_repeat(job: ResearchJob, deps: Deps) -> bool:
    """Whether an earlier answer will do: not where one is wanted anew, or where the words alone do not say which.

    Where rules cannot tell whether they do, they do at the beginning of a conversation.
    """
    if job.request.is_fresh or not job.request.stands_alone or leans_on_thread(job):
        return False
    return leaning(job.query) == "alone" or not await turns_behind(job, deps)


def is_hidden(job: ResearchJob) -> bool:
    """Asked in private in an open place: it neither shows its answer to others nor tells of theirs."""
    return job.request.is_private and not job.scope.is_one_persons


async def cached_result(job: ResearchJob, deps: Deps) -> JobResult | None:
    """The earlier answer with its sources put under this job, and when it was given; None when there is none."""
    if not await may_repeat(job, deps):
        return None
    with deps.stage("cache"):
        return await _look_up(job, deps)


async def keep_result(job: ResearchJob, deps: Deps, result: JobResult, sources: Sequence[Source]) -> None:
    """Remember a finished answer that is worth repeating, under the question that it answers."""
    if result.understood:
        request = replace(job.request, query=result.understood, thread="")
        job = replace(job, request=request, intent=parse_intent(request.query))
    if not is_worth_keeping(job, result, sources):
        return
    now = deps.clock()
    ttl = time_to_live(
        job.query,
        job.intent,
        planned=result.question_type,
        table=deps.settings.cache.ttl,
        retention=deps.settings.cache.retention,
        now=now,
    )
    key, group = answer_key(job.request, job.intent, now=now), comparable_group(job, deps)
    vector = await embed_question(job, deps, timeout_s=KEEP_TIMEOUT_S)
    await deps.cache.put(job.scope, key, job.id, ttl=ttl, group=group, vector=vector)


def is_worth_keeping(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> bool:
    """A checked answer of medium confidence or better, from public sources, that was not asked in private.

    Local files change unseen; they, attachments and libraries are nobody else's. A question asked in private
    in a channel stays with who asked it.
    """
    answer, request = result.answer, job.request
    if answer is None or result.cached_at or answer.confidence not in _WORTH_KEEPING or answer.stopped_because:
        return False
    if any(claim.verdict is Verdict.UNCHECKED for claim in answer.claims):
        return False
    is_shareable = request.stands_alone and not is_hidden(job) and not leans_on_thread(job)
    return is_shareable and all(map(_is_public, sources))


async def repeat_result(earlier_id: str, job: ResearchJob, deps: Deps, *, answered_at: datetime) -> JobResult | None:
    """What another job of the scope has answered, with its sources put under this job; None when it is not kept.

    It cost this job nothing. Raises `StoreError`.
    """
    try:
        earlier = await deps.jobs.get(earlier_id)
    except JobNotFound:
        return None
    result = await deps.jobs.result(earlier_id)
    sources = await deps.sources.sources(earlier_id)
    if earlier.scope != job.scope or result is None or (result.source_ids and not sources):
        return None
    await deps.sources.put(job, sources)
    asked = result.understood or earlier.query
    repeated = replace(result, cached_at=iso_utc(answered_at), cached_job=earlier_id, cached_question=asked)
    answer = result.answer
    if answer is None:
        return repeated
    return replace(repeated, answer=replace(answer, metadata=SynthesisMetadata(model=answer.metadata.model)))


def comparable_group(job: ResearchJob, deps: Deps) -> str:
    """Only questions of one group are compared; vectors of two models cannot be."""
    model = deps.embedder.name if deps.embedder else ""
    return f"{answer_group(job.request, job.intent, now=deps.clock())}\x1f{model}"


async def embed_question(job: ResearchJob, deps: Deps, *, timeout_s: float) -> Vector | None:
    """None without an embedding model, and when it fails."""
    if deps.embedder is None:
        return None
    try:
        async with asyncio.timeout(timeout_s):
            (vector,) = await deps.embedder.embed([job.query])
    except (ModelError, TimeoutError) as exc:
        deps.count_error("cache", exc)
        return None
    return vector if vector.any() else None


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


def _is_public(source: Source) -> bool:
    return source.metadata.kind is not SourceKind.LOCAL and source.url.startswith(("https://", "http://"))


# The exact key of a question: two requests with one key are the same question, to the letter that matters (S003-04)


_POLITE_END = regex.compile(
    r"(?:[\s,]*\b(?:please|thanks|thank you|thx|cheers|bitte|danke|merci|s'il vous plaît|por favor|gracias)\b)+$"
)
_POLITE_START = regex.compile(r"^(?:(?:hi|hello|hey|please|bitte)\b[\s,]*)+")
# Punctuation that changes nothing when it stands between words; inside a token (3.11, C++, -5, 50%) it does.
_LOOSE = regex.compile(r"(?<![\p{L}\p{N}])[\p{P}--[%#@+$&*/<>=-]]+|[\p{P}--[%#+*]]+(?![\p{L}\p{N}])", regex.VERSION1)


def normalise_question(query: str) -> str:
    """NFC, casefolded, without outer politeness, loose punctuation and extra space."""
    text = unicodedata.normalize("NFC", query).casefold()
    text = " ".join(_LOOSE.sub(" ", text).split())
    return _POLITE_START.sub("", _POLITE_END.sub("", text)).strip() or text


def answer_key(request: ResearchRequest, intent: QueryIntent, *, now: datetime) -> str:
    """Question, modes, options, context, language and permitted sources; for questions of the day also the day.

    The scope is not part of the key: the cache keeps each scope apart by itself. A question that leans on its
    thread is another one in each thread; once it is understood, it has the key of what it means.
    """
    return f"{normalise_question(request.query)}\x1f{answer_group(request, intent, now=now)}"


def answer_group(request: ResearchRequest, intent: QueryIntent, *, now: datetime) -> str:
    """The key without the question: only answers of one group may be given for one another."""
    parts = (
        "+".join(request.modes),
        request.depth,
        str(request.top_k),
        str(request.max_iterations),
        " ".join(request.context.split()),
        request.thread if needs_context(request.query) else "",
        intent.language,
        now.date().isoformat() if is_of_the_day(request.query, intent) else "",
        *([request.policy.key] if request.policy.key else []),
    )
    return "\x1f".join(parts)
