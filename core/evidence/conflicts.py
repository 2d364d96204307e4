"""Where independent sources contradict each other on what the answer claims.

Looks only at sentences that speak of a claim's matter: the evidence of the claims, and in each
other source the sentences nearest to it. What counts as a contradiction is in core/evidence/differences.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.answer import Claim, Conflict, ConflictPosition, Verdict
from core.evidence.citations import strip_markers
from core.evidence.differences import Difference, find_difference
from core.evidence.independence import same_voice
from core.evidence.words import read
from core.sentences import sentences_of
from core.source import Source

MAX_CONFLICTS = 5  # more is a survey, not a warning
_MAX_CHARS = 60_000  # of a source; what an answer rests on stands before that
_NEAREST = 3  # sentences of each source compared with one piece of evidence
_MIN_SHARED = 0.5  # share of the shorter sentence's words; a cheap sieve before the real comparison
_MAX_SENTENCE_CHARS = 500  # longer ones are tables and lists
_SPEAKING = frozenset({Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED, Verdict.UNCHECKED})


@dataclass(frozen=True)
class _Statement:
    """A sentence of a source: `quote` as it stands there, `text` without markers, `words` to find it by."""

    source: Source
    quote: str
    text: str
    words: frozenset[str]


def read_statements(sources: Sequence[Source]) -> None:
    """Do the slow part of `find_conflicts` ahead of time; it is remembered by text."""
    for source in sources:
        _read(source.content[:_MAX_CHARS])


def find_conflicts(claims: Sequence[Claim], sources: Sequence[Source], question: str) -> tuple[Conflict, ...]:
    """At most `MAX_CONFLICTS`, those on the question's words first; each position is one source's, with its quote.

    Sources that are one voice (same owner, copied text) cannot contradict each other.
    """
    known = {source.id: source for source in sources}
    statements = {source.id: list(_statements(source, source.content[:_MAX_CHARS])) for source in sources}
    found: list[tuple[Conflict, frozenset[str]]] = []
    seen: set[tuple[str, str]] = set()
    for anchor in _anchors(claims, known):
        conflict = _conflict_of(anchor, sources, statements, seen)
        if conflict:
            found.append((conflict, anchor.words))
    asked = _words(question)
    ordered = sorted(found, key=lambda entry: -len(entry[1] & asked))
    return tuple(conflict for conflict, _ in ordered[:MAX_CONFLICTS])


def _anchors(claims: Sequence[Claim], sources: dict[str, Source]) -> Iterator[_Statement]:
    """The sentences that the claims rest on, each once."""
    seen: set[tuple[str, str]] = set()
    for claim in claims:
        for evidence in claim.evidence:
            source = sources.get(evidence.source_id)
            if source is None or evidence.verdict not in _SPEAKING:
                continue
            for statement in _statements(source, evidence.quote):
                if (source.id, statement.quote) not in seen:
                    seen.add((source.id, statement.quote))
                    yield statement


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


def _conflict_of(
    anchor: _Statement,
    sources: Sequence[Source],
    statements: dict[str, list[_Statement]],
    seen: set[tuple[str, str]],
) -> Conflict | None:
    """What the other sources say against one sentence; None when nothing, or when it was already reported."""
    first: Difference | None = None
    positions: list[ConflictPosition] = []
    for source in sources:
        if source.id == anchor.source.id or same_voice(source, anchor.source):
            continue
        for statement in _nearest(anchor, statements[source.id]):
            difference = find_difference(anchor.text, statement.text) if _same_topic(anchor, statement) else None
            if difference is None or (first and difference.matter != first.matter):
                continue
            first = first or difference
            if (source.id, statement.quote) not in seen:
                positions.append(_position(difference.second, statement))
            seen |= {(source.id, statement.quote), (anchor.source.id, anchor.quote)}
            break
    if first is None or not positions:
        return None
    return Conflict(first.subject, (_position(first.first, anchor), *positions))


def _nearest(anchor: _Statement, statements: Sequence[_Statement]) -> list[_Statement]:
    """The statements that share most words with `anchor`, if they share enough; reading order among equals."""
    scored = [
        (len(anchor.words & statement.words) / min(len(anchor.words), len(statement.words)), statement)
        for statement in statements
        if anchor.words & statement.words
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


_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = frozenset("the and was were for that this with from are has have had its not but which who can will".split())


def _words(text: str) -> frozenset[str]:
    """Rough stems: the first six letters of each longer word."""
    return frozenset(word[:6] for word in _WORD.findall(text.casefold()) if word not in _COMMON)
