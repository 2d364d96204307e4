"""The passage of a source that best carries a claim, and quotes checked letter by letter.

Every span is half-open character offsets into the source's text as read: `quote == content[start:end]`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Prefix

from core.evidence.rules.words import (
    ROOT_MATCH,
    SYNONYM_MATCH,
    Kind,
    NumberLine,
    Token,
    match_tokens,
    meanings,
    read,
    tokenize,
)
from core.evidence.verbatim import quotations_in, verify_quote
from core.model.answer import Evidence
from core.model.source import Source
from core.text.language import language_of, shape_of
from core.text.sentences import sentences_of

MAX_SENTENCES = 3  # a passage longer than this is no longer a quote
MAX_SENTENCE_CHARS = 600  # longer "sentences" are tables or menus; they are cut at a line or a space
SENTENCE_COST = 0.04  # of coverage, for each sentence beyond the first: a longer passage must earn its place
PAIR_WEIGHT = 0.3  # of a word's weight, for two claim words that are also neighbours in the source
ABOUT_WEIGHT = 0.4  # of a word of the title: what all of the text is about tells no sentence from the others
CONTEXT_SENTENCES = 5  # beside the passage; more of a long text have the claim's words by chance
MIN_SCORE = 0.15  # 0…1; below, the source says nothing of the claim
TELLING_CHARS = 2000  # of a text, to tell its language by
MIN_AKIN = 4  # letters that words of two languages must begin with alike
MIN_SHARED = 0.5  # of the longer word
AKIN_MATCH = 0.9  # 0…1, how much a word counts that begins alike, times the share; by judgement

Span = tuple[int, int]


@dataclass(frozen=True)
class FoundPassage:
    """`text[start:end]` of the indexed text; `score` is the weighted share of the claim found there, 0…1."""

    start: int
    end: int
    first: int
    last: int
    score: float


class PassageIndex:
    """The sentences of one text, looked up by word. Build once, ask for many claims."""

    def __init__(self, text: str, title: str = "") -> None:
        self.text = text
        self._about = read(title).stems
        self.spans = _spans_of(text)
        self.language = language_of(text[:TELLING_CHARS]) or "en"
        self._by_stem: dict[str, list[int]] = defaultdict(list)
        self._by_root: dict[str, list[int]] = defaultdict(list)
        self._by_meaning: dict[int, list[int]] = defaultdict(list)
        self._numbers: dict[str, Token] = {}
        self._stems: list[tuple[str, ...]] = []  # of each sentence; its pairs by themselves would be most of the index
        for position, (start, end) in enumerate(self.spans):
            self._add(position, _content_words(text[start:end], self.language))
        self._line = NumberLine(self._numbers.values())

    def _add(self, position: int, words: Sequence[Token]) -> None:
        stems = tuple(word.stem for word in words)
        self._stems.append(stems)
        for stem in set(stems):
            self._by_stem[stem].append(position)
        self._numbers |= {word.text: word for word in words if word.values}
        plain = [word for word in words if not word.values]
        for root in {word.root for word in plain}:
            self._by_root[root].append(position)
        for meaning in {meaning for word in plain for meaning in meanings(word.stem)}:
            self._by_meaning[meaning].append(position)

    def best(self, claim: str) -> FoundPassage | None:
        """The best run of at most three sentences; None where nothing of the claim is found."""
        scores = self._score(claim)
        if scores is None:
            return None
        best: FoundPassage | None = None
        for size, totals in _runs(*scores):
            first = int(np.argmax(totals))
            if best is None or totals[first] > best.score + 1e-9:
                best = self._passage(first, size, float(totals[first]))
        return best if best is not None and best.score >= MIN_SCORE else None

    def nearest(self, claim: str, *, count: int) -> list[FoundPassage]:
        """At most `count` disjoint runs of one to three sentences that have something of the claim, best first.

        Also of a claim in another language: by its numbers, dates and names, and by words of one origin.
        """
        scores = self._score(claim, is_wide=True)
        if scores is None:
            return []
        runs: list[tuple[float, int, int]] = []
        for size, totals in _runs(*scores):
            runs += [(float(totals[at]), -size, int(at)) for at in np.argsort(-totals, kind="stable")[: 3 * count]]
        chosen: list[FoundPassage] = []
        for score, size, first in sorted(runs, reverse=True):
            passage = self._passage(first, -size, score)
            is_apart = all(passage.last < other.first or passage.first > other.last for other in chosen)
            if score > 0 and is_apart and len(chosen) < count:
                chosen.append(passage)
        return chosen

    def rank(self, claim: str) -> list[int]:
        """The sentences that have something of the claim, best first."""
        scores = self._score(claim)
        if scores is None:
            return []
        totals = scores[1] @ scores[0]
        return [int(at) for at in np.argsort(-totals, kind="stable") if totals[at] > 0]

    def _passage(self, first: int, size: int, score: float) -> FoundPassage:
        last = first + size - 1
        return FoundPassage(self.spans[first][0], self.spans[last][1], first, last, score)

    def _score(self, claim: str, *, is_wide: bool = False) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """For each word and pair of the claim how well each sentence has it, and their weights (sum 1).

        `is_wide` counts words that only look akin, and weighs each by the sentences that have something of it.
        """
        spoken = language_of(claim) or self.language
        words = list({word.stem: word for word in read(claim, spoken).content}.values())
        if not words or not self.spans:
            return None
        pairs = list(pairwise(words))
        rows = np.zeros((len(words) + len(pairs), len(self.spans)), dtype=np.float32)
        weights = np.zeros(len(rows), dtype=np.float32)
        for row, word in enumerate(words):
            if is_wide and not word.values:
                self._fill_akin(rows[row], word.stem)
            self._fill(rows[row], word)
            found = int(np.count_nonzero(rows[row])) if is_wide else len(self._by_stem.get(word.stem, ()))
            weights[row] = self._rarity(word, found) * (ABOUT_WEIGHT if word.stem in self._about else 1.0)
        for row, (left, right) in enumerate(pairs, start=len(words)):
            both = set(self._by_stem.get(left.stem, ())).intersection(self._by_stem.get(right.stem, ()))
            rows[row, [at for at in both if (left.stem, right.stem) in pairwise(self._stems[at])]] = 1.0  # neighbours
            weights[row] = PAIR_WEIGHT * min(weights[row - len(words)], weights[row - len(words) + 1])
        return rows, weights / weights.sum()

    def _fill(self, row: NDArray[np.float32], word: Token) -> None:
        if word.kind is Kind.NUMBER:
            for number in self._line.near(word):
                if match_tokens(word, number):
                    row[self._by_stem[number.stem]] = 1.0
        else:
            for meaning in meanings(word.stem):
                row[self._by_meaning.get(meaning, [])] = SYNONYM_MATCH
            row[self._by_root.get(word.root, [])] = ROOT_MATCH
        row[self._by_stem.get(word.stem, [])] = 1.0

    def _fill_akin(self, row: NDArray[np.float32], stem: str) -> None:
        """Words that begin alike: Verfassung and Verfassungen, intercepción and interceptions, Panther and Panthers."""
        shape = shape_of(stem)
        for other, like in self._akin.get(shape[:MIN_AKIN], ()):
            shared = Prefix.normalized_similarity(shape, other)
            if shared >= MIN_SHARED:
                positions = self._by_stem[like]
                row[positions] = np.maximum(row[positions], AKIN_MATCH * shared)

    @cached_property
    def _akin(self) -> dict[str, list[tuple[str, str]]]:
        """The shapes of the text's words and the words, by their first letters."""
        shapes: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for stem in self._by_stem:
            shape = shape_of(stem)
            if len(shape) >= MIN_AKIN:
                shapes[shape[:MIN_AKIN]].append((shape, stem))
        return shapes

    def _rarity(self, word: Token, found: int) -> float:
        """Rare words tell more: log idf over the sentences, numbers and names half as much again."""
        rarity = float(np.log(1 + (len(self.spans) + 1) / (found + 1)))
        return rarity * (1.5 if word.kind in (Kind.NUMBER, Kind.NAME) else 1.0)


def _runs(rows: NDArray[np.float32], weights: NDArray[np.float32]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """For each number of sentences, what the runs of that many are worth, by their first sentence."""
    for size in range(1, min(MAX_SENTENCES, rows.shape[1]) + 1):
        covered = np.max([rows[:, offset : rows.shape[1] - size + 1 + offset] for offset in range(size)], axis=0)
        yield size, weights @ covered - SENTENCE_COST * (size - 1)


class EvidenceIndex:
    """A source that can be asked for evidence; read when it first is."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def passages(self) -> PassageIndex:
        return PassageIndex(self.source.content, self.source.title)

    @cached_property
    def spans(self) -> list[Span]:
        """Its sentences; where they stand takes far less than to look them up by word."""
        return _spans_of(self.source.content)

    def find(self, claim: str) -> Evidence | None:
        """The best 1–3 sentences, unchecked; None where the source has nothing of the claim."""
        passage = self.passages.best(claim)
        return self._evidence(passage) if passage else None

    def nearest(self, claim: str, *, count: int = 3, quote: str = "") -> tuple[Evidence, ...]:
        """At most `count` disjoint passages of 1–3 sentences for a judge to read, best first, unchecked.

        `quote` is what the writer gave as the words of the source. Empty where nothing bears on the claim.
        """
        found = [self._evidence(passage) for passage in self.passages.nearest(claim, count=count)]
        span = verify_quote(quote, self.source.content) if quote else None
        if span is None:
            return tuple(found)
        given = Evidence(self.source.id, self.source.content[slice(*span)], *span)
        apart = [other for other in found if other.end <= given.start or other.start >= given.end]
        return (given, *apart)[:count]

    def _evidence(self, passage: FoundPassage) -> Evidence:
        quote = self.source.content[passage.start : passage.end]
        return Evidence(self.source.id, quote, passage.start, passage.end)

    def context(self, claim: str, evidence: Evidence, whole: EvidenceIndex | None = None) -> str:
        """What else of the source a check of `evidence` may draw on.

        Title, date, the first sentence, neighbours, the next best sentences, and the words that the claim quotes where
        they stand there. Where this is the index of parts of a source, neighbours and quoted words are those of the
        `whole`, of which nothing is looked up by word: reading a long page so costs more than all else that is checked.
        """
        content, spans = (whole or self).source.content, (whole or self).spans
        first = next((at for at, span in enumerate(spans) if span[0] >= evidence.start), 0)
        last = next((at for at, span in enumerate(spans) if span[1] >= evidence.end), first)
        best = [self.passages.spans[at] for at in self.passages.rank(claim)[:CONTEXT_SENTENCES]]
        wanted = sorted({*spans[:1], *spans[max(0, first - 2) : last + 3], *best})
        published = self.source.metadata.published_at
        dated = [f"{published:%B %d, %Y}"] if published else []
        dated += [f"{self.source.read_at:%B %d, %Y}"] if _AS_OF.search(claim) else []
        quoted = [span for words in quotations_in(claim) if (span := verify_quote(words, content))]
        return "\n".join([self.source.title, *dated, *(content[slice(*span)] for span in (*quoted, *wanted))])


_AS_OF = re.compile(  # a writer that is told the day says as of when it tells what it read
    r"\b(?:as (?:of|at)|stand:?|en date d[eu']|à la date d[eu']|a fecha de|(?:aggiornato )?al|per|em) "
    r"(?:\d{1,2}\.? )?(?:of |de )?[^\W\d_]{3,10}\.? (?:\d{1,2}, |de )?\d{4}",
    re.IGNORECASE,
)


@lru_cache(maxsize=2048)
def _content_words(sentence: str, language: str) -> tuple[Token, ...]:
    """A sentence is read with its source, then as the passage for a claim, then among those around it."""
    return tuple(token for token in tokenize(sentence, language) if token.is_content)


def _spans_of(text: str) -> list[Span]:
    return [span for sentence in sentences_of(text) for span in _cut(text, sentence.start, sentence.end)]


def _cut(text: str, start: int, end: int) -> list[Span]:
    """Pieces of at most `MAX_SENTENCE_CHARS`, cut at the last line end or space, without outer white space."""
    if end - start <= MAX_SENTENCE_CHARS and not (text[start].isspace() or text[end - 1].isspace()):
        return [(start, end)]  # nearly all
    pieces: list[Span] = []
    while end - start > MAX_SENTENCE_CHARS:
        limit = start + MAX_SENTENCE_CHARS
        at = max(text.rfind("\n", start + 1, limit), text.rfind(" ", start + 1, limit))
        at = at if at > start else limit
        pieces.append((start, at))
        start = at
    pieces.append((start, end))
    trimmed = [_strip(text, first, last) for first, last in pieces]
    return [span for span in trimmed if span[0] < span[1]]


def _strip(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
