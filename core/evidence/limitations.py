"""What an answer cannot claim, said in sentences that name the fact: which provider, which date, which domain.

Only what the evidence shows is said; there are no general warnings. The order is fixed: what could
make the answer wrong comes before what could make it incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from core.answer import Claim, Conflict, ResearchAnswer, Verdict
from core.errors import provider_name
from core.evidence.authority import PRIMARY_KINDS, registrable_domain
from core.evidence.confidence import age_days
from core.evidence.conflicts import lone_weaker_voice, name_sides
from core.evidence.independence import heaviest_independent, owner, same_voice
from core.job import QuestionType
from core.presentation.render import cut, one_line
from core.presentation.wording import DISAGREE, DISAGREE_FURTHER, DISAGREES_ALONE, counted
from core.quality import is_retracted
from core.source import Source, SourceCollection, SourceKind

MAX_LIMITATIONS = 6  # more is not read
MAX_PLACES = 5  # named of the pages left out
STALE_DAYS = {  # age of the newest source that is worth saying, by kind of question
    QuestionType.CURRENT_EVENT: 7,
    QuestionType.FACTUAL: 365,
    QuestionType.COMPARISON: 365,
    QuestionType.EXPLANATION: 3 * 365,  # how things work changes slowly
}
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

    They speak of the sources that the claims rest on; where there is no claim, of all that were read.
    """
    used = _used(found.sources, claims)
    sentences = [
        *_checking(claims, is_checked=is_checked),
        *_stopping(stopped_because),
        *found.search_metadata.notes,
        *(() if claims else _left_out(found)),
        *_retractions(used),
        *_disagreements(conflicts, found.sources),
        *(_breadth(used) if claims else ()),
        *_age(used, question_type, now),
        *_failures(found),
        *_late_pages(found),
        *_extracts(used),
        *_kinds(used),
        *(_left_out(found) if claims else ()),
    ]
    return tuple(dict.fromkeys(sentences))[:MAX_LIMITATIONS]


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


def _stopping(stopped_because: str) -> Iterator[str]:
    if stopped_because:
        reason = stopped_because.strip().rstrip(".")
        yield f"The research ended early: {reason}."


def _retractions(used: Sequence[Source]) -> Iterator[str]:
    for source in used:
        if is_retracted(source):
            yield f"Source {source.number} says that it was retracted or withdrawn: {_short(source.title)}."


def _disagreements(conflicts: Sequence[Conflict], sources: Sequence[Source]) -> Iterator[str]:
    for conflict in conflicts[:2]:
        who = DISAGREES_ALONE if lone_weaker_voice(conflict, sources) else DISAGREE
        yield f"{who} “{_short(conflict.subject, 80)}”: {name_sides(conflict)}."
    if len(conflicts) > 2:
        yield f"{DISAGREE_FURTHER} {counted(len(conflicts) - 2, 'more point')}."


def _breadth(used: Sequence[Source]) -> Iterator[str]:
    if not used:
        return
    if len(used) == 1:
        yield f"Everything rests on one source: {used[0].metadata.domain or _short(used[0].title)}."
        return
    domains = sorted({registrable_domain(source.metadata.domain) or _short(source.title) for source in used})
    if len({owner(source) for source in used}) == 1:
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
    for provider, reason in sorted(found.search_metadata.failures.items()):
        by_reason.setdefault(reason.strip().rstrip(".") or "no reason given", []).append(provider_name(provider))
    for reason, names in by_reason.items():
        *first, last = names
        yield f"{', '.join(first)}{' and ' if first else ''}{last} gave nothing: {reason}."


def _late_pages(found: SourceCollection) -> Iterator[str]:
    if late := found.search_metadata.pages_late:
        yield f"{counted(late, 'page')} did not answer in time."


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


def _extracts(used: Sequence[Source]) -> Iterator[str]:
    cut = [source for source in used if source.extract_of_page]
    if not cut:
        return
    reasons = ", ".join(dict.fromkeys(source.extract_of_page for source in cut))
    if len(used) == 1:
        yield f"The page could be read only as the search provider's extract ({reasons})."
    else:
        yield f"{len(cut)} of {len(used)} pages could be read only as the search provider's extract ({reasons})."


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
