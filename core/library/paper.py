"""Papers, their chunks, where they are kept, and how a list of them is written (S000-20 … S000-27).

And what a cosine of an embedding model means: measured once per model, kept with the papers' vectors; and the pages
that are cited of a paper.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

import numpy as np

from core.evidence.citations import Grammar, Marker, PageRef, keep_markers, parse_markers, rewrite_markers
from core.evidence.grounding import OWN_LIST, Grounder
from core.evidence.judge import Judgement
from core.evidence.structure import Judged
from core.model.answer import Claim, Evidence, JobResult, Section, Verdict
from core.model.job import ResearchJob, Scope
from core.model.ports import Vector
from core.model.source import Source
from core.model.works import ARXIV_ID, PublishedWork, WorkIds, version_of, without_version
from core.presentation.render import claim_at, claim_spans, cut, letters_of, mark_of
from core.text.chunking import Passage, SectionType
from core.text.saying import say
from core.text.terms import terms

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

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        """Whether it was there."""

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        """By id."""

    async def versions(self, shelves: Sequence[Scope], paper_ids: Sequence[str]) -> list[Paper]:
        """Every paper that is a version of the same work as one of these, they themselves among them."""

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        """The text as read, pages parted by form feeds; "" for a paper that is not there."""

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        """The PDF; b"" where there is none."""

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        """By cosine, best first, with embeddings; only in `papers` where they are given."""

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        """By BM25, best first; only in `papers` where they are given."""

    async def reading(self, scope: Scope, key: str) -> str | None:
        """What a job of exactly this place has made of a passage; None where none has."""

    async def keep_reading(self, job_id: str, paper_id: str, key: str, text: str) -> None:
        """For the jobs of the job's place; gone with that job or the paper. Raises `StoreError`."""


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
        ids = [paper.id for paper in papers] if len(papers) > 1 else []
        wished = [one for one in ids if re.search(rf"(?<![\w.]){re.escape(one)}(?!\w)", query)]
        for paper in papers:
            chosen[paper.id] = paper.id if paper.id in wished else (wished[0] if wished else newest)
    return chosen


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


def names_no_page(answer: str, paper: Paper) -> bool:
    """Whether the answer cites the paper somewhere by its id alone, or with a section."""
    return re.search(rf"\[{re.escape(paper.id)}(?:\]|, (?!page \d))", answer) is not None


def format_research_result(answer: str, papers: Sequence[Paper]) -> tuple[str, list[str]]:
    """The answer with its references, and the cited ids in their order (S000-46). `papers` are those one may see.

    A marker that names no such paper leaves no reference; a paper may be cited by its id alone.
    """
    marked = {mark.target.paper_id for mark in parse_markers(answer, Grammar.PAGE) if isinstance(mark.target, PageRef)}
    known = in_order(paper for paper in papers if paper.id in marked or names_no_page(answer, paper))
    if not known:
        return answer, []
    listed = "\n\n".join([HEADING, *(format_reference(number, paper) for number, paper in enumerate(known, start=1))])
    return f"{answer.rstrip()}\n\n{listed}\n", [paper.id for paper in known]


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


# Pages of papers: citations `[PAPER_ID, page N]` put right by their text; and pictures with what is cited marked.

_BRACKET = re.compile(r"[\[(【](?P<inner>[^\[\]()【】\n]{3,160})[\])】]")
_MOST_OF_IT = 0.8  # of the claim's terms that the best passage has
_MAX_BESIDE = 12  # letters in round brackets beside the ids of papers; with more it is a sentence's own
_MAX_NAMES = 4  # of "Smith and Doe, 2024", or "Smith et al., 2024, page"
_NAME = re.compile(r"[^\W\d_][\w'’-]{2,}")
_PAGE_NUMBER = re.compile(r"\b(?:pages?|pg|pp?)\b\.?\s*\d", re.IGNORECASE)
_HEAD = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)")
_HEADING = re.compile(r"^#{2,6}[ \t]+(?:[\d.]+[ \t]+)?(.+?)[ \t#]*$", re.MULTILINE)
_NO_BRACKET = re.compile(r"[\[\],;]+")
MAX_SECTION_CHARS = 60
UNREAD = 999  # stands for a paper that nobody read: no source has the number, and its marker goes


class PageGrounder(Grounder):
    """A `Grounder` for sources that are papers: `papers` gives each source id its paper.

    A page counts by its place in the file; the number printed on it is understood too. A sentence that stands on
    another page of the cited paper is moved there.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        question: str,
        passages: Mapping[str, Sequence[Passage]] | None = None,
        *,
        papers: Mapping[str, Paper],
    ) -> None:
        super().__init__(sources, question, passages)
        self._read = self._whole  # a page counts wherever in the paper it is
        self._papers = papers
        self._ids = {paper.id: source_id for source_id, paper in papers.items()}
        self._ids.update({paper.base_id: source_id for source_id, paper in papers.items()})
        names = "|".join(map(re.escape, sorted(self._ids, key=len, reverse=True)))
        self._id = re.compile(rf"(?<![\w.])(?:{names or '(?!)'})(?:v\d+)?(?:\.pdf)?(?!\w|\.\d)")
        self._lists: dict[Section, bool] = {}  # whether the section has come to a list of references of its own
        self._named: dict[str, dict[str, set[int]]] = {}  # by sentence and source: the pages that the writer named

    def propose(
        self, section: Section, place: int, text: str, *, gap: str = "", asserts: bool = True, before: str = ""
    ) -> Judged:
        if (is_list := OWN_LIST.fullmatch(text) is not None) or _HEAD.match(text):
            self._lists[section] = is_list
        if self._lists.get(section):  # the answer ends with one that is ours
            return Judged(f"{section}-{place}", section, text, gap, None, None, before=before)
        numbered, self._named[f"{section}-{place}"] = self._numbered(text)
        return self._put_right(super().propose(section, place, numbered, gap=gap, asserts=asserts, before=before))

    def conclude(self, judged: Judged, judgements: Sequence[Judgement | None]) -> Judged:
        return self._put_right(super().conclude(judged, judgements))

    def _numbered(self, text: str) -> tuple[str, dict[str, set[int]]]:
        """Page markers as numbers of sources, and the pages they named; markers of papers that were not read go."""
        text = keep_markers(text, (), Grammar.NUMBER)  # of another list than the writer was given: it was given none
        named: dict[str, set[int]] = {}
        spans: dict[tuple[int, int], list[str]] = {}
        for mark in parse_markers(text, Grammar.PAGE):
            if isinstance(mark.target, PageRef):
                numbers = spans.setdefault((mark.start, mark.end), [])
                source_id = self._ids.get(mark.target.paper_id)
                if source_id is None:
                    numbers.append(f"[{UNREAD}]")
                else:
                    named.setdefault(source_id, set()).update(self._pages(source_id, mark.target))
                    numbers.append(f"[{source_id.removeprefix('src_')}]")
        for found in _BRACKET.finditer(text):  # by id in another form, by id and section, or by id alone
            if cited := self._cited_in(found["inner"], is_round=found[0][0] == "("):
                spans[found.span()] = [f"[{source_id.removeprefix('src_')}]" for source_id in cited]
        for (start, end), numbers in sorted(spans.items(), reverse=True):
            before = text[:start] if numbers else text[:start].rstrip(" ")
            text = before + "".join(dict.fromkeys(numbers)) + text[end:]
        return text, named

    def _cited_in(self, inner: str, *, is_round: bool) -> list[str]:
        """The sources that a bracket names: by the ids of their papers, or by the first author with year or page."""
        ids = [found[0].removesuffix(".pdf") for found in self._id.finditer(inner)]
        if ids:
            is_marker = not is_round or sum(map(str.isalpha, self._id.sub("", inner))) <= _MAX_BESIDE
            return [self._ids.get(one) or self._ids[without_version(one)] for one in ids] if is_marker else []
        names = _NAME.findall(inner)
        is_page = not is_round and _PAGE_NUMBER.search(inner) is not None
        named = [
            source_id
            for source_id, paper in self._papers.items()
            if names[:1] and names[0] in _NAME.findall(" ".join(paper.authors[:1]))
            if is_page or (paper.year and paper.year in inner and len(names) <= _MAX_NAMES)
        ]
        return named if len(named) == 1 else []

    def _pages(self, source_id: str, target: PageRef) -> set[int]:
        """Places in the file: those numbers themselves, and the pages on which such a number is printed."""
        wanted = set(range(target.page, max(target.last_page, target.page) + 1))
        labels = self._papers[source_id].labels
        return wanted | {at for at, label in enumerate(labels, start=1) if label.isdecimal() and int(label) in wanted}

    def _nearest(self, words: str, source_id: str, claim_id: str) -> list[Evidence]:
        """What is on a page that the writer named first, if it has most of what is said: papers repeat themselves."""
        found = super()._nearest(words, source_id, claim_id)
        named, said = self._named.get(claim_id, {}).get(source_id, set()), set(terms(words))
        held = {entry: len(said.intersection(terms(entry.quote))) for entry in found}
        enough = _MOST_OF_IT * max(held.values(), default=0)
        return sorted(found, key=lambda entry: named.isdisjoint(self._pages_of(entry)) or held[entry] < enough)

    def _pages_of(self, entry: Evidence) -> range:
        """Those that it stands on; empty where there are none."""
        source = self._sources[entry.source_id]
        return range(source.page_at(entry.start) or 1, (source.page_at(entry.end) or 0) + 1)

    def _put_right(self, judged: Judged) -> Judged:
        """A supported claim whose passage stands on another page than the writer said has moved."""
        claim, pages = judged.claim, self._named.get(judged.id, {})
        if claim is None:
            return judged
        evidence = tuple(
            _on_its_page(entry, self._pages_of(entry), pages.get(entry.source_id, set())) for entry in claim.evidence
        )
        has_moved = claim.verdict is Verdict.SUPPORTED and all(one.verdict is not Verdict.SUPPORTED for one in evidence)
        verdict = Verdict.MOVED if has_moved else claim.verdict
        return replace(judged, claim=replace(claim, evidence=evidence, verdict=verdict))


def _on_its_page(evidence: Evidence, own: range, named: set[int]) -> Evidence:
    if there := named.intersection(own):
        return replace(evidence, page=min(there))
    if evidence.page is None or not named or evidence.verdict is not Verdict.SUPPORTED:
        return evidence
    pages = ", ".join(str(page) for page in sorted(named))
    return replace(evidence, verdict=Verdict.MOVED, reasons=(f"stands on page {evidence.page}, not on {pages}",))


def page_markers(text: str, claims: Sequence[Claim], papers: Mapping[str, Paper], texts: Mapping[str, str]) -> str:
    """`text` with `[PAPER_ID, page N]` for each `[n]` (S000-16): the page on which the sentence around it stands.

    `claims` are in the order of `text`. A paper without pages is named with the section in which the sentence stands,
    if `texts` (by source id) has one. A number in no sentence whose place is known becomes the paper's id alone.
    """
    spans = claim_spans(letters_of(text), claims)

    def written(group: Sequence[Marker]) -> str | None:
        claim = claim_at(len(letters_of(text[: group[0].start])), spans)
        places = {entry.source_id: entry for entry in claim.evidence} if claim else {}
        ids = [source_id for mark in group if (source_id := f"src_{mark.number}") in papers]
        return "".join(_page_marker(papers[one], places.get(one), texts.get(one, "")) for one in ids) or None

    return rewrite_markers(text, Grammar.NUMBER, written)


def with_marks(text: str, result: JobResult) -> str:
    """`text`, which is an answer's `format_research_result`, with the mark of each verdict right behind its bracket."""
    view, claims = result.details.get("query_result"), result.answer.claims if result.answer else ()
    ids = view.get("paper_ids") if isinstance(view, dict) else None
    if not isinstance(ids, list) or not ids:
        return text
    cited = re.compile(rf"\[(?:{'|'.join(re.escape(str(one)) for one in ids)})(?:, (?:page (\d+)|[^\[\]\n]+))?\]")
    body, heading, references = text.partition(f"\n\n{HEADING}")
    spans = claim_spans(letters_of(cited.sub("", body)), claims)

    def marked(found: re.Match[str]) -> str:
        claim = claim_at(len(letters_of(cited.sub("", body[: found.start()]))), spans)
        if claim is None:
            return found[0]
        there = [entry.verdict for entry in claim.evidence if str(entry.page) == found[1]]
        return found[0] + mark_of(there or [entry.verdict for entry in claim.evidence])

    return cited.sub(marked, body) + heading + references


def _page_marker(paper: Paper, place: Evidence | None, text: str) -> str:
    if place is not None and place.page:
        return f"[{paper.id}, page {place.page}]"
    section = _section_at(text, place.start) if place is not None and not paper.pages else ""
    return f"[{paper.id}, {section}]" if section else f"[{paper.id}]"


def _section_at(text: str, start: int) -> str:
    """The heading under which a place of a Markdown text stands, "" for none but the title."""
    headings = [found[1] for found in _HEADING.finditer(text, 0, start)]
    return cut(" ".join(_NO_BRACKET.sub(" ", headings[-1]).split()), MAX_SECTION_CHARS) if headings else ""


# A page, from 1, of a PDF as PNG, with a quote marked where it stands. Raises `PaperUnreadable`.
PaintPage = Callable[[bytes, int, str], Awaitable[bytes]]


@dataclass(frozen=True)
class PaperViews:
    """What can be shown of the papers that a job or somebody in a scope has read."""

    library: LibraryStore
    paint: PaintPage

    async def papers_of(self, job: ResearchJob, sources: Sequence[Source]) -> dict[str, Paper]:
        """By id of the source, the paper that it was; without those that were none or have left the library since."""
        hashes = {source.content_hash: source.id for source in sources if source.metadata.provider == "library"}
        papers = await self.library.papers(shelves_of(job.scope)) if hashes else []
        return {hashes[paper.content_hash]: paper for paper in papers if paper.content_hash in hashes}

    async def picture(self, shelves: Sequence[Scope], paper: Paper, page: int, quote: str) -> bytes:
        """PNG; b"" for a paper without pages. Raises `PaperUnreadable`, `StoreError`."""
        file = await self.library.file(shelves, paper.id) if 1 <= page <= paper.pages else b""
        return await self.paint(file, page, quote) if file else b""
