"""What people do with a shelf of papers on every interface; and the lists of papers that others have read."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath, PurePosixPath, PureWindowsPath

from core.findings.viewing import read_view
from core.library.ingest import (
    MENDING_S,
    FindPaper,
    Ingested,
    Ingestion,
    PaperRecord,
    PaperUnreadable,
    SearchPapers,
    mend,
)
from core.library.paper import Index, LibraryStore, Paper, find_papers, newest_first
from core.model.answer import JobResult
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import Json, ResearchJob, Scope
from core.model.works import ARXIV_ID
from core.presentation.render import one_line
from core.text.numbers import MONTHS
from core.text.saying import say, say_again

INGESTION_S = 600.0  # a paper (D2)
_OF_CATALOGUES = ("id", "title", "authors", "published", "doi", "url", "abstract")


NOTHING_NAMED = "{name} cannot be added: the list names no file, arXiv id, DOI or address of it."
_NO_SUCH_PAPER = 'There is no paper "{id}" in this library; `list` shows what there is.'
_UNINDEXED = {
    Index.SUMMARY: ("its summary is not indexed; run {command}", "its summary has no embeddings; run {command}"),
    Index.CONTENT: ("its text is not indexed; run {command}", "its text has no embeddings; run {command}"),
}
_OTHER_VECTORS = "its embeddings are of another model, {model}; run {command}"
_ABSTRACT_STANDS = "the model wrote no summary of it; its abstract stands there; run {command}"
_NO_SUMMARY = "it has no summary; run {command}"
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
        """From the file beside the list or from elsewhere; one that is there gets at most the BibTeX entry it lacks.

        Raises as `add_file`.
        """
        record = replace(listed.record, id=listed.reference if ARXIV_ID.fullmatch(listed.reference) else "")
        known = await self.library.papers([shelf])
        there = next((paper for paper in newest_first(known) if paper.as_work.is_same(record.as_work)), None)
        if there is None and not file:
            if not listed.reference:
                words = say(NOTHING_NAMED, name=listed.name)
                raise PaperUnreadable("nothing to fetch", user_message=words)
            found = await self.find_elsewhere(listed.reference)
            told = {name: value for name, value in vars(found.record).items() if value and name in _OF_CATALOGUES}
            record = replace(listed.record, **told)  # a catalogue's; what it does not know, as the list has it
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
        return await self.ingestion.update(shelf, replace(paper, work=f"{paper.id}#alone"), before=paper)

    async def rebuild(self, shelf: Scope) -> AsyncIterator[Paper | GorkdError]:
        """Reindex every paper, each as it is done; one that fails is told and left as it was."""
        for paper in await self.library.papers([shelf]):
            try:
                yield await self.reindex(shelf, paper.id)
            except GorkdError as error:
                yield error

    async def validate(self, shelf: Scope, reads_anew: str = "reindex-paper") -> list[ShelfFinding]:
        """Papers that cannot be found or cited, once lacking vectors were made; `reads_anew` and an id mend one."""
        await mend(self.library, self.ingestion.embedder, shelf, within_s=MENDING_S)
        findings: list[ShelfFinding] = []
        papers = await self.library.papers([shelf])
        for paper in papers:
            command = f"`{reads_anew} {paper.id}`"
            faults = [*await self._faults(shelf, paper, command), *_merged_wrongly(paper, papers)]
            findings += [ShelfFinding(paper, fault) for fault in faults]
        return findings

    async def _faults(self, shelf: Scope, paper: Paper, command: str) -> list[str]:
        faults: list[str] = []
        if not await self.library.text([shelf], paper.id):
            faults.append(say("its text is missing; add the file again"))
        embedder = self.ingestion.embedder
        for index, (no_chunks, no_vectors) in _UNINDEXED.items():
            chunks = await self.library.matching([shelf], index, paper.title, limit=1, papers=[paper.id])
            if not chunks or (embedder is not None and chunks[0].chunk.embedding is None):
                faults.append(say(no_vectors if chunks else no_chunks, command=command))
        if embedder is not None and paper.cosines and paper.cosines.model != embedder.name:
            faults.append(say(_OTHER_VECTORS, model=paper.cosines.model, command=command))
        if not paper.summary or paper.lacks_summary:
            faults.append(say(_ABSTRACT_STANDS if paper.summary else _NO_SUMMARY, command=command))
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


def pick(papers: Sequence[Paper], paper_id: str) -> Paper:
    """Raises `NoSuchPaper` with a sentence that helps."""
    found = find_papers(papers, paper_id)
    if len(found) == 1:
        return found[0]
    if found:
        versions = ", ".join(paper.id for paper in found)
        raise NoSuchPaper(say("Which version of {id}: {versions}?", id=paper_id, versions=versions), rule="version")
    raise NoSuchPaper(say(_NO_SUCH_PAPER, id=paper_id[:80]), rule="paper")


# A reading list as papers to be added: BibTeX, RIS, CSL JSON as Zotero exports them, or ids and DOIs one a line.
#
# Nothing is fetched here. What an entry lacks is "": most lists name a DOI, and Zotero's also the file beside the list.

SUFFIXES = frozenset({".bib", ".bibtex", ".ris", ".json"})
MAX_LIST_BYTES = 20_000_000
MAX_ENTRIES = 5_000
MAX_VALUE_CHARS = 100_000  # of a field; what is never closed must not be looked for to the end of the list
_LINE = re.compile(
    rf"(?:arxiv:\s*|https?://(?:www\.)?arxiv\.org/(?:abs|pdf)/)?(?P<arxiv>{ARXIV_ID.pattern})(?:\.pdf)?"
    r"|(?:doi:\s*|https?://(?:dx\.)?doi\.org/)?(?P<doi>10\.\d{4,9}/\S+)"
    r"|(?P<url>https?://\S+)",
    re.IGNORECASE,
)
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ENTRY = re.compile(r"@(\w++)\s*+\{\s*+([^\s,{}]*+)\s*+,")
_NEXT = re.compile(r"\n[ \t]*+@\w++\s*+\{")  # an entry at a line's beginning ends whatever was not closed before it
_FIELD = re.compile(r"\s*+,?+\s*+([A-Za-z][\w-]*+)\s*+=\s*+")
_JOINED = re.compile(r"\s*+#\s*+")
_CLOSING = re.compile(r"\s*+,?+\s*+\}")
_BARE = re.compile(r"[^\s,}#]*")
_UNBRACED = re.compile(r"\A\{(.*)\}\Z", re.DOTALL)
_NO_WORK = frozenset({"string", "preamble", "comment"})
_RIS = re.compile(r"^([A-Z][A-Z0-9])  - ?(.*)$")
_COMBINING = "\u0308 \u0301 \u0300 \u0302 \u0303 \u0327 \u030c \u0306 \u0304 \u0307 \u030b \u030a \u0328 \u0323"
_ACCENTS = dict(zip("\"'`^~cvu=.Hrkd", _COMBINING.split(), strict=True))  # TeX's, and Unicode's behind the letter
_ACCENT = re.compile(r"""\\(["'`^~=.]|[cvuHrkd](?![A-Za-z]))\s*+\{?+\s*+(\\?[A-Za-z])\s*+\}?""")
_LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
            "AA": "Å", "i": "i", "j": "j"}  # fmt: skip
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?![A-Za-z])\s*(?:\{\})?")


@dataclass(frozen=True)
class ListedPaper:
    """`reference` is an arXiv id, a DOI or an address; `file` a path beside the list or in a folder there; "" for none.

    A file at any other place is left out: whoever wrote the list may not choose what is read.
    """

    record: PaperRecord
    reference: str = ""
    file: str = ""

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.record.title or self.reference or PurePath(self.file).name


@dataclass(frozen=True)
class BibtexEntry:
    """`fields` by name in lower case, as they are written; `text` is the whole entry."""

    kind: str
    key: str
    fields: Mapping[str, str]
    text: str


def is_reading_list(name: str, content: bytes) -> bool:
    """By its name; a `.txt` when every line of it is an id, a DOI or an address."""
    suffix = PurePath(name).suffix.lower()
    if suffix != ".txt":
        return suffix in SUFFIXES
    lines = _lines(content.decode("utf-8", "replace")) if len(content) <= MAX_LIST_BYTES else []
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def read_list(name: str, content: bytes) -> list[ListedPaper]:
    """Each paper once. Raises `PaperUnreadable` for what holds none."""
    if len(content) > MAX_LIST_BYTES:
        raise _unreadable(name, f"it is larger than {MAX_LIST_BYTES // 1_000_000} MB")
    text = content.decode("utf-8-sig", "replace")
    suffix = PurePath(name).suffix.lower()
    readers = {".ris": lambda text: map(_of_tags, ris_entries(text)), ".json": _of_csl, ".txt": _of_lines}
    found: dict[ListedPaper, None] = {}
    for listed in readers.get(suffix, _of_bibtex)(text):
        found[listed] = None
        if len(found) > MAX_ENTRIES:
            raise _unreadable(name, f"it lists more than {MAX_ENTRIES} papers, the most that are taken from one list")
    if not found:
        raise _unreadable(name, "it lists no paper")
    return list(found)


def _unreadable(name: str, why: str) -> PaperUnreadable:
    return PaperUnreadable(
        f"list refused: {why}", user_message=say("{name} cannot be read: {why}.", name=name, why=say_again(why))
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _of_lines(text: str) -> Iterator[ListedPaper]:
    for line in _lines(text):
        found = _LINE.fullmatch(line)
        if found:
            doi = found["doi"] or ""
            yield ListedPaper(PaperRecord(doi=doi), found["arxiv"] or doi or found["url"])


def _of_bibtex(text: str) -> Iterator[ListedPaper]:
    for entry in bibtex_entries(text):
        yield _listed(entry.fields, bibtex=entry.text)


def bibtex_entries(text: str) -> Iterator[BibtexEntry]:
    """Those of works, in their order, also of a file that is broken here and there."""
    at = last = 0
    while start := _ENTRY.search(text, at):
        at = start.end()
        if start[1].lower() in _NO_WORK:
            continue
        if last <= at:
            following = _NEXT.search(text, at)
            last = following.start() if following else len(text)
        at, fields = _fields(text, at, last)
        yield BibtexEntry(start[1].lower(), start[2], fields, text[start.start() : at])


def _fields(text: str, at: int, last: int) -> tuple[int, dict[str, str]]:
    """Where the entry ends, at `last` at the latest, and its fields by name in lower case, as they are written."""
    fields: dict[str, str] = {}
    while found := _FIELD.match(text, at, last):
        parts: list[str] = []
        at = found.end()
        while True:
            end = _value_end(text, at, last)
            parts.append(
                text[at:end].strip().strip('"{}')
                if text[at : at + 1] == '"'
                else _UNBRACED.sub(r"\1", text[at:end].strip())
            )
            at = end
            joined = _JOINED.match(text, at, last)
            if joined is None:
                break
            at = joined.end()
        fields.setdefault(found[1].lower(), "".join(parts))
    closing = _CLOSING.match(text, at, last)
    return (closing.end() if closing else at), fields


def _value_end(text: str, at: int, last: int) -> int:
    """Behind a value in braces, in quotation marks, or bare."""
    opening, depth = text[at : at + 1], 0
    if opening not in ("{", '"'):
        bare = _BARE.match(text, at, last)
        return bare.end() if bare else at
    last = min(last, at + MAX_VALUE_CHARS)
    for place in range(at, last):
        char = text[place]
        if char in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if char == "{" else -1
            if depth == 0 and opening == "{":
                return place + 1
        elif char == '"' and depth == 0 and opening == '"' and place > at:
            return place + 1
    return last


def plain(value: str) -> str:
    """A BibTeX value as people read it: accents as letters, no braces."""
    value = _LETTER.sub(lambda found: _LETTERS[found[1]], value)
    value = _ACCENT.sub(lambda found: found[2].lstrip("\\") + _ACCENTS[found[1]], value)
    value = re.sub(r"\\([&%$#_{}])", r"\1", value.replace("~", " "))
    return unicodedata.normalize("NFC", " ".join(value.replace("{", "").replace("}", "").split()))


def _listed(fields: Mapping[str, str], *, bibtex: str) -> ListedPaper:
    eprint = plain(fields.get("eprint", ""))
    url = plain(fields.get("url", ""))
    arxiv = eprint if ARXIV_ID.fullmatch(eprint) else _arxiv_in(url)
    names = bibtex_names(fields.get("author", ""))
    said = plain(fields.get("month", "")).lower()[:3]
    month = next((f"{number:02}" for number, name in enumerate(MONTHS, 1) if name[:3] == said), "")
    date = plain(fields.get("date", "")) or "-".join(filter(None, (plain(fields.get("year", "")), month)))
    record = PaperRecord(
        title=plain(fields.get("title", "")),
        authors=names,
        published=_date(date),
        doi=_doi(plain(fields.get("doi", ""))),
        url=url,
        abstract=plain(fields.get("abstract", "")),
        bibtex=bibtex,
    )
    return ListedPaper(record, arxiv or record.doi or url, _below(_attached(fields.get("file", ""))))


def bibtex_names(text: str) -> tuple[str, ...]:
    """The names in a field of authors, without `and others`."""
    names = (plain(name) for name in " ".join(text.split()).split(" and ") if name.strip())
    return tuple(name for name in names if name != "others")


def _attached(file: str) -> str:
    """The first PDF of `Full Text:files/1/a.pdf:application/pdf;…`, as Zotero and JabRef write it."""
    for entry in re.split(r"(?<!\\);", file):
        parts = [part.replace("\\:", ":").replace("\\;", ";") for part in re.split(r"(?<!\\):", entry)]
        for part in parts[1:2] if len(parts) > 1 else parts:
            if part.strip().lower().endswith(".pdf"):
                return part.strip()
    return ""


def _below(file: str) -> str:
    """The path where it leads to the list's own folder or one in it, else ""."""
    path = PurePosixPath(file.removeprefix("file:").replace("\\", "/"))
    is_elsewhere = path.is_absolute() or PureWindowsPath(file).drive or file.startswith("~") or ".." in path.parts
    return "" if is_elsewhere else str(path) if path.name else ""


def ris_entries(text: str) -> Iterator[dict[str, list[str]]]:
    """The values of each tag, by entry."""
    fields: dict[str, list[str]] = {}
    for line in text.splitlines():
        found = _RIS.match(line.rstrip())
        if found and found[1] == "ER":
            yield fields
            fields = {}
        elif found and found[2].strip():
            fields.setdefault(found[1], []).append(found[2].strip())
    if fields.keys() - {"TY"}:
        yield fields


def ris_value(fields: Mapping[str, Sequence[str]], *tags: str) -> str:
    """The first of these that an entry has."""
    return next((fields[tag][0] for tag in tags if fields.get(tag)), "")


def _of_tags(fields: Mapping[str, list[str]]) -> ListedPaper:
    first = partial(ris_value, fields)
    record = PaperRecord(
        title=first("TI", "T1"),
        authors=tuple(fields.get("AU", fields.get("A1", ()))),
        published=_date(first("DA", "PY", "Y1").replace("/", "-").strip("-")),
        doi=_doi(first("DO")),
        url=first("UR"),
        abstract=first("AB", "N2"),
    )
    files = [file for file in fields.get("L1", ()) if file.lower().endswith(".pdf")]
    return ListedPaper(record, _arxiv_in(record.url) or record.doi or record.url, _below(files[0]) if files else "")


def _of_csl(text: str) -> Iterator[ListedPaper]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and (row.get("title") or row.get("DOI")):
            url = str(row.get("URL") or "")
            record = PaperRecord(
                title=str(row.get("title") or ""),
                authors=tuple(_csl_names(row.get("author"))),
                published=_csl_date(row.get("issued")),
                doi=_doi(str(row.get("DOI") or "")),
                url=url,
                abstract=str(row.get("abstract") or ""),
            )
            yield ListedPaper(record, _arxiv_in(url) or record.doi or url)


def _csl_names(value: Json) -> Iterator[str]:
    for name in value if isinstance(value, list) else []:
        if isinstance(name, dict):
            yield ", ".join(filter(None, (str(name.get("family") or ""), str(name.get("given") or ""))))


def _csl_date(value: Json) -> str:
    parts = value.get("date-parts") if isinstance(value, dict) else None
    first = parts[0] if isinstance(parts, list) and parts else None
    return _date("-".join(str(part).zfill(2) for part in first)) if isinstance(first, list) else ""


def _date(text: str) -> str:
    found = re.match(r"((?:19|20)\d{2})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    return "-".join(part for part in found.groups() if part) if found else ""


def _doi(text: str) -> str:
    found = _DOI.search(text)
    return found.group().rstrip(".,;") if found else ""


def _arxiv_in(url: str) -> str:
    found = re.search(rf"arxiv\.org/(?:abs|pdf)/({ARXIV_ID.pattern})", url)
    return found[1] if found else ""
