"""Papers, their chunks, where they are kept, and how a list of them is written (S000-20 … S000-27).

And what a cosine of an embedding model means: measured once per model, kept with the papers' vectors.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

import numpy as np

from core.evidence.citations import Grammar, PageRef, parse_markers
from core.model.job import Scope
from core.model.ports import Vector
from core.model.works import ARXIV_ID, PublishedWork, WorkIds, version_of, without_version
from core.text.passages import SectionType
from core.text.saying import say

if TYPE_CHECKING:
    from core.model.ports import EmbeddingModel

PAPER_SCHEME = "paper:"  # before the id of a paper that has no address elsewhere
_YEAR = re.compile(r"(?:19|20)\d{2}")
HEADING = "## References"
_SEVERAL = re.compile(r"(\d{4})\.(\d{4,5})(?:v(\d+))?")


class Index(StrEnum):
    """The two indexes that are searched (S000-02): summaries with notes, and full texts."""

    SUMMARY = "summary"
    CONTENT = "content"


@dataclass(frozen=True)
class Paper:
    """`id` is the arXiv id with its version, or a name made from author, year and title.

    `published` is an ISO date, a month or a year, "" when unknown; `labels` are the numbers printed on the pages, ""
    where none is; `content_hash` is the SHA-256 of the file. `summary` and `notes` are Markdown. `gap` says what of the
    file was not read, "" for nothing. `lacks_vectors` says that its chunks have none and are found by their words
    alone; `cosines` is what those of the model mean that made them, None where nobody has measured it.

    `work` names the work of which it is a version, "" for one that is known by its id; `edition` is arXiv's number of
    the version, 0 where none is known. `improved` says that people have worked on the summary: it is kept as it is.
    `lacks_summary` says that the model was to write one and did not.
    """

    id: str
    title: str
    content_hash: str
    added_at: datetime
    authors: tuple[str, ...] = ()
    published: str = ""
    doi: str = ""
    url: str = ""
    bibtex: str = ""
    labels: tuple[str, ...] = ()
    summary: str = ""
    notes: str = ""
    gap: str = ""
    lacks_vectors: bool = False
    cosines: Cosines | None = None
    work: str = ""
    edition: int = 0
    improved: bool = False
    lacks_summary: bool = False

    @property
    def year(self) -> str:
        """Four digits, "" when unknown."""
        found = _YEAR.match(self.published)
        return found.group() if found else ""

    @property
    def pages(self) -> int:
        """0 for a paper without pages."""
        return len(self.labels)

    @property
    def base_id(self) -> str:
        """The id without its version."""
        return without_version(self.id)

    @property
    def work_key(self) -> str:
        return self.work or (self.base_id if ARXIV_ID.fullmatch(self.id) else self.id)

    @property
    def as_work(self) -> PublishedWork:
        named = self.id if ARXIV_ID.fullmatch(self.id) else self.work
        ids = WorkIds.of(arxiv=named, doi=self.doi)
        return PublishedWork(ids, self.title, self.authors, self.year, (self.id,))


@dataclass(frozen=True)
class PaperChunk:
    """A span of a paper (S001-08): `chunk_text == text[start:end]`. What is known of the paper is in `paper` alone.

    `page` counts from 1, None where there are no pages. `embedding` is of unit length, None without an embedder.
    """

    paper: Paper
    chunk_index: int
    chunk_text: str
    start: int
    end: int
    section_type: SectionType = SectionType.OTHER
    page: int | None = None
    heading: str = ""
    embedding: Vector | None = field(default=None, compare=False, repr=False)

    @property
    def chunk_id(self) -> str:
        return f"{self.paper.id}#{self.chunk_index}"


@dataclass(frozen=True)
class StoredChunk:
    """A `PaperChunk` as stores keep it: without its paper and its embedding (float32, little-endian, beside it)."""

    chunk_index: int
    chunk_text: str
    start: int
    end: int
    section_type: SectionType
    page: int | None
    heading: str

    @classmethod
    def of(cls, chunk: PaperChunk) -> StoredChunk:
        place = (chunk.chunk_index, chunk.chunk_text, chunk.start, chunk.end)
        return cls(*place, chunk.section_type, chunk.page, chunk.heading)

    def on(self, paper: Paper, vector: bytes | None) -> PaperChunk:
        """The chunk again."""
        embedding = None if vector is None else np.frombuffer(vector, dtype="<f4")
        place = (self.chunk_index, self.chunk_text, self.start, self.end)
        return PaperChunk(paper, *place, self.section_type, self.page, self.heading, embedding)


@dataclass(frozen=True)
class SearchResult:
    """`score` is the cosine with the query, −1…1; without an embedder BM25's rank, best 1, falling to 0."""

    chunk: PaperChunk
    score: float


class LibraryStore(Protocol):
    """Papers on shelves. A shelf is a scope: a workspace's, or one channel's, and visible only there.

    Every method raises `StoreError`. `shelves` are the scopes that whoever asks may look into; of a paper that stands
    on several, the first counts.
    """

    async def put(
        self, shelf: Scope, paper: Paper, text: str, chunks: dict[Index, Sequence[PaperChunk]], file: bytes
    ) -> None:
        """Add or replace a paper with its text, its chunks and its PDF (b"" if none), at once."""
        ...

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        """Whether it was there."""
        ...

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        """By id."""
        ...

    async def versions(self, shelves: Sequence[Scope], paper_ids: Sequence[str]) -> list[Paper]:
        """Every paper that is a version of the same work as one of these, they themselves among them."""
        ...

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        """The text as read, pages parted by form feeds; "" for a paper that is not there."""
        ...

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        """The PDF; b"" where there is none."""
        ...

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        """By cosine, best first, with embeddings; only in `papers` where they are given."""
        ...

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        """By BM25, best first; only in `papers` where they are given."""
        ...

    async def reading(self, scope: Scope, key: str) -> str | None:
        """What a job of exactly this place has made of a passage; None where none has."""
        ...

    async def keep_reading(self, job_id: str, paper_id: str, key: str, text: str) -> None:
        """For the jobs of the job's place; gone with that job or the paper. Raises `StoreError`."""
        ...


def shelves_of(scope: Scope) -> tuple[Scope, ...]:
    """Where somebody in this scope may look: the shelf of their own place, then the workspace's."""
    workspace = Scope(scope.tenant, "workspace")
    return (workspace,) if scope == workspace else (scope, workspace)


def find_papers(papers: Sequence[Paper], wanted: str) -> list[Paper]:
    """Those that an id names: the one with exactly that id, else every version of it (S000-51)."""
    wanted = wanted.strip().removeprefix("arXiv:")
    exact = [paper for paper in papers if paper.id == wanted]
    return exact or [paper for paper in papers if paper.base_id == wanted]


def newest_first(versions: Iterable[Paper]) -> list[Paper]:
    """Of one work: by arXiv's number, and of one number what was added last."""
    return sorted(versions, key=lambda paper: (paper.edition or version_of(paper.id), paper.added_at), reverse=True)


def answering(versions: Sequence[Paper], query: str) -> dict[str, str]:
    """For the id of each version the id of the one that answers: the newest, or one that the query names."""
    works: dict[str, list[Paper]] = {}
    for paper in versions:
        works.setdefault(paper.work_key, []).append(paper)
    chosen: dict[str, str] = {}
    for papers in works.values():
        newest = newest_first(papers)[0].id
        wished = [paper.id for paper in papers if len(papers) > 1 and _names_paper(query, paper.id)]
        for paper in papers:
            chosen[paper.id] = paper.id if paper.id in wished else (wished[0] if wished else newest)
    return chosen


def _names_paper(query: str, paper_id: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(paper_id)}(?!\w)", query) is not None


def cited_papers(text: str) -> list[str]:
    """The ids that `[PAPER_ID, page N]` markers name, each once, in arXiv's order; also those with ranges and lists."""
    found = {mark.target.paper_id for mark in parse_markers(text, Grammar.PAGE) if isinstance(mark.target, PageRef)}
    return sorted(found, key=arxiv_order)


def arxiv_order(paper_id: str) -> tuple[int, str]:
    """Old ids (`hep-th/9901001`) come before new ones, as they did; other names come last, by alphabet."""
    return (0 if "/" in paper_id else 1 if _SEVERAL.fullmatch(paper_id) else 2, paper_id)


def in_order(papers: Iterable[Paper]) -> list[Paper]:
    return sorted(papers, key=lambda paper: arxiv_order(paper.id))


def format_reference(number: int, paper: Paper) -> str:
    """A paper in every list that people see (S000-24, S000-27)."""
    lines = [f"{number}. {paper.id} - {paper.title}"]
    indent = " " * (len(str(number)) + 2)
    lines.append(indent + say("Authors: {names}", names=", ".join(paper.authors) or say("unknown")))
    lines.append(indent + say("Published: {when}", when=paper.published or say("unknown")))
    return "\n".join(lines)


def format_references(papers: Sequence[Paper]) -> str:
    """`papers` in the given order, under its heading."""
    return "\n\n".join([HEADING, *(format_reference(number, paper) for number, paper in enumerate(papers, start=1))])


def names_no_page(answer: str, paper: Paper) -> bool:
    """Whether the answer cites the paper somewhere by its id alone, or with a section."""
    return re.search(rf"\[{re.escape(paper.id)}(?:\]|, (?!page \d))", answer) is not None


def format_research_result(answer: str, papers: Sequence[Paper]) -> tuple[str, list[str]]:
    """The answer with its references, and the cited ids in their order (S000-46). `papers` are those one may see.

    A marker that names no such paper leaves no reference; a paper may be cited by its id alone.
    """
    cited = set(cited_papers(answer))
    known = in_order(paper for paper in papers if paper.id in cited or names_no_page(answer, paper))
    if not known:
        return answer, []
    return f"{answer.rstrip()}\n\n{format_references(known)}\n", [paper.id for paper in known]


# What a cosine of an embedding model means: measured once per model with texts of our own, kept with its vectors


# Where a default cut-off lies between what is off the topic and what is on it, 0…1. Tried with MiniLM, and with the
# same vectors moved as those of models whose cosines are all high (docs/evaluation.md).
_PLACES: Mapping[float, float] = {0.5: 0.25, 0.6: 0.75}
_APART = 0.05  # a model whose cosines differ by less tells nothing apart


class DefaultCutoff(float):
    """A cut-off that nobody has set; one that somebody sets is a plain float, and taken literally."""


STAGE_1, STAGE_2 = DefaultCutoff(0.5), DefaultCutoff(0.6)  # S000-06, S000-11


@dataclass(frozen=True)
class Cosines:
    """How near `model` puts texts, −1…1: 99 of 100 pairs `off` one topic are below, of those on one topic nine of ten
    are above `low`, and half are above `usual`.
    """

    model: str
    off: float
    low: float
    usual: float

    @property
    def tells_apart(self) -> bool:
        return self.usual - self.off >= _APART

    def least(self, cutoff: float) -> float:
        """The cosine that a cut-off asks for with this model."""
        is_reached = self.off < STAGE_1 and self.low >= STAGE_2
        if not isinstance(cutoff, DefaultCutoff) or cutoff not in _PLACES or is_reached or not self.tells_apart:
            return cutoff
        return self.off + _PLACES[cutoff] * (self.usual - self.off)


async def measure(embedder: EmbeddingModel) -> Cosines:
    """Raises `ModelError`."""
    pairs = calibration_pairs()
    vectors = np.stack(await embedder.embed([text for pair in pairs for text in pair]))
    likeness = vectors[::2] @ vectors[1::2].T
    on, off = np.diag(likeness), likeness[~np.eye(len(pairs), dtype=bool)]
    return Cosines(
        embedder.name, float(np.quantile(off, 0.99)), float(np.quantile(on, 0.1)), float(np.quantile(on, 0.5))
    )


@cache
def calibration_pairs() -> tuple[tuple[str, str], ...]:
    """Questions, each with a paragraph that is about it."""
    table = tomllib.loads(files(__package__).joinpath("calibration.toml").read_text(encoding="utf-8"))
    return tuple((pair["question"], pair["text"]) for pair in table["pair"])
