"""What the loopback search services know, and how they rank: by plain word overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache


@dataclass(frozen=True)
class Document:
    """`id` is the service's own (a PMID, a page id, an arXiv id); "" takes one from the place in the corpus."""

    url: str
    title: str
    text: str
    published_at: datetime = datetime(2024, 5, 17, tzinfo=UTC)
    author: str = "Ada Moore"
    id: str = ""


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@lru_cache(maxsize=4096)
def _vocabulary(document: Document) -> frozenset[str]:
    """Kept, so that the services take none of the processor from the program that a benchmark measures."""
    return frozenset(words_of(f"{document.title} {document.text}"))


def best_matches(documents: Sequence[Document], words: set[str], *, need_all: bool = False) -> list[Document]:
    """Documents that hold any (or all) of `words`, those with the most of them first."""
    scored: list[tuple[int, Document]] = []
    for document in documents:
        found = words & _vocabulary(document)
        if found and (not need_all or found == words):
            scored.append((len(found), document))
    return [document for _, document in sorted(scored, key=lambda entry: -entry[0])]
