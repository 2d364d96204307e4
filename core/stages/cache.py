"""Answered before? The same question in the same scope, in any words, while the answer is fresh (S003-04, D12).

A cache that fails costs time, never an answer.
"""

from __future__ import annotations

import asyncio
import logging
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

import regex

from core.evidence.same_question import strict_veto, veto
from core.model.answer import Claim, Confidence, JobResult, SynthesisMetadata, Verdict
from core.model.errors import GorkdError, JobNotFound, ModelError
from core.model.job import JobStatus, Json, QueryIntent, ResearchJob, ResearchRequest
from core.model.ports import Vector, warm_up
from core.model.source import Source, SourceKind
from core.pipeline.conversation import leans_on_thread, needs_context, turns_behind
from core.pipeline.deps import Deps
from core.pipeline.work import Progress
from core.presentation.render import cut, iso_utc, one_line
from core.presentation.wording import CHECKING_EARLIER
from core.stages.intake import is_of_the_day, parse_intent, time_to_live
from core.text.leaning import leaning
from core.text.saying import say

_WORTH_KEEPING = frozenset({Confidence.HIGH, Confidence.MEDIUM})  # D12
KEEP_TIMEOUT_S = 10.0  # of embedding an answered question; nobody waits for it


async def may_repeat(job: ResearchJob, deps: Deps) -> bool:
    """Whether an earlier answer will do: not where a fresh one is wanted, or where the question leans on its thread.

    Where rules cannot tell whether it leans, it does not at the beginning of a conversation.
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
    return is_shareable and all(
        source.metadata.kind is not SourceKind.LOCAL and source.url.startswith(("https://", "http://"))
        for source in sources
    )


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


# The exact key of a question: two requests with one key are the same question, to the letter that matters (S003-04)


_THANKS = r"please|thanks|thank you|thx|cheers|bitte|danke|merci|s'il vous plaît|por favor|gracias"
_POLITE_END = regex.compile(rf"(?:[\s\p{{P}}--[%#+*]]*\b(?:{_THANKS})\b)+$", regex.VERSION1)
_POLITE_START = regex.compile(r"^(?:(?:hi|hello|hey|please|bitte)\b[\s\p{P}--[%#@+$&*/<>=-]]*)+", regex.VERSION1)
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
        *([f"said in {request.language}"] if request.language else []),
    )
    return "\x1f".join(parts)


# Answered before in other words? Up to three near questions, past a guard, for the plan call to confirm (D12). What the
# strict guard too lets pass is shown at once, under its own question and marked as unconfirmed. Without a model nobody
# can confirm, so that alone is repeated, and only where the operator allows it.


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
        for claim in _claims(near):
            await progress.retract(claim.id)
        await progress.status(JobStatus.PLANNING, data={"earlier": None})


async def _show(earlier: EarlierAnswer, progress: Progress) -> None:
    """The mark comes first, and once more when all sentences are there: what is shown then is whole."""
    message = f"{say(CHECKING_EARLIER)}: “{cut(one_line(earlier.question), SHOWN_CHARS)}”"
    asked: dict[str, Json] = {"question": one_line(earlier.question), "answered_at": iso_utc(earlier.answered_at)}
    await progress.status(JobStatus.PLANNING, message=message, data={"earlier": asked})
    for claim in _claims(earlier):
        numbers = ", ".join(str(int(one.source_id.removeprefix("src_"))) for one in claim.evidence)
        await progress.sentence(claim, f"{claim.text} [{numbers}]" if numbers else claim.text)
    await progress.status(JobStatus.PLANNING, message=message, data={"earlier": asked})


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
