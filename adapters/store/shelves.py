"""How papers on shelves are searched, whatever database keeps their rows."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adapters.store.vectors import Place, Rows, VectorMirrors
from core.bm25 import bm25
from core.codec import decode
from core.job import Scope
from core.library.paper import Index, Paper, SearchResult
from core.ports import Vector
from core.terms import STOPWORDS

MAX_QUERY_WORDS = 40  # of a question; what comes later rarely says what it is about
Scored = Sequence[tuple[int, float]]  # the numbers of chunks with their scores, best first


class ShelvedPapers(ABC):
    """The reading half of a `Library`, over the rows that a database gives. `folder` may hold mirrors of vectors.

    Among the chunks of named papers words are ranked here, since they are few: a database would first count each word
    in all papers.
    """

    def __init__(self, folder: Path) -> None:
        self._mirrors = VectorMirrors(folder, self._vectors_above, self._count, self._numbers)

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        found: dict[str, Paper] = {}
        for shelf in shelves:
            for text in await self._papers_on(shelf):
                paper = decode(text, Paper)
                found.setdefault(paper.id, paper)
        return [found[paper_id] for paper_id in sorted(found)]

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        return str(await self._first("text", shelves, paper_id) or "")

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        found = await self._first("file", shelves, paper_id)
        return bytes(found) if isinstance(found, bytes) else b""

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        scored: list[tuple[int, float]] = []
        for scope in shelves:
            place = Place(scope, index)
            if papers is None:
                scored += await self._mirrors.nearest(place, vector, limit)
            else:
                scored += _alike(await self._vectors_of(place, papers), vector)
        return await self._results(_best(scored, limit), shelves)

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        asked = _words_of(query)
        if not asked or not shelves:
            return []
        if papers is None:
            scored = await self._matching(shelves, index, asked, limit)
        else:
            texts = [row for shelf in shelves for row in await self._texts_of(Place(shelf, index), papers)]
            scored = _best(await asyncio.to_thread(_fitting, query, texts), limit)
        best = scored[0][1] if scored else 1.0
        return await self._results([(number, min(max(score / best, 0.0), 1.0)) for number, score in scored], shelves)

    async def _first(self, column: str, shelves: Sequence[Scope], paper_id: str) -> object:
        """Of the first shelf on which the paper stands."""
        for shelf in shelves:
            rows = await self._column(column, shelf, paper_id)
            if rows:
                return rows[0]
        return None

    @abstractmethod
    async def _papers_on(self, shelf: Scope) -> list[str]:
        """Every paper as it is encoded."""

    @abstractmethod
    async def _column(self, name: str, shelf: Scope, paper_id: str) -> list[object]:
        """One value of a paper's row, nothing where it is not there."""

    @abstractmethod
    async def _vectors_above(self, place: Place, number: int) -> Rows:
        """At most `ROWS_A_READ`, by number."""

    @abstractmethod
    async def _count(self, place: Place) -> int:
        """Of the vectors."""

    @abstractmethod
    async def _numbers(self, place: Place) -> list[int]:
        """Of the vectors."""

    @abstractmethod
    async def _vectors_of(self, place: Place, papers: Sequence[str]) -> Rows: ...

    @abstractmethod
    async def _texts_of(self, place: Place, papers: Sequence[str]) -> list[tuple[int, str]]:
        """What is searched of each chunk: the paper's title, its heading, its text."""

    @abstractmethod
    async def _matching(self, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        """By the database's own full-text search; any of the words may stand in a chunk."""

    @abstractmethod
    async def _results(self, scored: Scored, shelves: Sequence[Scope]) -> list[SearchResult]:
        """The chunks, in that order, without those of a paper that also stands on an earlier shelf."""


def values_of(place: Place) -> tuple[str, str, str]:
    return place.scope.tenant, place.scope.visibility, place.index.value


def blob_of(vector: Vector | None) -> bytes | None:
    return None if vector is None else np.asarray(vector, dtype="<f4").tobytes()


def _words_of(query: str) -> list[str]:
    """What a full-text search looks for: the words of a question that carry meaning, all of them if none does."""
    found = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))
    return [word for word in found if word not in STOPWORDS][:MAX_QUERY_WORDS] or found[:MAX_QUERY_WORDS]


def _alike(rows: Rows, vector: Vector) -> list[tuple[int, float]]:
    vectors = [(number, np.frombuffer(blob, dtype="<f4")) for number, blob in rows]
    return [(number, float(other @ vector)) for number, other in vectors if other.size == vector.size]


def _fitting(query: str, texts: Sequence[tuple[int, str]]) -> list[tuple[int, float]]:
    scores = bm25(query, [text for _, text in texts])
    return [(number, score) for (number, _), score in zip(texts, scores, strict=True) if score > 0]


def _best(scored: Scored, limit: int) -> Scored:
    return sorted(scored, key=lambda entry: -entry[1])[:limit]
