"""A file becomes a paper on a shelf: read, named, dated, summarised, cut, embedded, stored; the same file is one paper.

When it was published is told from its arXiv id or what its first page prints.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import PurePath
from string import ascii_lowercase

from core.library import wording
from core.library.paper import Index, LibraryStore, Paper, PaperChunk, measure, newest_first
from core.llm.ask_model import ask_model, read_prose, strict
from core.model.errors import GorkdError, InvalidQuery, ModelError, ModelGarbled
from core.model.job import Json, Scope
from core.model.ports import ChatModel, ChatRequest, Clock, EmbeddingModel
from core.model.source import READ_BY_OCR
from core.model.works import ARXIV_ID, PublishedWork, WorkIds, WorkRecord, is_of_arxiv, is_template_doi, version_of
from core.prompts import load_prompt
from core.stages.prompting import fenced
from core.text.chunking import Chunk, SectionType, chunk_text
from core.text.saying import say
from core.text.terms import STOPWORDS

FIRST_YEAR = 1900
_ID = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d{2})(0[1-9]|1[0-2])(?:\d{3}|\.\d{4,5})(?:v\d+)?")
_YEAR = r"((?:19|20)\d{2})\b"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = rf"(?:[\s,:]*(?:online|on|date|{_DAY}|{_MONTH})\b\.?){{0,5}}[\s,:]*\b{_YEAR}"
_BESIDE = r"[^\w\n]*"  # on its own line: across lines it would be looked for from each of them
_SIGNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"(?:^|[.;|]\s*)(?:first )?publi(?:shed|cation){_DATE}",
        rf"(?:©|\(c\)|\bcopyright\b(?:\s*©)?)[\s:,]*(?:the authors?(?:\(s\))?[\s.,]*)?{_YEAR}",
        rf"\bvol(?:ume|\.)\s*\d+[\s,:;|()a-z.\d–-]{{0,40}}?\b{_YEAR}",
        rf"(?<=[a-z\d] )\({_YEAR}\)\s*\d+(?::|\s*\(|[-–]\d)",
        rf"\breference format\b[^\f]{{0,400}}?\.\s{_YEAR}\.\s",
        rf"\bno\.\s*\d+,?\s+(?:{_MONTH}\s+)?{_YEAR}",
        rf"(?:^|[.;|]\s*)accepted(?: for publication)?{_DATE}",
        rf"(?:^|[.;|]\s*)received{_DATE}",
        rf"^{_BESIDE}(?:dated?:\s*)?(?:{_DAY}\s+)?{_MONTH}\s+(?:{_DAY},?\s+)?{_YEAR}{_BESIDE}$",
    )
)  # the surest first
ARXIV_BEGAN = 91  # 1991; ids hold two digits of the year
_OWN_DOI = re.compile(
    r"(?:\b(?:doi|digital object identifier)\b[\s:.]*|doi\.org/)(?:https?://(?:dx\.)?doi\.org/)?"
    r"(10\.\d{4,9}/[^\s\"<>\]]+)",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"^#+ *(?:\d+\.? *)?(?:references|bibliography|literature cited)\b", re.IGNORECASE | re.MULTILINE
)
_LINE_START = re.compile(r"^[#*>\s]+", re.MULTILINE)
MAX_PAPER_BYTES = 100_000_000
MAX_SUMMARY_SOURCE_CHARS = 24_000  # of a paper: its beginning and its end hold what a summary needs
ARXIV_ABSTRACTS = "https://arxiv.org/abs/"
_FALLBACK_SUMMARY_CHARS = 2_000
MENDING_S = 60.0  # of making the vectors that other papers lack, when one is added or the library is looked over
# What arXiv prints on a first page: the id with its version, then its subject or its day; a reference has neither.
_STAMP = re.compile(rf"arXiv:\s*({ARXIV_ID.pattern})(?<=\dv\d|v\d\d)\s*(?:\[[\w.-]+\]|\d{{1,2}}\s+[A-Z][a-z]{{2}}\s)")
_MIN_SUMMARY_WORDS = 20
_OF_SUMMARY = frozenset({"summary", "improved", "lacks_summary"})
_TRIES = 3  # of storing what others change meanwhile
SUMMARY_GARBLED = "The model's summary could not be read; please try again."
_SUMMARY_TIMEOUT_S = 60.0
_SUMMARY_SCHEMA = strict(
    {
        "title": {"type": "string"},
        "authors": {"type": "array", "items": {"type": "string"}, "maxItems": 30},
        "year": {"type": "string"},
        "summary": {"type": "string"},
    }
)


def published_of(paper_id: str, text: str, *, latest: int) -> str:
    """A month for an arXiv id, else a year from the first page; "" where neither tells. `latest` is this year."""
    found = _ID.fullmatch(paper_id) if ARXIV_ID.fullmatch(paper_id) else None
    if found:
        century = 19 if int(found[1]) >= ARXIV_BEGAN else 20
        year = f"{century}{found[1]}"
        return f"{year}-{found[2]}" if int(year) <= latest else ""
    page = _LINE_START.sub("", text.partition("\f")[0])
    for sign in _SIGNS:
        years = [year for year in sign.findall(page) if FIRST_YEAR <= int(year) <= latest]
        if years:
            return str(years[0])
    return ""


class PaperUnreadable(GorkdError):
    """A file that is no paper one could read; the message names it and says why."""

    code = "INVALID_QUERY"


@dataclass(frozen=True)
class PaperText:
    """Markdown, pages parted by form feeds; `labels` are the numbers printed on them, `gap` what is missing or ""."""

    title: str
    text: str
    labels: tuple[str, ...] = ()
    authors: str = ""
    gap: str = ""


@dataclass(frozen=True)
class PaperRecord:
    """What a catalogue knows of a paper; "" and () where it does not."""

    id: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    published: str = ""
    doi: str = ""
    url: str = ""
    abstract: str = ""
    bibtex: str = ""
    is_retracted: bool = False

    @classmethod
    def of(cls, work: WorkRecord) -> PaperRecord | None:
        """A registry's record, called by what `PaperFinder.find` fetches it by; None where that is nothing."""
        pdf = next((copy.url for copy in work.copies if copy.is_pdf), "")
        arxiv = next((ids.arxiv for ids in work.all_ids if ids.arxiv), "")
        name = arxiv or work.ids.doi or pdf
        if not name:
            return None
        doi, is_retracted = work.ids.doi, work.is_retracted
        return cls(name, work.title, work.authors, work.year, doi, pdf, work.abstract, is_retracted=is_retracted)

    @property
    def as_work(self) -> PublishedWork:
        ids = WorkIds.of(arxiv=self.id, doi=self.doi)
        return PublishedWork(ids, self.title, self.authors, self.published[:4])


# PDF or Markdown, by name and content. Raises `PaperUnreadable`.
ReadPaper = Callable[[str, bytes], Awaitable[PaperText]]


@dataclass(frozen=True)
class FoundPaper:
    """A file from elsewhere, and what its catalogue says of it."""

    name: str
    content: bytes
    record: PaperRecord


@dataclass(frozen=True)
class FoundRecords:
    """What catalogues have about something, best first, each paper once. `asked` are those that answered, `away` those
    that did not, by their names in settings.
    """

    records: tuple[PaperRecord, ...] = ()
    asked: tuple[str, ...] = ()
    away: tuple[str, ...] = ()


# A paper, by arXiv id, DOI or URL. Raises `PaperUnreadable`.
FindPaper = Callable[[str], Awaitable[FoundPaper]]

# At most so many papers that catalogues have about something. Raises `ProviderError` where none of them answers.
SearchPapers = Callable[[str, int], Awaitable[FoundRecords]]


@dataclass(frozen=True)
class Ingested:
    """`is_new` is False for a file that stood on the shelf already; `without_vectors` and `without_summary` say why it
    has none yet, "" for one that has them or needs none. `version_of` is what stood there of its work, if any.
    """

    paper: Paper
    is_new: bool
    without_vectors: str = ""
    without_summary: str = ""
    version_of: Paper | None = None

    @property
    def remarks(self) -> list[str]:
        """What is to be known of it, a sentence each."""
        other = wording.beside(self.version_of.id if self.version_of else "")
        said = (other, wording.not_whole(self.paper.gap), wording.without_summary(self.without_summary))
        return [*filter(None, (*said, wording.without_vectors(self.without_vectors)))]


@dataclass(frozen=True)
class Ingestion:
    """What it takes. Without a model the abstract is the summary; without an embedder there are no vectors."""

    library: LibraryStore
    read_paper: ReadPaper
    clock: Clock
    model: ChatModel | None = None
    embedder: EmbeddingModel | None = None

    async def add(
        self,
        shelf: Scope,
        name: str,
        content: bytes,
        record: PaperRecord = PaperRecord(),
        *,
        again: Paper | None = None,
    ) -> Ingested:
        """Put a file on a shelf. `record` goes before what the file says; `again` is the paper to be read anew from
        what is kept of it, and stays what it was but for text and summary, and that too where somebody has improved it.

        Another file of a paper that stands here is put beside it, so nothing that was said of either is lost. One whose
        vectors cannot be made is found by its words until they are. Raises `PaperUnreadable`, `StoreError`.
        """
        digest = hashlib.sha256(content).hexdigest()
        known = await self.library.papers([shelf])
        same = _there(known, digest, record)
        if same is not None and again is None:
            return Ingested(same, is_new=False)
        read = await self.read_paper(name, content)
        described = _described(read, name, record, again, this_year=self.clock().year)
        read_off, summary, fault = await self._summarised(described, record, read.text, again)
        lacks = not _good_summary(again) and (bool(fault) or bool(again and again.lacks_summary and not self.model))
        file = content if b"%PDF-" in content[:1024] else b""
        named = described if again else read_off
        paper = replace(
            again or Paper(named.id, "", digest, self.clock(), bibtex=record.bibtex, edition=version_of(named.id)),
            title=named.title,
            authors=named.authors,
            published=named.published,
            doi=named.doi,
            url=named.url,
            labels=read.labels,
            summary=summary,
            gap=read.gap,
            lacks_summary=lacks,
        )
        if again is None:
            done = await self._put_new(shelf, paper, read.text, file, record)
        else:
            paper, without_vectors = await self._replace(shelf, paper, before=again, content=(read.text, file))
            done = Ingested(paper, is_new=True, without_vectors=without_vectors)
        if not done.without_vectors and any(other.lacks_vectors for other in known):
            await mend(self.library, self.embedder, shelf, within_s=MENDING_S)
        return replace(done, without_summary=fault) if lacks and done.is_new else done

    async def _put_new(self, shelf: Scope, paper: Paper, text: str, file: bytes, record: PaperRecord) -> Ingested:
        """Under a name that is free. What stands on the shelf is asked last: others add papers while one is read."""
        paper, chunks, without_vectors = await index_paper(
            paper, text, self.embedder, await self.library.papers([shelf])
        )
        known = await self.library.papers([shelf])
        same = _there(known, paper.content_hash, record)
        if same is not None:
            return Ingested(same, is_new=False)
        asked, taken = paper.as_work, {other.id for other in known}
        if not paper.id or paper.id in taken:
            paper = replace(paper, id=_free_name(paper, taken))
        version = next((other for other in newest_first(known) if asked.is_same(other.as_work)), None)
        paper = paper if version is None else replace(paper, work=version.work_key)
        whole: Chunks = {index: [replace(chunk, paper=paper) for chunk in parts] for index, parts in chunks.items()}
        await self.library.put(shelf, paper, text, whole, file)
        return Ingested(paper, is_new=True, without_vectors=without_vectors, version_of=version)

    async def _replace(
        self, shelf: Scope, paper: Paper, *, before: Paper, content: tuple[str, bytes] | None = None
    ) -> tuple[Paper, str]:
        """Store what became of `before`, with what others have made of it meanwhile; and why it has no vectors.

        `content` is a new text with its file. Raises `InvalidQuery` for a paper that was removed meanwhile.
        """
        known, now = await self._standing(shelf, paper)
        for _ in range(_TRIES):
            text, file = content or (
                await self.library.text([shelf], paper.id),
                await self.library.file([shelf], paper.id),
            )
            base, merged = now, _merged(paper, before, now)
            whole, chunks, without_vectors = await index_paper(merged, text, self.embedder, known)
            known, now = await self._standing(shelf, paper)
            if now == base:
                break
        await self.library.put(shelf, whole, text, chunks, file)
        return whole, without_vectors

    async def _standing(self, shelf: Scope, paper: Paper) -> tuple[list[Paper], Paper]:
        known = await self.library.papers([shelf])
        now = next((other for other in known if (other.id, other.content_hash) == (paper.id, paper.content_hash)), None)
        if now is None:
            raise InvalidQuery(say(wording.REMOVED_MEANWHILE, id=paper.id), rule="paper")
        return known, now

    async def write_summary(self, shelf: Scope, paper: Paper, *, feedback: str) -> str:
        """By the reader's feedback if any; without a model the abstract. Raises `ModelError`, `InvalidQuery`."""
        text = await self.library.text([shelf], paper.id)
        if self.model is None:
            if feedback:
                raise InvalidQuery(say(wording.REWRITING_NEEDS_MODEL), rule="model")
            return _abstract(text)
        record = PaperRecord(title=paper.title)
        request = _summary_request(record, text, earlier=paper.summary if feedback else "", feedback=feedback)
        told = await ask_model(self.model, request, _with_summary)
        summary = str(told.value["summary"]).strip() if told.value else _summary_in_prose(told.text)
        if not summary:
            raise ModelGarbled("no summary", user_message=say(SUMMARY_GARBLED))
        return summary

    async def summarise(self, shelf: Scope, paper: Paper, *, feedback: str = "") -> Paper:
        """As `write_summary`, and stored on the shelf that it stands on; one that was improved is kept from then on."""
        summary = await self.write_summary(shelf, paper, feedback=feedback)
        improved = paper.improved or bool(feedback)
        anew = replace(paper, summary=summary, improved=improved, lacks_summary=False)
        return await self.update(shelf, anew, before=paper)

    async def update(self, shelf: Scope, paper: Paper, *, before: Paper) -> Paper:
        """Store what is said of a paper anew (summary, notes), and index it; `before` is what it was when it was read.

        What others said of it meanwhile is kept. Raises `InvalidQuery` for one that was removed, `StoreError`.
        """
        return (await self._replace(shelf, paper, before=before))[0]

    async def _summarised(
        self, known: PaperRecord, given: PaperRecord, text: str, again: Paper | None
    ) -> tuple[PaperRecord, str, str]:
        """What is known, with what the model reads off the paper where nobody else knew; the summary; and why the model
        wrote none, "" where it did or was not asked. A summary that stood here goes before the abstract.
        """
        if again is not None and again.improved:
            return known, again.summary, ""
        instead = _good_summary(again) or known.abstract
        if self.model is None:
            return known, instead, ""
        try:
            read = await ask_model(self.model, _summary_request(known, text), _with_summary)
        except ModelError as exc:
            return known, instead, exc.user_message
        if read.value is None:
            prose = _summary_in_prose(read.text)
            return known, prose or instead, "" if prose else say(SUMMARY_GARBLED)
        told = read.value
        names, year = told.get("authors"), str(told.get("year") or "")
        read_off = tuple(str(name) for name in names if name) if isinstance(names, list) else ()
        better = replace(
            known,
            title=given.title or str(told.get("title") or "").strip() or known.title,
            authors=known.authors or read_off,
            published=known.published or (year if re.fullmatch(r"(?:19|20)\d{2}", year) else ""),
        )
        return better, str(told.get("summary") or "").strip() or known.abstract, ""


def _good_summary(paper: Paper | None) -> str:
    """What stands there, but for an abstract in the place of a summary that the model did not write."""
    return "" if paper is None or paper.lacks_summary else paper.summary


def _there(known: Sequence[Paper], digest: str, record: PaperRecord) -> Paper | None:
    """The same file, or what a catalogue's record names, in the same version; its file may be made anew."""
    return next((one for one in known if digest == one.content_hash or (record.id and record.id == one.id)), None)


def _merged(paper: Paper, before: Paper, now: Paper) -> Paper:
    """What stands `now`, with what was changed between `before` and `paper`: nobody's notes or summary is lost."""
    was = vars(before)
    changed = {name: value for name, value in vars(paper).items() if value != was[name]}
    if now.summary != before.summary and not now.lacks_summary and not ("summary" in changed and paper.improved):
        changed = {name: value for name, value in changed.items() if name not in _OF_SUMMARY}
    if now.bibtex != before.bibtex:
        changed.pop("bibtex", None)
    if now.notes != before.notes and "notes" in changed:
        changed["notes"] = f"{now.notes}\n{paper.notes.removeprefix(before.notes).strip()}".strip()
    return replace(now, **changed)


def _described(read: PaperText, name: str, record: PaperRecord, same: Paper | None, *, this_year: int) -> PaperRecord:
    """What is known without asking anybody: the catalogue's word first, then what stood here, then the file's.

    A paper that stood here without a year gets none: its key would be another in the next document.
    """
    stamp = _STAMP.search(read.text.partition("\f")[0])  # what arXiv has printed on the first page
    stamped = stamp[1] if stamp and is_of_arxiv(stamp[1]) else ""
    named = tuple(part.strip() for part in re.split(r"[,;]| and ", read.authors) if part.strip())
    paper_id = record.id or (same.id if same else _id_in(name) or stamped)
    return PaperRecord(
        id=paper_id,
        title=record.title or (same.title if same else read.title),
        authors=record.authors or (same.authors if same else named),
        published=record.published or (same.published if same else published_of(paper_id, read.text, latest=this_year)),
        doi=record.doi or (same.doi if same else _doi_of(read.text)),
        url=record.url or (same.url if same else "") or (f"{ARXIV_ABSTRACTS}{stamped}" if stamped else ""),
        abstract=record.abstract or _abstract(read.text),
    )


def _id_in(name: str) -> str:
    """The id that a file is named after, "" if none; of an old one with its archive, which a file names by a sign."""
    stem = PurePath(name).stem
    old = re.sub(r"^([a-z-]+(?:\.[A-Z]{2})?)[_:]", r"\1/", stem)
    return stem if ARXIV_ID.fullmatch(stem) else old if is_of_arxiv(old) else ""


def _doi_of(text: str) -> str:
    """The DOI that the first page says is its own, "" for none: those of references stand behind their heading."""
    head = _REFERENCES.split(text.partition("\f")[0])[0]
    for found in _OWN_DOI.finditer(head):
        doi = found[1].rstrip(".,;")
        doi = doi if doi.count("(") >= doi.count(")") else doi.rstrip(".,;)")
        if not is_template_doi(doi):
            return doi
    return ""


def _abstract(text: str) -> str:
    """The section of that name, else how the paper begins, to a sentence's end."""
    text = text.replace(READ_BY_OCR, "")
    found = [chunk.text for chunk in chunk_text(text) if chunk.section is SectionType.ABSTRACT]
    beginning = " ".join((found[0] if found else re.sub(r"^#.*$", "", text, flags=re.MULTILINE)).split())
    cut = beginning[:_FALLBACK_SUMMARY_CHARS]
    return cut if len(cut) == len(beginning) else cut[: cut.rfind(". ") + 1] or cut


def _free_name(record: PaperRecord | Paper, taken: set[str]) -> str:
    """`smith2024quantum`: first author, year, first telling word of the title; more where that is taken."""
    names = [name.partition(",")[0].split() or name.replace(",", " ").split() for name in record.authors]
    author = next((_plain(parts[-1]) for parts in names if parts), "")
    words = [_plain(word) for word in record.title.split() if word.casefold().strip(".,:;") not in STOPWORDS]
    stem = f"{author or 'anonymous'}{record.published[:4]}{next((word for word in words if len(word) > 2), 'paper')}"
    endings = chain(("",), ascii_lowercase, map(str, count(1)))
    return next(name for name in (f"{stem}{ending}" for ending in endings) if name not in taken)


def _plain(word: str) -> str:
    """ASCII letters and digits alone, in lower case."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", word.casefold()))


def _with_summary(fields: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """None where it holds no summary."""
    return fields if str(fields.get("summary") or "").strip() else None


def _summary_in_prose(text: str) -> str:
    """Of a model that writes no JSON; "" for what is too short to say anything of a paper."""
    prose = read_prose(text)
    return prose.text if prose and len(prose.text.split()) >= _MIN_SUMMARY_WORDS else ""


def _summary_request(record: PaperRecord, text: str, *, earlier: str = "", feedback: str = "") -> ChatRequest:
    half = MAX_SUMMARY_SOURCE_CHARS // 2
    excerpt = text if len(text) <= 2 * half else f"{text[:half]}\n\n[…]\n\n{text[-half:]}"
    asked = f"<source>\n{fenced(excerpt)}\n</source>\n\nTitle as filed: {fenced(record.title)}"
    if feedback:
        asked += f"\n\n<context>\n{fenced(earlier)}\n</context>\n<feedback>\n{fenced(feedback)}\n</feedback>"
    return ChatRequest(
        purpose="summary",
        system=load_prompt("summarize_paper").template,
        user=asked,
        schema_name="paper_summary",
        schema=_SUMMARY_SCHEMA,
        max_tokens=700,
        timeout_s=_SUMMARY_TIMEOUT_S,
    )


# A paper's chunks with their vectors: made when it is added, or later where the embedding model failed then


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
            measured = [one.cosines for one in (paper, *known) if one.cosines and one.cosines.model == embedder.name]
            cosines = measured[0] if measured else await measure(embedder)
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
