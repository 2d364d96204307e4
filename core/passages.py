"""A source's text in passages of a few sentences, and the ones that fit into a prompt.

Passages are spans of the text as read: `text == content[start:end]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import regex

from core.source import Source
from core.terms import inverse_frequency, question_terms, terms, unseen_weight

PASSAGE_CHARS = 700  # about 120 words: a paragraph, small enough that a bad one costs little of the prompt
_BLOCK = regex.compile(r"(?:[^\n\f]|\n(?!\s*\n))+")
_BREAK = regex.compile(r"(?<=[.!?。！？؟।])\s+|\n")
_HEADING = regex.compile(r"#{1,6}\s+(.+?)\s*#*$|^([^\n]+)\n[=-]{3,}\s*$")


@dataclass(frozen=True)
class Passage:
    """`heading` is the nearest Markdown heading above ("" if none)."""

    start: int
    end: int
    text: str
    heading: str = ""


@lru_cache(maxsize=256)
def split_passages(content: str) -> tuple[Passage, ...]:
    """Paragraphs of `content` in order, long ones cut at sentence ends; blank text gives none."""
    found: list[Passage] = []
    heading = ""
    for block in _BLOCK.finditer(content):
        text = block.group()
        if not text.strip():
            continue
        titled = _HEADING.match(text.strip())
        if titled and len(text) < 200:
            heading = (titled[1] or titled[2]).strip()
            continue
        found.extend(
            Passage(block.start() + start, block.start() + end, text[start:end], heading)
            for start, end in _pieces(text)
        )
    return tuple(found)


def _pieces(text: str) -> list[tuple[int, int]]:
    """Half-open spans of about `PASSAGE_CHARS`, cut at sentence ends or lines, at spaces where there are none."""
    cuts = [0, *(match.end() for match in _BREAK.finditer(text)), len(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for before, cut in pairwise(cuts):
        if cut - start > PASSAGE_CHARS and before > start:
            spans.append((start, before))
            start = before
        while cut - start > 2 * PASSAGE_CHARS:  # one endless sentence: a table, a log, minified text
            space = text.rfind(" ", start, start + PASSAGE_CHARS)
            middle = space + 1 if space > start else start + PASSAGE_CHARS
            spans.append((start, middle))
            start = middle
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def select_passages(
    sources: Sequence[Source], question: str, *, max_tokens: int, count_tokens: Callable[[str], int]
) -> dict[str, list[Passage]]:
    """The passages of each source that best fit the question and together fit `max_tokens`, in reading order.

    Every source keeps at least its best passage while the budget lasts, better sources first; after
    that the best passages of all are taken, one by one.
    """
    ranked = _rank(sources, question)
    chosen: dict[str, list[Passage]] = {source.id: [] for source in sources}
    left = max_tokens
    firsts = [
        next(entry for entry in ranked if entry[1] == source.id)
        for source in sources
        if split_passages(source.trusted_content)
    ]
    for _, source_id, passage in [*firsts, *ranked]:
        cost = count_tokens(passage.text) + 2
        if cost <= left and passage not in chosen[source_id]:
            chosen[source_id].append(passage)
            left -= cost
    return {source_id: sorted(own, key=lambda passage: passage.start) for source_id, own in chosen.items() if own}


def _rank(sources: Sequence[Source], question: str) -> list[tuple[float, str, Passage]]:
    """All passages, best first: weighted coverage of the question times the standing of the source."""
    entries = [(source, passage) for source in sources for passage in split_passages(source.trusted_content)]
    bags = [set(terms(f"{passage.heading} {passage.text}")) for _, passage in entries]
    weights = inverse_frequency(bags)
    unseen = unseen_weight(len(bags))
    asked = set(question_terms(question))
    scored = [
        (
            sum(weights.get(term, unseen) for term in asked & bag) * (0.5 + 0.5 * source.scores.total)
            - passage.start / 1e7,  # among equals, what comes first introduces the rest
            source.id,
            passage,
        )
        for (source, passage), bag in zip(entries, bags, strict=True)
    ]
    return sorted(scored, key=lambda entry: -entry[0])
