"""A cited page as a picture: the sentence is marked where it stands, and no file hurts whoever draws it."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator

import pytest
from PIL import Image

from adapters.pages.papers import PagePictures
from adapters.pages.pdf import extract_pdf
from adapters.pages.pdf.picture import paint_page
from core.library.ingest import PaperUnreadable
from tests.adapters.pages.pdf_files import pdf_of
from tests.pdfs import make_pdf
from tests.shared_data import shared_data

PAPER = make_pdf(
    ["The tides rise and fall twice a day."],
    ["An introduction that nobody cites.", "The gravity of the moon causes the", "tides of the oceans.", "The end."],
)
QUOTE = "The gravity of the moon causes the tides of the oceans."


def marked_rows(png: bytes) -> list[int]:
    """Rows of the picture, in points from the top, that have yellow in them."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    yellow = [y for y in range(picture.height) if any(is_yellow(picture.getpixel((x, y))) for x in range(80, 700, 9))]
    return sorted({round(y * 300 / picture.height) for y in yellow})


def is_yellow(pixel: object) -> bool:
    red, green, blue = pixel  # type: ignore[misc]
    return bool(red > 230 and green > 200 and blue < 150)


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param(QUOTE, id="as written, over two lines"),
        pytest.param("**The gravity** of the moon causes the tides of the o-\nceans.", id="with markup and a hyphen"),
        pytest.param("The gravity of the moon c\u2019auses these tides of the oceans.", id="read a little otherwise"),
    ],
)
def test_the_sentence_is_marked_where_it_stands(quote: str) -> None:
    """Two lines of four, from 240 points down to 220: what stands above and below is left as it is."""
    rows = marked_rows(paint_page(PAPER, 2, quote))

    assert rows, "nothing is marked"
    assert 40 <= rows[0] <= 52
    assert 78 <= rows[-1] <= 90


@pytest.mark.parametrize("quote", ["", "Yeast ferments sugar to alcohol when there is no oxygen at all.", "…"])
def test_what_does_not_stand_there_is_not_marked(quote: str) -> None:
    """A page without its sentence is shown as it is, rather than with a lie on it."""
    assert marked_rows(paint_page(PAPER, 2, quote)) == []


def test_the_row_of_a_table_is_marked_alone() -> None:
    """A citation of a row, as the text has it, marks that row of the page and none beside it."""
    rows = [("Harbour", "Height", "Wind"), ("Brest", "6.1", "12"), ("Fundy", "16.3", "8"), ("Kiel", "0.2", "9")]
    lines = [
        (60 + 90 * at, 700 - 20 * row, 10, entry)
        for row, entries in enumerate(rows)
        for at, entry in enumerate(entries)
    ]
    body = pdf_of([lines])
    quote = next(line for line in extract_pdf(body).text.splitlines() if "Fundy" in line)

    marked = marked_rows(paint_page(body, 1, quote))

    from_top = (800 - (700 - 40)) * 300 / 800  # of a page of 800 points, in the picture's 300
    assert quote == "| Fundy | 16.3 | 8 |"
    assert marked
    assert from_top - 6 <= marked[0] <= marked[-1] <= from_top + 3


@pytest.fixture
async def pictures() -> AsyncIterator[PagePictures]:
    painter = PagePictures()
    yield painter
    await painter.aclose()


async def test_it_is_drawn_in_a_process_that_can_be_killed(pictures: PagePictures) -> None:
    """A file that is none and a page that is not there get a sentence, and the next page is drawn as ever."""
    for file, page in ((b"%PDF-1.7\nnonsense", 1), (PAPER, 3)):
        with pytest.raises(PaperUnreadable, match="not drawn"):
            await pictures.paint(file, page, "")

    png = await pictures.paint(PAPER, 2, QUOTE)

    assert Image.open(io.BytesIO(png)).size == (1100, 825)
    assert await pictures.paint(PAPER, 2, QUOTE) is png


@pytest.mark.slow
def test_every_gold_sentence_is_found_on_its_page() -> None:
    """744 sentences of published papers, one and two columns: at least 99 % are marked on the page they stand on."""
    import pypdfium2

    from adapters.pages.pdf.picture import _boxes_of, _letters

    rows = [json.loads(line) for line in shared_data("papers", "page_gold.jsonl").read_text("utf-8").splitlines()]
    papers: dict[str, pypdfium2.PdfDocument] = {}
    found = 0
    for row in rows:
        name = row["paper"]
        if name not in papers:
            papers[name] = pypdfium2.PdfDocument(shared_data("papers", f"{name}.pdf").read_bytes())
        letters = list(_letters(papers[name][row["page"] - 1].get_textpage()))
        found += bool(_boxes_of(letters, row["sentence"]))

    assert found >= 0.99 * len(rows)
