"""One document to its readable text. Runs in a worker process: a hostile document may take any time and memory."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from adapters.pages.body import decode_page
from adapters.pages.extraction import MAX_ENTRIES, Extraction, NoText, PageDocument
from adapters.pages.html import extract_html
from adapters.pages.pdf import extract_pdf

if TYPE_CHECKING:
    from lxml.etree import _Element  # type: ignore[import-untyped]  # lxml has no types

_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"  # C0 and C1 but tab, line feed and form feed
    "\u00ad\u200b\u2060\ufeff\ufffe\uffff"  # invisible: soft hyphen, zero-width space, joiner, BOM, non-characters
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks can show a reader another text than was written
    "\U000e0000-\U000e007f"  # tags: a whole hidden alphabet
    "\ud800-\udfff]"  # lone surrogates cannot be stored
)
_LINE_BREAKS = re.compile(r"\r\n?|\x85|\u2028")
_MANY_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_BLANKS_AT_LINE_END = re.compile(r"[ \t]+(?=\n)")

_SENTENCE = b"A paragraph that is long enough to be taken for the text of a page."
_WARM_UP_PAGES = (  # the second one's text is looked for twice
    b"<html><head><title>Ready</title></head><body><article>" + 6 * (b"<p>" + _SENTENCE) + b"</article></body></html>",
    b"<html><body><table>" + 6 * (b"<tr><td>" + _SENTENCE) + b"</table></body></html>",
)


def extract(document: PageDocument) -> Extraction:
    """The readable text, at most `max_chars` of it, without invisible characters. Raises `NoText`."""
    if document.kind == "pdf":
        found = extract_pdf(document.body, max_chars=document.max_chars, ocr_s=document.ocr_s)
    elif document.kind == "docx":
        found = extract_docx(document.body)
    elif document.kind == "feed":
        found = extract_feed(document.body, document.url)
    else:
        text = decode_page(document.body, document.charset)
        found = extract_html(text, document.url) if document.kind == "html" else _extract_text(text)
    whole = _tidy(found.text)
    text = whole[: document.max_chars].rstrip(" \t\n")
    if not text.strip():
        raise NoText("the page holds no text")
    return Extraction(
        title=" ".join(_CONTROLS.sub("", found.title).split())[:500],
        text=text,
        author=" ".join(_CONTROLS.sub("", found.author).split())[:200] if found.author else None,
        published_on=found.published_on,
        labels=found.labels,
        scans=found.scans,
        ids=found.ids,
        entries=tuple((_CONTROLS.sub("", title), address) for title, address in found.entries),
        gap=found.gap
        or (f"only the first {document.max_chars:,} characters were read" if len(whole) > document.max_chars else ""),
    )


def warm_up() -> None:
    """Import and run everything once, so that the first page is not the slow one."""
    import pypdfium2  # noqa: F401 - loads the library

    for page in _WARM_UP_PAGES:
        extract(PageDocument("http://localhost/", "html", "utf-8", page))


def _extract_text(text: str) -> Extraction:
    """Plain text and Markdown; the title is the first heading or line."""
    if text.count("\x00") > len(text) // 1000:
        raise NoText("binary, not text")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return Extraction(first.lstrip("# ")[:200], text)


def extract_feed(body: bytes, url: str) -> Extraction:
    """RSS or Atom: what its entries say, newest first, and what they are called. Raises `NoText`."""
    import feedparser

    # From a stream, because it would take bytes for a file's name; what it is given it never fetches.
    parsed = feedparser.parse(io.BytesIO(body), response_headers={"content-location": url}, sanitize_html=False)
    entries: dict[str, tuple[str, str]] = {}
    for entry in parsed.entries[:MAX_ENTRIES]:
        title, said = _words_of(entry.get("title", "")), _words_of(entry.get("summary", ""))
        address = str(entry.get("link") or "")
        title = title or said[:200]
        if title:
            entries.setdefault(address or title, (title, said))
    if not entries:
        raise NoText("a feed without entries")
    text = "\n\n".join(f"{title}\n\n{said}".strip() for title, said in entries.values())
    named = tuple((title, address if "://" in address else "") for address, (title, _) in entries.items())
    return Extraction(_words_of(parsed.feed.get("title", "")), text, entries=named)


def _words_of(markup: str) -> str:
    """Of a piece of HTML, as feeds carry it."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        return " ".join(str(html.fromstring(f"<div>{markup}</div>").text_content()).split())
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return ""


def _tidy(text: str) -> str:
    text = _CONTROLS.sub("", _LINE_BREAKS.sub("\n", text))
    text = _MANY_BLANK_LINES.sub("\n\n", _BLANKS_AT_LINE_END.sub("", text))
    return text.strip(" \t\n")


# A Word document: paragraphs parted by blank lines, headings marked, footnotes at the end


MAX_PART_BYTES = 30_000_000  # of one part, unpacked; a book has two million
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PARTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")


def extract_docx(body: bytes) -> Extraction:
    """Raises `NoText` for what is no such document, or unpacks to more than anybody writes."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            parts = [_part(packed, name) for name in _PARTS if name in packed.namelist()]
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as exc:
        raise NoText(f"a damaged Word document: {type(exc).__name__}") from exc
    return Extraction("", "\n\n".join(paragraph for part in parts for paragraph in _paragraphs(part)))


def _part(packed: zipfile.ZipFile, name: str) -> bytes:
    with packed.open(name) as opened:
        content = opened.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise NoText(f"{name} unpacks to more than {MAX_PART_BYTES} bytes")
    return content


def _paragraphs(content: bytes) -> Iterator[str]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as exc:
        raise NoText("a damaged Word document") from exc
    for said_again in [*root.iter(_FALLBACK, f"{_W}moveFrom")]:  # a text box for old programs; what was moved from here
        said_again.getparent().remove(said_again)
    for paragraph in root.iter(f"{_W}p"):
        text = " ".join("".join(_pieces(paragraph)).split(" ")).strip()
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        is_heading = style is not None and (style.get(f"{_W}val") or "").lower().startswith(("heading", "title"))
        if text:
            yield f"# {text}" if is_heading else text


def _pieces(paragraph: _Element) -> Iterator[str]:
    """Its own; a text box in it has paragraphs of its own."""
    for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br"):
        if next(node.iterancestors(f"{_W}p")) is paragraph:
            yield node.text or "" if node.tag == f"{_W}t" else " "
