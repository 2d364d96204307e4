"""How sure an answer may be, computed from its evidence and never asked of a model (docs/confidence.md).

The score is the lowest of a few lines: the strength of the central claim, and a bound for each thing that is wrong. So
more or better evidence and more detail never lower score or level, and a conflict never raises them.
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
from core.evidence.conflicts import STRONG, is_asked, lone_weaker_voice, name_sides, tells_both
from core.model.answer import Claim, Confidence, ConfidencePart, Conflict, Evidence, ResearchAnswer, Verdict
from core.model.errors import place_name, places_of, say_place
from core.model.job import QuestionType
from core.model.source import Source, SourceCollection, SourceKind
from core.model.works import Notice, fullest
from core.presentation import wording
from core.presentation.render import cut, one_line
from core.text.saying import say, say_again, say_day, say_many, say_month, say_number

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

_RESTS = {
    "local file": ("the central claim rests on one local file", "the central claim rests on local files"),
    "paper of the library": (
        "the central claim rests on one paper of the library", "the central claim rests on papers of the library",
    ),
    "weak source": ("the central claim rests on one weak source", "the central claim rests on weak sources"),
    "old or undated source": (
        "the central claim rests on one old or undated source", "the central claim rests on old or undated sources",
    ),
    "source": ("the central claim rests on one source", "the central claim rests on sources"),
}  # fmt: skip
_LEVELS = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
_CONFIRMED = (Verdict.SUPPORTED, Verdict.MOVED)


@dataclass(frozen=True)
class ConfidenceReport:
    """`reasons` are for people, the one that decided first; `sum` is the calculation line by line; `per_claim` says by
    a claim's id how strongly independent sources carry it, 0…1; `corroborating` how many sources are independent of
    one another, 0 where they do not bear the central claim out together.
    """

    confidence: Confidence
    reasons: tuple[str, ...]
    sum: tuple[ConfidencePart, ...]
    per_claim: Mapping[str, float]
    corroborating: int = 0


@dataclass(frozen=True)
class _Limit:
    """What holds an answer at `level`; `name` is its line in the sum."""

    name: str
    level: Confidence
    reason: str

    @property
    def told(self) -> str:
        return say("at most {level}: {reason}", level=wording.say_level(self.level), reason=self.reason)


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
        reasons = (say("no claim is supported by a source that was read"),)
        return ConfidenceReport(Confidence.INSUFFICIENT, reasons, _sum(support, (), 0.0), support.per_claim)
    disputes = [_dispute(conflict, summary, sources, question) for conflict in conflicts]
    limits = [
        *([_Limit("answer", Confidence.LOW, unanswered)] if unanswered else []),
        *(limit for limit in disputes if limit.level is Confidence.LOW),
        *([] if is_checked else [_Limit("check", Confidence.LOW, say("the citations could not be checked"))]),
        *_unconfirmed(summary),
        *(limit for limit in disputes if limit.level is Confidence.MEDIUM),
        *(_weak(support, question_type) if summary[0].verdict in _CONFIRMED else ()),
    ]
    is_weak = _level(support.central) is not Confidence.HIGH  # then the line of the support says so itself
    bounds = [limit for limit in limits if not (is_weak and limit.name == "sources")]
    bounds += [_Limit("cap", cap, say("its mode does not let it be higher"))] if cap in AT_MOST else []
    score = min([support.central, *(AT_MOST[limit.level] for limit in bounds)])
    decided = min(limits, key=lambda limit: _LEVELS.index(limit.level), default=None)
    is_lone_file = decided and decided.name == "sources" and len(support.supporting) == 1 and _own(support.supporting)
    facts = _facts(claims, support, conflicts, question_type, now)  # the first counts what it rests on
    voices = 0 if tells_both(summary[0], conflicts) else support.central_voices
    return ConfidenceReport(
        confidence=_level(score) if cap is None else min(_level(score), cap, key=_LEVELS.index),
        reasons=tuple(dict.fromkeys([*([decided.reason] if decided else []), *facts[1 if is_lone_file else 0 :]])),
        sum=_sum(support, bounds, score),
        per_claim=support.per_claim,
        corroborating=len(support.independent) if voices > 1 else 0,
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
        told = say("sources disagree on a detail, {sides}", sides=name_sides(conflict))
        return _Limit("conflicts", Confidence.MEDIUM, told)
    lone = lone_weaker_voice(conflict, sources)
    if lone is not None:
        told = say("one weaker source says otherwise, {sides}", sides=name_sides(conflict))
        return _Limit("conflicts", Confidence.MEDIUM, told)
    sides = name_sides(conflict)
    told = say("sources disagree, {sides}", sides=sides) if sides else say("sources disagree")
    return _Limit("conflicts", Confidence.LOW, told)


def _unconfirmed(summary: Sequence[Claim]) -> Iterator[_Limit]:
    """What nobody confirmed, or only in part: of the central claim, and of the summary's others."""
    doubtful = [claim for claim in summary if claim.verdict not in _CONFIRMED]
    if not doubtful:
        return
    if doubtful[0] is summary[0]:
        is_partial = summary[0].verdict is Verdict.PARTIAL
        how = "the central claim is supported only in part" if is_partial else "the central claim is not confirmed"
        yield _Limit("confirmed", Confidence.LOW, say(how))
    else:
        told = say("not confirmed: {few} {of_sentences}", few=len(doubtful), of_sentences=_of_sentences(summary))
        yield _Limit("confirmed", Confidence.MEDIUM, told)


def _weak(support: _Support, question_type: QuestionType) -> Iterator[_Limit]:
    """Why the sources of the central claim do not reach high by themselves."""
    best = max((authority(source.metadata.kind) for source in support.central_sources), default=0.0)
    if _level(support.central) is Confidence.HIGH and best >= HIGH_AUTHORITY:
        return
    level = min(_level(support.central), Confidence.MEDIUM, key=_LEVELS.index)
    own = _own(support.central_sources)
    late = "old or undated source" if question_type is QuestionType.CURRENT_EVENT else "source"
    sort = own or ("weak source" if best < HIGH_AUTHORITY else late)
    is_one = support.central_voices == 1 and (not own or len(support.central_sources) == 1)
    yield _Limit("sources", level, say(_RESTS[sort][0 if is_one else 1]))


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
    if (age := age_days(source, now)) is None:
        return UNDATED_SHARE
    return next((share for days, share in RECENCY_SHARE if age <= days), OLD_SHARE)


def age_days(source: Source, now: datetime) -> int | None:
    """Whole days since publication, at least 0; None when no date, or one in the future, is known."""
    if (published := source.metadata.published_at) is None:
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
    if kinds and (own := _own(support.independent)):
        facts = [say_many("{number} paper of the library", "{number} papers of the library", all_of_them)]
        if own == "local file":
            facts = [say_many("{number} local file", "{number} local files", all_of_them)]
        if all_of_them > independent == 1:
            facts = [say("{files} (together one source)", files=facts[0])]
    else:
        facts = [say_many("{number} independent source", "{number} independent sources", independent)]
        if all_of_them > independent:
            copies = "{sources} (of {all}; the others share an owner or a text)"
            facts = [say(copies, sources=facts[0], all=all_of_them)]
        if support.central_voices == 1 < independent:
            facts = [say("{sources} in all", sources=facts[0])]  # for the central claim rests on one
        primary = sum(kind in PRIMARY_KINDS for kind in kinds)
        facts.append(say_many("{number} primary", "{number} primary", primary) if primary else say("none primary"))
    partial = sum(claim.verdict is Verdict.PARTIAL for claim in claims)
    supported = sum(claim.verdict in _CONFIRMED for claim in claims)
    one, many = "{few} of {number} claim supported", "{few} of {number} claims supported"
    told = say_many(one, many, len(claims), few=supported)
    facts.append(say("{told}, {partial} in part", told=told, partial=partial) if partial else told)
    if question_type is QuestionType.CURRENT_EVENT:
        facts.append(_newest(support.supporting, now))
    told = say_many("{number} conflict", "{number} conflicts", len(conflicts)) if conflicts else say("no conflict")
    return [*facts, told]


def _own(sources: Sequence[Source]) -> str:
    """What they are called where they are all of one's own, else ""."""
    if any(source.metadata.kind is not SourceKind.LOCAL for source in sources):
        return ""
    return "paper of the library" if all(one.metadata.provider == "library" for one in sources) else "local file"


def _of_sentences(claims: Sequence[Claim]) -> str:
    return say_many("of {number} sentence", "of {number} sentences", len(claims))


def _newest(sources: Sequence[Source], now: datetime) -> str:
    ages = [age for source in sources if (age := age_days(source, now)) is not None]
    if not ages or not min(ages):
        return say("newest source from today") if ages else say("no source gives a date")
    return say_many("newest source {number} day old", "newest source {number} days old", min(ages))


def _sum(support: _Support, bounds: Sequence[_Limit], score: float) -> tuple[ConfidencePart, ...]:
    """The lines of which the score is the lowest."""
    one = "by {number} independent source of the central claim"
    many = "by {number} independent sources of the central claim"
    carried = say_many(one, many, support.central_voices)
    held = [ConfidencePart(bound.name, AT_MOST[bound.level], bound.told) for bound in bounds]
    high, medium = say_number(HIGH_SCORE, 2), say_number(MEDIUM_SCORE, 1)
    note = say("the lowest of these; high from {high}, medium from {medium}", high=high, medium=medium)
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
_UNCONFIRMED = "{few} {of_sentences} could not be confirmed"
_CONCERN = "Source {number} has an expression of concern{when}."
_ONE_DOMAIN, _ONE_OWNER = "All sources are from one domain: {who}.", "All sources are from one owner: {who}."
_ENDED_EARLY = "The research ended early: {why}."
_LATE_ONE, _LATE = "{number} page did not answer in time.", "{number} pages did not answer in time."
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
    """At most `MAX_LIMITATIONS` sentences, most important first, on the cited sources; without claims, on all read."""
    used, late = _used(found.sources, claims), found.search_metadata.pages_late
    ended = say_again(stopped_because.strip().rstrip("."))
    sentences = [
        *_checking(claims, is_checked=is_checked),
        *([say(_ENDED_EARLY, why=ended)] if ended else []),
        *found.search_metadata.notes,
        *standing_limitations(found.sources, claims),
        *([] if claims else _in_vain(found)),
        *_disagreements(conflicts, found.sources),
        *_by_ocr(found.sources, claims),
        *(_breadth(used) if claims else ()),
        *(_age(used, question_type, now) if claims else ()),
        *_failures(found),
        *(_abstracts(used) if claims else ()),
        *([say_many(_LATE_ONE, _LATE, late)] if late else []),
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
        yield say("The citations could not be checked against the sources.")
        return
    if unchecked := [claim for claim in claims if claim.verdict is Verdict.UNCHECKED]:
        whys = list(dict.fromkeys(reason for claim in unchecked for reason in claim.reasons))[:2]
        because = "; ".join(map(say_again, whys))
        told = say(_UNCONFIRMED, few=len(unchecked), of_sentences=_of_sentences(claims))
        yield f"{told}: {_short(because, 160)}." if because else f"{told}."
    if partial := sum(claim.verdict is Verdict.PARTIAL for claim in claims):
        one = "{number} {of_sentences} is supported only in part."
        many = "{number} {of_sentences} are supported only in part."
        yield say_many(one, many, partial, of_sentences=_of_sentences(claims))


def _retractions(sources: Sequence[Source]) -> Iterator[str]:
    """Of whatever was read: it supports nothing, so nothing cites it."""
    for source in sources:
        if (notice := fullest(source.metadata.notices, "retraction")) is not None:
            said = "Source {number} was retracted{when}: {title}."
            yield say(said, number=source.number, when=_when_and_where(notice), title=_short(source.title))
        elif is_retracted(source):
            said = "Source {number} says that it was retracted or withdrawn: {title}."
            yield say(said, number=source.number, title=_short(source.title))


def _notices(used: Sequence[Source]) -> Iterator[str]:
    """Of works that stand: what their journals have said of them since."""
    for source in used:
        notices = source.metadata.notices
        concern, correction = fullest(notices, "concern"), fullest(notices, "correction")
        if concern is not None:
            yield say(_CONCERN, number=source.number, when=_when_and_where(concern))
        elif correction is not None:
            yield say("Source {number} was corrected{when}.", number=source.number, when=_when_and_where(correction))


def _when_and_where(notice: Notice) -> str:
    """With a blank before it, "" where neither is known."""
    is_day = notice.date.count("-") == 2
    when = " " + say("on {date}" if is_day else "in {date}", date=notice.date) if notice.date else ""
    where = notice.url or (say("says {who}", who=notice.said_by) if notice.said_by else "")
    return f"{when} ({where})" if where else when


def _by_ocr(sources: Sequence[Source], claims: Sequence[Claim]) -> Iterator[str]:
    known = {source.id: source for source in sources}
    cited = [evidence for claim in claims for evidence in claim.evidence if evidence.source_id in known]
    for source_id in dict.fromkeys(one.source_id for one in cited if known[one.source_id].is_by_ocr(one.start)):
        said = "Cited pages of {title} were read by OCR: letters and numbers may be wrong."
        yield say(said, title=_short(known[source_id].title))


def _disagreements(conflicts: Sequence[Conflict], sources: Sequence[Source]) -> Iterator[str]:
    for conflict in conflicts[:2]:
        who = wording.DISAGREES_ALONE if lone_weaker_voice(conflict, sources) else wording.DISAGREE
        yield say(who, subject=_short(conflict.subject, 80), sides=name_sides(conflict))
    if len(conflicts) > 2:
        yield say_many(wording.DISAGREE_ON_ONE_MORE, wording.DISAGREE_FURTHER, len(conflicts) - 2)


def _breadth(used: Sequence[Source]) -> Iterator[str]:
    if len(used) == 1:
        yield say("Everything rests on one source: {source}.", source=used[0].metadata.domain or _short(used[0].title))
        return
    domains = sorted({registrable_domain(source.metadata.domain) or _short(source.title) for source in used})
    owners = {owner(source) for source in used}
    if owners == {LOCAL_FILES}:
        return  # the reasons of the level say so
    if len(owners) == 1:
        yield say(_ONE_DOMAIN if len(domains) == 1 else _ONE_OWNER, who=f" {say('and')} ".join(domains))
        return
    known = {source.id: source for source in used}
    independent = heaviest_independent(
        dict.fromkeys(known, 1.0), lambda first, second: first == second or same_voice(known[first], known[second])
    )
    if len(independent) == 1:
        yield say("The {number} sources carry the same text, so they count as one.", number=len(used))


def _age(used: Sequence[Source], question_type: QuestionType, now: datetime) -> Iterator[str]:
    dated = [(age, source) for source in used if (age := age_days(source, now)) is not None]
    if not dated:
        if used and question_type is QuestionType.CURRENT_EVENT:
            yield say("No source gives a date, so how current this is cannot be told.")
        return
    age, newest = min(dated, key=lambda entry: entry[0])
    published = newest.metadata.published_at
    if published and age > STALE_DAYS[question_type]:
        when = say_day(published) if question_type is QuestionType.CURRENT_EVENT else say_month(published)
        yield say("The newest source is from {when}.", when=when)


def _failures(found: SourceCollection) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    searched = places_of(found.search_metadata.providers_used)
    for provider, reason in sorted(found.search_metadata.failures.items()):
        place = say_place(provider)
        name = say("one search of {place}", place=place) if place_name(provider) in searched else place
        by_reason.setdefault(say_again(reason.strip().rstrip(".")) or say("no reason given"), []).append(name)
    for reason, names in by_reason.items():
        *first, last = dict.fromkeys(names)
        listed = f"{', '.join(first)} {say('and')} {last}" if first else last
        told = say("{places} gave nothing: {reason}.", places=listed, reason=reason)
        yield told if told.startswith("arXiv") else f"{told[:1].upper()}{told[1:]}"


def _in_vain(found: SourceCollection) -> Iterator[str]:
    """What was read and says nothing of what was asked."""
    places = list(dict.fromkeys(source.metadata.domain or source.title for source in found.sources))
    if not places:
        return
    one = "{number} source was read and does not answer it: {places}."
    many = "{number} sources were read and do not answer it: {places}."
    yield say_many(one, many, len(found.sources), places=listed(places))


def listed(places: Sequence[str]) -> str:
    more = [say("{number} more", number=len(places) - MAX_PLACES)] if len(places) > MAX_PLACES else []
    return ", ".join([*(_short(place, 40) for place in places[:MAX_PLACES]), *more])


def _left_out(found: SourceCollection) -> Iterator[str]:
    """What was found and thrown away, so that nobody takes it for never found."""
    search = found.search_metadata
    if not search.left_out:
        return
    few = len(search.left_out)
    of_pages = say_many("of {number} page", "of {number} pages", max(search.pages_read + search.pages_failed, few))
    one = "{number} {of_pages} was left out, for sharing next to no word with the question: {places}."
    many = "{number} {of_pages} were left out, for sharing next to no word with the question: {places}."
    yield say_many(one, many, few, of_pages=of_pages, places=listed([*dict.fromkeys(search.left_out)]))


def _abstracts(used: Sequence[Source]) -> Iterator[str]:
    """What nobody could read whole without paying."""
    closed = [source.number for source in used if "paywall" in source.metadata.version]
    if closed:
        which = ", ".join(map(str, closed))
        one = "Source {which} was read by abstract alone; the full text is behind a paywall."
        many = "Sources {which} were read by abstract alone; the full texts are behind a paywall."
        yield say_many(one, many, len(closed), which=which)


def _extracts(used: Sequence[Source]) -> Iterator[str]:
    cut = [source for source in used if source.extract_of_page]
    if not cut:
        return
    reasons = ", ".join(dict.fromkeys(say_again(source.extract_of_page) for source in cut))
    if len(used) == 1:
        yield say("The page could be read only as the extract that a search gave ({reasons}).", reasons=reasons)
    else:
        said = "{few} of {all} pages could be read only as the extract that a search gave ({reasons})."
        yield say(said, few=len(cut), all=len(used), reasons=reasons)


def _kinds(used: Sequence[Source]) -> Iterator[str]:
    kinds = {source.metadata.kind for source in used}
    if not kinds or kinds & PRIMARY_KINDS or kinds == {SourceKind.LOCAL}:
        return
    only = next(iter(kinds)) if len(kinds) == 1 else None
    if only in _ONE_KIND:
        yield say(_ONE_KIND[only])
    else:
        yield say("No primary source (official, standards or peer-reviewed) was found.")


def _short(text: str, max_chars: int = 90) -> str:
    return cut(one_line(text).rstrip("."), max_chars)
