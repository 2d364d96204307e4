"""Scanned papers: read by OCR where it is installed, marked as such, and told where it is not."""

from __future__ import annotations

import asyncio
import io
import os
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pypdfium2
import pytest
import pytest_asyncio
from PIL import Image

from adapters.pages.extraction import MAX_PAPER_CHARS, PageDocument, find_tesseract
from adapters.pages.papers import PaperFiles
from adapters.pages.pdf import picture
from adapters.pages.pdf.picture import paint_page
from adapters.pages.workers import ExtractionWorkers
from core.library.ingest import PaperUnreadable
from core.model.source import READ_BY_OCR
from tests.adapters.durable.tables import until
from tests.adapters.pages.pdf_files import column, file_of, pdf_of
from tests.adapters.pages.test_picture import marked_rows

needs_tesseract = pytest.mark.skipif(not find_tesseract(), reason="no tesseract: apt-get install tesseract-ocr")
SENTENCE = "The tidal range of the estuary was 6.1 metres in March."
PACKED = "/Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream"
TITLE = (60.0, 740.0, 24.0, "Tides in Long Estuaries")
FIRST = [TITLE, *column(["Anna Berg and Tom Reed", "We measured how far the water rises.", SENTENCE], size=13)]
SECOND = column(["The second page of this report is about wind.", "It blew from the west for nine days."], size=13)


def scan_of(pages: Sequence[Sequence[tuple[float, float, float, str]]], *, sound: int = 0) -> bytes:
    """Pages as a scanner gives them, pictures of 150 dots an inch; the first `sound` keep their text."""
    with closing(pypdfium2.PdfDocument(pdf_of(pages))) as drawn:
        pictures = [drawn[at].render(scale=150 / 72).to_pil().convert("L") for at in range(len(pages))]
        written = io.BytesIO()
        pictures[0].save(written, "PDF", save_all=True, append_images=pictures[1:], resolution=150)
        if not sound:
            return written.getvalue()
        with (
            closing(pypdfium2.PdfDocument(written.getvalue())) as scanned,
            closing(pypdfium2.PdfDocument.new()) as both,
        ):
            both.import_pages(drawn, list(range(sound)))
            both.import_pages(scanned, list(range(sound, len(pages))))
            mixed = io.BytesIO()
            both.save(mixed)
            return mixed.getvalue()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def files() -> AsyncIterator[PaperFiles]:
    opened = PaperFiles(workers=1)
    yield opened
    await opened.aclose()


@needs_tesseract
@pytest.mark.asyncio(loop_scope="module")
async def test_a_scan_is_read_page_by_page_and_marked_as_read_by_ocr(files: PaperFiles) -> None:
    read = await files.read("scan.pdf", scan_of([FIRST, SECOND]))

    first, second = read.text.split("\f")
    assert read.title == "Tides in Long Estuaries"
    assert first.startswith(READ_BY_OCR)
    assert SENTENCE in first
    assert second.startswith(READ_BY_OCR)
    assert "It blew from the west for nine days." in second
    assert (len(read.labels), read.gap) == (2, "")


@needs_tesseract
@pytest.mark.asyncio(loop_scope="module")
async def test_only_the_scanned_pages_of_a_file_are_read_by_ocr(files: PaperFiles) -> None:
    read = await files.read("mixed.pdf", scan_of([FIRST, SECOND], sound=1))

    first, second = read.text.split("\f")
    assert SENTENCE in first
    assert READ_BY_OCR not in first
    assert second.startswith(READ_BY_OCR)
    assert "nine days" in second
    assert read.gap == ""


@pytest.mark.asyncio(loop_scope="module")
async def test_a_scan_without_ocr_says_what_would_help() -> None:
    """A whole scan is refused; of a file with text too, the pages that were not read are named."""
    files = PaperFiles(workers=1, find_ocr=lambda: "")
    try:
        with pytest.raises(PaperUnreadable) as refused:
            await files.read("scan.pdf", scan_of([FIRST]))
        mixed = await files.read("mixed.pdf", scan_of([FIRST, SECOND], sound=1))
    finally:
        await files.aclose()

    assert "it is a scan, and no OCR is installed to read it" in refused.value.user_message
    assert "tesseract-ocr" in refused.value.user_message
    assert mixed.gap.startswith("page 2 is a scan and was not read (")


@needs_tesseract
async def test_a_page_that_draws_a_picture_over_and_over_costs_no_time_and_is_named(files: PaperFiles) -> None:
    """Each takes a third of a second; the pages around it are read."""
    sheet, draws = zlib.compress(b"\x80" * 2480 * 3508), zlib.compress(b"q 600 0 0 800 0 0 cm /S Do Q\n" * 20_000)
    told = f"BT /F 13 Tf 60 700 Td ({SENTENCE}) Tj ET".encode()
    named = "/Resources << /Font << /F 6 0 R >> /XObject << /S 5 0 R >> >>"
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] {named}"
    drawn = f"<< /Subtype /Image /Width 2480 /Height 3508 /ColorSpace /DeviceGray /BitsPerComponent 8 {PACKED}"
    flood = file_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 2 /Kids [3 0 R 4 0 R] >>",
            f"{page} /Contents 7 0 R >>".encode(),
            f"{page} /Contents 8 0 R >>".encode(),
            drawn.encode() % (len(sheet), sheet),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(told), told),
            f"<< {PACKED}".encode() % (len(draws), draws),
        ]
    )

    read = await files.read("flood.pdf", flood)

    assert "6.1 metres in March" in read.text
    assert read.gap.startswith("page 2 is a scan and was not read")


@needs_tesseract
def test_the_cited_sentence_is_marked_on_the_picture_of_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "OCR_S", 100.0)  # a busy machine takes longer, and shows the page without the mark

    rows = marked_rows(paint_page(scan_of([FIRST]), 1, SENTENCE))

    line = (800 - (700 - 2 * 1.2 * 13)) * 300 / 800  # the third line's foot, of 800 points, in the picture's 300
    assert rows, "nothing is marked"
    assert line - 8 <= rows[0] <= rows[-1] <= line + 4


def _reading_children_of(pid: int) -> list[int]:
    """Those that read a picture; one that only lists its languages ends by itself."""
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        return [int(child) for child in children if b"stdin" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return []


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


@needs_tesseract
@pytest.mark.skipif(not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(), reason="needs Linux")
async def test_ocr_ends_with_the_parser_that_is_killed() -> None:
    """A scan may keep tesseract busy for minutes: nobody's cancelled upload leaves it behind."""
    noise = Image.effect_noise((2400, 3200), 90)  # what it finds hardest
    written = io.BytesIO()
    noise.save(written, "PDF", save_all=True, append_images=[noise] * 9, resolution=300)
    pool = ExtractionWorkers(count=1, limit_s=100.0)
    document = PageDocument("paper:noise", "pdf", "", written.getvalue(), MAX_PAPER_CHARS, ocr_s=90.0)
    reading = asyncio.create_task(pool.extract(document))
    children: list[int] = []

    def reads() -> list[int]:
        children[:] = [child for pid in pool.pids for child in _reading_children_of(pid)]
        return children

    await until(reads, within_s=90.0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await pool.aclose()

    await until(lambda: not any(_is_running(child) for child in children))
