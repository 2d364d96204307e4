"""BM25 over texts that are few enough to be read at once; whole indexes are ranked where they are kept. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.terms import inverse_frequency, terms, words

_SATURATION = 1.2  # k1: how soon a repeated word adds nothing more
_LENGTH = 0.75  # b: how much a long text must hold more to count the same


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """How well each text fits, 0 and more; a word counts by how rare it is among these texts.

    Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009; k1 and b as SQLite's FTS5 has them.
    """
    asked = list(dict.fromkeys(terms(query)))
    bags = [Counter(words(text)) for text in texts]
    weights = inverse_frequency([[term for term in asked if term in bag] for bag in bags])
    lengths = [bag.total() for bag in bags]
    usual = sum(lengths) / max(len(lengths), 1) or 1.0
    return [
        sum(
            weights[term]
            * bag[term]
            * (_SATURATION + 1)
            / (bag[term] + _SATURATION * (1 + _LENGTH * (length / usual - 1)))
            for term in asked
            if term in bag
        )
        for bag, length in zip(bags, lengths, strict=True)
    ]
