"""How sure an answer may be, computed from its evidence and never asked of a model (docs/confidence.md).

The score is the lowest of a few lines: how strongly the sources carry the central claim, and how far
each thing that is wrong lets it go. Monotone by construction: another source, another piece of evidence,
a better verdict or more detail never lowers score or level, and a conflict never raises them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from math import log, prod

from core.evidence.answering import unanswered_by_rules
from core.evidence.authority import (
    LOCAL_FILES,
    PRIMARY_KINDS,
    authority,
    heaviest_independent,
    is_retracted,
    owner,
    registrable_domain,
    same_quote,
    same_voice,
)
from core.evidence.conflicts import STRONG, is_asked, lone_weaker_voice, name_sides
from core.model.answer import Claim, Confidence, ConfidencePart, Conflict, Evidence, ResearchAnswer, Verdict
from core.model.errors import place_name, places_of
from core.model.job import QuestionType
from core.model.source import Source, SourceCollection, SourceKind
from core.model.works import Notice, NoticeKind, fullest
from core.presentation.render import cut, one_line
from core.presentation.wording import DISAGREE, DISAGREE_FURTHER, DISAGREE_ON_ONE_MORE, DISAGREES_ALONE, counted
from core.text.saying import say, say_many

# All shares are by judgement and explained in docs/confidence.md; a test keeps that page and this table equal.
VERDICT_SHARE = {
    Verdict.SUPPORTED: 1.0,
    Verdict.MOVED: 1.0,
    Verdict.PARTIAL: 0.5,
    Verdict.UNCHECKED: 0.3,
    Verdict.UNSUPPORTED: 0.0,
}
BASE_WEIGHT = 0.3  # what any page that carries a claim is worth
AUTHORITY_WEIGHT = 0.45  # what full authority adds; one official source gives .75, two give .94
HIGH_SCORE = 0.76  # no single source reaches it, one of standing and any other page do
MEDIUM_SCORE = 0.5  # one source of some standing reaches it, one unknown page does not
HIGH_AUTHORITY = STRONG  # at least one source of the standing of established press
AT_MOST = {Confidence.MEDIUM: 0.7, Confidence.LOW: 0.4}  # score of an answer that is held at that level
RECENCY_SHARE = ((7, 1.0), (30, 0.9), (180, 0.7))  # days of age up to which a report counts so much
OLD_SHARE = 0.5
UNDATED_SHARE = 0.6
_FUTURE_TOLERANCE = timedelta(days=2)  # time zones and embargoes; a later date is a mistake and counts as none

_LEVELS = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
_CONFIRMED = (Verdict.SUPPORTED, Verdict.MOVED)


@dataclass(frozen=True)
class ConfidenceReport:
    """`reasons` are for people, the one that decided first; `sum` is the calculation line by line.

    `per_claim` maps a claim's id to how strongly independent sources carry it, 0…1.
    """

    confidence: Confidence
    reasons: tuple[str, ...]
    sum: tuple[ConfidencePart, ...]
    per_claim: Mapping[str, float]


@dataclass(frozen=True)
class _Limit:
    """What holds an answer at `level`; `name` is its line in the sum."""

    name: str
    level: Confidence
    reason: str


@dataclass(frozen=True)
class _Support:
    """What the sources carry: each claim 0…1, by which sources, and how many of them are independent."""

    per_claim: Mapping[str, float]
    supporting: tuple[Source, ...]
    independent: tuple[Source, ...]
    central: float
    central_sources: tuple[Source, ...]
    central_voices: int


def score_confidence(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    *,
    conflicts: Sequence[Conflict],
    question_type: QuestionType,
    now: datetime,
    question: str = "",
    unanswered: str = "",
    is_checked: bool = True,
    cap: Confidence | None = None,
) -> ConfidenceReport:
    """The confidence of an answer and of each of its claims.

    `claims` are those shown to people; the summary's decide (all, where there is no summary), the first that answers
    the question is the central one. `unanswered` is why the summary does not answer, "" when it does. Recency counts
    for current events only. `is_checked` is False when nothing could be checked. `cap` is an upper bound from outside.
    """
    summary = _central_first([claim for claim in claims if claim.id.startswith("summary")] or claims, question)
    support = _support(claims, summary, sources, question_type, now)
    if not any(support.per_claim.values()):
        reasons = ("no claim is supported by a source that was read",)
        return ConfidenceReport(Confidence.INSUFFICIENT, reasons, _sum(support, (), 0.0), support.per_claim)
    disputes = [_dispute(conflict, summary, sources, question) for conflict in conflicts]
    limits = [
        *([_Limit("answer", Confidence.LOW, unanswered)] if unanswered else []),
        *(limit for limit in disputes if limit.level is Confidence.LOW),
        *([] if is_checked else [_Limit("check", Confidence.LOW, "the citations could not be checked")]),
        *_unconfirmed(summary),
        *(limit for limit in disputes if limit.level is Confidence.MEDIUM),
        *(_weak(support, question_type) if summary[0].verdict in _CONFIRMED else ()),
    ]
    is_weak = _level(support.central) is not Confidence.HIGH  # then the line of the support says so itself
    bounds = [limit for limit in limits if not (is_weak and limit.name == "sources")]
    bounds += [_Limit("cap", cap, "its mode does not let it be higher")] if cap in AT_MOST else []
    score = min([support.central, *(AT_MOST[limit.level] for limit in bounds)])
    facts = _facts(claims, support, conflicts, question_type, now)
    decided = min(limits, key=lambda limit: _LEVELS.index(limit.level), default=None)
    level = _level(score) if cap is None else min(_level(score), cap, key=_LEVELS.index)
    return ConfidenceReport(
        confidence=level,
        reasons=tuple(dict.fromkeys([*([decided.reason] if decided else []), *facts])),
        sum=_sum(support, bounds, score),
        per_claim=support.per_claim,
    )


def _central_first(claims: Sequence[Claim], question: str) -> list[Claim]:
    """The claims with the first that may answer the question in front; in their order where rules cannot tell."""
    answers = (claim for claim in claims if question and not unanswered_by_rules(question, claim.text))
    central = next(answers, None)
    return sorted(claims, key=lambda claim: claim is not central)


def _level(score: float) -> Confidence:
    if score < MEDIUM_SCORE:
        return Confidence.LOW
    return Confidence.HIGH if score >= HIGH_SCORE else Confidence.MEDIUM


# What holds an answer down


def _dispute(conflict: Conflict, summary: Sequence[Claim], sources: Sequence[Source], question: str) -> _Limit:
    """D22: low on what was asked, unless two strong sources stand against one that is weaker by classes."""
    if not is_asked(conflict, summary, question):
        return _Limit("conflicts", Confidence.MEDIUM, f"sources disagree on a detail, {name_sides(conflict)}")
    lone = lone_weaker_voice(conflict, sources)
    if lone is not None:
        return _Limit("conflicts", Confidence.MEDIUM, f"one weaker source says otherwise, {name_sides(conflict)}")
    said = name_sides(conflict)
    return _Limit("conflicts", Confidence.LOW, f"sources disagree, {said}" if said else "sources disagree")


def _unconfirmed(summary: Sequence[Claim]) -> Iterator[_Limit]:
    """What nobody confirmed, or only in part: of the central claim, and of the summary's others."""
    doubtful = [claim for claim in summary if claim.verdict not in _CONFIRMED]
    if not doubtful:
        return
    if doubtful[0] is summary[0]:
        is_partial = summary[0].verdict is Verdict.PARTIAL
        how = "is supported only in part" if is_partial else "is not confirmed"
        yield _Limit("confirmed", Confidence.LOW, f"the central claim {how}")
    else:
        told = f"not confirmed: {len(doubtful)} of {counted(len(summary), 'sentence')}"
        yield _Limit("confirmed", Confidence.MEDIUM, told)


def _weak(support: _Support, question_type: QuestionType) -> Iterator[_Limit]:
    """Why the sources of the central claim do not reach high by themselves."""
    best = max((authority(source.metadata.kind) for source in support.central_sources), default=0.0)
    if _level(support.central) is Confidence.HIGH and best >= HIGH_AUTHORITY:
        return
    level = min(_level(support.central), Confidence.MEDIUM, key=_LEVELS.index)
    if all(source.metadata.kind is SourceKind.LOCAL for source in support.central_sources):
        sort = "local file"
    elif best < HIGH_AUTHORITY:
        sort = "weak source"
    else:
        sort = "old or undated source" if question_type is QuestionType.CURRENT_EVENT else "source"
    is_one = support.central_voices == 1 and (sort != "local file" or len(support.central_sources) == 1)
    few = f"one {sort}" if is_one else f"{sort}s"
    yield _Limit("sources", level, f"the central claim rests on {few}")


# Support: how strongly the sources carry each claim


def _support(
    claims: Sequence[Claim],
    summary: Sequence[Claim],
    sources: Sequence[Source],
    question_type: QuestionType,
    now: datetime,
) -> _Support:
    known = {source.id: source for source in sources}
    cited = [known[one] for one in {entry.source_id for claim in claims for entry in claim.evidence} if one in known]
    one_voice = {frozenset((one.id, two.id)) for one, two in combinations(cited, 2) if same_voice(one, two)}

    def are_tied(one: str, two: str) -> bool:
        return one == two or frozenset((one, two)) in one_voice

    def say_the_same(one: Evidence, two: Evidence) -> bool:
        return are_tied(one.source_id, two.source_id) or same_quote(one.quote, two.quote)

    per_claim: dict[str, float] = {}
    supporting: dict[str, Source] = {}
    central: tuple[float, tuple[Source, ...], int] = (0.0, (), 0)
    for claim in claims:
        weights = {
            evidence: weight
            for evidence in _evidence(claim, claims)
            if (source := known.get(evidence.source_id))
            and (weight := _weight(evidence, source, question_type, now)) > 0
        }
        heads = {evidence: -log(1 - weight) for evidence, weight in weights.items()}
        voices = heaviest_independent(heads, say_the_same)
        strength = min(1 - prod(1 - weights[voice] for voice in voices), VERDICT_SHARE[claim.verdict])
        per_claim[claim.id] = strength
        carriers = {evidence.source_id: known[evidence.source_id] for evidence in weights if strength > 0}
        supporting |= carriers
        if claim is summary[0]:
            central = (strength, tuple(carriers.values()), len(voices))
    # of equals, the better
    heads_of_all = {source.id: 1 + authority(source.metadata.kind) / 1000 for source in supporting.values()}
    independent = tuple(supporting[one] for one in heaviest_independent(heads_of_all, are_tied))
    return _Support(per_claim, tuple(supporting.values()), independent, *central)


def _evidence(claim: Claim, claims: Sequence[Claim]) -> list[Evidence]:
    """A claim's own, and what carries the same sentence where it is said again."""
    same = claim.text.casefold().strip(" .")
    again = [other for other in claims if other is not claim and same and other.text.casefold().strip(" .") == same]
    return [evidence for one in (claim, *again) for evidence in one.evidence]


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


# Words


def _facts(
    claims: Sequence[Claim],
    support: _Support,
    conflicts: Sequence[Conflict],
    question_type: QuestionType,
    now: datetime,
) -> list[str]:
    """What was counted, whatever decided."""
    independent, all_of_them = len(support.independent), len(support.supporting)
    kinds = [source.metadata.kind for source in support.independent]
    if kinds and all(kind is SourceKind.LOCAL for kind in kinds):
        one_keeper = " (together one source)" if all_of_them > independent == 1 else ""
        facts = [f"{counted(all_of_them, 'local file')}{one_keeper}"]
    else:
        copies = f" (of {all_of_them}; the others share an owner or a text)" if all_of_them > independent else ""
        facts = [counted(independent, "independent source") + copies]
        primary = sum(kind in PRIMARY_KINDS for kind in kinds)
        facts.append(f"{primary} primary" if primary else "none primary")
    partial = sum(claim.verdict is Verdict.PARTIAL for claim in claims)
    supported = sum(claim.verdict in _CONFIRMED for claim in claims)
    facts.append(f"{supported} of {counted(len(claims), 'claim')} supported{f', {partial} in part' if partial else ''}")
    if question_type is QuestionType.CURRENT_EVENT:
        facts.append(_newest(support.supporting, now))
    return [*facts, counted(len(conflicts), "conflict") if conflicts else "no conflict"]


def _newest(sources: Sequence[Source], now: datetime) -> str:
    ages = [age for source in sources if (age := age_days(source, now)) is not None]
    if not ages:
        return "no source gives a date"
    return "newest source from today" if min(ages) == 0 else f"newest source {counted(min(ages), 'day')} old"


def _sum(support: _Support, bounds: Sequence[_Limit], score: float) -> tuple[ConfidencePart, ...]:
    """The lines of which the score is the lowest."""
    carried = f"by {counted(support.central_voices, 'independent source')} of the central claim"
    held = [
        ConfidencePart(bound.name, AT_MOST[bound.level], f"at most {bound.level}: {bound.reason}") for bound in bounds
    ]
    note = f"the lowest of these; high from {HIGH_SCORE}, medium from {MEDIUM_SCORE}"
    return (ConfidencePart("support", support.central, carried), *held, ConfidencePart("score", score, note))


# What an answer cannot claim, said in sentences that name the fact: which provider, which date, which domain


MAX_LIMITATIONS = 6  # more is not read
MAX_PLACES = 5  # named of the pages left out
STALE_DAYS = {  # age of the newest source that is worth saying, by kind of question
    QuestionType.CURRENT_EVENT: 7,
    QuestionType.FACTUAL: 365,
    QuestionType.COMPARISON: 365,
    QuestionType.EXPLANATION: 3 * 365,  # how things work changes slowly
}
_LATER: tuple[NoticeKind, NoticeKind] = ("concern", "correction")
_ONE_KIND = {
    SourceKind.FORUM: "All sources are forums or blogs, where anyone can write.",
    SourceKind.PREPRINT: "All sources are preprints, which no peer has reviewed.",
    SourceKind.ESTABLISHED_PRESS: "All sources are press reports; none is the original.",
}


def find_limitations(
    question_type: QuestionType,
    found: SourceCollection,
    claims: Sequence[Claim],
    *,
    conflicts: Sequence[Conflict],
    now: datetime,
    is_checked: bool = True,
    stopped_because: str = "",
) -> tuple[str, ...]:
    """At most `MAX_LIMITATIONS` sentences, most important first.

    They speak of the sources that the claims rest on; where there is no claim, of what was read and dropped.
    """
    used, late = _used(found.sources, claims), found.search_metadata.pages_late
    sentences = [
        *_checking(claims, is_checked=is_checked),
        *([f"The research ended early: {stopped_because.strip().rstrip('.')}."] if stopped_because else []),
        *found.search_metadata.notes,
        *standing_limitations(found.sources, claims),
        *([] if claims else _in_vain(found)),
        *_disagreements(conflicts, found.sources),
        *_by_ocr(found.sources, claims),
        *(_breadth(used) if claims else ()),
        *(_age(used, question_type, now) if claims else ()),
        *_failures(found),
        *(_abstracts(used) if claims else ()),
        *([f"{counted(late, 'page')} did not answer in time."] if late else []),
        *((*_extracts(used), *_kinds(used)) if claims else ()),
        *_left_out(found),
    ]
    return tuple(dict.fromkeys(sentences))[:MAX_LIMITATIONS]


def standing_limitations(sources: Sequence[Source], claims: Sequence[Claim]) -> tuple[str, ...]:
    """Of what was read the retracted ones; of what is cited what was said of it since."""
    sound = [source for source in _used(sources, claims) if not is_retracted(source)] if claims else []
    return (*_retractions(sources), *_notices(sound))


def short_conflicts(answer: ResearchAnswer) -> str:
    """What the sources disagree on, each with who says what: `height: 49 m [1][2] against 51 m [3]`."""
    return "; ".join(f"{conflict.subject}: {name_sides(conflict)}" for conflict in answer.conflicts)


def _used(sources: Sequence[Source], claims: Sequence[Claim]) -> list[Source]:
    cited = {evidence.source_id for claim in claims for evidence in claim.evidence}
    return [source for source in sources if source.id in cited] or list(sources)


def _checking(claims: Sequence[Claim], *, is_checked: bool) -> Iterator[str]:
    if not is_checked:
        yield "The citations could not be checked against the sources."
        return
    unchecked = [claim for claim in claims if claim.verdict is Verdict.UNCHECKED]
    if unchecked:
        because = "; ".join(list(dict.fromkeys(reason for claim in unchecked for reason in claim.reasons))[:2])
        told = f"{len(unchecked)} of {counted(len(claims), 'sentence')} could not be confirmed"
        yield f"{told}: {_short(because, 160)}." if because else f"{told}."
    partial = sum(claim.verdict is Verdict.PARTIAL for claim in claims)
    if partial:
        verb = "is" if partial == 1 else "are"
        yield f"{partial} of {counted(len(claims), 'sentence')} {verb} supported only in part."


def _retractions(sources: Sequence[Source]) -> Iterator[str]:
    """Of whatever was read: it supports nothing, so nothing cites it."""
    for source in sources:
        notice = fullest(source.metadata.notices, "retraction")
        if notice is not None:
            yield f"Source {source.number} was retracted{_when_and_where(notice)}: {_short(source.title)}."
        elif is_retracted(source):
            yield f"Source {source.number} says that it was retracted or withdrawn: {_short(source.title)}."


def _notices(used: Sequence[Source]) -> Iterator[str]:
    """Of works that stand: what their journals have said of them since."""
    for source in used:
        concern, correction = (fullest(source.metadata.notices, kind) for kind in _LATER)
        if concern is not None:
            yield f"Source {source.number} has an expression of concern{_when_and_where(concern)}."
        elif correction is not None:
            yield f"Source {source.number} was corrected{_when_and_where(correction)}."


def _when_and_where(notice: Notice) -> str:
    when = f" on {notice.date}" if notice.date.count("-") == 2 else f" in {notice.date}" if notice.date else ""
    where = notice.url or (f"says {notice.said_by}" if notice.said_by else "")
    return f"{when} ({where})" if where else when


def _by_ocr(sources: Sequence[Source], claims: Sequence[Claim]) -> Iterator[str]:
    known = {source.id: source for source in sources}
    cited = [evidence for claim in claims for evidence in claim.evidence if evidence.source_id in known]
    for source_id in dict.fromkeys(one.source_id for one in cited if known[one.source_id].is_by_ocr(one.start)):
        yield f"Cited pages of {_short(known[source_id].title)} were read by OCR: letters and numbers may be wrong."


def _disagreements(conflicts: Sequence[Conflict], sources: Sequence[Source]) -> Iterator[str]:
    for conflict in conflicts[:2]:
        who = DISAGREES_ALONE if lone_weaker_voice(conflict, sources) else DISAGREE
        yield say(who, subject=_short(conflict.subject, 80), sides=name_sides(conflict))
    if len(conflicts) > 2:
        yield say_many(DISAGREE_ON_ONE_MORE, DISAGREE_FURTHER, len(conflicts) - 2)


def _breadth(used: Sequence[Source]) -> Iterator[str]:
    if not used:
        return
    if len(used) == 1:
        yield f"Everything rests on one source: {used[0].metadata.domain or _short(used[0].title)}."
        return
    domains = sorted({registrable_domain(source.metadata.domain) or _short(source.title) for source in used})
    owners = {owner(source) for source in used}
    if owners == {LOCAL_FILES}:
        return  # the reasons of the level say so
    if len(owners) == 1:
        one = f"one domain: {domains[0]}" if len(domains) == 1 else f"one owner: {' and '.join(domains)}"
        yield f"All sources are from {one}."
        return
    known = {source.id: source for source in used}
    independent = heaviest_independent(
        dict.fromkeys(known, 1.0), lambda first, second: first == second or same_voice(known[first], known[second])
    )
    if len(independent) == 1:
        yield f"The {len(used)} sources carry the same text, so they count as one."


def _age(used: Sequence[Source], question_type: QuestionType, now: datetime) -> Iterator[str]:
    dated = [(age, source) for source in used if (age := age_days(source, now)) is not None]
    if not dated:
        if used and question_type is QuestionType.CURRENT_EVENT:
            yield "No source gives a date, so how current this is cannot be told."
        return
    age, newest = min(dated, key=lambda entry: entry[0])
    published = newest.metadata.published_at
    if published and age > STALE_DAYS[question_type]:
        day = f"{published.day} " if question_type is QuestionType.CURRENT_EVENT else ""
        yield f"The newest source is from {day}{published:%B} {published.year}."


def _failures(found: SourceCollection) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    searched = places_of(found.search_metadata.providers_used)
    for provider, reason in sorted(found.search_metadata.failures.items()):
        place = place_name(provider)
        name = f"one search of {place}" if place in searched else place
        by_reason.setdefault(reason.strip().rstrip(".") or "no reason given", []).append(name)
    for reason, names in by_reason.items():
        *first, last = dict.fromkeys(names)
        told = f"{', '.join(first)}{' and ' if first else ''}{last} gave nothing: {reason}."
        yield told if told.startswith("arXiv") else f"{told[:1].upper()}{told[1:]}"


def _in_vain(found: SourceCollection) -> Iterator[str]:
    """What was read and says nothing of what was asked."""
    places = list(dict.fromkeys(source.metadata.domain or source.title for source in found.sources))
    if not places:
        return
    more = [f"{len(places) - MAX_PLACES} more"] if len(places) > MAX_PLACES else []
    listed = ", ".join([*(_short(place, 40) for place in places[:MAX_PLACES]), *more])
    few = len(found.sources)
    vainly = "was read and does not" if few == 1 else "were read and do not"
    yield f"{counted(few, 'source')} {vainly} answer it: {listed}."


def _left_out(found: SourceCollection) -> Iterator[str]:
    """What was found and thrown away, so that nobody takes it for never found."""
    search = found.search_metadata
    if not search.left_out:
        return
    places = list(dict.fromkeys(search.left_out))
    more = [f"{len(places) - MAX_PLACES} more"] if len(places) > MAX_PLACES else []
    listed = ", ".join([*(_short(place, 40) for place in places[:MAX_PLACES]), *more])
    few, found_pages = len(search.left_out), search.pages_read + search.pages_failed
    share = f"{few} of {counted(max(found_pages, few), 'page')} {'was' if few == 1 else 'were'} left out"
    yield f"{share}, for sharing next to no word with the question: {listed}."


def _abstracts(used: Sequence[Source]) -> Iterator[str]:
    """What nobody could read whole without paying."""
    closed = [source.number for source in used if "paywall" in source.metadata.version]
    if closed:
        which = ", ".join(map(str, closed))
        plural = len(closed) > 1
        yield (
            f"{'Sources' if plural else 'Source'} {which} {'were' if plural else 'was'} read by abstract alone; "
            f"the full {'texts are' if plural else 'text is'} behind a paywall."
        )


def _extracts(used: Sequence[Source]) -> Iterator[str]:
    cut = [source for source in used if source.extract_of_page]
    if not cut:
        return
    reasons = ", ".join(dict.fromkeys(source.extract_of_page for source in cut))
    if len(used) == 1:
        yield f"The page could be read only as the extract that a search gave ({reasons})."
    else:
        yield f"{len(cut)} of {len(used)} pages could be read only as the extract that a search gave ({reasons})."


def _kinds(used: Sequence[Source]) -> Iterator[str]:
    kinds = {source.metadata.kind for source in used}
    if not kinds or kinds & PRIMARY_KINDS or kinds == {SourceKind.LOCAL}:
        return
    only = next(iter(kinds)) if len(kinds) == 1 else None
    if only in _ONE_KIND:
        yield _ONE_KIND[only]
    else:
        yield "No primary source (official, standards or peer-reviewed) was found."


def _short(text: str, max_chars: int = 90) -> str:
    return cut(one_line(text).rstrip("."), max_chars)
