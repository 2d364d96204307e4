"""Papers for the library: real ones are read whole, hostile ones end in a sentence, and references lead to files."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from ipaddress import ip_network
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from adapters.pages import WebPages
from adapters.pages.extract import extract
from adapters.pages.extraction import PageDocument
from adapters.pages.fetch import FetchLimits
from adapters.pages.papers import PaperFiles, PapersElsewhere, record_of
from core.library.ingest import FoundRecords, PaperRecord, PaperUnreadable
from core.model.works import OpenCopy, WorkIds, WorkRecord
from core.text.chunking import chunk_text
from tests.adapters.pages.pdf_files import (
    bomb,
    column,
    encrypted,
    form_loop,
    huge_image,
    nested,
    page_tree_loop,
    pdf_of,
)
from tests.loopback.web_world import PageSpec, WebWorld
from tests.shared_data import SHARED, shared_data

RECORD = PaperRecord(id="2401.00001v2", title="Tides and the Moon", url="https://arxiv.org/abs/2401.00001v2")
LANDING = """<html><head><title>A journal</title>
<meta name="citation_title" content="Tides &amp; the Moon">
<meta name="citation_author" content="Smith, J."><meta content='Doe, A.' name='citation_author'>
<meta name="citation_publication_date" content="2024/1/2"><meta name="citation_doi" content="10.5555/tides">
<meta name="citation_pdf_url" content="/files/tides.pdf"></head><body>Read it.</body></html>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def files() -> AsyncIterator[PaperFiles]:
    opened = PaperFiles(workers=1)
    yield opened
    await opened.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages() -> AsyncIterator[WebPages]:
    opened = WebPages(allow=[ip_network("127.0.0.0/8")], limits=FetchLimits(per_host_per_second=1000.0), workers=1)
    yield opened
    await opened.aclose()


def blank_pdf(pages: int = 1) -> bytes:
    import pypdfium2

    document = pypdfium2.PdfDocument.new()
    for _ in range(pages):
        document.new_page(300, 400)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


BLANK = blank_pdf()  # the file's id is made by chance, so it is made once


@pytest.mark.asyncio(loop_scope="module")
async def test_a_real_paper_is_read_with_its_pages(files: PaperFiles) -> None:
    """Text page by page, with title and authors as the file has them."""
    papers = {paper["id"]: paper for paper in json.loads(shared_data("papers", "papers.json").read_text("utf-8"))}
    paper = papers["1204.10015"]

    read = await files.read("1204.10015.pdf", shared_data("papers", "1204.10015.pdf").read_bytes())

    assert read.title == paper["title"]
    assert read.text.count("\f") + 1 == paper["pages"] == len(read.labels)
    assert paper["authors"][0] in read.authors
    assert read.labels[:3] == ("1", "2", "3")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_paper_of_one_page_has_a_page(files: PaperFiles) -> None:
    """S000-13: its sentences are cited with page 1, unlike those of a Markdown file, which has none."""
    read = await files.read("0610.10033.pdf", shared_data("papers", "0610.10033.pdf").read_bytes())

    chunks = chunk_text(read.text)

    assert read.labels == ("1",)
    assert {chunk.page for chunk in chunks} == {1}


@pytest.mark.asyncio(loop_scope="module")
async def test_markdown_is_read_like_a_paper(files: PaperFiles) -> None:
    """S001-02: it has no pages."""
    read = await files.read("notes.md", b"# Tides\n\n## Methods\n\nWe measured.")

    assert (read.title, read.labels) == ("Tides", ())
    assert "## Methods" in read.text


@pytest.mark.parametrize(
    ("head", "authors"),
    [
        pytest.param('---\ntitle: "Tides"\nauthor: Jane Smith\nyear: 2024\n---\n', "Jane Smith", id="a line each"),
        pytest.param(
            "---\ntitle: Tides\nauthors:\n  - Jane Smith\n  - Ann Doe\n---\n", "Jane Smith; Ann Doe", id="a list"
        ),
    ],
)
async def test_markdown_is_named_by_its_front_matter(files: PaperFiles, head: str, authors: str) -> None:
    """Title and authors stand there; it is no text of the paper. Below a rule that holds none all is text."""
    named = await files.read("tides.md", f"{head}# Abstract\n\nThe Moon raises them.".encode())
    ruled = await files.read("tides.md", b"---\nThe Moon raises them.\n---\nThe Sun helps.")

    assert (named.title, named.authors, named.text) == ("Tides", authors, "# Abstract\n\nThe Moon raises them.")
    assert "The Moon raises them." in ruled.text


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        pytest.param("a.pdf", b"", "a.pdf cannot be read: it is empty.", id="empty"),
        pytest.param("a.pdf", b"%PDF-1.7\nnonsense", "a.pdf cannot be read: it is damaged.", id="broken"),
        pytest.param(
            "a.pdf", b"<html>login</html>", "a.pdf cannot be read: it is neither a PDF nor Markdown.", id="html"
        ),
        pytest.param(
            "a.zip", b"PK\x03\x04\x00", "a.zip cannot be read: it is neither a PDF nor Markdown.", id="archive"
        ),
        pytest.param("a.pdf", blank_pdf(), "a.pdf cannot be read: its pages are empty.", id="blank"),
        pytest.param(
            "password.pdf", b"%PDF-1.7\nnonsense", "password.pdf cannot be read: it is damaged.", id="a misleading name"
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_no_paper_gets_one_sentence(files: PaperFiles, name: str, content: bytes, sentence: str) -> None:
    with pytest.raises(PaperUnreadable) as refused:
        await files.read(name, content)

    assert refused.value.user_message == sentence


@pytest.mark.asyncio(loop_scope="module")
async def test_twenty_thousand_pages_are_read_to_a_bound_and_said_to_be(files: PaperFiles) -> None:
    """What is cut is bounded, whatever the file promises; its pages are those that were read."""
    read = await files.read("long.pdf", pdf_of([[(60, 700, 10, "One line of many.")]] * 20_000))

    assert read.gap == "only the first 2,000 of 20,000 pages were read"
    assert len(read.labels) == read.text.count("\f") + 1 == 2_000


@pytest.mark.parametrize(
    ("max_chars", "gap", "pages"),
    [
        pytest.param(1_200, "only the first 3 of 4 pages were read", 3, id="pages left out"),
        pytest.param(1_990, "its last page was not read to the end", 4, id="a part of the last page left out"),
        pytest.param(2_100, "", 4, id="whole"),
    ],
)
def test_what_there_was_no_room_for_is_said(max_chars: int, gap: str, pages: int) -> None:
    """Each page has 499 characters."""
    body = pdf_of([column(["word " * 25] * 4, size=5)] * 4)

    read = extract(PageDocument("long.pdf", "pdf", "", body, max_chars))

    assert read.gap == gap
    assert len(read.text) <= max_chars
    assert len(read.labels) == read.text.count("\f") + 1 == pages


def test_page_that_holds_more_than_is_read_of_one_is_said() -> None:
    """Two of three pages have 62,500 characters; whoever asks the paper must know that it may lack the answer."""
    crowded, plain = column(["word " * 25] * 500, size=1), column(["A plain page."])

    read = extract(PageDocument("crowded.pdf", "pdf", "", pdf_of([crowded, plain, crowded]), 2_000_000))
    alone = extract(PageDocument("crowded.pdf", "pdf", "", pdf_of([plain, crowded]), 2_000_000))

    assert read.gap == "only the first 60,000 characters of each of the pages 1, 3 were read"
    assert alone.gap == "only the first 60,000 characters of page 2 were read"


@pytest.mark.asyncio(loop_scope="module")
async def test_what_was_not_read_of_long_markdown_is_said(files: PaperFiles) -> None:
    read = await files.read("long.md", b"# Long\n\n" + b"and so on " * 200_001)

    assert read.gap == "only the first 2,000,000 characters were read"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(bomb, "its pages are empty", id="decompression bomb"),
        pytest.param(nested, "its pages are empty", id="nested 200,000 deep"),
        pytest.param(page_tree_loop, "it is damaged: none of its pages can be opened", id="page tree in a loop"),
        pytest.param(huge_image, "it is a scan: its pages are images without text", id="60,000 points square"),
        pytest.param(encrypted, "it is protected by a password", id="password"),
        pytest.param(partial(blank_pdf, 20_000), "its pages are empty", id="20,000 blank pages"),
        pytest.param(
            form_loop, "the reader broke on it, so it is damaged or made to do harm", id="form that draws itself",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
@pytest.mark.asyncio(loop_scope="module")
async def test_a_hostile_paper_gets_its_true_reason_and_the_next_is_read(
    files: PaperFiles, made: Callable[[], bytes], reason: str
) -> None:
    """Bombs, depths and loops cost a sentence, never the reader; what the parser cannot stop, the kernel does."""
    with pytest.raises(PaperUnreadable) as refused:
        await files.read("a.pdf", made())

    assert refused.value.user_message == f"a.pdf cannot be read: {reason}."
    assert (await files.read("after.md", b"# Still here\n\nText.")).title == "Still here"


@pytest.mark.asyncio(loop_scope="module")
async def test_the_files_own_page_numbers_stand_in_for_printed_ones(files: PaperFiles) -> None:
    """A preface in roman numbers, then pages that begin with 7."""
    pages = [column(["What this page says is said here."] * 5) for _ in range(3)]
    labels = "/PageLabels << /Nums [0 << /S /r >> 2 << /S /D /St 7 >>] >>"

    read = await files.read("a.pdf", pdf_of(pages, catalog=labels))

    assert read.labels == ("i", "ii", "7")


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        pytest.param(
            [[(60, 700, 10, "as was shown earlier"), (154, 704, 6, "12"), (163, 700, 10, "in large trials of drugs.")]],
            "as was shown earlier 12 in large trials of drugs.",
            id="a note behind a word",
        ),
        pytest.param(
            [[(60, 700, 10, "The viral load was 10"), (155, 704, 6, "6"), (162, 700, 10, "copies per litre.")]],
            "The viral load was 10^6 copies per litre.",
            id="a power",
        ),
        pytest.param(
            [[(80 + 150 * at, 600 - 14 * row, 9, f"cell {row}{at}") for row in range(3) for at in range(3)]],
            "| cell 00 | cell 01 | cell 02 | |---|---|---| "
            "| cell 10 | cell 11 | cell 12 | | cell 20 | cell 21 | cell 22 |",
            id="a table, row by row",
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_small_things_of_type_are_read_as_they_are_meant(files: PaperFiles, pages, expected: str) -> None:
    read = await files.read("a.pdf", pdf_of(pages))

    assert " ".join(read.text.split()) == expected


@pytest.mark.asyncio(loop_scope="module")
async def test_a_turned_page_is_read(files: PaperFiles) -> None:
    lines = [f"Line {number} of the turned page." for number in range(5)]

    read = await files.read("a.pdf", pdf_of([column(lines)], page="/Rotate 90"))

    assert " ".join(read.text.split()) == " ".join(lines)


HOSTILE = SHARED / "data" / "hostile_sample" / "files"


@pytest.mark.parametrize("path", sorted(HOSTILE.glob("*")) or [HOSTILE], ids=lambda path: path.name)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_hostile_file_neither_hangs_nor_kills_the_reader(files: PaperFiles, path: Path) -> None:
    """Loops, lies about counts, other formats: each is read or refused, and the next file is read as ever."""
    content = shared_data("hostile_sample", "files", path.name).read_bytes()

    with contextlib.suppress(PaperUnreadable):
        await files.read(path.name, content)

    assert (await files.read("after.md", b"# Still here\n\nText.")).title == "Still here"


async def search(query: str, limit: int) -> FoundRecords:
    return FoundRecords((RECORD,), asked=("arxiv",))


async def work_of(doi: str) -> WorkRecord | None:
    return None


async def look_up(arxiv_id: str) -> PaperRecord | None:
    return RECORD if arxiv_id.startswith("2401.00001") else None


@pytest.mark.parametrize(
    ("reference", "name", "record"),
    [
        pytest.param("2401.00001", "2401.00001v2.pdf", RECORD, id="arXiv id"),
        pytest.param("arXiv:2401.00001v2", "2401.00001v2.pdf", RECORD, id="with its prefix"),
        pytest.param("https://arxiv.org/abs/2401.00001", "2401.00001v2.pdf", RECORD, id="arXiv address"),
        pytest.param(
            "doi:10.5555/tides",
            "tides.pdf",
            PaperRecord("", "Tides & the Moon", ("Smith, J.", "Doe, A."), "2024-01-02", "10.5555/tides"),
            id="DOI",
        ),
        pytest.param("/files/tides.pdf", "tides.pdf", PaperRecord(), id="address of a PDF"),
        pytest.param(
            "/10.5555/tides",
            "tides.pdf",
            PaperRecord("", "Tides & the Moon", ("Smith, J.", "Doe, A."), "2024-01-02", "10.5555/tides"),
            id="address of a page about it",
        ),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_reference_leads_to_the_file_and_what_is_known_of_it(
    pages: WebPages, reference: str, name: str, record: PaperRecord
) -> None:
    """By arXiv id, DOI or address; every byte through the one guarded fetcher."""
    pdf = PageSpec(BLANK, content_type="application/pdf")
    world = WebWorld({"/pdf/2401.00001v2": pdf, "/files/tides.pdf": pdf, "/10.5555/tides": PageSpec(LANDING)})
    async with world:
        finder = PapersElsewhere(pages, look_up, work_of, arxiv=world.url(""), doi=world.url(""))

        found = await finder.find(world.url(reference) if reference.startswith("/") else reference)

    assert found.name == name
    assert found.content == BLANK
    expected = record if record.url else PaperRecord(**{**vars(record), "url": found.record.url})
    assert found.record == expected


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("2499.99999", "arXiv does not know it"),
        ("10.5555/gone", "HTTP 404"),
        ("10.5555/bare", "its page names no PDF"),
        ("http://10.0.0.1/a.pdf", "address not allowed"),
        ("http://127.0.0.1:9/a.pdf", "it cannot be fetched"),
        ("the tide paper", "it is no file, arXiv id, DOI or address"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_reference_that_leads_nowhere_says_why(pages: WebPages, reference: str, why: str) -> None:
    async with WebWorld({"/10.5555/bare": PageSpec("<html><head></head><body>Hm.</body></html>")}) as world:
        finder = PapersElsewhere(pages, look_up, work_of, arxiv=world.url(""), doi=world.url(""))

        with pytest.raises(PaperUnreadable) as refused:
            await finder.find(reference)

    assert refused.value.user_message == f"{reference} cannot be read: {why}."


@pytest.mark.asyncio(loop_scope="module")
async def test_a_paper_whose_publisher_gives_none_is_read_from_an_open_copy(pages: WebPages) -> None:
    """Where a registry knows one; what is no PDF is none."""
    pdf, page = PageSpec(BLANK, content_type="application/pdf"), PageSpec("<html><body>Hm.</body></html>")
    async with WebWorld({"/10.5555/bare": page, "/landing": page, "/copy.pdf": pdf}) as world:
        copies = tuple(OpenCopy(world.url(path), is_pdf=True) for path in ("/gone.pdf", "/landing", "/copy.pdf"))
        known = WorkRecord(WorkIds.of(doi="10.5555/bare"), "Tides", ("Ann Roux",), "2020", copies=copies)

        async def at_a_registry(doi: str) -> WorkRecord | None:
            return known if doi == "10.5555/bare" else None

        finder = PapersElsewhere(pages, look_up, at_a_registry, arxiv=world.url(""), doi=world.url(""))
        found = await finder.find("10.5555/bare")

        assert (found.name, found.content) == ("copy.pdf", BLANK)
        assert found.record == PaperRecord("", "Tides", ("Ann Roux",), "2020", "10.5555/bare", world.url("/copy.pdf"))


@given(st.binary(max_size=300))
def test_a_page_that_says_nothing_gives_an_empty_record(noise: bytes) -> None:
    record, pdf = record_of(b"<meta name=citation>" + noise, "https://a.example/")

    assert record == PaperRecord(url="https://a.example/")
    assert pdf == ""


@pytest.mark.parametrize("name", ["passwd", "hosts.conf", "data.csv", "script.py", "page"])
@pytest.mark.asyncio(loop_scope="module")
async def test_only_documents_are_taken(files: PaperFiles, name: str) -> None:
    """A file of settings is text too."""
    with pytest.raises(PaperUnreadable) as refused:
        await files.read(name, b"root:x:0:0:root:/root:/bin/bash\n")

    assert refused.value.user_message == f"{name} cannot be read: it is neither a PDF nor Markdown."


@pytest.mark.parametrize(
    "told",
    ["untitled", "Microsoft Word - draft3.doc", "main.tex", "Untitled-1", "doi:10.1000/1", "A Letter on Wine", ""],
)
def test_the_visible_title_goes_before_what_a_program_left_in_the_file(told: str) -> None:
    """What the file says of itself counts where the first page says it too."""
    body = pdf_of([[(60, 700, 18, "Heights of Tides"), (60, 660, 10, "We measured tides in four harbours of France.")]])

    titles = [
        extract(PageDocument("a.pdf", "pdf", "", with_info(body, f"/Title ({title})"), 2_000_000)).title
        for title in (told, "Heights of  tides")
    ]

    assert titles == ["Heights of Tides", "Heights of tides"]


def with_info(body: bytes, info: str) -> bytes:
    """With a dictionary of what the file says of itself, in an update behind it (ISO 32000, 7.5.6)."""
    start = body.rindex(b"startxref") + len(b"startxref")
    before = int(body[start:].split()[0])
    place = len(body) + 1
    added = f"\n900 0 obj\n<< {info} >>\nendobj\n".encode()
    table = f"xref\n900 1\n{place:010} 00000 n \n".encode()
    root = body[body.rindex(b"/Root") :].split(b"R")[1].split()
    trailer = b"trailer\n<< /Size 901 /Root %s %s R /Info 900 0 R /Prev %d >>\n" % (root[-2], root[-1], before)
    return body + added + table + trailer + b"startxref\n%d\n%%%%EOF\n" % (len(body) + len(added))
