"""A paper's chunks with their vectors: made when it is added, or later where the embedding model failed then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from core.library.calibration import Cosines, measure
from core.library.paper import Index, LibraryStore, Paper, PaperChunk
from core.model.errors import GorkdError, ModelError
from core.model.job import Scope
from core.model.ports import EmbeddingModel
from core.text.chunking import Chunk, SectionType, chunk_text

log = logging.getLogger(__name__)

_BATCH = 64  # chunks whose vectors are asked for at once; S001-07
Chunks = dict[Index, Sequence[PaperChunk]]


async def index_paper(
    paper: Paper, text: str, embedder: EmbeddingModel | None, known: Sequence[Paper] = ()
) -> tuple[Paper, Chunks, str]:
    """The paper as it is to be kept, its chunks, and why they have no vectors, "" where they have or none are made.

    `known` are papers whose vectors tell what the model's cosines mean; without any that is measured.
    """
    body = [chunk for chunk in chunk_text(text) if chunk.section is not SectionType.REFERENCES]
    about = chunk_text(f"{paper.summary}\n\n{paper.notes}".strip() or paper.title)
    fault = ""
    if embedder is not None:
        try:
            cosines = _cosines(embedder, [paper, *known]) or await measure(embedder)
            whole = replace(paper, lacks_vectors=False, cosines=cosines)
            summary = await _embedded(_on(whole, about), embedder)
            return whole, {Index.SUMMARY: summary, Index.CONTENT: await _embedded(_on(whole, body), embedder)}, ""
        except ModelError as exc:
            log.warning("no vectors for a paper yet: %s", exc)
            fault = exc.user_message
    paper = replace(paper, lacks_vectors=embedder is not None, cosines=None)
    return paper, {Index.SUMMARY: _on(paper, about), Index.CONTENT: _on(paper, body)}, fault


async def mend(library: LibraryStore, embedder: EmbeddingModel | None, shelf: Scope, *, within_s: float) -> list[str]:
    """Make the vectors that papers of the shelf lack; the ids of those that have theirs now.

    It ends with the first that fails, or when time is up: an aid, for which nobody's question fails.
    """
    mended: list[str] = []
    if embedder is None:
        return mended
    try:
        async with asyncio.timeout(within_s):
            known = await library.papers([shelf])
            for paper in known:
                if paper.lacks_vectors:
                    text, file = await library.text([shelf], paper.id), await library.file([shelf], paper.id)
                    whole, chunks, fault = await index_paper(paper, text, embedder, known)
                    if fault:
                        break
                    if paper not in await library.papers([shelf]):  # changed or removed meanwhile
                        continue
                    await library.put(shelf, whole, text, chunks, file)
                    mended.append(paper.id)
    except (TimeoutError, GorkdError) as exc:
        log.warning("vectors of papers are not mended yet: %s", type(exc).__name__)
    return mended


def _cosines(embedder: EmbeddingModel, papers: Sequence[Paper]) -> Cosines | None:
    return next((one.cosines for one in papers if one.cosines and one.cosines.model == embedder.name), None)


def _on(paper: Paper, chunks: Sequence[Chunk]) -> list[PaperChunk]:
    return [
        PaperChunk(paper, at, chunk.text, chunk.start, chunk.end, chunk.section, chunk.page, chunk.heading)
        for at, chunk in enumerate(chunks)
    ]


async def _embedded(parts: Sequence[PaperChunk], embedder: EmbeddingModel) -> list[PaperChunk]:
    embedded: list[PaperChunk] = []
    for at in range(0, len(parts), _BATCH):
        batch = parts[at : at + _BATCH]
        vectors = await embedder.embed([f"{part.heading}\n{part.chunk_text}".strip() for part in batch])
        embedded += [replace(part, embedding=vector) for part, vector in zip(batch, vectors, strict=True)]
    return embedded
