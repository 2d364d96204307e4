"""A small library: three papers of three pages, and a way to put them on a shelf."""

from __future__ import annotations

from datetime import UTC, datetime

from adapters.store.memory_library import MemoryLibrary
from core.chunking import chunk_text
from core.job import LOCAL, Scope
from core.library.paper import Index, Paper, PaperChunk
from core.ports import EmbeddingModel

AT = datetime(2026, 3, 1, tzinfo=UTC)

TIDES = Paper(
    "2401.00001v1",
    "Tides and the Moon",
    "hash-1",
    AT,
    authors=("Smith, J.", "Doe, A."),
    published="2024-01-02",
    labels=("131", "132", "133"),
    summary="The gravity of the moon causes the tides of the oceans.",
)
YEAST = Paper(
    "2402.00002v1",
    "Fermentation by Yeast",
    "hash-2",
    AT,
    authors=("Brown, T.",),
    published="2024-02-01",
    labels=("1", "2", "3"),
    summary="Yeast turns sugar into alcohol without oxygen.",
)
TEXTS = {
    TIDES.id: "The tides rise and fall twice a day on most coasts of the world.\f"
    "The gravity of the moon pulls the water of the oceans and causes the tides. "
    "The sun adds about half as much to the tides as the moon.\f"
    "The largest tides were measured in the Bay of Fundy, where they reach 16 metres.",
    YEAST.id: "Yeast has been used for baking since ancient times.\f"
    "Without oxygen yeast ferments sugar to alcohol and carbon dioxide.\f"
    "At 35 degrees fermentation was twice as fast as at 25 degrees.",
}


async def shelve(
    library: MemoryLibrary,
    *papers: Paper,
    shelf: Scope = LOCAL,
    embedder: EmbeddingModel | None = None,
    text: str = "",
) -> None:
    """Each paper with its text (or `text`) in chunks and its summary as one."""
    for paper in papers:
        whole = text or TEXTS[paper.id]
        parts = [(Index.SUMMARY, paper.summary, 0, len(paper.summary), None)]
        parts += [(Index.CONTENT, chunk.text, chunk.start, chunk.end, chunk.page) for chunk in chunk_text(whole)]
        vectors = await embedder.embed([part[1] for part in parts]) if embedder else [None] * len(parts)
        chunks: dict[Index, list[PaperChunk]] = {Index.SUMMARY: [], Index.CONTENT: []}
        for at, ((index, words, start, end, page), vector) in enumerate(zip(parts, vectors, strict=True)):
            chunks[index].append(PaperChunk(paper, at, words, start, end, page=page, embedding=vector))
        await library.put(shelf, paper, whole, dict(chunks), b"%PDF")
