"""Text of PDF files page by page, with pdfium: Markdown in reading order."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence, Sized
from contextlib import closing, suppress

from adapters.pages.extraction import EMPTY_PAGES, MAX_TEXT_CHARS, NO_PAGES, NO_TEXT_LAYER, Extraction, NoText
from adapters.pages.pdf.lines import MAX_CHARS_A_PAGE, ReadPage, open_pdf, read_page
from adapters.pages.pdf.markdown import lay_out, to_markdown
from adapters.pages.pdf.picture import ocr_page
from core.model.source import READ_BY_OCR
from core.model.works import ids_in_text

PAGE_BREAK = "\f"  # the n-th page is `text.split("\f")[n - 1]`
MAX_PAGES = 2_000
_PAGES_LOOKED_AT = 20
_MIN_TITLE_CHARS = 4
_TITLE_WITHIN_CHARS = 3_000  # of the text: a title stands on the first page
_NO_TITLE = re.compile(
    r"^(?:untitled|unbenannt|sans titre|no title|title|document|presentation|slide)\b|microsoft word"
    r"|powerpoint|\.(?:docx?|tex|pdf|dvi|qxd|indd|odt|rtf)\b|^doi:|^\S+$",
    re.IGNORECASE,
)
NAMED_PAGES = 5  # of those that were cut, in what people read


def extract_pdf(body: bytes, *, max_chars: int = MAX_TEXT_CHARS, ocr_s: float = 0.0) -> Extraction:
    """The text layer as Markdown, pages parted by form feeds; behind a single one stands one too. Raises `NoText`.

    For at most `ocr_s` scans among the pages are read by OCR, and begin with `READ_BY_OCR`.
    """
    with open_pdf(body) as document:
        of_file = len(document)
        own_labels = [document.get_page_label(number) for number in range(min(of_file, MAX_PAGES))]
        metadata = document.get_metadata_dict(skip_empty=True)
        pages = _read_scans(document, _read_pages(document, max_chars), ocr_s)
        if not any(page.lines for page in pages):
            raise NoText(_why_silent(document, pages))
    paper = to_markdown(lay_out(pages))
    first_line = next((line.strip("# ") for line in "\n".join(paper.pages).splitlines() if line.strip()), "")[:200]
    texts = [text.replace(PAGE_BREAK, "") for text in paper.pages]
    whole = PAGE_BREAK.join(
        f"{READ_BY_OCR}\n\n{text}" if page.by_ocr and text else text for text, page in zip(texts, pages, strict=True)
    )
    text = whole[:max_chars].rstrip()
    kept = len(pages) if len(whole) <= max_chars else text.count(PAGE_BREAK) + 1
    if PAGE_BREAK not in text:
        text += PAGE_BREAK  # else a document of one page with text would seem to have none
    labels = tuple(printed or own for printed, own in zip(paper.labels[:kept], own_labels, strict=False))
    title = _told_title(metadata.get("Title", ""), text) or paper.title or first_line
    gap = _gap(pages[:kept], of_file, is_last_cut=len(whole) > max_chars)
    # The creation date is not used: it is when the file was made, often years after publication.
    scans = sum(page.is_scan and not page.by_ocr for page in pages[:kept])
    authors, ids = _told_authors(metadata.get("Author", ""), paper.authors, text), ids_in_text(text)
    return Extraction(title, text, authors or None, labels=labels, gap=gap, scans=scans, ids=ids)


def _read_pages(document: Sized, max_chars: int) -> list[ReadPage]:
    """As many as there is room for."""
    pages: list[ReadPage] = []
    room = max_chars
    for number in range(min(len(document), MAX_PAGES)):
        pages.append(_read_page(document, number))
        room -= sum(len(line.text) + 1 for line in pages[-1].lines)
        if room <= 0:
            break
    return pages


def _read_scans(document: object, pages: Sequence[ReadPage], ocr_s: float) -> list[ReadPage]:
    """With what OCR finds on scans, one after the other, as long as there is time."""
    until = time.monotonic() + ocr_s
    read = list(pages)
    for number, page in enumerate(pages):
        if page.is_scan and time.monotonic() < until:
            with suppress(OSError, ValueError, subprocess.SubprocessError):  # told as not read
                read[number] = ocr_page(document, number, page, until=until)
    return read


def _gap(pages: Sequence[ReadPage], of_file: int, *, is_last_cut: bool) -> str:
    """What of the file was not read; "" for nothing."""
    cut = [str(number) for number, page in enumerate(pages, start=1) if page.is_cut]
    missing = [f"only the first {len(pages):,} of {of_file:,} pages were read"] if len(pages) < of_file else []
    if cut:
        named = f"page {cut[0]}" if len(cut) == 1 else f"each of the pages {', '.join(cut[:NAMED_PAGES])}"
        named += ", …" if len(cut) > NAMED_PAGES else ""
        missing.append(f"only the first {MAX_CHARS_A_PAGE:,} characters of {named} were read")
    scans = [str(number) for number, page in enumerate(pages, start=1) if page.is_scan and not page.by_ocr]
    if scans:
        named = f"{', '.join(scans[:NAMED_PAGES])}{', …' if len(scans) > NAMED_PAGES else ''}"
        missing.append(
            f"page {named} is a scan and was not read"
            if len(scans) == 1
            else f"pages {named} are scans and were not read"
        )
    if is_last_cut and not missing:
        missing.append("its last page was not read to the end")
    return "; ".join(missing)


def _why_silent(document: object, pages: Sequence[ReadPage]) -> str:
    """Why there is no text on any page: scanned pages draw something, others nothing."""
    import pypdfium2.raw as pdfium

    sound = [number for number, page in enumerate(pages) if page.height]
    if not sound:
        return NO_PAGES
    for number in sound[:_PAGES_LOOKED_AT]:
        with closing(document[number]) as page:  # type: ignore[index]
            if pdfium.FPDFPage_CountObjects(page):
                return NO_TEXT_LAYER
    return EMPTY_PAGES


def _read_page(document: object, number: int) -> ReadPage:
    import pypdfium2

    try:
        return read_page(document, number)
    except pypdfium2.PdfiumError:
        return ReadPage()  # one broken page keeps its place, so that the numbers of the others stay true


def _told_title(said: str, text: str) -> str:
    """The file's own title where it is one: programs put their names, a file's, or the last document's there."""
    title = " ".join(said.split())
    if len(title) < _MIN_TITLE_CHARS or _NO_TITLE.search(title):
        return ""
    words = re.findall(r"\w{3,}", title.casefold())
    begins = text[:_TITLE_WITHIN_CHARS].casefold()
    seen = sum(word in begins for word in words)
    return title if words and seen >= len(words) / 2 else ""


def _told_authors(said: str, seen: Sequence[str], text: str) -> str:
    """The file's own, where its first page names one of them and no more: programs put there whose computer it was."""
    words = re.findall(r"[^\W\d_]{3,}", said.casefold())
    begins = text[:_TITLE_WITHIN_CHARS].casefold()
    is_told = any(word in begins for word in words) and len(re.split(r"[,;]| and ", said)) >= len(seen)
    return said if is_told or (said and not seen) else "; ".join(seen)
