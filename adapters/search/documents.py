"""Files as documents: which ones below a folder may be read, and their text and title.

Skipped: hidden files and folders, links that lead out of the folder, binaries, anything over 5 MB.
"""

from __future__ import annotations

import codecs
import html
import os
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.search.hits import clean_line, clean_text

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_FILE_BYTES = 5_000_000
MAX_PDF_PAGES = 1000  # a PDF may claim any number
PAGE_BREAK = "\f"  # between the pages of a PDF, so that a place in the text tells its page
MARKDOWN = frozenset({".md", ".markdown"})
PLAIN = frozenset({".txt", ".text", ".rst"})
HTML = frozenset({".html", ".htm", ".xhtml"})
PDF = frozenset({".pdf"})
SUFFIXES = MARKDOWN | PLAIN | HTML | PDF
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n.*?^\1[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")
_PDFIUM = threading.Lock()  # PDFium is not safe for threads
_UNDERLINE = re.compile(r"=+|-+")
_HTML_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,2000})", re.IGNORECASE)
_HTML_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Unreadable(Exception):
    """Why a file gives no text, in a few words."""


@dataclass(frozen=True)
class FileDocument:
    title: str
    text: str


def list_files(roots: Iterable[Path]) -> Iterator[Path]:
    """The real paths of the readable kinds of files in `roots`, which are folders or files; each once."""
    seen: set[Path] = set()
    for root in roots:
        real_root = root.resolve()
        candidates = [real_root] if real_root.is_file() else _walk(real_root)
        for path in candidates:
            if path.suffix.lower() not in SUFFIXES:
                continue
            real = path.resolve()
            if real not in seen and _may_be_read(real, real_root):
                seen.add(real)
                yield real


def read_document(path: Path, content: bytes) -> FileDocument:
    """The document in `content`, the bytes of `path`. Raises `Unreadable`."""
    suffix = path.suffix.lower()
    if suffix in PDF:
        document = _read_pdf(content)
    else:
        text = clean_text(_decode(content, is_html=suffix in HTML))
        document = _read_html(text) if suffix in HTML else _read_text(text, is_markdown=suffix in MARKDOWN)
    if not any(char.isalnum() for char in document.text):
        raise Unreadable("no text")
    return document if document.title else FileDocument(clean_line(path.stem), document.text)


def _walk(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):  # does not follow links to folders, so it ends
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _may_be_read(real: Path, root: Path) -> bool:
    """A file within `root`, no part of whose path below it is hidden, with a name that is text."""
    is_inside = real == root or root in real.parents
    if not is_inside or any(part.startswith(".") for part in real.relative_to(root).parts):
        return False
    try:
        str(real).encode("utf-8")  # a name of other bytes cannot be stored
    except UnicodeEncodeError:
        return False
    return real.is_file()


def _decode(content: bytes, *, is_html: bool) -> str:
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return content.decode(encoding, errors="replace")
    if b"\0" in content[:8192]:
        raise Unreadable("binary")
    named = _HTML_CHARSET.search(content[:2048]) if is_html else None
    for encoding in (named[1].decode("ascii") if named else "utf-8", "utf-8"):
        try:
            return content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("cp1252", errors="replace")


def _read_text(text: str, *, is_markdown: bool) -> FileDocument:
    if is_markdown:
        text = _without_links(_FRONT_MATTER.sub("", text, count=1).strip())
    return FileDocument(clean_line(_first_heading(text)), text)


def _without_links(text: str) -> str:
    """Each link as its words, which is what a quotation shows; code stays as it is."""
    parts, at = [], 0
    for code in _FENCED.finditer(text):
        parts += [_LINK.sub(r"\1", text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _LINK.sub(r"\1", text[at:])])


def _first_heading(text: str) -> str:
    """Of Markdown or reStructuredText, "" when there is none; a comment in a shell block is no heading."""
    fence = ""
    above = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith(fence or ("```", "~~~")):
            fence, above = "" if fence else line[:3], ""
            continue
        if fence:
            continue
        if line.startswith("#") and line.lstrip("#")[:1] in {" ", "\t"}:
            return line.strip("# \t")
        if above and _UNDERLINE.fullmatch(line):
            return above
        above = line
    return ""


def _read_html(text: str) -> FileDocument:
    import trafilatura

    title = _HTML_TITLE.search(text)
    if "<body" not in text[:100_000].lower():  # trafilatura finds nothing in a bare fragment
        text = f"<html><body>{text}</body></html>"
    extracted = trafilatura.extract(text, include_comments=False, include_tables=True, deduplicate=False)
    body = extracted or trafilatura.html2txt(text) or ""
    return FileDocument(clean_line(html.unescape(title[1])) if title else "", clean_text(body))


def _read_pdf(content: bytes) -> FileDocument:
    import pypdfium2

    if b"%PDF" not in content[:1024]:
        raise Unreadable("not a PDF")
    try:
        with _PDFIUM, pypdfium2.PdfDocument(content) as pdf:
            pages = [_read_page(pdf, number) for number in range(min(len(pdf), MAX_PDF_PAGES))]
            title = clean_line(pdf.get_metadata_dict().get("Title", ""))
    except pypdfium2.PdfiumError as exc:
        raise Unreadable(f"damaged PDF: {exc}") from exc
    return FileDocument(title, PAGE_BREAK.join(pages))


def _read_page(pdf: PdfDocument, number: int) -> str:
    page = pdf[number]
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_bounded()
    finally:
        text_page.close()
        page.close()
    joined = re.sub(r"[\ufffe\x02]\r?\n?", "", text)  # PDFium's mark for a hyphen at a line's end
    return clean_text(joined)
