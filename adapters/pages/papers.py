"""Papers for the library: files read whole, and addresses that lead to one, parsed in killable processes."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from pathlib import PurePath
from urllib.parse import urljoin, urlsplit

from adapters.pages.body import document_kind
from adapters.pages.extraction import (
    INSTALL_OCR,
    MAX_PAPER_CHARS,
    NO_OCR,
    NO_TEXT_LAYER,
    DocumentKind,
    Extraction,
    PageDocument,
    find_tesseract,
    plain_reason,
)
from adapters.pages.fetch import WebPages
from adapters.pages.workers import ExtractionWorkers
from core.library.ingest import MAX_PAPER_BYTES, FoundPaper, PaperRecord, PaperText, PaperUnreadable
from core.model.errors import FetchError, PageUnreadable
from core.model.works import ARXIV_ID, WorkRecord
from core.text.saying import say, say_again

DOWNLOAD_S = 60.0
MAX_COPIES = 3  # of a work, that are tried one after the other
LIMIT_S = 120.0  # 2,000 pages at 40 a second, on a machine under load
OCR_S = 360.0  # of the ten minutes that a paper has (D2); some hundred scanned pages at three seconds
PICTURE_S = 40.0  # of a page; a tenth of a second is usual
KEPT_PICTURES = 32  # that are asked for again: an answer's page is looked at by several
MAX_QUOTE_CHARS = 2_000
MEMORY_BYTES = 2 * 1024 * 1024 * 1024
_BY_SUFFIX: dict[str, DocumentKind] = {".md": "text", ".markdown": "text", ".txt": "text", ".pdf": "pdf"}
_DOI_PREFIX = r"(?:doi:\s*|https?://(?:dx\.)?doi\.org/)?"
_DOI = re.compile(rf"{_DOI_PREFIX}(10\.\d{{4,9}}/\S+)", re.IGNORECASE)
_AT_ARXIV = rf"arxiv:\s*|https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf)/|{_DOI_PREFIX}10\.48550/arxiv\."  # its DOIs
_ARXIV_REFERENCE = re.compile(rf"(?:{_AT_ARXIV})?({ARXIV_ID.pattern})(?:\.pdf)?", re.IGNORECASE)
_META = re.compile(rb"<meta\b[^>]{0,2000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b(name|property|content)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_MAX_HEAD_BYTES = 300_000  # where a page says what it is about


class PaperFiles:
    """Reads papers. One a process; `aclose` it. `find_ocr` gives the path of tesseract, "" where none is."""

    def __init__(self, *, workers: int = 2, find_ocr: Callable[[], str] = find_tesseract) -> None:
        self._find_ocr = find_ocr
        self._workers = ExtractionWorkers(count=workers, limit_s=LIMIT_S, memory_bytes=MEMORY_BYTES)
        self._ocr = ExtractionWorkers(count=1, limit_s=LIMIT_S + OCR_S, memory_bytes=MEMORY_BYTES)

    async def read(self, name: str, content: bytes) -> PaperText:
        kind = document_kind("", content) if content else None
        kind = _BY_SUFFIX.get(PurePath(name).suffix.lower(), kind) if kind in (None, "text") else kind
        if len(content) > MAX_PAPER_BYTES:
            raise _unreadable(name, f"it is larger than {MAX_PAPER_BYTES // 1_000_000} MB")
        if kind == "text" and PurePath(name).suffix.lower() not in _BY_SUFFIX:
            kind = None  # /etc/passwd is a text too
        if kind not in ("pdf", "text") or (kind == "pdf" and b"%PDF-" not in content[:1024]):
            raise _unreadable(name, "it is empty" if not content else "it is neither a PDF nor Markdown")
        try:
            found = await self._extracted(PageDocument(f"paper:{name}", kind, "", content, MAX_PAPER_CHARS))
        except FetchError as exc:
            raise _unreadable(name, plain_reason(exc)) from exc
        return PaperText(found.title or PurePath(name).stem, found.text, found.labels, found.author or "", found.gap)

    async def _extracted(self, document: PageDocument) -> Extraction:
        """Once more with OCR where pages are scans: it takes seconds a page, and most papers have none."""
        try:
            found = await self._workers.extract(document)
        except PageUnreadable as exc:
            if NO_TEXT_LAYER not in str(exc):
                raise
            if not self._find_ocr():
                raise PageUnreadable(document.url, NO_OCR) from exc
            return await self._ocr.extract(replace(document, ocr_s=OCR_S))
        if found.scans and self._find_ocr():
            return await self._ocr.extract(replace(document, ocr_s=OCR_S))
        return replace(found, gap=f"{found.gap} ({INSTALL_OCR})") if found.scans else found

    async def aclose(self) -> None:
        await self._workers.aclose()
        await self._ocr.aclose()


class PagePictures:
    """Its `paint` is a `PaintPage`. One a process; `aclose` it."""

    def __init__(self, *, workers: int = 1) -> None:
        self._workers = ExtractionWorkers(count=workers, limit_s=PICTURE_S, memory_bytes=MEMORY_BYTES)
        self._painted: OrderedDict[tuple[bytes, int, str], bytes] = OrderedDict()

    async def paint(self, file: bytes, page: int, quote: str) -> bytes:
        key = hashlib.sha256(file).digest(), page, quote
        if key not in self._painted:
            document = PageDocument("paper:picture", "pdf", "", file, page=page, quote=quote[:MAX_QUOTE_CHARS])
            try:
                self._painted[key] = await self._workers.picture(document)
            except FetchError as exc:
                raise PaperUnreadable(
                    f"page {page} not drawn: {exc}", user_message=f"Page {page} cannot be shown as a picture."
                ) from exc
            while len(self._painted) > KEPT_PICTURES:
                self._painted.popitem(last=False)
        return self._painted[key]

    async def aclose(self) -> None:
        await self._workers.aclose()


class PapersElsewhere:
    """Papers by the one page fetcher. `look_up` asks a catalogue for an arXiv id, `work_of` what is known of a DOI."""

    def __init__(
        self,
        pages: WebPages,
        look_up: Callable[[str], Awaitable[PaperRecord | None]],
        work_of: Callable[[str], Awaitable[WorkRecord | None]],
        *,
        arxiv: str = "https://arxiv.org",
        doi: str = "https://doi.org",
    ) -> None:
        self._pages = pages
        self._look_up, self._work_of = look_up, work_of
        self._arxiv, self._doi = arxiv.rstrip("/"), doi.rstrip("/")

    async def find(self, reference: str) -> FoundPaper:
        """A `FindPaper`."""
        reference = reference.strip()
        arxiv_id = _ARXIV_REFERENCE.fullmatch(reference)
        doi = _DOI.fullmatch(reference)
        try:
            if arxiv_id:
                return await self._from_arxiv(arxiv_id[1], reference)
            if doi:
                return await self._by_doi(doi[1], reference)
            if reference.startswith(("http://", "https://")):
                return await self._from_page(reference, reference, PaperRecord())
        except FetchError as exc:
            said_nothing = exc.reason == FetchError.reason
            raise _unreadable(reference, "it cannot be fetched" if said_nothing else exc.reason) from exc
        raise _unreadable(reference, "it is no file, arXiv id, DOI or address")

    async def _from_arxiv(self, paper_id: str, reference: str) -> FoundPaper:
        record = await self._look_up(paper_id)
        if record is None:
            raise _unreadable(reference, "arXiv does not know it")
        found = await self._download(f"{self._arxiv}/pdf/{record.id}")
        return FoundPaper(f"{record.id.replace('/', '_')}.pdf", found.body, record)

    async def _by_doi(self, doi: str, reference: str) -> FoundPaper:
        """From its publisher, else one of the copies that registries know to be free. Raises what the publisher's page
        did where there is none.
        """
        try:
            return await self._from_page(f"{self._doi}/{doi}", reference, PaperRecord(doi=doi))
        except (PaperUnreadable, FetchError):
            work = await self._work_of(doi)
            for copy in [one for one in work.copies if one.is_pdf][:MAX_COPIES] if work else []:
                with suppress(FetchError):
                    found = await self._download(copy.url)
                    if found.kind == "pdf" and work is not None:
                        # a registry's record, under the file's own id as from its publisher
                        told = PaperRecord("", work.title, work.authors, work.year, doi, found.url, work.abstract)
                        return FoundPaper(_name_of(found), found.body, told)
            raise

    async def _from_page(self, url: str, reference: str, known: PaperRecord) -> FoundPaper:
        """The PDF itself, or the page that names it."""
        found = await self._download(url)
        record = replace(known, url=found.url)
        if found.kind == "html":
            told, pdf = record_of(found.body, found.url)
            if not pdf:
                raise _unreadable(reference, "its page names no PDF")
            record = replace(told, doi=told.doi or known.doi)
            found = await self._download(urljoin(found.url, pdf))
        return FoundPaper(_name_of(found), found.body, record)

    async def _download(self, url: str) -> PageDocument:
        return await self._pages.download(url, max_bytes=MAX_PAPER_BYTES, within_s=DOWNLOAD_S)


def _name_of(found: PageDocument) -> str:
    return PurePath(urlsplit(found.url).path).name or "paper.pdf"


def _unreadable(name: str, why: str) -> PaperUnreadable:
    return PaperUnreadable(
        f"paper refused: {why}", user_message=say("{name} cannot be read: {why}.", name=name, why=say_again(why))
    )


def record_of(html: bytes, url: str) -> tuple[PaperRecord, str]:
    """What a publisher's page says of its paper, and where the PDF is ("" if it does not say).

    By the `citation_…` tags that Google Scholar asks publishers for ("Inclusion Guidelines for Webmasters").
    """
    found: dict[str, list[str]] = {}
    for tag in _META.findall(html[:_MAX_HEAD_BYTES]):
        pairs = {
            key.lower(): first or second for key, first, second in _ATTRIBUTE.findall(tag.decode("utf-8", "replace"))
        }
        name = pairs.get("name") or pairs.get("property") or ""
        if name.lower().startswith("citation_") and pairs.get("content"):
            found.setdefault(name.lower(), []).append(" ".join(unescape(pairs["content"]).split()))
    record = PaperRecord(
        id=_first(found, "citation_arxiv_id"),
        title=_first(found, "citation_title"),
        authors=tuple(found.get("citation_author", ())),
        published=_date(_first(found, "citation_publication_date", "citation_date", "citation_online_date")),
        doi=_first(found, "citation_doi"),
        url=url,
        abstract=_first(found, "citation_abstract"),
    )
    return record, _first(found, "citation_pdf_url")


def _first(found: dict[str, list[str]], *names: str) -> str:
    return next((found[name][0] for name in names if found.get(name)), "")


def _date(text: str) -> str:
    """`2024/01/02` as an ISO date; a year or month alone stays one."""
    parts: Sequence[str] = re.findall(r"\d+", text)[:3]
    return "-".join(part.zfill(2) for part in parts) if parts and len(parts[0]) == 4 else ""
