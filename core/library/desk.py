"""What people do with a shelf of papers, the same on every interface: add, list, show, remove, read anew, check."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from core.findings.viewing import read_view
from core.library.ingest import FindPaper, Ingested, Ingestion, PaperRecord, PaperUnreadable, SearchPapers
from core.library.paper import Index, LibraryStore, Paper, find_papers, newest_first
from core.library.reading_list import ListedPaper
from core.model.answer import JobResult
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import ResearchJob, Scope
from core.model.works import ARXIV_ID
from core.presentation.render import one_line
from core.text.saying import say

INGESTION_S = 600.0  # a paper (D2)


NOTHING_NAMED = "{name} cannot be added: the list names no file, arXiv id, DOI or address of it."
_NO_SUCH_PAPER = 'There is no paper "{id}" in this library; `list` shows what there is.'
_NO_TEXT_INDEX = "its text is not indexed; run reindex"
_NO_SUMMARY_INDEX = "its summary is not indexed; run reindex"
_NO_TEXT_VECTORS = "its text has no embeddings; run reindex"
_NO_SUMMARY_VECTORS = "its summary has no embeddings; run reindex"
_OTHER_VECTORS = "its embeddings are of another model, {model}; run reindex"
_ABSTRACT_STANDS = "the model wrote no summary of it; its abstract stands there; run reindex"
_NO_SUMMARY = "it has no summary; run reindex"
_MERGED_WRONGLY = (
    "it stands as a version of {other}, {title}, which looks like another paper; if it is one, say separate-paper {id}"
)


class NoSuchPaper(InvalidQuery):
    """An id that names no paper here, or several versions of one (S000-51)."""


@dataclass(frozen=True)
class ShelfFinding:
    """What is wrong with a paper, and what to do about it."""

    paper: Paper
    fault: str


@dataclass(frozen=True)
class LibraryDesk:
    """Papers come in through `ingestion`; `find_elsewhere` fetches those that are named instead of handed over."""

    ingestion: Ingestion
    find_elsewhere: FindPaper
    search_elsewhere: SearchPapers

    @property
    def library(self) -> LibraryStore:
        return self.ingestion.library

    async def add_file(self, shelf: Scope, name: str, content: bytes) -> Ingested:
        """Raises `PaperUnreadable`, `StoreError`."""
        return await self._within(self.ingestion.add(shelf, name, content))

    async def add_reference(self, shelf: Scope, reference: str) -> Ingested:
        """By arXiv id, DOI or URL. Raises as `add_file`."""
        found = await self.find_elsewhere(reference)
        return await self._within(self.ingestion.add(shelf, found.name, found.content, found.record))

    async def add_listed(self, shelf: Scope, listed: ListedPaper, file: bytes = b"") -> Ingested:
        """A paper of a reading list, from the file beside it or from elsewhere; one that is there is left, but for the
        BibTeX entry that it lacks. Raises as `add_file`.
        """
        record = replace(listed.record, id=listed.reference if ARXIV_ID.fullmatch(listed.reference) else "")
        known = await self.library.papers([shelf])
        there = next((paper for paper in newest_first(known) if paper.as_work.is_same(record.as_work)), None)
        if there is None and not file:
            if not listed.reference:
                words = say(NOTHING_NAMED, name=listed.name)
                raise PaperUnreadable("nothing to fetch", user_message=words)
            found = await self.find_elsewhere(listed.reference)
            record = _completed(found.record, listed.record)
            known = await self.library.papers([shelf])  # fetching takes its time
            there = next((paper for paper in known if record.id and paper.id == record.id), None)
            file = found.content
        if there is not None:
            bare = listed.record.bibtex and not there.bibtex
            kept = replace(there, bibtex=listed.record.bibtex, doi=there.doi or record.doi) if bare else there
            return Ingested(await self.ingestion.update(shelf, kept, before=there) if bare else there, is_new=False)
        name = PurePath(listed.file).name or f"{re.sub(r'[^a-zA-Z0-9.]+', '_', listed.reference)}.pdf"
        return await self._within(self.ingestion.add(shelf, name, file, record))

    async def add_findings(self, shelf: Scope, job: ResearchJob, result: JobResult | None) -> Ingested:
        """What a job has found (S004) as a document of the shelf, under the job's id.

        Raises `InvalidQuery` for a job of another kind or of a place that not everyone at this shelf may see, and as
        `add_file`.
        """
        view = read_view(result)
        if view is None or not view.has_any:
            raise InvalidQuery(
                say("{id} has no findings; only what idea, implementation and freeform find can be added.", id=job.id),
                rule="findings",
            )
        if job.scope not in (shelf, Scope(shelf.tenant, "workspace")):
            raise InvalidQuery(say("{id} was asked elsewhere; it can be added only there.", id=job.id), rule="findings")
        source = view.findings.to_source()
        asked = job.completed_at or job.created_at
        record = PaperRecord(id=job.id, title=source.title, published=asked.date().isoformat())
        return await self._within(self.ingestion.add(shelf, f"{job.id}.md", source.content.encode(), record))

    async def find(self, shelves: Sequence[Scope], paper_id: str) -> Paper:
        """The paper of that id; without a version the only one there is. Raises `NoSuchPaper`."""
        return pick(await self.library.papers(shelves), paper_id)

    async def place(self, shelves: Sequence[Scope], paper_id: str) -> tuple[Scope, Paper]:
        """As `find`, with the shelf that it stands on: what changes a paper changes it there."""
        paper = await self.find(shelves, paper_id)
        for shelf in shelves[:-1]:
            if any(entry.id == paper.id for entry in await self.library.papers([shelf])):
                return shelf, paper
        return shelves[-1], paper

    async def remove(self, shelf: Scope, paper_id: str) -> Paper:
        """Raises `NoSuchPaper`."""
        paper = await self.find([shelf], paper_id)
        await self.library.remove(shelf, paper.id)
        return paper

    async def reindex(self, shelf: Scope, paper_id: str) -> Paper:
        """Read a paper anew: text, summary, chunks and embeddings. Raises `NoSuchPaper` and as `add_file`."""
        paper = await self.find([shelf], paper_id)
        file = await self.library.file([shelf], paper.id)
        text = (await self.library.text([shelf], paper.id)).encode()
        name = f"{paper.id.replace('/', '_')}{'.pdf' if file else '.md'}"
        return (await self._within(self.ingestion.add(shelf, name, file or text, again=paper))).paper

    async def separate(self, shelf: Scope, paper_id: str) -> Paper:
        """Make a work of its own of a paper that was taken for a version. Raises `NoSuchPaper`, `InvalidQuery`."""
        paper = await self.find([shelf], paper_id)
        if len(await self.library.versions([shelf], [paper.id])) == 1:
            raise InvalidQuery(say("{id} is a version of no other paper here.", id=paper.id), rule="work")
        return await self.ingestion.update(shelf, replace(paper, work=_alone(paper)), before=paper)

    async def rebuild(self, shelf: Scope) -> AsyncIterator[Paper | GorkdError]:
        """Reindex every paper, each as it is done; one that fails is told and left as it was."""
        for paper in await self.library.papers([shelf]):
            try:
                yield await self.reindex(shelf, paper.id)
            except GorkdError as error:
                yield error

    async def validate(self, shelf: Scope) -> list[ShelfFinding]:
        """Papers that cannot be found or cited as they should be, once the vectors were made that some lacked."""
        await self.ingestion.mend(shelf)
        findings: list[ShelfFinding] = []
        papers = await self.library.papers([shelf])
        for paper in papers:
            faults = [*await self._faults(shelf, paper), *_merged_wrongly(paper, papers)]
            findings += [ShelfFinding(paper, fault) for fault in faults]
        return findings

    async def _faults(self, shelf: Scope, paper: Paper) -> list[str]:
        faults: list[str] = []
        if not await self.library.text([shelf], paper.id):
            faults.append(say("its text is missing; add the file again"))
        for index in (Index.SUMMARY, Index.CONTENT):
            is_text = index is Index.CONTENT
            chunks = await self.library.matching([shelf], index, paper.title, limit=1, papers=[paper.id])
            if not chunks:
                faults.append(say(_NO_TEXT_INDEX if is_text else _NO_SUMMARY_INDEX))
            elif self.ingestion.embedder is not None and chunks[0].chunk.embedding is None:
                faults.append(say(_NO_TEXT_VECTORS if is_text else _NO_SUMMARY_VECTORS))
        embedder = self.ingestion.embedder
        if embedder is not None and paper.cosines and paper.cosines.model != embedder.name:
            faults.append(say(_OTHER_VECTORS, model=paper.cosines.model))
        if not paper.summary or paper.lacks_summary:
            faults.append(say(_ABSTRACT_STANDS if paper.summary else _NO_SUMMARY))
        return faults

    async def _within(self, work: Awaitable[Ingested]) -> Ingested:
        """At most what D2 gives a paper."""
        try:
            async with asyncio.timeout(INGESTION_S):
                return await work
        except TimeoutError as exc:
            raise GorkdError(
                "ingestion took too long",
                user_message=say("Reading this paper took longer than ten minutes; try again."),
            ) from exc


def _merged_wrongly(paper: Paper, papers: Sequence[Paper]) -> list[str]:
    """Where it stands in a work with older papers of which none is it by today's rules: a DOI was read wrongly, say."""
    alone = replace(paper, work="").as_work
    others = [one for one in papers if one.work_key == paper.work_key and one.id != paper.id]
    older = [one for one in others if (one.added_at, one.id) < (paper.added_at, paper.id)]
    if not older or any(alone.is_same(replace(one, work="").as_work) for one in others):
        return []
    return [say(_MERGED_WRONGLY, other=older[0].id, title=one_line(older[0].title), id=paper.id)]


def _alone(paper: Paper) -> str:
    """The name of a work that no other paper's id gives."""
    return f"{paper.id}#alone"


def _completed(found: PaperRecord, listed: PaperRecord) -> PaperRecord:
    """A catalogue's record; what it does not know, as the list has it."""
    return PaperRecord(
        id=found.id,
        title=found.title or listed.title,
        authors=found.authors or listed.authors,
        published=found.published or listed.published,
        doi=found.doi or listed.doi,
        url=found.url or listed.url,
        abstract=found.abstract or listed.abstract,
        bibtex=listed.bibtex,
    )


def pick(papers: Sequence[Paper], paper_id: str) -> Paper:
    """Raises `NoSuchPaper` with a sentence that helps."""
    found = find_papers(papers, paper_id)
    if len(found) == 1:
        return found[0]
    if found:
        versions = ", ".join(paper.id for paper in found)
        raise NoSuchPaper(say("Which version of {id}: {versions}?", id=paper_id, versions=versions), rule="version")
    raise NoSuchPaper(say(_NO_SUCH_PAPER, id=paper_id[:80]), rule="paper")
