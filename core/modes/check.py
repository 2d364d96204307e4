"""Research This: the claims of a message, and what sources say for and against each. Not a choice of its own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter

import regex

from core.evidence.citations import strip_markers
from core.evidence.confidence import find_limitations, score_confidence
from core.evidence.differences import find_difference
from core.evidence.grounding import Grounder
from core.evidence.judge import AskedPair, Judgement, Judging, Ruling
from core.evidence.rules.vetoes import says_same
from core.evidence.rules.words import read
from core.evidence.verbatim import points_back
from core.model.answer import Citation, Claim, Confidence, Evidence, JobResult, ModelUsage, ResearchAnswer, Verdict
from core.model.job import JobStatus
from core.model.source import SearchMetadata, SearchPlan, SearchQuery, Source, SourceCollection, all_searches
from core.modes.mode import Mode
from core.modes.quick import SearchOutcome
from core.pipeline.conversation import Turn, standalone_by_rules
from core.pipeline.deps import Deps
from core.pipeline.work import Work
from core.presentation import wording
from core.presentation.card import CheckedClaim, checks_json
from core.presentation.render import cut, one_line
from core.stages.gathering import Gathering, addresses_in, read_given, renumbered, without_addresses
from core.stages.plan import MAX_QUERY_TEXT_CHARS, plan_by_rules
from core.stages.search import collect_sources
from core.stages.synthesize import usage_metadata
from core.text.saying import later, say
from core.text.sentences import split_sentences
from core.text.terms import terms
from core.text.urls import canonical_url

MAX_MESSAGE_CHARS = 4000  # the longest message of Discord's subscribers; Slack's may have ten times as many
MAX_CLAIMS = 8  # a person reads no longer list in chat
SOURCES_A_CLAIM = 4
MAX_QUOTE_CHARS = 240  # of a line in the list; the whole quote is in the citation
_MIN_TERMS = 2  # "So true!" claims nothing that could be looked up
_COMPARE_RESERVE_S = 20.0
_PERSONAL = regex.compile(
    r"^\W*(?:(?:and|but|so|well|honestly|personally),?\s+)*(?:i|we)\s+(?:\w+\s+)?"
    r"(?:love|like|hate|think|feel|hope|wish|want|guess|believe|enjoy|prefer|agree|disagree|need|can't wait)\b"
    r"|^\W*(?:i|we)(?: honestly| really)? (?:don['’]t|do not) (?:get|know|understand|see)\b"
    r"|^\W*(?:please|thanks|thank you|let's|let me|check (?:this|it) out|look at|read this|share (?:this|it|if))\b"
    r"|^\W*(?:(?:hi|hello|hey|dear|hallo|liebe[rs]?|hola|bonjour|ciao)\b[^.!?,]{0,30},$|(?:best|cheers|regards),)",
    regex.IGNORECASE,
)
_BLOCK = regex.compile(r"\n\s*\n\s*|(?:^|\n)\s*(?:[-*•–]|\(?\p{Nd}{1,2}[.)])\s+")  # a paragraph or a point of a list


@dataclass(frozen=True)
class Claims:
    """Sentences of the message that state something, as written and as they are searched for."""

    said: tuple[str, ...]
    meant: tuple[str, ...]
    notes: tuple[str, ...] = ()


async def run(work: Work) -> JobResult:
    """Split, search, compare: each a durable step."""

    async def split() -> Claims:
        return split_claims(work.job.request.quoted)

    claims = await work.steps.run("claims", split, Claims)
    outcome = await work.steps.run("search", lambda: _search(work, claims), SearchOutcome)
    sources = await work.deps.sources.sources(work.job.id)
    compared = await work.steps.run("compare", lambda: _compare(work, claims, sources), ComparedClaims)
    found = SourceCollection(tuple(sources), outcome.metadata, outcome.considered)
    return JobResult(
        answer=_answer(work, compared, found),
        source_ids=tuple(source.id for source in sources),
        sources_considered=outcome.considered,
        queries=outcome.metadata.queries_executed,
        providers=outcome.metadata.providers_used,
        question_type=work.job.intent.question_type,
        details=checks_json(compared.checks),
    )


def split_claims(message: str) -> Claims:
    """At most `MAX_CLAIMS` of a message's first `MAX_MESSAGE_CHARS`; the notes say what was left out."""
    notes: list[str] = []
    if len(message) > MAX_MESSAGE_CHARS:
        notes.append(
            say("The message is long; only its first {number} characters were checked.", number=MAX_MESSAGE_CHARS)
        )
        message = cut(message, MAX_MESSAGE_CHARS)
    said: list[str] = []
    blocks = (without_addresses(block) for block in _BLOCK.split(message))
    for sentence in (one for block in blocks if not addresses_in(block) for one in split_sentences(block)):
        text = one_line(strip_markers(sentence.plain))
        is_checkable = len(set(terms(text))) >= _MIN_TERMS and not _PERSONAL.search(text)
        if sentence.asserts and is_checkable and text not in said:
            said.append(text)
    if len(said) > MAX_CLAIMS:
        notes.append(say("Only the first {few} of {all} claims were checked.", few=MAX_CLAIMS, all=len(said)))
    said = said[:MAX_CLAIMS]
    meant: list[str] = []
    for place, text in enumerate(said):
        before = [Turn(said[place - 1], "")] if place else []
        alone = standalone_by_rules(text, before)
        meant.append(text if text.casefold() in alone.casefold() else alone)
    return Claims(tuple(said), tuple(meant), tuple(notes))


async def _search(work: Work, claims: Claims) -> SearchOutcome:
    """Every claim is a search of its own, all at once; each keeps its best few pages."""
    queries = [SearchQuery(text[:MAX_QUERY_TEXT_CHARS]) for text in claims.meant]
    providers = plan_by_rules(work.job, work.deps).search.providers
    told = [query.text for query in queries]
    await work.progress.status(JobStatus.SEARCHING, data={"queries": [*told], "providers": [*providers]})
    if not queries:
        return SearchOutcome(SearchMetadata(notes=claims.notes), 0)
    few = replace(work.deps.settings.search, pages_to_fetch=SOURCES_A_CLAIM + 2, max_sources=SOURCES_A_CLAIM)
    gathering = Gathering(work.job, replace(work.deps, settings=replace(work.deps.settings, search=few)))
    try:
        with work.deps.stage("search"):
            return await _collect(work, claims, gathering, queries, providers)
    finally:
        await gathering.aclose()


async def _collect(
    work: Work, claims: Claims, gathering: Gathering, queries: Sequence[SearchQuery], providers: tuple[str, ...]
) -> SearchOutcome:
    for query in queries:
        gathering.start_early(providers, query)
    within_s = work.deadline.remaining(reserve_s=_COMPARE_RESERVE_S * work.deps.settings.patience)
    named = " ".join(addresses_in(work.job.request.quoted))
    asked = replace(work.job, request=replace(work.job.request, query=f"{work.job.query} {named}"))
    given = await read_given(asked, gathering, work.deps, within_s=within_s)
    kept: dict[str, Source] = {canonical_url(source.url): source for source in given.sources}
    parts: list[SearchMetadata] = []

    async def on_fetching(results: int) -> None:
        if not parts:
            await work.progress.status(JobStatus.FETCHING, data={"results": results})

    for query in queries:
        gathering.job = replace(work.job, request=replace(work.job.request, query=query.text))
        found = await collect_sources(
            gathering,
            SearchPlan((query,), providers, SOURCES_A_CLAIM, work.deps.settings.search.provider_timeout_s),
            within_s=work.deadline.remaining(reserve_s=_COMPARE_RESERVE_S * work.deps.settings.patience),
            on_fetching=on_fetching,
            on_source=work.progress.source,
        )
        parts.append(found.search_metadata)
        for source in found.sources:
            kept.setdefault(canonical_url(source.url), source)
    sources = renumbered(list(kept.values()))
    await work.deps.sources.put(work.job, sources)
    metadata = replace(all_searches(parts), notes=(*claims.notes, *given.notes))
    return SearchOutcome(metadata, len(sources))


async def _compare(work: Work, claims: Claims, sources: Sequence[Source]) -> ComparedClaims:
    await work.progress.status(JobStatus.SYNTHESIZING, data={"sources": len(sources)})
    with work.deps.stage("synthesize"):
        timeout_s = min(work.deps.settings.synthesis.model_timeout_s, work.deadline.remaining(reserve_s=2.0))
        return await compare_claims(claims.said, sources, work.deps, timeout_s=timeout_s)


def _answer(work: Work, compared: ComparedClaims, found: SourceCollection) -> ResearchAnswer:
    lines, evidence = _lines(compared.checks)
    now, kind = work.deps.clock(), work.job.intent.question_type
    counts = wording.checks_summary(Counter(check.stand.value for check in compared.checks))
    answer = ResearchAnswer(
        summary="\n".join([counts, "", *lines]).strip(),  # the list is what was asked for: every interface shows it
        detail="",
        confidence=Confidence.INSUFFICIENT,
        confidence_reasons=(say("no source that was read speaks of these claims"),),
        limitations=find_limitations(kind, found, evidence, conflicts=(), now=now),
        notice=say(wording.CHECKED_BY_RULES) if compared.is_by_rules else "",
        metadata=usage_metadata(work.deps, compared.usage, seconds=compared.seconds),
    )
    if not evidence:
        return answer
    cap = Confidence.MEDIUM if compared.is_by_rules else None
    report = score_confidence(evidence, found.sources, conflicts=(), question_type=kind, now=now, cap=cap)
    return replace(
        answer,
        confidence=report.confidence,
        confidence_reasons=report.reasons,
        confidence_sum=report.sum,
        corroborating=report.corroborating,
        claims=tuple(replace(claim, strength=report.per_claim[claim.id]) for claim in evidence),
        citations=tuple(_citation(claim) for claim in evidence),
    )


def _lines(checks: Sequence[CheckedClaim]) -> tuple[list[str], list[Claim]]:
    """The list that is shown, and each line with a quote as a claim that its source carries word for word."""
    lines: list[str] = []
    evidence: list[Claim] = []
    for number, check in enumerate(checks, start=1):
        lines.append(f"{number}. {say(wording.STANDS[check.stand.value])}: “{check.claim}”")
        sides = [*((True, entry) for entry in check.supporting), *((False, entry) for entry in check.contradicting)]
        for is_for, entry in sides:
            said = wording.evidence_line(cut(one_line(entry.quote), MAX_QUOTE_CHARS), entry.verdict, is_for=is_for)
            carried = replace(entry, verdict=Verdict.SUPPORTED, reasons=entry.reasons or ("verbatim",))
            evidence.append(Claim(f"summary-{len(evidence)}", said, Verdict.SUPPORTED, (carried,)))
            lines.append(f"   - {said} [{entry.source_id.removeprefix('src_')}]")
    return lines, evidence


def _citation(claim: Claim) -> Citation:
    entry = claim.evidence[0]
    return Citation(claim.text, entry.source_id, entry.quote, entry.verdict, entry.start, entry.end, entry.page)


MODE = Mode(
    name="check",
    title=later("Fact check"),
    description=later("What sources say for and against each claim of a message"),
    deadline_s=90.0,
    run=run,
)


# What sources say of claims that somebody made: for, against, or nothing. Rules propose passages and the judge decides,
# as in answers (core/evidence/grounding.py). Without a judge only what stands there word for word supports a claim, and
# what rules find otherwise differs from it.


MAX_EVIDENCE = 2  # of each side of a claim; more is not read
MAX_SOURCES = 8  # that the judge reads for a claim: those in which most of it is found


@dataclass(frozen=True)
class ComparedClaims:
    """The claims in their order, what asking cost, whether only rules judged, and how long it took in seconds."""

    checks: tuple[CheckedClaim, ...]
    usage: tuple[ModelUsage, ...] = ()
    is_by_rules: bool = True
    seconds: float = 0.0


async def compare_claims(
    claims: Sequence[str], sources: Sequence[Source], deps: Deps, *, timeout_s: float
) -> ComparedClaims:
    """What `sources` say of each claim, which may lean on the one before it."""
    started = perf_counter()
    ends_at = asyncio.get_running_loop().time() + timeout_s
    judging = Judging(
        deps.judge,
        lambda: ends_at - asyncio.get_running_loop().time(),
        call_timeout_s=deps.settings.synthesis.check_timeout_s,
    )
    judging.hurry()
    grounder = Grounder(sources, "")
    proposed = await asyncio.to_thread(
        lambda: [
            grounder.sides(claim, before if points_back(claim) else "", most=MAX_SOURCES)
            for before, claim in pairwise(["", *claims])
        ]
    )
    try:
        rulings = await asyncio.gather(*(judging.rule([entry.pair for entry in asked]) for _, asked in proposed))
    finally:
        await judging.aclose()
    for failure in judging.failures:
        deps.count_error("check", failure)
    checks = await asyncio.to_thread(
        lambda: tuple(
            _checked(claim, verbatim, list(zip(asked, said, strict=True)), sources)
            for claim, (verbatim, asked), said in zip(claims, proposed, rulings, strict=True)
        )
    )
    is_by_rules = not any(judgement for said in rulings for judgement in said)
    return ComparedClaims(checks, tuple(judging.usage), is_by_rules, perf_counter() - started)


def _checked(
    claim: str,
    verbatim: Sequence[Evidence],
    rulings: Sequence[tuple[AskedPair, Judgement | None]],
    sources: Sequence[Source],
) -> CheckedClaim:
    titles = {source.id: source.title for source in sources}
    supporting, contradicting = list(verbatim), list[Evidence]()
    for entry, judgement in rulings:
        evidence = entry.evidence[0]
        if judgement is None:
            differing = _differing(claim, entry, titles[evidence.source_id])
            contradicting += [differing] if differing else []
            is_near = not entry.pair.doubts or says_same(claim, evidence.quote)
            supporting += [evidence] if is_near and not differing else []
        elif judgement.ruling is Ruling.CONTRADICTED:
            contradicting.append(replace(evidence, verdict=Verdict.SUPPORTED, reasons=(judgement.reason,)))
        elif judgement.ruling is not Ruling.UNSUPPORTED:
            is_whole = judgement.ruling is Ruling.SUPPORTED and not entry.doubts
            supporting.append(replace(evidence, verdict=Verdict.SUPPORTED if is_whole else Verdict.PARTIAL))
    supporting.sort(key=lambda evidence: evidence.verdict is not Verdict.SUPPORTED)
    return CheckedClaim(claim, tuple(supporting[:MAX_EVIDENCE]), tuple(contradicting[:MAX_EVIDENCE]))


def _differing(claim: str, asked: AskedPair, title: str) -> Evidence | None:
    """The proposed sentence that rules find to differ in one thing, on the same matter."""
    for evidence in asked.evidence:
        told = f"{asked.pair.before} {claim}"
        difference = find_difference(claim, evidence.quote) if _same_topic(told, evidence.quote, title) else None
        if difference is not None:
            return replace(evidence, reasons=(f"the source says {difference.second}, not {difference.first}",))
    return None


def _same_topic(claim: str, sentence: str, title: str) -> bool:
    """A shared name, or the title names what the claim is about: "the company" of a page may be any company."""
    return bool(read(claim).name_stems & read(sentence).name_stems) or bool({*terms(claim)} & {*terms(title)})
