"""The paper library in memory: for tests and for trying things out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.job import Scope
from core.library.paper import Index, Paper, PaperChunk, SearchResult
from core.library.states import Conversation
from core.ports import Vector
from core.terms import terms


class MemoryConversations:
    """`Conversations`."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Scope, str], Conversation] = {}

    async def get(self, scope: Scope, thread: str) -> Conversation | None:
        return self._kept.get((scope, thread))

    async def put(self, scope: Scope, thread: str, conversation: Conversation, *, asker: str, at: datetime) -> None:
        self._kept[scope, thread] = conversation


@dataclass(frozen=True)
class _Kept:
    paper: Paper
    text: str
    chunks: dict[Index, Sequence[PaperChunk]]
    file: bytes


class MemoryLibrary:
    """A `Library`; texts are ranked by the share of rare words they have."""

    def __init__(self) -> None:
        self._kept: dict[Scope, dict[str, _Kept]] = {}

    async def put(
        self, shelf: Scope, paper: Paper, text: str, chunks: dict[Index, Sequence[PaperChunk]], file: bytes
    ) -> None:
        self._kept.setdefault(shelf, {})[paper.id] = _Kept(paper, text, dict(chunks), file)

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        return self._kept.get(shelf, {}).pop(paper_id, None) is not None

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        found = {
            kept.paper.id: kept.paper for shelf in reversed(shelves) for kept in self._kept.get(shelf, {}).values()
        }
        return [found[paper_id] for paper_id in sorted(found)]

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        kept = self._find(shelves, paper_id)
        return kept.text if kept else ""

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        kept = self._find(shelves, paper_id)
        return kept.file if kept else b""

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        found = [
            SearchResult(chunk, float(chunk.embedding @ vector))
            for chunk in self._chunks(shelves, index, papers)
            if chunk.embedding is not None and chunk.embedding.size == vector.size
        ]
        return sorted(found, key=lambda entry: -entry.score)[:limit]

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        chunks = self._chunks(shelves, index, papers)
        bags = [set(terms(f"{chunk.paper.title} {chunk.heading} {chunk.chunk_text}")) for chunk in chunks]
        asked = set(terms(query))
        weights = {term: math.log(1 + len(bags) / (1 + sum(term in bag for bag in bags))) for term in asked}
        scored = [(sum(weights[term] for term in asked & bag), chunk) for chunk, bag in zip(chunks, bags, strict=True)]
        ranked = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: -entry[0])[:limit]
        return [SearchResult(chunk, score / ranked[0][0]) for score, chunk in ranked]

    def _find(self, shelves: Sequence[Scope], paper_id: str) -> _Kept | None:
        return next((found for shelf in shelves if (found := self._kept.get(shelf, {}).get(paper_id))), None)

    def _chunks(self, shelves: Sequence[Scope], index: Index, papers: Sequence[str] | None) -> list[PaperChunk]:
        first = {paper_id: kept for shelf in reversed(shelves) for paper_id, kept in self._kept.get(shelf, {}).items()}
        return [
            chunk
            for kept in first.values()
            if papers is None or kept.paper.id in papers
            for chunk in kept.chunks.get(index, ())
        ]
