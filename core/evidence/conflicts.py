"""Where independent sources say different things of what the answer claims.

With a judge only what it called contradicted is a conflict, and rules find the words for it; without one
only what core/evidence/differences.py is certain of. One voice never contradicts itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.answer import Claim, Conflict, ConflictPosition, Evidence, Verdict
from core.evidence.authority import authority
from core.evidence.citations import strip_markers
from core.evidence.differences import Difference, find_difference, is_otherwise, name_difference
from core.evidence.independence import same_voice
from core.evidence.passages import EvidenceIndex
from core.evidence.words import Kind, read
from core.render import cut, one_line
from core.sentences import sentences_of
from core.source import Source, SourceKind

MAX_CONFLICTS = 5  # more is a survey, not a warning
MAX_CONTRARY = 2  # passages of one source that a judge is asked about
STRONG = 0.6  # authority; established press and what stands above it
WEAKER_BY = 2  # kinds of source below the strong ones, in the order of `SourceKind` (D22)
_MAX_CHARS = 60_000  # of a source; what an answer rests on stands before that
_MAX_SENTENCE_CHARS = 500  # longer ones are tables and lists
_NEAREST = 3  # sentences of each source compared with one piece of evidence
_MIN_SHARED = 0.5  # share of the shorter sentence's words; a cheap sieve before the real comparison
_MIN_ASKED = 0.5  # share of the question's words that a conflict in the detail must exceed to be on it
_POSITION_CHARS, _SUBJECT_CHARS = 60, 100
_SPEAKING = frozenset({Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED, Verdict.UNCHECKED})


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


@dataclass
class _Dispute:
    """One matter: which claims say it, the difference where it has a name, and the statements of each side."""

    claims: list[Claim]
    named: Difference | None
    ours: list[_Statement]
    theirs: list[tuple[str, _Statement]]

    def has(self, statement: _Statement) -> bool:
        known = [*self.ours, *(entry for _, entry in self.theirs)]
        return any(entry.source.id == statement.source.id and entry.quote == statement.quote for entry in known)

    def conflict(self) -> Conflict:
        first = self.named.first if self.named else _sentence(self.claims[0].text)
        subject = self.named.subject if self.named else cut(one_line(self.claims[0].text).rstrip("."), _SUBJECT_CHARS)
        ours = {entry.source.id: _position(first, entry) for entry in reversed(self.ours)}
        theirs = [_position(said, entry) for said, entry in self.theirs]
        return Conflict(subject, (*reversed(ours.values()), *theirs), tuple(claim.id for claim in self.claims))


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
    disputes = _by_rules(claims, known) if judged is None else _by_judge(claims, known, judged)
    asked = _words(question)

    def order(dispute: _Dispute) -> tuple[bool, int]:
        about = frozenset[str]().union(*(entry.words for entry in dispute.ours))
        return not dispute.claims[0].id.startswith("summary"), -len(about & asked)

    return tuple(dispute.conflict() for dispute in sorted(disputes, key=order)[:MAX_CONFLICTS])


def contrary_passages(claim: str, index: EvidenceIndex) -> tuple[Evidence, ...]:
    """Sentences of a source that may say otherwise, at most `MAX_CONTRARY`: a question to the judge, no finding.

    Those that share words with the claim and carry another number, date, negation or an opposite; else the nearest.
    """
    source, words = index.source, _words(claim)
    near: list[tuple[bool, float, Evidence]] = []
    at = 0
    for quote, text, found in _read(source.content[:_MAX_CHARS]):
        at = source.content.index(quote, at)
        shared = len(words & found) / max(1, min(len(words), len(found)))
        if shared and text.casefold() != claim.casefold():
            evidence = Evidence(source.id, quote, at, at + len(quote), page=source.page_at(at))
            near.append((shared < _MIN_SHARED or not is_otherwise(claim, text), -shared, evidence))
    return tuple(evidence for *_, evidence in sorted(near, key=lambda entry: entry[:2])[:MAX_CONTRARY])


# By rules, and by a judge


def _by_rules(claims: Sequence[Claim], sources: dict[str, Source]) -> list[_Dispute]:
    statements = {source.id: list(_statements(source, source.content[:_MAX_CHARS])) for source in sources.values()}
    disputes: list[_Dispute] = []
    for claim in claims:
        for anchor in _said_for(claim, sources):
            known = next((dispute for dispute in disputes if dispute.has(anchor)), None)
            found = known or _differing(claim, anchor, statements)
            if found and claim not in found.claims:
                found.claims.append(claim)
            if found and found is not known:
                disputes.append(found)
    return disputes


def _differing(claim: Claim, anchor: _Statement, statements: dict[str, list[_Statement]]) -> _Dispute | None:
    """What the other sources say against one sentence, each at most once."""
    found = _Dispute([claim], None, [anchor], [])
    for others in statements.values():
        if not others or same_voice(others[0].source, anchor.source):
            continue
        for statement in _nearest(anchor, others):
            difference = find_difference(anchor.text, statement.text) if _same_topic(anchor, statement) else None
            if difference and (found.named is None or difference.matter == found.named.matter):
                found.named = found.named or difference
                found.theirs.append((difference.second, statement))
                break
    return found if found.theirs else None


def _by_judge(claims: Sequence[Claim], sources: dict[str, Source], judged: Sequence[Contradiction]) -> list[_Dispute]:
    by_id = {claim.id: claim for claim in claims}
    disputes: list[_Dispute] = []
    for said in judged:
        claim, source = by_id.get(said.claim_id), sources.get(said.evidence.source_id)
        if claim is None or source is None:
            continue
        carrying = [entry for entry in _said_for(claim, sources) if not same_voice(entry.source, source)]
        against = _closest(claim.text, list(_statements(source, said.evidence.quote)))
        if not carrying or against is None:
            continue
        known = next((one for one in disputes if claim in one.claims or one.has(against)), None)
        if known is None:
            disputes.append(_worded(claim, carrying, against))
        elif not known.has(against):
            known.theirs.append((_said_in(known, against), against))
        elif claim not in known.claims:
            known.claims.append(claim)
    return disputes


def _worded(claim: Claim, carrying: Sequence[_Statement], against: _Statement) -> _Dispute:
    """One sentence of each carrying source, the one nearest to the claim; what differs, where rules can name it."""
    ids = dict.fromkeys(entry.source.id for entry in carrying)
    ours = [_closest(claim.text, [entry for entry in carrying if entry.source.id == one]) for one in ids]
    kept = [entry for entry in ours if entry]
    named = next((found for entry in kept if (found := name_difference(entry.text, against.text))), None)
    named = named or name_difference(claim.text, against.text)
    return _Dispute([claim], named, kept, [(named.second if named else _sentence(against.text), against)])


def _said_in(dispute: _Dispute, against: _Statement) -> str:
    """What a further source says, in as few words as the dispute's first."""
    named = name_difference(dispute.ours[0].text, against.text) if dispute.named else None
    return named.second if named else _sentence(against.text)


# Statements


def _said_for(claim: Claim, sources: dict[str, Source]) -> Iterator[_Statement]:
    """The sentences that a claim rests on."""
    for evidence in claim.evidence:
        source = sources.get(evidence.source_id)
        if source is not None and evidence.verdict in _SPEAKING:
            yield from _statements(source, evidence.quote)


def _statements(source: Source, text: str) -> Iterator[_Statement]:
    return (_Statement(source, *statement) for statement in _read(text))


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Quote, text and words of every statement."""
    found: list[tuple[str, str, frozenset[str]]] = []
    for sentence in sentences_of(text):
        if sentence.asserts and len(sentence.text) <= _MAX_SENTENCE_CHARS:
            plain = strip_markers(sentence.plain)
            words = _words(plain)
            if len(words) >= 2:
                found.append((sentence.text, plain, words))
    return tuple(found)


def _closest(text: str, statements: Sequence[_Statement]) -> _Statement | None:
    words = _words(text)
    return max(statements, key=lambda entry: len(words & entry.words), default=None)


def _nearest(anchor: _Statement, statements: Sequence[_Statement]) -> list[_Statement]:
    """The statements that share most words with `anchor`, if they share enough; reading order among equals."""
    scored = [
        (len(anchor.words & statement.words) / min(len(anchor.words), len(statement.words)), statement)
        for statement in statements
    ]
    near = [entry for entry in scored if entry[0] >= _MIN_SHARED]
    return [statement for _, statement in sorted(near, key=lambda entry: -entry[0])[:_NEAREST]]


def _same_topic(first: _Statement, second: _Statement) -> bool:
    """A shared name, or titles with a shared word: "the company" of two pages may be two companies."""
    if read(first.text).name_stems & read(second.text).name_stems:
        return True
    return bool(_words(first.source.title) & _words(second.source.title))


def _position(said: str, statement: _Statement) -> ConflictPosition:
    published = statement.source.metadata.published_at
    date = published.date().isoformat() if published else ""
    return ConflictPosition(said, statement.source.id, date, statement.quote)


def _sentence(text: str) -> str:
    return f"“{cut(one_line(text).rstrip('.'), _SUBJECT_CHARS)}”"


_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = frozenset("the and was were for that this with from are has have had its not but which who can will".split())


def _words(text: str) -> frozenset[str]:
    """Rough stems: the first six letters of each longer word."""
    return frozenset(word[:6] for word in _WORD.findall(text.casefold()) if word not in _COMMON)


# What a conflict weighs


def name_sides(conflict: Conflict) -> str:
    """Who says what: `49 m [1][2] against 51 m [3]`; at most three sides."""
    return " against ".join(
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
