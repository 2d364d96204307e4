"""A page of a PDF as a picture, with a sentence marked where it stands. Runs in a worker process."""

from __future__ import annotations

import ctypes
import io
import subprocess
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.pages.extraction import NoText
from adapters.pages.pdf.lines import MAX_CHARS_A_PAGE, is_picture
from adapters.pages.pdf.ocr import ocr_words

if TYPE_CHECKING:
    from PIL import Image

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

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as exc:
        raise NoText(f"not a readable PDF: {exc}") from exc
    with closing(document):
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
