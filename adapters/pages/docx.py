"""A Word document to its text: paragraphs parted by blank lines, headings marked, footnotes at the end."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

from adapters.pages.extraction import Extraction, NoText

MAX_PART_BYTES = 30_000_000  # of one part, unpacked; a book has two million
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
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
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as exc:
        raise NoText("a damaged Word document") from exc
    for paragraph in root.iter(f"{_W}p"):
        text = " ".join("".join(_pieces(paragraph)).split(" ")).strip()
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        is_heading = style is not None and (style.get(f"{_W}val") or "").lower().startswith(("heading", "title"))
        if text:
            yield f"# {text}" if is_heading else text


def _pieces(paragraph: etree._Element) -> Iterator[str]:
    for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br"):
        yield node.text or "" if node.tag == f"{_W}t" else " "
