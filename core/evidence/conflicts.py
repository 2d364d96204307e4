"""Where independent sources say different things of what the answer claims.

With a judge only what it called contradicted is a conflict, and rules find the words for it; without one
only what core/evidence/differences.py is certain of. One voice never contradicts itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from core.evidence.authority import authority, same_voice
from core.evidence.citations import strip_markers
from core.evidence.differences import Difference, find_difference, is_otherwise, name_difference, numbers_in
from core.evidence.passages import EvidenceIndex
from core.evidence.rules.words import Kind, read
from core.evidence.verbatim import points_back
from core.model.answer import Claim, Conflict, ConflictPosition, Evidence, Verdict
from core.model.source import Source, SourceKind
from core.presentation.render import cut, one_line
from core.text.saying import say
from core.text.sentences import sentences_of
from core.text.terms import terms

MAX_CONFLICTS = 5  # more is a survey, not a warning
MAX_CONTRARY = 2  # passages of one source that a judge is asked about
STRONG = 0.6  # authority; established press and what stands above it
WEAKER_BY = 2  # kinds of source below the strong ones, in the order of `SourceKind` (D22)
_MAX_CHARS = 60_000  # of a source; what an answer rests on stands before that
_MAX_SENTENCE_CHARS = 500  # longer ones are tables and lists
_CANDIDATES = 5  # sentences of a source that are looked at for what a judge is asked
_NEAREST = 3  # sentences of each source compared with one piece of evidence
_MIN_SHARED = 0.5  # share of the shorter sentence's words; a cheap sieve before the real comparison
_MIN_SUSPECT = 0.3  # the same for what is only a question to the judge
_MIN_ASKED = 0.5  # share of the question's words that a conflict in the detail must exceed to be on it
_POSITION_CHARS, _CHARS = 60, 100  # of a position named beside others, and of one where it stands alone


@dataclass(frozen=True)
class Contradiction:
    """A read source that the judge says contradicts a claim."""

    claim_id: str
    evidence: Evidence


@dataclass(frozen=True)
class _Statement:
    """A sentence of a source: `quote` as it stands there, `text` without markers, `words` to find it by."""

    source: Source
    quote: str
    text: str
    words: frozenset[str]

    def position(self, said: str) -> ConflictPosition:
        published = self.source.metadata.published_at
        return ConflictPosition(said, self.source.id, f"{published:%Y-%m-%d}" if published else "", self.quote)


@dataclass
class _Dispute:
    """One matter: the claims that say it, how it differs where that has a name, and the statements of each side."""

    claims: list[Claim]
    named: Difference | None
    ours: list[_Statement]
    theirs: list[tuple[str, _Statement]]

    def has(self, statement: _Statement) -> bool:
        return statement in self.ours or any(statement == entry for _, entry in self.theirs)

    def conflict(self) -> Conflict:
        text = one_line(self.claims[0].text).rstrip(".")
        first, subject = (self.named.first, self.named.subject) if self.named else (_quoted(text), cut(text, _CHARS))
        sides = [entry.position(first) for entry in self.ours] + [entry.position(said) for said, entry in self.theirs]
        said = [side.position for side in sides]
        sides.sort(key=lambda side: (said.index(side.position), len(side.source_id), side.source_id))
        return Conflict(subject, tuple(sides), tuple(claim.id for claim in self.claims))


def read_statements(sources: Sequence[Source]) -> None:
    """Do the slow part of `find_conflicts` ahead of time; it is remembered by text."""
    for source in sources:
        _read(source.content[:_MAX_CHARS])


def find_conflicts(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    question: str,
    *,
    judged: Sequence[Contradiction] | None = None,
) -> tuple[Conflict, ...]:
    """At most `MAX_CONFLICTS`, those of the summary and on the question's words first; each stands once.

    `judged` is what a judge called contradicted, and decides; None where there was no judge.
    """
    known = {source.id: source for source in sources}
    found = _by_rules(claims, known) if judged is None else _judged(claims, known, judged)
    disputes: list[_Dispute] = []
    for claim, carrying, against, named in chain(found, _told(claims, known)):
        same = (one for one in disputes if one.has(against) or (claim in one.claims and one.has(carrying[0])))
        dispute = next(same, None)
        if dispute is None:
            dispute = _Dispute([], named, carrying, [])
            disputes.append(dispute)
        if claim not in dispute.claims:
            dispute.claims.append(claim)
        if not dispute.has(against):
            dispute.theirs.append((named.second if named else _quoted(against.text), against))
    asked = _words(question)
    ordered = sorted(
        disputes, key=lambda one: (not one.claims[0].id.startswith("summary"), -len(one.ours[0].words & asked))
    )
    return tuple(dispute.conflict() for dispute in ordered[:MAX_CONFLICTS])


def contrary_passages(claim: str, index: EvidenceIndex) -> tuple[Evidence, ...]:
    """Sentences of a source that may say otherwise, at most `MAX_CONTRARY`: a question to the judge, no finding.

    Those that share words with the claim and carry another number, date, negation or an opposite; else the nearest.
    """
    source = index.source
    found = []
    for quote, _, _ in _suspects(claim, source):
        start = source.content.index(quote)
        found.append(Evidence(source.id, quote, start, start + len(quote), page=source.page_at(start)))
    return tuple(found)


def _suspects(claim: str, source: Source) -> list[_Sentence]:
    """What `contrary_passages` gives, as it is read."""
    words = _words(claim)
    shared = [(_share(words, one[2]), one) for one in _read(source.content[:_MAX_CHARS])]
    near = sorted((entry for entry in shared if entry[0] >= _MIN_SUSPECT), key=lambda entry: -entry[0])[:_CANDIDATES]
    suspects = [one for _, one in near if is_otherwise(claim, one[1])]
    others = [one for share, one in near if one not in suspects and share >= _MIN_SHARED]
    return [*suspects, *others][:MAX_CONTRARY]


_Sentence = tuple[str, str, frozenset[str]]  # quote, text and words of a statement
_Found = tuple[Claim, list[_Statement], _Statement, Difference | None]  # a claim, who carries it, who is against it


def _by_rules(claims: Sequence[Claim], sources: Mapping[str, Source]) -> Iterator[_Found]:
    """What other sources say against a sentence that a claim rests on, each source at most once."""
    statements = {source.id: _statements(source, source.content[:_MAX_CHARS]) for source in sources.values()}
    for claim in claims:
        quotes = [(sources[one.source_id], one.quote) for one in _speaking(claim, sources)]
        for anchor in (anchor for source, quote in quotes for anchor in _statements(source, quote)):
            for other in sources.values():
                if other.id == anchor.source.id or same_voice(other, anchor.source):
                    continue
                near = [one for one in _nearest(anchor, statements[other.id]) if _same_topic(anchor, one)]
                found = ((one, find_difference(anchor.text, one.text)) for one in near)
                yield from [(claim, [anchor], one, named) for one, named in found if named][:1]


def _judged(
    claims: Sequence[Claim], sources: Mapping[str, Source], judged: Sequence[Contradiction]
) -> Iterator[_Found]:
    """What the judge said, in the rules' words where they find one thing; of each source the sentence nearest to it."""
    by_id = {claim.id: claim for claim in claims}
    for said in judged:
        claim, source = by_id.get(said.claim_id), sources.get(said.evidence.source_id)
        if claim is None or source is None:
            continue
        against = _contrary(source, said.evidence.quote, claim.text)
        carrying = [
            _closest(sources[entry.source_id], entry.quote, claim.text)
            for entry in {entry.source_id: entry for entry in reversed(_speaking(claim, sources))}.values()
            if not same_voice(sources[entry.source_id], source)
        ][::-1]
        if carrying:
            texts = [claim.text, *(entry.text for entry in carrying)]
            named = next(filter(None, (name_difference(text, against.text) for text in texts)), None)
            yield claim, carrying, against, named


def _told(claims: Sequence[Claim], sources: Mapping[str, Source]) -> Iterator[_Found]:
    """What a claim itself tells: that two of its sources disagree, and the value that each gives."""
    for claim in (claim for claim in claims if _DISAGREES.search(claim.text)):
        said = [_closest(sources[one.source_id], one.quote, claim.text) for one in _speaking(claim, sources)]
        said.sort(key=lambda one: points_back(one.text))  # the first names what they disagree on
        for place, against in enumerate(said):
            others = [one for one in said[:place] if not same_voice(one.source, against.source)]
            named = [(one, found) for one in others if (found := name_difference(one.text, against.text))]
            values = {*numbers_in(claim.text)}
            named = [pair for pair in named if values.issuperset(numbers_in(f"{pair[1].first} {pair[1].second}"))]
            if named:
                yield claim, [one for one, _ in named], against, named[0][1]


_DISAGREES = re.compile(
    r"(?i)\b(?:disagree|contradict|discrepan|(?:differ|conflict|diverg)(?:ing|s|ent)?\b|widers(?:prech|prüch)|uneinig"
    r"|désaccord|se contredi|divergen|discrepa|contradi[cz]|discord|in disaccordo|oneens|tegenstrijdig|spreken elkaar)"
)


def _speaking(claim: Claim, sources: Mapping[str, Source]) -> list[Evidence]:
    """What a claim rests on."""
    return [one for one in claim.evidence if one.source_id in sources and one.verdict is not Verdict.UNSUPPORTED]


# Statements


def _statements(source: Source, text: str) -> list[_Statement]:
    return [_Statement(source, *statement) for statement in _read(text)]


def _contrary(source: Source, quote: str, text: str) -> _Statement:
    """The nearest statement of a passage that differs from `text` by something with a name; else of what a judge was
    asked about beside it; else the nearest of the passage.
    """
    words = _words(text)
    near = sorted(_statements(source, quote), key=lambda entry: -len(words & entry.words))
    asked = [_Statement(source, *found) for found in _suspects(text, source)]
    named = (entry for entry in (*near, *asked) if name_difference(text, entry.text))
    return next(named, None) or _closest(source, quote, text)


def _closest(source: Source, quote: str, text: str) -> _Statement:
    """The statement of a passage that is nearest to `text`; the passage itself where it holds none by our rules."""
    words, whole = _words(text), _Statement(source, quote, one_line(quote), _words(quote))
    return max(_statements(source, quote), key=lambda entry: len(words & entry.words), default=whole)


def _share(words: Set[str], found: Set[str]) -> float:
    """Of the shorter one's words, 0…1."""
    return len(words & found) / max(1, min(len(words), len(found)))


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[_Sentence, ...]:
    """Every statement."""
    found: list[_Sentence] = []
    for sentence in sentences_of(text):
        if sentence.asserts and len(sentence.text) <= _MAX_SENTENCE_CHARS:
            plain = strip_markers(sentence.plain)
            words = _words(plain)
            if len(words) >= 2:
                found.append((sentence.text, plain, words))
    return tuple(found)


def _nearest(anchor: _Statement, statements: Sequence[_Statement]) -> list[_Statement]:
    """The statements that share most words with `anchor`, if they share enough; reading order among equals."""
    scored = [(_share(anchor.words, statement.words), statement) for statement in statements]
    near = [entry for entry in scored if entry[0] >= _MIN_SHARED]
    return [statement for _, statement in sorted(near, key=lambda entry: -entry[0])[:_NEAREST]]


def _same_topic(first: _Statement, second: _Statement) -> bool:
    """A shared name, or titles with a shared word: "the company" of two pages may be two companies.

    Where a statement does not say itself what it is about, the titles must name the same.
    """
    if points_back(first.text) or points_back(second.text):
        ours, theirs = read(first.source.title).name_stems, read(second.source.title).name_stems
        return bool(ours & theirs) and (ours <= theirs or theirs <= ours)
    if read(first.text).name_stems & read(second.text).name_stems:
        return True
    return bool(_words(first.source.title) & _words(second.source.title))


def _quoted(text: str) -> str:
    return f"“{cut(one_line(text).rstrip('.'), _CHARS)}”"


@lru_cache(maxsize=64)  # of a claim, for every source
def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if term.isalpha())


# What a conflict weighs


def name_sides(conflict: Conflict) -> str:
    """Who says what: `49 m [1][2] against 51 m [3]`; at most three sides."""
    return f" {say('against')} ".join(
        cut(one_line(said), _POSITION_CHARS) + " " + "".join(f"[{one.removeprefix('src_')}]" for one in ids)
        for said, ids in list(conflict.sides.items())[:3]
    )


def is_asked(conflict: Conflict, summary: Sequence[Claim], question: str) -> bool:
    """Whether it is on what was asked: a claim of the summary, its value, or most of the question's own words."""
    if not conflict.claim_ids or any(claim.id in conflict.claim_ids for claim in summary):
        return True
    said = [word.casefold() for word in conflict.sides if any(letter.isdigit() for letter in word)]
    if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", claim.text.casefold()) for word in said for claim in summary):
        return True
    asked = {token.stem for token in read(question).content if token.kind is not Kind.NAME}
    told = read(" ".join([conflict.subject, *(side.quote for side in conflict.positions)])).stems
    return len(asked & told) > _MIN_ASKED * len(asked)


def tells_both(claim: Claim, conflicts: Sequence[Conflict]) -> bool:
    """Whether the sources that carry it stand on more than one side: they do not bear each other out."""
    own = {entry.source_id for entry in claim.evidence}
    told = (conflict.sides.values() for conflict in conflicts if claim.id in conflict.claim_ids)
    return any(sum(not own.isdisjoint(ids) for ids in sides) > 1 for sides in told)


def lone_weaker_voice(conflict: Conflict, sources: Sequence[Source]) -> Source | None:
    """The one source that stands against two strong independent ones and is weaker by classes (D22)."""
    known = {source.id: source for source in sources}
    ours, *others = [[known[one] for one in ids if one in known] for ids in conflict.sides.values()] or [[]]
    theirs = [source for side in others for source in side]
    if not theirs or not all(same_voice(theirs[0], other) for other in theirs):
        return None
    ranks = list(SourceKind)
    lone = min(ranks.index(source.metadata.kind) for source in theirs)
    strong = [
        source
        for source in ours
        if authority(source.metadata.kind) >= STRONG and ranks.index(source.metadata.kind) + WEAKER_BY <= lone
    ]
    is_outweighed = any(not same_voice(first, second) for first in strong for second in strong)
    return theirs[0] if is_outweighed else None
