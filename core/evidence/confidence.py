"""How sure an answer may be, computed from its evidence and never asked of a model (docs/confidence.md).

Monotone by construction: another source, another piece of evidence or a better verdict never lowers
the score or the level, and a conflict never raises them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import log, prod

from core.answer import Claim, Confidence, ConfidencePart, Conflict, Evidence, Verdict
from core.evidence.authority import PRIMARY_KINDS, authority
from core.evidence.independence import heaviest_independent, same_quote, same_voice
from core.job import QuestionType
from core.source import Source, SourceKind
from core.wording import counted

# All shares are by judgement and explained in docs/confidence.md; a test keeps that page and this table equal.
VERDICT_SHARE = {
    Verdict.SUPPORTED: 1.0,
    Verdict.MOVED: 0.9,  # carried, but not by the source that was named
    Verdict.PARTIAL: 0.5,
    Verdict.UNCHECKED: 0.3,
    Verdict.UNSUPPORTED: 0.0,
}
BASE_WEIGHT = 0.3  # what any page that carries a claim is worth
AUTHORITY_WEIGHT = 0.45  # what full authority adds; one official source gives .75, two give .94
CONFLICT_FACTOR = 0.6  # for each conflict; even a perfect score falls below the bar for high
HIGH_SCORE = 0.8  # two press reports just reach it, two unknown pages do not
MEDIUM_SCORE = 0.5  # one source of some standing reaches it, one unknown page does not
HIGH_SOURCES = 2  # independent
HIGH_AUTHORITY = 0.6  # at least one source of the standing of established press
RECENCY_SHARE = ((7, 1.0), (30, 0.9), (180, 0.7))  # days of age up to which a report counts so much
OLD_SHARE = 0.5
UNDATED_SHARE = 0.6
_FUTURE_TOLERANCE = timedelta(days=2)  # time zones and embargoes; a later date is a mistake and counts as none

_LEVELS = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


@dataclass(frozen=True)
class ConfidenceReport:
    """`reasons` are for people, `sum` is the calculation line by line, `per_claim` maps a claim's id to its 0…1."""

    confidence: Confidence
    reasons: tuple[str, ...]
    sum: tuple[ConfidencePart, ...]
    per_claim: Mapping[str, float]


@dataclass(frozen=True)
class _Support:
    """What the sources carry, before levels are drawn: all claims, and the independent sources behind them.

    `on_one_source` counts the claims that a single independent source carries.
    """

    per_claim: Mapping[str, float]
    independent: tuple[Source, ...]
    supporting: tuple[Source, ...]
    is_carried: bool
    on_one_source: int

    @property
    def mean(self) -> float:
        return sum(self.per_claim.values()) / len(self.per_claim) if self.per_claim else 0.0


def score_confidence(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    *,
    conflicts: Sequence[Conflict],
    question_type: QuestionType,
    now: datetime,
    is_checked: bool = True,
    cap: Confidence | None = None,
) -> ConfidenceReport:
    """The confidence of an answer and of each of its claims.

    `claims` are those shown to people. Recency counts for current events only. `is_checked` is False
    when the checker failed: then the level is at most low. `cap` is an upper bound from outside.
    """
    support = _support(claims, sources, question_type, now, is_checked=is_checked)
    score = support.mean * CONFLICT_FACTOR ** len(conflicts)
    level = _level(support, score, has_conflict=bool(conflicts), is_checked=is_checked)
    if cap is not None:
        level = min(level, cap, key=_LEVELS.index)
    return ConfidenceReport(
        confidence=level,
        reasons=_reasons(claims, support, conflicts, question_type, now, is_checked=is_checked),
        sum=_sum(support, score, conflicts, claims, level),
        per_claim=support.per_claim,
    )


# Support: how strongly the sources carry each claim


def _support(
    claims: Sequence[Claim], sources: Sequence[Source], question_type: QuestionType, now: datetime, *, is_checked: bool
) -> _Support:
    known = {source.id: source for source in sources}
    ties = _Ties(known)
    per_claim: dict[str, float] = {}
    supporting: dict[str, Source] = {}
    is_carried, on_one_source = False, 0
    for claim in claims:
        weights = {
            evidence: weight
            for evidence in claim.evidence
            if (source := known.get(evidence.source_id))
            and (weight := _weight(evidence, source, question_type, now)) > 0
        }
        voices = heaviest_independent(
            {evidence: -log(1 - weight) for evidence, weight in weights.items()}, ties.of_evidence
        )
        strength = min(_strength([weights[voice] for voice in voices]), VERDICT_SHARE[claim.verdict])
        on_one_source += len(voices) == 1
        per_claim[claim.id] = strength
        if strength > 0:
            is_carried = is_carried or _carries(claim.verdict, is_checked=is_checked)
            backing = [
                known[evidence.source_id] for evidence in weights if _carries(evidence.verdict, is_checked=is_checked)
            ]
            supporting |= {source.id: source for source in backing}
    heads = {
        source.id: 1 + authority(source.metadata.kind) / 1000 for source in supporting.values()
    }  # of equals, the better
    independent = heaviest_independent(heads, ties.of_sources)
    voices_of_all = tuple(supporting[source_id] for source_id in independent)
    return _Support(per_claim, voices_of_all, tuple(supporting.values()), is_carried, on_one_source)


def _carries(verdict: Verdict, *, is_checked: bool) -> bool:
    return verdict.carries or (verdict is Verdict.UNCHECKED and not is_checked)


class _Ties:
    """Which pieces of evidence are one voice; pairs of sources are compared once."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._known: dict[frozenset[str], bool] = {}

    def of_sources(self, first: str, second: str) -> bool:
        pair = frozenset((first, second))
        if pair not in self._known:
            self._known[pair] = first == second or same_voice(self._sources[first], self._sources[second])
        return self._known[pair]

    def of_evidence(self, first: Evidence, second: Evidence) -> bool:
        return self.of_sources(first.source_id, second.source_id) or same_quote(first.quote, second.quote)


def _strength(weights: Sequence[float]) -> float:
    """The chance that not all independent sources are wrong, were their weights chances of being right: 0…1."""
    return 1 - prod(1 - weight for weight in weights)


def _weight(evidence: Evidence, source: Source, question_type: QuestionType, now: datetime) -> float:
    """What one piece of evidence adds, 0…0.75."""
    standing = BASE_WEIGHT + AUTHORITY_WEIGHT * authority(source.metadata.kind)
    recency = _recency(source, now) if question_type is QuestionType.CURRENT_EVENT else 1.0
    return VERDICT_SHARE[evidence.verdict] * standing * recency


def _recency(source: Source, now: datetime) -> float:
    age = age_days(source, now)
    if age is None:
        return UNDATED_SHARE
    return next((share for days, share in RECENCY_SHARE if age <= days), OLD_SHARE)


def age_days(source: Source, now: datetime) -> int | None:
    """Whole days since publication, at least 0; None when no date, or one in the future, is known."""
    published = source.metadata.published_at
    if published is None:
        return None
    age = _utc(now) - _utc(published)
    return None if age < -_FUTURE_TOLERANCE else max(0, age.days)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


# Levels and words


def _level(support: _Support, score: float, *, has_conflict: bool, is_checked: bool) -> Confidence:
    if not support.is_carried:
        return Confidence.INSUFFICIENT
    best = max((authority(source.metadata.kind) for source in support.supporting), default=0.0)
    if not is_checked or score < MEDIUM_SCORE:
        return Confidence.LOW
    is_corroborated = len(support.independent) >= HIGH_SOURCES and best >= HIGH_AUTHORITY
    return Confidence.HIGH if score >= HIGH_SCORE and is_corroborated and not has_conflict else Confidence.MEDIUM


def _reasons(
    claims: Sequence[Claim],
    support: _Support,
    conflicts: Sequence[Conflict],
    question_type: QuestionType,
    now: datetime,
    *,
    is_checked: bool,
) -> tuple[str, ...]:
    if not is_checked:
        return (counted(len(support.supporting), "source"), "the citations could not be checked")
    if not support.is_carried:
        return ("no claim is supported by a source that was read",)
    reasons = [_independent_reason(support)]
    kinds = [source.metadata.kind for source in support.independent]
    primary = sum(kind in PRIMARY_KINDS for kind in kinds)
    if all(kind is SourceKind.LOCAL for kind in kinds):
        reasons.append("local files only")
    else:
        reasons.append(f"{primary} primary" if primary else "none primary")
    reasons.append(_claims_reason(claims))
    if len(support.independent) > 1 and 2 * support.on_one_source > len(claims):
        reasons.append("most claims rest on one source each")
    if question_type is QuestionType.CURRENT_EVENT:
        reasons.append(_recency_reason(support.supporting, now))
    reasons.append(counted(len(conflicts), "conflict") if conflicts else "no conflict")
    return tuple(reasons)


def _independent_reason(support: _Support) -> str:
    independent, all_of_them = len(support.independent), len(support.supporting)
    copies = f" (of {all_of_them}; the others share an owner or a text)" if all_of_them > independent else ""
    return counted(independent, "independent source") + copies


def _claims_reason(claims: Sequence[Claim]) -> str:
    supported = sum(claim.verdict in (Verdict.SUPPORTED, Verdict.MOVED) for claim in claims)
    partial = sum(claim.verdict is Verdict.PARTIAL for claim in claims)
    reason = f"{supported} of {counted(len(claims), 'claim')} supported"
    return f"{reason}, {partial} in part" if partial else reason


def _recency_reason(sources: Sequence[Source], now: datetime) -> str:
    ages = [age for source in sources if (age := age_days(source, now)) is not None]
    if not ages:
        return "no source gives a date"
    return "newest source from today" if min(ages) == 0 else f"newest source {counted(min(ages), 'day')} old"


def _sum(
    support: _Support,
    score: float,
    conflicts: Sequence[Conflict],
    claims: Sequence[Claim],
    level: Confidence,
) -> tuple[ConfidencePart, ...]:
    weakest = min(claims, key=lambda claim: support.per_claim[claim.id], default=None)
    note = f"mean over {counted(len(claims), 'claim')} of how strongly independent sources carry each"
    if weakest and len(claims) > 1:
        note += f"; the weakest has {support.per_claim[weakest.id]:.2f}"
    return (
        ConfidencePart("support", support.mean, note),
        ConfidencePart(
            "conflicts",
            CONFLICT_FACTOR ** len(conflicts),
            f"{counted(len(conflicts), 'conflict')}, a factor of {CONFLICT_FACTOR} each",
        ),
        ConfidencePart("score", score, _bars(score, level)),
    )


def _bars(score: float, level: Confidence) -> str:
    """Where the bars are, and what held the level below the one that the score alone would reach."""
    note = f"high from {HIGH_SCORE}, medium from {MEDIUM_SCORE}"
    reached = Confidence.HIGH if score >= HIGH_SCORE else Confidence.MEDIUM if score >= MEDIUM_SCORE else Confidence.LOW
    if level is Confidence.MEDIUM and reached is Confidence.HIGH:
        return f"{note}; high also needs {HIGH_SOURCES} independent sources, one of them of standing, and no conflict"
    if level is Confidence.LOW and reached is not Confidence.LOW:
        return f"{note}; held at low, because the answer is not direct or was not checked"
    return note
