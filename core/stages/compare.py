"""What sources say of claims that somebody made: for, against, or nothing.

Rules propose passages and the judge decides, as in answers (core/evidence/grounding.py). Without a judge only what
stands there word for word supports a claim, and what rules find otherwise differs from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from core.evidence.differences import find_difference
from core.evidence.grounding import Grounder
from core.evidence.judge import AskedPair, Judgement, Judging, Ruling
from core.evidence.rules.vetoes import says_same
from core.evidence.rules.words import read
from core.model.answer import Evidence, ModelUsage, Verdict
from core.model.source import Source
from core.pipeline.deps import Deps
from core.presentation.checks import CheckedClaim
from core.text.terms import terms

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
    claims: Sequence[str], read_as: Sequence[str], sources: Sequence[Source], deps: Deps, *, timeout_s: float
) -> ComparedClaims:
    """What `sources` say of each claim; `read_as` are the claims so that each can be understood alone."""
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
        lambda: [grounder.sides(said, meant, most=MAX_SOURCES) for said, meant in zip(claims, read_as, strict=True)]
    )
    try:
        rulings = await asyncio.gather(*(judging.rule([entry.pair for entry in asked]) for _, asked in proposed))
    finally:
        await judging.aclose()
    for failure in judging.failures:
        deps.count_error("check", failure)
    checks = await asyncio.to_thread(
        lambda: tuple(
            _checked((claim, meant), verbatim, list(zip(asked, said, strict=True)), sources)
            for claim, meant, (verbatim, asked), said in zip(claims, read_as, proposed, rulings, strict=True)
        )
    )
    is_by_rules = not any(judgement for said in rulings for judgement in said)
    return ComparedClaims(checks, tuple(judging.usage), is_by_rules, perf_counter() - started)


def _checked(
    claim: tuple[str, str],
    verbatim: Sequence[Evidence],
    rulings: Sequence[tuple[AskedPair, Judgement | None]],
    sources: Sequence[Source],
) -> CheckedClaim:
    """`claim` as it was said and as it is meant."""
    said, meant = claim
    titles = {source.id: source.title for source in sources}
    supporting, contradicting = list(verbatim), list[Evidence]()
    for entry, judgement in rulings:
        evidence = entry.evidence[0]
        if judgement is None:
            differing = _differing(meant, entry, titles[evidence.source_id])
            contradicting += [differing] if differing else []
            is_near = not entry.pair.doubts or says_same(meant, evidence.quote)
            supporting += [evidence] if is_near and not differing else []
        elif judgement.ruling is Ruling.CONTRADICTED:
            contradicting.append(replace(evidence, verdict=Verdict.SUPPORTED, reasons=(judgement.reason,)))
        elif judgement.ruling is not Ruling.UNSUPPORTED:
            is_whole = judgement.ruling is Ruling.SUPPORTED and not entry.pair.doubts
            supporting.append(replace(evidence, verdict=Verdict.SUPPORTED if is_whole else Verdict.PARTIAL))
    supporting.sort(key=lambda evidence: evidence.verdict is not Verdict.SUPPORTED)
    return CheckedClaim(said, tuple(supporting[:MAX_EVIDENCE]), tuple(contradicting[:MAX_EVIDENCE]))


def _differing(claim: str, asked: AskedPair, title: str) -> Evidence | None:
    """The proposed sentence that rules find to differ in one thing, on the same matter."""
    for evidence in asked.evidence:
        difference = find_difference(claim, evidence.quote) if _same_topic(claim, evidence.quote, title) else None
        if difference is not None:
            return replace(evidence, reasons=(f"the source says {difference.second}, not {difference.first}",))
    return None


def _same_topic(claim: str, sentence: str, title: str) -> bool:
    """A shared name, or the title names what the claim is about: "the company" of a page may be any company."""
    return bool(read(claim).name_stems & read(sentence).name_stems) or bool({*terms(claim)} & {*terms(title)})
