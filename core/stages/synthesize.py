"""Stage 4: from sources to an answer in which every sentence is carried by a passage.

With a model the answer is written, streamed and judged sentence by sentence; without one it is quoted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from core.answer import (
    Claim,
    Confidence,
    Evidence,
    ModelUsage,
    ResearchAnswer,
    SynthesisMetadata,
    Verdict,
)
from core.deps import Deps
from core.errors import ModelError, ModelGarbled
from core.evidence.citations import strip_markers
from core.evidence.confidence import score_confidence
from core.evidence.conflicts import find_conflicts, read_statements
from core.evidence.grounding import Grounded, Grounder, Judged, leave_unchecked
from core.evidence.judge import CheckItem, ModelVerdict, build_check_request, parse_check_answer
from core.evidence.limitations import find_limitations
from core.evidence.quoting import Quotation, cited, quote_answer
from core.evidence.structure import assemble
from core.job import ResearchJob
from core.llm import complete, cost_usd, retry_once
from core.markers import Grammar
from core.ports import ChatModel, ChatRequest
from core.progress import Progress
from core.refusal import refusal_in
from core.source import Source, SourceCollection
from core.stages.prompting import Script, answer_script
from core.writing import Writing

log = logging.getLogger(__name__)

QUOTED_NOTICE = "quoted from the sources; no model is configured"
LATE_NOTICE = "quoted from the sources; the model did not answer in time"
NOT_DIRECT = "The quoted sentences are near the question, but may not answer it."
UNCHECKED_NOTICE = "citations unchecked"
OUT_OF_TIME = "time limit reached"
_CHECK_TIMEOUT_S = 12.0
_MIN_CHECK_S = 2.0  # with less time left, what is undecided is left out instead


@dataclass
class Draft:
    """Judged sentences on their way to an answer, and what they cost."""

    judged: list[Judged]
    writing: Writing | None = None
    usage: tuple[ModelUsage, ...] = ()
    notice: str = ""
    stopped_because: str = ""
    is_checked: bool = True
    cap: Confidence | None = None

    @property
    def shown_notice(self) -> str:
        return self.notice if self.is_checked else UNCHECKED_NOTICE


async def answer_question(
    job: ResearchJob,
    found: SourceCollection,
    deps: Deps,
    progress: Progress,
    *,
    usage: Sequence[ModelUsage],
    within_s: float,
    script: Callable[[], Script] | None = None,
    stopped_because: str = "",
) -> ResearchAnswer:
    """The answer within `within_s` seconds; `usage` is what earlier model calls of the job cost.

    `script` is what a mode lets its writer read and do, run in a thread; `stopped_because` says why the search
    for sources ended early. Raises `ModelError` when the model fails twice (S003-23).
    """
    started = perf_counter()
    ends_at = asyncio.get_running_loop().time() + within_s
    if not found.sources:
        draft = Draft([])
    elif deps.model is None:
        draft = await _quote(job, found.sources, progress, notice=QUOTED_NOTICE)
    else:
        script = script or partial(answer_script, job, found.sources, deps)
        draft = await _write(job, found.sources, deps, deps.model, progress, prepare=script, ends_at=ends_at)
    draft.stopped_because = draft.stopped_because or stopped_because
    answer = conclude(job, found, deps, draft)
    metadata = usage_metadata(deps, [*usage, *draft.usage], seconds=perf_counter() - started)
    return replace(answer, metadata=metadata)


async def _quote(job: ResearchJob, sources: Sequence[Source], progress: Progress, *, notice: str) -> Draft:
    quoted = await asyncio.to_thread(quote_answer, job.query, sources)
    judged = [_verbatim("summary", place, entry, sources) for place, entry in enumerate(quoted.summary)]
    judged += [_verbatim("detail", place, entry, sources) for place, entry in enumerate(quoted.detail)]
    for entry in judged:
        if entry.claim:
            await progress.sentence(entry.claim, entry.shown)
    return Draft(judged, notice=notice, cap=None if quoted.is_direct else Confidence.LOW)


def _verbatim(section: str, place: int, quotation: Quotation, sources: Sequence[Source]) -> Judged:
    """A sentence of a source as a claim of the answer: supported, since it is the passage."""
    source = next(source for source in sources if source.id == quotation.source_id)
    quote = source.content[quotation.start : quotation.end]
    evidence = Evidence(
        quotation.source_id,
        quote,
        quotation.start,
        quotation.end,
        Verdict.SUPPORTED,
        page=source.page_at(quotation.start),
        reasons=("verbatim",),
    )
    is_summary = section == "summary"
    words = strip_markers(quotation.text, Grammar.NUMBER)  # the page's own footnotes would read as our citations
    claim = Claim(f"{section}-{place}", words, Verdict.SUPPORTED, (evidence,))
    shown = cited(words, quotation.source_id.removeprefix("src_"))
    return Judged(
        id=claim.id,
        section="summary" if is_summary else "detail",
        text=shown,
        gap=" " if is_summary else "\n- ",
        claim=claim,
        shown=shown,
    )


async def _write(
    job: ResearchJob,
    sources: Sequence[Source],
    deps: Deps,
    model: ChatModel,
    progress: Progress,
    *,
    prepare: Callable[[], Script],
    ends_at: float,
) -> Draft:
    loop = asyncio.get_running_loop()
    script = await asyncio.to_thread(prepare)
    grounder = script.grounder(sources, job.query, script.passages)
    # Read for the check while the model thinks about its first word.
    reading = asyncio.create_task(asyncio.to_thread(_read_ahead, grounder))
    writing = Writing(grounder, progress)
    draft = Draft(writing.judged, writing)

    def left_s() -> float:
        return ends_at - loop.time()

    try:
        async with asyncio.timeout_at(ends_at - _MIN_CHECK_S):
            await retry_once(lambda: _try(model, script.request(left_s()), writing, draft, deps), remaining_s=left_s)
    except TimeoutError:
        draft.stopped_because = OUT_OF_TIME
        log.warning("the model ran out of time")
        if not any(entry.shown for entry in writing.judged):
            quoted = await _quote(job, sources, progress, notice=LATE_NOTICE)
            return replace(quoted, usage=draft.usage, stopped_because=OUT_OF_TIME)
    finally:
        await asyncio.wait([reading])
    draft.is_checked = not writing.has_unchecked
    draft.judged = await settle(deps, model, draft, progress, left_s=left_s())
    return draft


async def _try(model: ChatModel, request: ChatRequest, writing: Writing, draft: Draft, deps: Deps) -> None:
    """One try at the whole answer; what an earlier one has shown is taken back. Raises `ModelError`."""
    await writing.take_back()
    try:
        await writing.write(model, request)
    except ModelError as exc:
        deps.count_error("synthesize", exc)
        raise
    finally:
        draft.usage = (*draft.usage, writing.usage)
    if writing.draft is None or not (writing.draft.is_complete or writing.judged):
        raise ModelGarbled("the model's answer holds no summary", user_message="The model's answer could not be read.")


def _read_ahead(grounder: Grounder) -> None:
    grounder.read_ahead()
    read_statements(grounder.read_sources)


async def settle(deps: Deps, model: ChatModel, draft: Draft, progress: Progress, *, left_s: float) -> list[Judged]:
    """Close what the rules left open with one batched model call; without time for it, as unsupported.

    When that call fails, those sentences are shown as unchecked, and the answer says so.
    """
    writing = draft.writing
    open_claims = [(entry, entry.claim) for entry in draft.judged if entry.is_undecided and entry.claim]
    if writing is None or not open_claims:
        return draft.judged
    items = [
        CheckItem(f"{entry.id}/{evidence.source_id}", claim.text, evidence.quote)
        for entry, claim in open_claims
        for evidence in claim.evidence
        if evidence.verdict is Verdict.UNCHECKED
    ]
    verdicts: dict[str, ModelVerdict] | None = {}
    if left_s > _MIN_CHECK_S:
        verdicts = await _ask_about(items, deps, model, draft, timeout_s=min(_CHECK_TIMEOUT_S, left_s - 0.5))
    if verdicts is None:
        draft.is_checked = False
        settled = {entry.id: leave_unchecked(entry, claim) for entry, claim in open_claims}
    else:
        settled = {
            entry.id: writing.grounder.settle(entry, claim, _by_source(entry.id, verdicts))
            for entry, claim in open_claims
        }
    for entry in settled.values():
        if entry.claim and entry.shown is not None:
            await progress.sentence(entry.claim, entry.shown)
    return [settled.get(entry.id, entry) for entry in draft.judged]


async def _ask_about(
    items: Sequence[CheckItem], deps: Deps, model: ChatModel, draft: Draft, *, timeout_s: float
) -> dict[str, ModelVerdict] | None:
    """The model's verdict on each undecided pair; None when the call fails."""
    try:
        completion = await complete(model, build_check_request(items, timeout_s=timeout_s))
    except ModelError as exc:
        deps.count_error("check", exc)
        return None
    draft.usage = (*draft.usage, completion.usage)
    return parse_check_answer(completion.text, items)


def _by_source(sentence_id: str, verdicts: dict[str, ModelVerdict]) -> dict[str, ModelVerdict]:
    prefix = f"{sentence_id}/"
    return {key.removeprefix(prefix): verdict for key, verdict in verdicts.items() if key.startswith(prefix)}


def conclude(job: ResearchJob, found: SourceCollection, deps: Deps, draft: Draft) -> ResearchAnswer:
    """Put the sentences together, and say how sure this is and what is missing."""
    grounded = _grounded(draft)
    if not grounded.citations:
        return _insufficient(job, found, deps, grounded, stopped_because=draft.stopped_because)
    now = deps.clock()
    conflicts = find_conflicts(grounded.claims, _read_by(draft, found), job.query)
    report = score_confidence(
        grounded.claims,
        found.sources,
        conflicts=conflicts,
        question_type=job.intent.question_type,
        now=now,
        question=job.query,
        is_checked=draft.is_checked,
        cap=draft.cap,
    )
    limitations = find_limitations(
        job.intent.question_type,
        found,
        grounded.claims,
        conflicts=conflicts,
        now=now,
        is_checked=draft.is_checked,
        stopped_because=draft.stopped_because,
    )
    return ResearchAnswer(
        summary=grounded.summary or grounded.detail,
        detail=grounded.detail if grounded.summary else "",
        confidence=report.confidence,
        confidence_reasons=report.reasons,
        confidence_sum=report.sum,
        citations=grounded.citations,
        claims=tuple(replace(claim, strength=report.per_claim[claim.id]) for claim in grounded.claims),
        limitations=(NOT_DIRECT, *limitations) if draft.cap else limitations,
        conflicts=conflicts,
        removed=grounded.removed,
        notice=draft.shown_notice,
        stopped_because=draft.stopped_because,
    )


def _grounded(draft: Draft) -> Grounded:
    grounded = assemble(draft.judged)
    if draft.writing is None:
        return grounded
    return draft.writing.grounder.quote_as_given(grounded, draft.writing.given_citations)


def _read_by(draft: Draft, found: SourceCollection) -> list[Source]:
    """What the writer read. What a page says to assistants contradicts nobody, and is never shown as a position."""
    if draft.writing:
        return draft.writing.grounder.read_sources
    return [replace(source, content=source.trusted_content) for source in found.sources]


def _insufficient(
    job: ResearchJob, found: SourceCollection, deps: Deps, grounded: Grounded, *, stopped_because: str = ""
) -> ResearchAnswer:
    """An honest answer that says what was searched (D11)."""
    refusal = refusal_in(job.intent.language)
    return ResearchAnswer(
        summary=refusal.summary(found.search_metadata.queries_executed, found.search_metadata.providers_used),
        detail=refusal.advice,
        confidence=Confidence.INSUFFICIENT,
        confidence_reasons=("no source that was read answers this",),
        limitations=find_limitations(
            job.intent.question_type, found, (), conflicts=(), now=deps.clock(), stopped_because=stopped_because
        ),
        removed=grounded.removed,
        stopped_because=stopped_because,
    )


def usage_metadata(deps: Deps, usage: Sequence[ModelUsage], *, seconds: float) -> SynthesisMetadata:
    """What these model calls cost."""
    if deps.model is None:
        return SynthesisMetadata(synthesis_duration_s=seconds)
    costs = [cost_usd(entry, deps.model.name, deps.settings.prices_usd_per_million) for entry in usage]
    prompt, completion = sum(entry.prompt_tokens for entry in usage), sum(entry.completion_tokens for entry in usage)
    return SynthesisMetadata(
        model=deps.model.name,
        tokens_used=prompt + completion,
        synthesis_duration_s=seconds,
        prompt_tokens=prompt,
        completion_tokens=completion,
        model_calls=len(usage),
        cost_usd=sum(cost for cost in costs if cost is not None) if any(cost is not None for cost in costs) else None,
    )
