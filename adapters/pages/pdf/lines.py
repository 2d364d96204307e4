"""The lines of a PDF page as pdfium finds them, with where they stand and in what type.

A line ends where pdfium says so, and where a gap as wide as a gutter parts two columns.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.pages.extraction import NoText

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

GUTTER_EM = 1.5  # of the type size; word spaces stay below one, also where a line is stretched
CELL_GAP_EM = 0.8  # narrower gaps part words, also where a line is stretched; LaTeX parts columns by 1.2
_MONO = re.compile(r"courier|mono|typewriter|consol|cmtt|menlo|inconsolata|code", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|-bd\b", re.IGNORECASE)
_RAISED = 0.25  # of the type size above the line; superscripts are raised by a third
MAX_CHARS_A_PAGE = 60_000  # a dense page of a paper has 8,000
_NOTES = frozenset("abcdefgh")
SCAN_SHARE = 0.5  # of a page's area; scanners fill it, cut margins leave less
MAX_STAMP_CHARS = 200  # a library's stamp or address on a scan that has no text of its own
_FONT_NAME_BYTES = 128


@dataclass(frozen=True)
class Cell:
    """What stands in a line between two wide gaps: a column's entry in a table, or nothing of the kind."""

    text: str
    left: float
    right: float


@dataclass(frozen=True)
class Line:
    """`left`, `right` and `bottom` are points from the page's lower left corner; `size` is that of the type.

    `cells` are its parts where gaps wider than a word's stand in it, () for none; `is_row` says that it is a row of a
    table, whose `text` is Markdown.
    """

    text: str
    left: float
    right: float
    bottom: float
    size: float
    is_bold: bool = False
    is_mono: bool = False
    cells: tuple[Cell, ...] = ()
    is_row: bool = False


@dataclass(frozen=True)
class ReadPage:
    """The lines in the file's own order; `width` and `height` in points, 0 of a broken page.

    `is_cut` where the page holds more than what is read of one; `is_scan` where it is a picture without text, and
    `by_ocr` where a program has read that.
    """

    lines: tuple[Line, ...] = ()
    width: float = 0.0
    height: float = 0.0
    is_cut: bool = False
    is_scan: bool = False
    by_ocr: bool = False


@dataclass(frozen=True)
class _Char:
    text: str
    index: int
    left: float
    right: float
    bottom: float


def open_pdf(body: bytes) -> closing[PdfDocument]:
    """To be closed by whoever opens it. Raises `NoText`."""
    import pypdfium2

    try:
        return closing(pypdfium2.PdfDocument(body))
    except pypdfium2.PdfiumError as exc:
        raise NoText(f"not a readable PDF: {exc}") from exc


def read_page(document: object, number: int) -> ReadPage:
    """Page `number` (from 0). Raises `PdfiumError`."""
    import pypdfium2.raw as pdfium

    with closing(document[number]) as page, closing(page.get_textpage()) as text_page:  # type: ignore[index]
        width, height = page.get_size()
        lines = tuple(line for run in _runs(text_page) for line in _split_at_gutters(text_page, run))
        is_scan = sum(len(line.text) for line in lines) <= MAX_STAMP_CHARS and is_picture(page, width * height)
        is_cut = pdfium.FPDFText_CountChars(text_page) > MAX_CHARS_A_PAGE
        return ReadPage(lines, width, height, is_cut, is_scan)


def is_picture(page: PdfPage, area: float) -> bool:
    """Whether pictures cover most of the page."""
    return sum(covered for covered, _ in pictures_of(page)) >= SCAN_SHARE * area > 0


def pictures_of(page: PdfPage) -> Iterator[tuple[float, int]]:
    """Each as often as it is drawn: the area it covers, in points², and its own pixels."""
    import pypdfium2.raw as pdfium

    sides, size = [ctypes.c_float() for _ in range(4)], [ctypes.c_uint() for _ in range(2)]
    for drawn in page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,)):
        if pdfium.FPDFPageObj_GetBounds(drawn, *sides) and pdfium.FPDFImageObj_GetImagePixelSize(drawn, *size):
            left, bottom, right, top = (side.value for side in sides)
            yield (right - left) * (top - bottom), size[0].value * size[1].value


def _runs(text_page: object) -> Iterator[list[_Char]]:
    import pypdfium2.raw as pdfium

    box = [ctypes.c_double() for _ in range(4)]
    run: list[_Char] = []
    for index in range(min(pdfium.FPDFText_CountChars(text_page), MAX_CHARS_A_PAGE)):
        code = pdfium.FPDFText_GetUnicode(text_page, index)
        if code in (10, 13):
            if run:
                yield run
            run = []
            continue
        if pdfium.FPDFText_GetCharBox(text_page, index, *box):
            left, right, bottom, _ = (value.value for value in box)
            run.append(_Char(chr(code), index, left, right, bottom))
    if run:
        yield run


def _split_at_gutters(text_page: object, run: list[_Char]) -> Iterator[Line]:
    size = _size(text_page, [char for char in run if not char.text.isspace()] or run)  # a space of pdfium's own has 1
    part: list[_Char] = []
    reach = run[0].left
    for char in run:
        if part and not char.text.isspace() and char.left - reach > GUTTER_EM * size:
            yield from _line(text_page, part)
            part = []
        part.append(char)
        reach = char.right if not char.text.isspace() else reach
    yield from _line(text_page, part)


def _line(text_page: object, chars: list[_Char]) -> Iterator[Line]:
    import pypdfium2.raw as pdfium

    seen = [char for char in chars if not char.text.isspace()]
    if not seen:
        return
    bottom = sorted(char.bottom for char in seen)[len(seen) // 2]  # of sub- and superscripts most letters are neither
    size = _size(text_page, seen)
    text = _with_raised(chars, bottom + _RAISED * size).strip()
    name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
    pdfium.FPDFText_GetFontInfo(text_page, seen[0].index, name, _FONT_NAME_BYTES, ctypes.c_int())
    font = name.value.decode("utf-8", "replace")
    is_bold = bool(_BOLD.search(font)) or pdfium.FPDFText_GetFontWeight(text_page, seen[0].index) >= 600
    yield Line(
        text,
        min(char.left for char in seen),
        max(char.right for char in seen),
        bottom,
        size,
        is_bold,
        bool(_MONO.search(font)),
        tuple(_cells(chars, size)),
    )


def _cells(chars: list[_Char], size: float) -> list[Cell]:
    parts: list[list[_Char]] = []
    reach = chars[0].left
    for char in chars:
        if char.text.isspace():
            if parts:
                parts[-1].append(char)
            continue
        if not parts or char.left - reach > CELL_GAP_EM * size:
            parts.append([])
        parts[-1].append(char)
        reach = char.right
    if len(parts) < 2:
        return []
    return [
        Cell("".join(char.text for char in part).strip(), part[0].left, max(char.right for char in part))
        for part in parts
    ]


def _with_raised(chars: list[_Char], above: float) -> str:
    """The text; raised digits, of a note or a power, do not run into the word or the number before them, nor does a
    raised letter, of an affiliation.
    """
    pieces: list[str] = []
    last: _Char | None = None
    for char in chars:
        is_raised = (char.text.isdecimal() or char.text in _NOTES) and char.bottom > above
        if is_raised and last is not None and last.bottom <= above and last.text.isalnum():
            pieces.append("^" if last.text.isdecimal() else " ")
        pieces.append(char.text)
        last = char
    return "".join(pieces)


def _size(text_page: object, chars: list[_Char]) -> float:
    import pypdfium2.raw as pdfium

    return float(pdfium.FPDFText_GetFontSize(text_page, chars[len(chars) // 2].index)) or 10.0
