"""Which sources are kept, and why: relevance, authority, recency and quality, each 0…1 and explained.

Pure functions over sources as read; the same question and sources always give the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from math import exp, log10

import regex

from core.evidence.authority import authority, is_retracted, registrable_domain
from core.model.job import QueryIntent, QuestionType
from core.model.source import Source, SourceScores
from core.text.chunking import passage_terms
from core.text.language import detect_language, rarity
from core.text.sentences import kept_by_length
from core.text.terms import FoundTerms, question_terms, terms

# How much each part counts; current events weigh recency like authority, settled questions hardly at all.
# Relevance must dominate: an authoritative page about something else helps nobody.
_WEIGHTS = {
    QuestionType.CURRENT_EVENT: {"relevance": 0.5, "authority": 0.2, "recency": 0.2, "quality": 0.1},
    QuestionType.FACTUAL: {"relevance": 0.6, "authority": 0.2, "recency": 0.08, "quality": 0.12},
    QuestionType.COMPARISON: {"relevance": 0.6, "authority": 0.18, "recency": 0.12, "quality": 0.1},
    QuestionType.EXPLANATION: {"relevance": 0.62, "authority": 0.2, "recency": 0.03, "quality": 0.15},
}
# Days after which a source's recency has fallen to 1/e, by kind of question.
_AGE_SCALE_DAYS = {
    QuestionType.CURRENT_EVENT: 14.0,
    QuestionType.FACTUAL: 3 * 365.0,
    QuestionType.COMPARISON: 2 * 365.0,
    QuestionType.EXPLANATION: 10 * 365.0,
}
CITED_WEIGHT = 0.1  # 0…1 of authority: much cited beside little cited of one kind; never a preprint beside a review
MANY_A_YEAR = 100  # citations; more say no more
_UNDATED = 0.4  # no date: neither fresh nor old
_GOOD_WORDS = 150  # a text of this many words can carry an explanation; below it, quality falls
_PROSE_CHARS = 60  # a line below is a heading, a menu or a cell
_SEEN_CHARS = 20_000  # enough to know a page by
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")  # two of these count as a word


@dataclass(frozen=True)
class Candidate:
    """A source with what its providers thought of it: the best rank (0 is first) and how many named it."""

    source: Source
    best_rank: int = 0
    mentions: int = 1


def rank_sources(
    candidates: Sequence[Candidate],
    question: str,
    intent: QueryIntent,
    *,
    now: datetime,
    max_sources: int,
    max_per_domain: int,
    similarities: Mapping[str, float] | None = None,
    queries: Sequence[str] = (),
    beside: Sequence[Source] = (),
) -> list[Source]:
    """The best `max_sources`, best first, with scores set and ids `src_1`… given in that order.

    `similarities` are cosines by URL where an embedder is at hand, `queries` what was asked of the engines. At most
    `max_per_domain` of one registrable domain are kept (S003-11), with those `beside` which they will stand; local
    files have no domain and are not limited.
    """
    coverages = coverage_of([candidate.source for candidate in candidates], question, queries)
    scored = [
        replace(
            candidate.source,
            scores=_score(candidate, coverage, intent, now, (similarities or {}).get(candidate.source.url)),
        )
        for candidate, coverage in zip(candidates, coverages, strict=True)
    ]
    ordered = sorted(scored, key=lambda source: (-source.scores.total, source.url))
    kept = _diverse(ordered, beside, max_sources=max_sources, max_per_domain=max_per_domain)
    return [replace(source, id=f"src_{number}") for number, source in enumerate(kept, start=1)]


def coverage_of(sources: Sequence[Source], question: str, queries: Sequence[str] = ()) -> list[float]:
    """Per source 0…1: the share of what is asked that its best passage (with the title) holds.

    Words weigh by how rare they are in their language, not among these sources: what all of them say is what was asked
    for. Of the question and the `queries` made of it the one counts that fits best, since askers say more than they
    look for ("really", "for my homework").
    """
    titles = [terms(source.title) for source in sources]
    passages = [passage_terms(source.trusted_content)[:400] or ((),) for source in sources]
    language = detect_language(question)
    wordings = [question_terms(text, language) for text in dict.fromkeys((question, *queries))]
    weights = [{term: rarity(term, language) for term in wording} for wording in wordings]
    asked = FoundTerms(" ".join((question, *queries)), chain(titles, *passages), language)
    held = zip(titles, passages, strict=True)
    return [max(_best_share(asked.found_in(chain(titled, one)), weights) for one in own) for titled, own in held]


def _best_share(found: Mapping[str, float], weights: Sequence[Mapping[str, float]]) -> float:
    """Of each wording's weight the share that is found, 0…1; the best of them."""
    if not found:
        return 0.0
    shares = (
        sum(weight * found[term] for term, weight in own.items() if term in found) / total
        for own in weights
        if (total := sum(own.values()))
    )
    return max(shares, default=0.0)


def _score(
    candidate: Candidate, coverage: float, intent: QueryIntent, now: datetime, similarity: float | None
) -> SourceScores:
    source = candidate.source
    relevance = _relevance(candidate, coverage, similarity)
    trust = min(1.0, authority(source.metadata.kind) + CITED_WEIGHT * _cited(source, now))
    recency = _recency(source.metadata.published_at, intent, now)
    quality = _quality(source)
    weights = _WEIGHTS[intent.question_type]
    total = (
        0.0
        if is_retracted(source)
        else (
            weights["relevance"] * relevance
            + weights["authority"] * trust
            + weights["recency"] * recency
            + weights["quality"] * quality
        )
    )
    return SourceScores(relevance, trust, recency, quality, total)


def _relevance(candidate: Candidate, coverage: float, similarity: float | None) -> float:
    """Lexical coverage, meaning where known, and the provider's own order; several mentions are a vote."""
    own_order = 1.0 / (1.0 + 0.2 * candidate.best_rank)
    vote = min(1.0, 0.5 + 0.25 * (candidate.mentions - 1))
    meaning = coverage if similarity is None else 0.5 * coverage + 0.5 * max(0.0, min(1.0, similarity))
    return 0.75 * meaning + 0.15 * own_order + 0.1 * vote if meaning > 0 else 0.0


def _cited(source: Source, now: datetime) -> float:
    """How often a work is cited for its age, 0…1; 0 where nobody knows."""
    published, cited_by = source.metadata.published_at, source.metadata.cited_by
    if not cited_by or published is None:
        return 0.0
    published = published if published.tzinfo else published.replace(tzinfo=UTC)
    years = max(1.0, (now - published).days / 365)
    return min(1.0, log10(1 + cited_by / years) / log10(1 + MANY_A_YEAR))


def _recency(published_at: datetime | None, intent: QueryIntent, now: datetime) -> float:
    """Falling with age; a date that is missing, or lies in the future, says nothing."""
    if published_at is None:
        return _UNDATED
    published_at = published_at if published_at.tzinfo else published_at.replace(tzinfo=UTC)
    age_days = (now - published_at).total_seconds() / 86_400
    if age_days < -1:  # a day's grace for time zones
        return _UNDATED
    return exp(-max(0.0, age_days) / _AGE_SCALE_DAYS[intent.question_type])


def _quality(source: Source) -> float:
    """Enough text to carry an answer, read from the page itself, in sentences rather than fragments."""
    unspaced, prose = _shape(source.content)
    length = min(1.0, (source.metadata.word_count + unspaced / 2) / _GOOD_WORDS)
    whole = 0.6 if source.extract_of_page else 1.0
    return length * (0.6 + 0.4 * prose) * whole


@kept_by_length
def _shape(content: str) -> tuple[int, float]:
    """How many characters of scripts without spaces it begins with, and which share of its lines is prose, 0…1."""
    seen = content[:_SEEN_CHARS]
    unspaced = len(_UNSPACED.findall(seen))
    lines = [line for line in seen.splitlines() if line.strip()]
    lengths = [len(line) + len(_UNSPACED.findall(line)) for line in lines] if unspaced else map(len, lines)
    return unspaced, sum(chars > _PROSE_CHARS for chars in lengths) / len(lines) if lines else 0.0


def _diverse(
    ordered: Sequence[Source], beside: Sequence[Source], *, max_sources: int, max_per_domain: int
) -> list[Source]:
    kept: list[Source] = []
    per_domain = Counter(owner for source in beside if (owner := registrable_domain(source.metadata.domain)))
    seen = {source.content_hash for source in beside}
    for source in ordered:
        owner = registrable_domain(source.metadata.domain)
        if source.content_hash in seen or (owner and per_domain[owner] >= max_per_domain):
            continue
        seen.add(source.content_hash)
        per_domain[owner] += 1
        kept.append(source)
        if len(kept) == max_sources:
            break
    return kept
