"""Pages of papers as pictures, with the sentence that is cited marked; and the papers themselves, for who may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.job import ResearchJob, Scope
from core.library.paper import Library, Paper, shelves_of
from core.source import Source


class PagePainter(Protocol):
    async def paint(self, file: bytes, page: int, quote: str) -> bytes:
        """Page `page`, from 1, of a PDF as PNG, `quote` marked where it stands. Raises `PaperUnreadable`."""
        ...


@dataclass(frozen=True)
class PaperViews:
    """What can be shown of the papers that a job or somebody in a scope has read."""

    library: Library
    painter: PagePainter

    async def papers_of(self, job: ResearchJob, sources: Sequence[Source]) -> dict[str, Paper]:
        """By id of the source, the paper that it was; without those that were none or have left the library since."""
        hashes = {source.content_hash: source.id for source in sources if source.metadata.provider == "library"}
        papers = await self.library.papers(shelves_of(job.scope)) if hashes else []
        return {hashes[paper.content_hash]: paper for paper in papers if paper.content_hash in hashes}

    async def file(self, shelves: Sequence[Scope], paper: Paper) -> bytes:
        """Its PDF; b"" where there is none."""
        return await self.library.file(shelves, paper.id)

    async def picture(self, shelves: Sequence[Scope], paper: Paper, page: int, quote: str) -> bytes:
        """PNG; b"" for a paper without pages. Raises `PaperUnreadable`, `StoreError`."""
        file = await self.file(shelves, paper) if 1 <= page <= paper.pages else b""
        return await self.painter.paint(file, page, quote) if file else b""
