"""The paper library in memory: for tests and for trying things out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.bm25 import bm25
from core.job import Scope
from core.library.paper import Index, Paper, PaperChunk, SearchResult
from core.library.states import Conversation
from core.ports import Vector


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
    """A `Library`."""

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
        scores = bm25(query, [f"{chunk.paper.title}\n{chunk.heading}\n{chunk.chunk_text}" for chunk in chunks])
        scored = [(score, chunk) for score, chunk in zip(scores, chunks, strict=True) if score > 0]
        ranked = sorted(scored, key=lambda entry: -entry[0])[:limit]
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
