"""A small library: papers of three pages, ways to put them on a shelf and to ask it, and where files come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from adapters.records.library import SqlLibrary
from core.library.desk import LibraryDesk
from core.library.ingest import FoundPaper, FoundRecords, Ingestion, PaperRecord, PaperText, PaperUnreadable
from core.library.paper import Index, Paper, PaperChunk
from core.model.job import LOCAL, Scope
from core.model.ports import EmbeddingModel
from core.pipeline.runner import DirectSteps, run_job
from core.text.chunking import chunk_text
from tests.fakes import FakeModel, make_deps, make_job, now
from tests.records import memory_library

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

QUESTION = "What causes the tides of the oceans?"
CAUSE = "The gravity of the moon pulls the water of the oceans and causes the tides"

ABSTRACT = "We show that tides follow the moon. The sun adds a half."
BODY = "The measured height of the tide rose with the phase of the moon in all of the ports. " * 60
PAPER = (
    f"# Tides and the Moon\n\n## Abstract\n\n{ABSTRACT}\n\n## Introduction\n\n{BODY}\f{BODY}\n\n"
    "## References\n\nAn Old Book."
)


async def shelve(
    library: SqlLibrary,
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


async def asked(model: FakeModel | None, *, scope: Scope = LOCAL, papers=(TIDES, YEAST), **request):
    """`QUESTION` to a library of `papers`: what it ran with, the job, and its result."""
    deps = make_deps(model=model)
    await shelve(deps.library, *papers)
    job = await deps.jobs.save(make_job(QUESTION, scope=scope, modes=("library",), **request))
    await run_job(job.id, deps, DirectSteps())
    return deps, await deps.jobs.get(job.id), await deps.jobs.result(job.id)


@dataclass
class Reader:
    """Takes the bytes of a file for its text, and counts how often it is asked."""

    authors: str = "Smith, Doe"
    asked: list[str] = field(default_factory=list)

    async def read(self, name: str, content: bytes) -> PaperText:
        self.asked.append(name)
        if not content.strip():
            raise PaperUnreadable("empty", user_message=f"{name} cannot be read: it is empty.")
        text = content.decode().removeprefix("%PDF-1.7\n")
        return PaperText("Tides and the Moon", text, ("1", "2"), self.authors)


class Finder:
    """An arXiv that has every paper of January 2024, and knows two about tides."""

    async def find(self, reference: str) -> FoundPaper:
        if not reference.startswith("2401."):
            raise PaperUnreadable("unknown", user_message=f"{reference} cannot be read: arXiv does not know it.")
        return FoundPaper("x.pdf", PAPER.encode(), PaperRecord(id=reference, title="Tides", published="2024-01-02"))

    async def search(self, query: str, limit: int) -> FoundRecords:
        ids = ("2402.00002v1", "2401.00001v2") if "tides" in query else ()
        records = (
            PaperRecord(id=paper_id, title="Tides", authors=("Smith",), published="2024-01-02") for paper_id in ids
        )
        return FoundRecords(tuple(records), asked=("arxiv",))


def desk_of(ingestion: Ingestion) -> LibraryDesk:
    """With what `Finder` has elsewhere."""
    return LibraryDesk(ingestion, Finder().find, Finder().search)


def desk() -> LibraryDesk:
    return desk_of(Ingestion(memory_library(), Reader().read, now))
