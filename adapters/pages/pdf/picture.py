"""A page of a PDF as a picture, with a sentence marked where it stands. Runs in a worker process.

Scanned pages are read here, by tesseract, a program of the machine: lines with their places, as `lines.py` finds them.
"""

from __future__ import annotations

import ctypes
import io
import os
import signal
import statistics
import subprocess
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from adapters.pages.extraction import NoText, find_tesseract
from adapters.pages.pdf.lines import (
    CELL_GAP_EM,
    GUTTER_EM,
    MAX_CHARS_A_PAGE,
    Cell,
    Line,
    ReadPage,
    is_picture,
    open_pdf,
    pictures_of,
)

if TYPE_CHECKING:
    from PIL import Image


DPI = 300  # what tesseract is trained on (tessdoc, ImproveQuality)
MAX_SCAN_PX = 5_000  # of a scan that is larger than A3
MAX_DRAWN_PX = 300_000_000  # of a page's pictures, each as often as it is drawn: ten seconds; a scan has 10 million
MIN_CONFIDENCE = 30.0  # 0…100; below it stand stains and the letters of drawings
MAX_LANGUAGES = 4  # each costs as much time as the first
_SAME_SIZE = (0.75, 1.3)  # times the usual height of a line; what is between is of that size
_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


@dataclass(frozen=True)
class Word:
    """In points from the page's lower left corner, as it is looked at; `line` names its line."""

    text: str
    line: tuple[int, int, int]
    left: float
    bottom: float
    right: float
    top: float


def ocr_page(document: object, number: int, read: ReadPage, *, until: float) -> ReadPage:
    """A scan with its lines; as it was where tesseract reads nothing before `until`, by the monotonic clock."""
    return replace(
        read, lines=tuple(_lines(ocr_words(document, number, within_s=until - time.monotonic()))), by_ocr=True
    )


def ocr_words(document: object, number: int, *, within_s: float) -> list[Word]:
    """The words of page `number`, from 0, in reading order. Raises `OSError`, `subprocess.SubprocessError`, and
    `ValueError` for a page that takes too long to draw.
    """
    with closing(document[number]) as page:  # type: ignore[index]
        width, height = page.get_size()
        scale = min(DPI / 72, MAX_SCAN_PX / max(width, height, 1.0))
        sizes = accumulate(max(covered * scale**2, pixels) for covered, pixels in pictures_of(page))
        if any(drawn > MAX_DRAWN_PX for drawn in sizes):
            raise ValueError(f"page {number + 1} draws pictures over and over")
        picture = page.render(scale=scale, may_draw_forms=False, grayscale=True).to_pil().convert("L")
    return list(_words(_read(picture, round(scale * 72), within_s), scale, height))


def _read(picture: Image.Image, dpi: int, within_s: float) -> str:
    """Tesseract's table of words, one a line."""
    program = find_tesseract()
    if not program or within_s <= 0:
        raise OSError("no tesseract" if not program else "no time")
    pgm = b"P5 %d %d 255\n" % picture.size + picture.tobytes()
    command = [program, "stdin", "stdout", "--dpi", str(dpi), "--psm", "3", "-l", _languages(program), "tsv"]
    return _run(command, pgm, within_s).decode("utf-8", "replace")


def _languages(program: str) -> str:
    """Those that are installed, English first."""
    listed = _run([program, "--list-langs"], b"", 10.0).decode("utf-8", "replace").split("\n")[1:]
    known = [name.strip() for name in listed if name.strip() not in ("", "osd", "equ") and "/" not in name]
    return "+".join(sorted(known, key=lambda name: (name != "eng", name))[:MAX_LANGUAGES]) or "eng"


def _run(command: Sequence[str], given: bytes, within_s: float) -> bytes:
    return subprocess.run(  # noqa: S603 -- a fixed program, asked with fixed words
        command,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=within_s,
        check=True,
        env={"OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"},
        preexec_fn=_end_with_parent,  # safe: a parser has one thread
    ).stdout


def _end_with_parent() -> None:
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _words(table: str, scale: float, height: float) -> Iterator[Word]:
    for row in table.splitlines()[1:]:
        fields = row.split("\t")
        if len(fields) != 12 or fields[0] != "5" or float(fields[10]) < MIN_CONFIDENCE or not fields[11].strip():
            continue
        block, paragraph, line = (int(field) for field in fields[2:5])
        left, top, wide, high = (int(field) / scale for field in fields[6:10])
        place = (left, height - top - high, left + wide, height - top)
        yield Word(fields[11].strip(), (block, paragraph, line), *place)


def _lines(words: Sequence[Word]) -> Iterator[Line]:
    """Heights of single lines vary with their letters, so those that are nearly the page's usual one are that."""
    rows = [list(row) for _, row in groupby(words, key=lambda word: word.line)]
    heights = [max(word.top for word in row) - min(word.bottom for word in row) for row in rows]
    usual = statistics.median(heights) if heights else 0.0
    for row, high in zip(rows, heights, strict=True):
        size = usual if _SAME_SIZE[0] * usual <= high <= _SAME_SIZE[1] * usual else high
        for part in _parted(row, GUTTER_EM * size):
            bottom = statistics.median(word.bottom for word in part)
            cells = _cells(part, CELL_GAP_EM * size)
            text = " ".join(word.text for word in part)
            yield Line(text, part[0].left, max(word.right for word in part), bottom, size, cells=cells)


def _parted(row: Sequence[Word], gap: float) -> list[list[Word]]:
    parts: list[list[Word]] = []
    for word in row:
        if not parts or word.left - parts[-1][-1].right > gap:
            parts.append([])
        parts[-1].append(word)
    return parts


def _cells(row: Sequence[Word], gap: float) -> tuple[Cell, ...]:
    parts = _parted(row, gap)
    if len(parts) < 2:
        return ()
    return tuple(Cell(" ".join(word.text for word in part), part[0].left, part[-1].right) for part in parts)


WIDTH_PX = 1_100  # reads well on a page and in a chat
MAX_SIDE_PX = 2_200  # of odd formats: a poster, a strip
MAX_PNG_BYTES = 6_000_000  # chats take 8 MB and more
MIN_FOUND = 80.0  # rapidfuzz, 0…100: a quote whose formulas or hyphens read otherwise; another sentence stays below 60
MIN_RUN = 3  # letters in a row; fewer agree by chance at a window's ends
OCR_S = 30.0  # of a scan whose marked words are looked for; three seconds are usual
_MARK = (255, 224, 102)


@dataclass(frozen=True)
class _Box:
    """In points from the page's lower left corner."""

    left: float
    bottom: float
    right: float
    top: float


def paint_page(body: bytes, page: int, quote: str) -> bytes:
    """PNG of page `page`, from 1. A quote that does not stand there is not marked. Raises `NoText`."""
    import pypdfium2

    with open_pdf(body) as document:
        if not 1 <= page <= len(document):
            raise NoText(f"there is no page {page}")
        try:
            return _paint(document, page - 1, quote)
        except pypdfium2.PdfiumError as exc:
            raise NoText(f"page {page} cannot be drawn: {exc}") from exc


def _paint(document: object, number: int, quote: str) -> bytes:
    from PIL import Image, ImageChops, ImageDraw

    with closing(document[number]) as page:  # type: ignore[index]
        width, height = page.get_size()
        scale = min(WIDTH_PX / max(width, 1.0), MAX_SIDE_PX / max(width, height, 1.0))
        drawn = page.render(scale=scale, may_draw_forms=False).to_pil().convert("RGB")
        with closing(page.get_textpage()) as text_page:
            letters = list(_letters(text_page)) if quote.strip() else []
        boxes = [_on_picture(page, drawn.size, box) for box in _joined(_boxes_of(letters, quote))]
        if quote.strip() and not boxes and is_picture(page, width * height):
            scanned = _joined(_boxes_of(_scanned(document, number), quote))
            boxes = [_scaled(box, scale, height) for box in scanned]
        marked = Image.new("RGB", drawn.size, "white")
        brush = ImageDraw.Draw(marked)
        for place in boxes:
            brush.rectangle(place, fill=_MARK)
    return _png(ImageChops.multiply(drawn, marked))  # like a marker pen: what is black stays black


def _boxes_of(letters: Sequence[tuple[str, _Box]], quote: str) -> list[_Box]:
    """The boxes of the quote's characters, in its order."""
    text = "".join(letter for letter, _ in letters)
    wanted = "".join(_plain(quote))
    start = text.find(wanted)
    first, last = (start, start + len(wanted)) if start >= 0 else _nearest(wanted, text)
    return [box for _, box in letters[first:last]]


def _nearest(wanted: str, text: str) -> tuple[int, int]:
    """Where words stand that read almost so; an empty span when nothing comes near."""
    from rapidfuzz.distance import Indel
    from rapidfuzz.fuzz import partial_ratio_alignment

    found = partial_ratio_alignment(wanted, text, score_cutoff=MIN_FOUND) if len(wanted) <= len(text) else None
    if found is None:
        return 0, 0
    window = text[found.dest_start : found.dest_end]
    blocks = [block for block in Indel.opcodes(wanted, window).as_matching_blocks() if block.size >= MIN_RUN]
    if not blocks:
        return 0, 0
    return found.dest_start + blocks[0].b, found.dest_start + blocks[-1].b + blocks[-1].size


def _letters(text_page: object) -> Iterator[tuple[str, _Box]]:
    """Letters and digits of the page in the order of its text, each with its box; a ligature is several."""
    import pypdfium2.raw as pdfium

    sides = [ctypes.c_double() for _ in range(4)]
    for index in range(min(pdfium.FPDFText_CountChars(text_page), MAX_CHARS_A_PAGE)):
        code = pdfium.FPDFText_GetUnicode(text_page, index)
        if code < 0x21 or code > 0x10FFFF or not pdfium.FPDFText_GetCharBox(text_page, index, *sides):
            continue
        left, right, bottom, top = (side.value for side in sides)
        for letter in _plain(chr(code)):
            yield letter, _Box(left, bottom, right, top)


def _scanned(document: object, number: int) -> list[tuple[str, _Box]]:
    """Letters that OCR reads on a scan, each with its word's box; none where it cannot."""
    try:
        words = ocr_words(document, number, within_s=OCR_S)
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    return [
        (letter, _Box(word.left, word.bottom, word.right, word.top)) for word in words for letter in _plain(word.text)
    ]


def _plain(text: str) -> Iterator[str]:
    """What both the text as read and the page agree on: no markup, no spaces, no hyphens."""
    for char in unicodedata.normalize("NFKC", text).casefold():
        if char.isalnum():
            yield char


def _joined(boxes: Sequence[_Box]) -> list[_Box]:
    """One box a line."""
    lines: list[_Box] = []
    for box in boxes:
        last = lines[-1] if lines else None
        middle = (box.bottom + box.top) / 2
        if last and last.bottom <= middle <= last.top and box.left >= last.left - 1:
            lines[-1] = _Box(
                last.left, min(last.bottom, box.bottom), max(last.right, box.right), max(last.top, box.top)
            )
        else:
            lines.append(box)
    return lines


def _on_picture(page: object, size: tuple[int, int], box: _Box) -> tuple[int, int, int, int]:
    """Pixels, as pdfium itself turns and cuts the page."""
    import pypdfium2.raw as pdfium

    corners: list[tuple[int, int]] = []
    for x, y in ((box.left - 1, box.top + 1.5), (box.right + 1, box.bottom - 1.5)):
        across, down = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, across, down)
        corners.append((across.value, down.value))
    (left, top), (right, bottom) = corners
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def _scaled(box: _Box, scale: float, height: float) -> tuple[int, int, int, int]:
    """Pixels of a place on the page as it is looked at."""
    left, right = (box.left - 1) * scale, (box.right + 1) * scale
    return (
        round(left),
        round((height - box.top - 1.5) * scale),
        round(right),
        round((height - box.bottom + 1.5) * scale),
    )


def _png(picture: Image.Image) -> bytes:
    """In all colours, in fewer or smaller where that would be too large. Raises `NoText`."""
    small = picture.reduce(2)
    for version in (picture, picture.quantize(64), small.quantize(64)):
        written = io.BytesIO()
        version.save(written, "PNG", compress_level=6)
        if written.tell() <= MAX_PNG_BYTES:
            return written.getvalue()
    raise NoText("its picture is too large")
