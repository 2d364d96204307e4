"""The two searches of the funnel: which papers matter, then what in them matters (S000-03 … S000-13).

Without an embedder BM25 ranks, and the similarity cut-offs, which mean cosines, become limits on the rank. So it is
where no cosine reaches the cut-off, since models differ in how high theirs are; then most of the words must be there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.job import Scope
from core.library.paper import Index, Library, SearchResult
from core.ports import EmbeddingModel, Vector
from core.terms import terms

_WORD = re.compile(r"\w{3,}")
POOL = 4  # candidates for each result: what diversity may choose from
MIN_SHARE = 0.5  # of a query's informative words, where they decide although there is an embedder; by judgement


@dataclass(frozen=True)
class Shelves:
    """Where to look: a library, the scopes one may look into, and what turns a query into a vector, if anything."""

    library: Library
    scopes: tuple[Scope, ...]
    embedder: EmbeddingModel | None = None


async def search_summary_index(
    shelves: Shelves, query: str, k: int = 8, *, use_mmr: bool = True, similarity_cutoff: float = 0.5,
    mmr_alpha: float = 0.5,
) -> list[SearchResult]:  # fmt: skip
    """Stage 1: summaries and notes alone; the defaults are S000-04 … S000-06. Raises `ModelError`, `StoreError`."""
    alpha = mmr_alpha if use_mmr else 1.0
    return await _search(shelves, Index.SUMMARY, query, k, alpha=alpha, cutoff=similarity_cutoff)


async def search_content_index_filtered(
    shelves: Shelves, query: str, paper_ids: Sequence[str], k: int = 15, *, use_mmr: bool = True,
    similarity_cutoff: float = 0.6, mmr_alpha: float = 0.6,
) -> list[SearchResult]:  # fmt: skip
    """Stage 2: the full texts of those papers alone; the defaults are S000-09 … S000-11.

    Raises `ModelError`, `StoreError`.
    """
    alpha = mmr_alpha if use_mmr else 1.0
    return await _search(shelves, Index.CONTENT, query, k, alpha=alpha, cutoff=similarity_cutoff, papers=paper_ids)


async def search_content_index(shelves: Shelves, query: str, k: int = 15) -> list[SearchResult]:
    """Every full text: what `sem-search` shows, with the numbers of stage 2."""
    return await _search(shelves, Index.CONTENT, query, k, alpha=0.6, cutoff=0.6)


async def _search(
    shelves: Shelves,
    index: Index,
    query: str,
    k: int,
    *,
    alpha: float,
    cutoff: float,
    papers: Sequence[str] | None = None,
) -> list[SearchResult]:
    library, scopes = shelves.library, shelves.scopes
    if shelves.embedder is not None:
        (vector,) = await shelves.embedder.embed([query])
        near = await library.nearest(scopes, index, vector, limit=POOL * k, papers=papers)
        if near_enough := [entry for entry in near if entry.score >= cutoff]:
            return select_diverse(near_enough, k, alpha=alpha, alike=_cosine)
    found = await library.matching(scopes, index, query, limit=POOL * k, papers=papers)
    if shelves.embedder is not None:
        found = _with_words_of(query, found)
    return select_diverse(found, k, alpha=alpha, alike=_share_of_words(found))


def _with_words_of(query: str, found: Sequence[SearchResult]) -> list[SearchResult]:
    """Those with `MIN_SHARE` of the query's words; a single common one is no reason to doubt the embedder."""
    asked = set(terms(query))
    least = max(1.0, MIN_SHARE * len(asked))
    return [entry for entry in found if len(asked.intersection(terms(entry.chunk.chunk_text))) >= least]


def papers_of(results: Sequence[SearchResult]) -> list[str]:
    """The ids of the papers, best first, each once (S000-07)."""
    return list(dict.fromkeys(result.chunk.paper.id for result in results))


def select_diverse(
    found: Sequence[SearchResult],
    k: int,
    *,
    alpha: float,
    alike: Callable[[SearchResult, SearchResult], float],
) -> list[SearchResult]:
    """At most `k` by maximal marginal relevance: `alpha` times the score less (1 − `alpha`) times the likeness to what
    is chosen already (Carbonell and Goldstein 1998). In the order of choice; `alpha` 1 is the order of the scores.
    """
    left = sorted(found, key=lambda entry: -entry.score)
    chosen: list[SearchResult] = []
    likeness: NDArray[np.float64] = np.zeros(len(left))
    while left and len(chosen) < k:
        gains = [alpha * entry.score - (1 - alpha) * likeness[at] for at, entry in enumerate(left)]
        best = int(np.argmax(gains))
        chosen.append(left.pop(best))
        likeness = np.delete(likeness, best)
        likeness = np.maximum(likeness, [alike(entry, chosen[-1]) for entry in left]) if left else likeness
    return chosen


def _cosine(one: SearchResult, other: SearchResult) -> float:
    a, b = one.chunk.embedding, other.chunk.embedding
    return float(_known(a) @ _known(b))


def _known(vector: Vector | None) -> Vector:
    if vector is None:
        raise ValueError("a chunk that was found by its vector has one")
    return vector


def _share_of_words(found: Sequence[SearchResult]) -> Callable[[SearchResult, SearchResult], float]:
    """Jaccard's index of two chunks' words; each chunk is read once, since all are compared with all."""
    bags = {entry.chunk.chunk_id: frozenset(_WORD.findall(entry.chunk.chunk_text.casefold())) for entry in found}

    def share(one: SearchResult, other: SearchResult) -> float:
        a, b = bags[one.chunk.chunk_id], bags[other.chunk.chunk_id]
        return len(a & b) / len(a | b) if a | b else 0.0

    return share
