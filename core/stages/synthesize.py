"""Stage 4: from sources to an answer in which every sentence is carried by a passage.

With a model the answer is written, streamed and judged sentence by sentence; without one it is quoted.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from core.evidence.answering import unanswered_by_rules
from core.evidence.citations import Grammar, strip_markers
from core.evidence.confidence import find_limitations, score_confidence
from core.evidence.conflicts import Contradiction, find_conflicts
from core.evidence.grounding import BY_OCR, VERBATIM
from core.evidence.quoting import Quotation, QuotedAnswer, cited, quote_answer
from core.evidence.structure import Grounded, Judged, assemble
from core.llm.ask_model import retry_once
from core.llm.prices import cost_usd
from core.model.answer import (
    Claim,
    Confidence,
    Evidence,
    ModelUsage,
    ResearchAnswer,
    SynthesisMetadata,
    Verdict,
)
from core.model.errors import DECLINED, ModelError, ModelGarbled, ModelRejected, ModelTimeout
from core.model.job import ResearchJob
from core.model.source import Source, SourceCollection
from core.pipeline.deps import Deps
from core.pipeline.limits import Nearness
from core.pipeline.work import Progress
from core.presentation.follow_ups import advice_in, no_answer, worth_asking
from core.presentation.wording import language_of
from core.stages.drafting import (
    MIN_CHECK_S,
    OUT_OF_TIME,
    Begun,
    Draft,
    begin_summary,
    begin_writing,
    finish,
    tries_at,
    write_in_parts,
)
from core.stages.prompting import Script, answer_script, early_script
from core.text.language import detect_language
from core.text.saying import ENGLISH, later, say

log = logging.getLogger(__name__)

QUOTED_NOTICE = later("quoted from the sources; no language model wrote it")
WISH_NOTICE = later("quoted from the sources; without a language model a wish changes only what is searched for")
LATE_NOTICE = later("quoted from the sources; the model did not answer in time")
UNREAD_NOTICE = later("quoted from the sources; the model's answer could not be read")
UNCONFIRMED_NOTICE = later("quoted from the sources; the model's own sentences could not be confirmed")
SILENT_NOTICE = later("quoted from the sources; the model itself gave no answer")
NOT_DIRECT = "no quoted sentence answers it directly"


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
    begun: Begun | None = None,
    falls_short: Callable[[Sequence[Claim]], str] | None = None,
) -> ResearchAnswer:
    """The answer within `within_s` seconds; `usage` is what earlier model calls of the job cost. `falls_short` says of
    the claims that are shown why they do not answer, "" where they may.

    `script` is what a mode lets its writer read and do, run in a thread; `stopped_because` says why the search
    for sources ended early; `begun` is the summary where it is being written already. Raises `ModelError` when the
    model fails twice (S003-23).
    """
    started = perf_counter()
    ends_at = asyncio.get_running_loop().time() + within_s
    if not found.sources:
        draft = Draft([])
    elif deps.model is None:
        notice = WISH_NOTICE if job.request.feedback else QUOTED_NOTICE
        draft = await _quote(job, found.sources, progress, notice=notice)
    else:
        try:
            draft = await _written(job, found.sources, deps, progress, script=script, ends_at=ends_at, begun=begun)
            draft = await _quote_instead(job, found.sources, draft, progress)
            _refuse_silence(draft)
        except ModelError as exc:
            draft = await _shown_before(job, found.sources, deps, progress, exc, script=script, ends_at=ends_at)
    draft.stopped_because = draft.stopped_because or stopped_because
    draft.unanswered = draft.unanswered or (falls_short(_grounded(draft).claims) if falls_short else "")
    answer = conclude(job, found, deps, draft)
    metadata = usage_metadata(deps, [*usage, *draft.all_usage], seconds=perf_counter() - started)
    return replace(answer, metadata=metadata)


async def _quote(job: ResearchJob, sources: Sequence[Source], progress: Progress, *, notice: str) -> Draft:
    quoted = await asyncio.to_thread(quote_answer, job.query, sources)
    return await _show_quoted(quoted, sources, progress, notice=notice)


async def _quote_instead(job: ResearchJob, sources: Sequence[Source], draft: Draft, progress: Progress) -> Draft:
    """Quotes in the place of a draft of which nothing is left, where they answer, also for the judge; else the draft.

    Where the model says nothing the sources may well not tell: then only what answers directly is quoted.
    """
    left = _grounded(draft)
    if left.citations or draft.writing is None or draft.judging is None:
        return draft
    quoted = await asyncio.to_thread(quote_answer, job.query, sources)
    if not quoted.summary or quoted.unanswered or not (quoted.is_direct or left.removed):
        return draft
    said = " ".join(entry.said for entry in quoted.summary)
    if (await draft.judging.answers(job.query, said)).answers is False:
        return draft
    await draft.writing.take_back()
    notice = UNCONFIRMED_NOTICE if left.removed else SILENT_NOTICE
    instead = await _show_quoted(quoted, sources, progress, notice=notice)
    return replace(
        instead,
        usage=draft.all_usage,
        stopped_because=draft.stopped_because,
        limitations=draft.writing.notes,
        removed=left.removed,
    )


def _refuse_silence(draft: Draft) -> None:
    """A model that hangs, or writes what nobody can read, is told as that: its silence says nothing of the sources."""
    if _grounded(draft).citations:
        return
    if draft.failure is not None:
        raise draft.failure
    if draft.stopped_because == OUT_OF_TIME:
        raise ModelTimeout("the model wrote nothing in time, and nothing could be quoted instead")
    if draft.notice == UNREAD_NOTICE:
        raise ModelGarbled("the model wrote nothing readable, and nothing could be quoted instead")
    said = draft.writing.draft.text.strip() if draft.writing and draft.writing.draft else ""
    if _DECLINES.match(said) and not _NAMES_SOURCES.search(said):
        raise ModelRejected(f"the model declined to answer: {said[:100]}", user_message=say(DECLINED))


_DECLINES = re.compile(  # "I'm sorry, but I can't help with that.": said of the question, not of the sources
    r"\W*(?:i(?:['’]m| am) (?:\w+ )?sorry|sorry\b|i (?:can(?:['’]t|not)|am (?:not able|unable) to|won['’]t) "
    r"(?:help|assist|comply|answer|discuss|provide)|(?:es )?tut mir leid|leider kann ich|lo siento"
    r"|(?:je suis )?désolée?|mi dispiace|desculpe|sinto muito|het spijt me)\b",
    re.IGNORECASE,
)
_NAMES_SOURCES = re.compile(
    r"\[\d|\b(?:sources?|documents?|passages?|pages?|context|text|information|quellen?|fuentes?|fonti|fontes?|bronnen"
    r"|informa\w+|informationen)\b",
    re.IGNORECASE,
)


async def _show_quoted(quoted: QuotedAnswer, sources: Sequence[Source], progress: Progress, *, notice: str) -> Draft:
    judged = [_verbatim("summary", place, entry, sources) for place, entry in enumerate(quoted.summary)]
    judged += [_verbatim("detail", place, entry, sources) for place, entry in enumerate(quoted.detail)]
    for entry in judged:
        if entry.claim:
            await progress.sentence(entry.claim, entry.shown)
    unanswered = quoted.unanswered or ("" if quoted.is_direct else say(NOT_DIRECT))
    return Draft(judged, notice=notice, unanswered=unanswered)


def _verbatim(section: str, place: int, quotation: Quotation, sources: Sequence[Source]) -> Judged:
    """A sentence of a source as a claim of the answer: supported, since it is the passage, but for one read by OCR."""
    source = next(source for source in sources if source.id == quotation.source_id)
    quote = source.content[quotation.start : quotation.end]
    is_by_ocr = source.is_by_ocr(quotation.start)
    verdict, reasons = (Verdict.UNCHECKED, (BY_OCR,)) if is_by_ocr else (Verdict.SUPPORTED, (VERBATIM,))
    evidence = Evidence(
        quotation.source_id,
        quote,
        quotation.start,
        quotation.end,
        verdict,
        page=source.page_at(quotation.start),
        reasons=reasons,
    )
    is_summary = section == "summary"
    words = strip_markers(quotation.said, Grammar.NUMBER)  # the page's own footnotes would read as our citations
    claim = Claim(f"{section}-{place}", words, verdict, (evidence,), reasons if is_by_ocr else ())
    shown = cited(words, quotation.source_id.removeprefix("src_"))
    return Judged(
        id=claim.id,
        section="summary" if is_summary else "detail",
        text=shown,
        gap=" " if is_summary else "\n- ",
        claim=claim,
        shown=shown,
    )


async def _written(
    job: ResearchJob,
    sources: Sequence[Source],
    deps: Deps,
    progress: Progress,
    *,
    script: Callable[[], Script] | None,
    ends_at: float,
    begun: Begun | None,
) -> Draft:
    """Written by two calls at once where the model serves that; by one where it does not, or nothing came of them."""
    spent: tuple[ModelUsage, ...] = ()
    take = partial(deps.turns.take, nearness=Nearness.PROMPT)
    given = await take(script) if script else None
    if begun is None and deps.writes_in_parallel:
        shared = given if given else await take(early_script, job, sources, deps)
        begun = begin_summary(job, sources, deps, progress, shared, ends_at=ends_at)
    if begun is not None:
        draft = await write_in_parts(job, sources, deps, begun, given, ends_at=ends_at)
        if draft.is_whole:
            return draft
        spent = draft.all_usage
    whole = given if given else await take(answer_script, job, sources, deps)
    draft = await _write(job, sources, deps, progress, script=whole, ends_at=ends_at)
    draft.usage = (*spent, *draft.usage)
    return draft


async def _shown_before(
    job: ResearchJob,
    sources: Sequence[Source],
    deps: Deps,
    progress: Progress,
    failure: ModelError,
    *,
    script: Callable[[], Script] | None,
    ends_at: float,
) -> Draft:
    """What a worker had shown that died, checked anew: it broke off there. Raises `failure` where that is nothing."""
    shown = await progress.shown_before()
    if not shown:
        raise failure
    given = await (deps.turns.take(script) if script else deps.turns.take(answer_script, job, sources, deps))
    writing, reading = begin_writing(job, sources, deps, progress, given, ends_at=ends_at)
    await asyncio.wait([reading])
    await writing.take_shown(shown)
    draft = Draft(writing.judged, writing, judging=writing.judging, failure=failure)
    await finish(draft, deps)
    _refuse_silence(draft)
    return draft


async def _write(
    job: ResearchJob, sources: Sequence[Source], deps: Deps, progress: Progress, *, script: Script, ends_at: float
) -> Draft:
    writing, reading = begin_writing(job, sources, deps, progress, script, ends_at=ends_at)
    draft = Draft(writing.judged, writing, judging=writing.judging)
    trying = tries_at(writing, script, deps, ends_at=ends_at)
    notice = ""
    try:
        async with asyncio.timeout_at(ends_at - MIN_CHECK_S):
            await retry_once(trying, remaining_s=lambda: ends_at - asyncio.get_running_loop().time())
    except TimeoutError:
        draft.stopped_because, notice = OUT_OF_TIME, LATE_NOTICE
        log.warning("the model ran out of time")
    except ModelError as exc:
        if writing.judged:
            draft.failure = exc
        elif isinstance(exc, ModelGarbled) or writing.prose:
            notice = UNREAD_NOTICE
        else:
            await writing.aclose()
            raise
    except BaseException:
        await writing.aclose()
        raise
    finally:
        draft.usage = trying.usage
        await asyncio.wait([reading])
    if notice and not writing.judged and writing.prose is not None:
        await writing.take_prose(writing.prose)
    if notice and not writing.judged:
        await writing.aclose()
        quoted = await _quote(job, sources, progress, notice=notice)
        return replace(quoted, usage=draft.usage, stopped_because=draft.stopped_because)
    await finish(draft, deps)
    return draft


def conclude(job: ResearchJob, found: SourceCollection, deps: Deps, draft: Draft) -> ResearchAnswer:
    """Put the sentences together, and say how sure this is and what is missing."""
    grounded = _grounded(draft)
    if not grounded.citations:
        return _insufficient(job, found, deps, grounded, stopped_because=draft.stopped_because)
    now = deps.clock()
    judged = None if draft.judging is None or draft.judging.judge is None else _contradictions(draft)
    conflicts = find_conflicts(grounded.claims, _read_by(draft, found), job.query, judged=judged)
    unanswered = _unanswered(job, draft, grounded)
    report = score_confidence(
        grounded.claims,
        found.sources,
        conflicts=conflicts,
        question_type=job.intent.question_type,
        now=now,
        question=job.query,
        unanswered=unanswered,
        is_checked=draft.is_checked,
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
    limitations, notice = (*draft.limitations, *limitations), draft.shown_notice
    if unanswered:  # said before all else (D23)
        near = say("This is near the question, but may not answer it ({why}).", why=unanswered)
        limitations, notice = ((near, *limitations), notice) if notice else (limitations, near)
    return ResearchAnswer(
        summary=grounded.summary,
        detail=grounded.detail,
        confidence=report.confidence,
        confidence_reasons=report.reasons,
        confidence_sum=report.sum,
        corroborating=report.corroborating,
        citations=grounded.citations,
        claims=tuple(replace(claim, strength=report.per_claim[claim.id]) for claim in grounded.claims),
        limitations=limitations,
        conflicts=conflicts,
        removed=(*draft.removed, *grounded.removed),
        notice=notice,
        follow_ups=worth_asking(
            draft.writing.given_follow_ups if draft.writing else (), job.query, job.intent.language
        ),
        stopped_because=draft.stopped_because,
    )


def _grounded(draft: Draft) -> Grounded:
    """The texts of the draft; a detail whose summary was cut is the answer, with its marks."""
    grounded = assemble(draft.judged, cut_off=draft.writing.cut_off if draft.writing else ())
    if not grounded.summary and grounded.detail:
        claims = tuple(replace(claim, id=claim.id.replace("detail", "summary")) for claim in grounded.claims)
        grounded = replace(grounded, summary=grounded.detail, detail="", claims=claims)
    if draft.writing is None:
        return grounded
    return draft.writing.grounder.quote_as_given(grounded, draft.writing.given_citations)


def _contradictions(draft: Draft) -> list[Contradiction]:
    """What the judge, or a rule that named it, found read sources to say against the claims that are shown."""
    return [
        Contradiction(entry.claim.id, evidence)
        for entry in draft.judged
        if entry.claim and entry.shown is not None
        for evidence in entry.contrary
    ]


def _unanswered(job: ResearchJob, draft: Draft, grounded: Grounded) -> str:
    """Why the summary does not answer the question, as the judge says, else as rules do; "" when it does."""
    if draft.unanswered:
        return draft.unanswered
    if draft.answers.answers is not None:
        return "" if draft.answers.answers else draft.answers.reason or say("it says something else of the subject")
    return unanswered_by_rules(job.query, strip_markers(grounded.summary), language=job.intent.language)


def _read_by(draft: Draft, found: SourceCollection) -> list[Source]:
    """What the writer read. What a page says to assistants contradicts nobody, and is never shown as a position."""
    if draft.writing:
        return draft.writing.grounder.read_sources
    return [replace(source, content=source.trusted_content) for source in found.sources]


def _insufficient(
    job: ResearchJob, found: SourceCollection, deps: Deps, grounded: Grounded, *, stopped_because: str = ""
) -> ResearchAnswer:
    """An honest answer that says what was searched (D11)."""
    language, searched = language_of(job), found.search_metadata
    read = {detect_language(source.content[:600]) for source in found.sources} or {ENGLISH}
    is_foreign = deps.model is None and job.intent.language not in read
    said = partial(no_answer, is_foreign=is_foreign, policy=job.request.policy)
    return ResearchAnswer(
        summary=said(language, searched.queries_executed, searched.providers_used),
        detail=advice_in(language),
        confidence=Confidence.INSUFFICIENT,
        confidence_reasons=(say("no source that was read answers this"),),
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
    costs = [cost_usd(entry, entry.model or deps.model.name, deps.settings.prices_usd_per_million) for entry in usage]
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
