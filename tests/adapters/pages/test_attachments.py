"""Files that come with a question, read by the real worker processes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator

import pytest

from adapters.pages.workers import AttachedFiles, ExtractionWorkers
from core.model.job import MAX_ATTACHMENT_BYTES, AttachmentUnreadable
from tests.adapters.pages.test_workers import SLOW


def pdf_of(*pages: str) -> bytes:
    """A PDF with one line of text a page, as plain as the format allows (ISO 32000-1)."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents {5 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode()
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}{trailer}".encode()


@pytest.fixture
async def files() -> AsyncIterator[AttachedFiles]:
    workers = ExtractionWorkers(count=1, limit_s=3.0)
    yield AttachedFiles(workers)
    await workers.aclose()


async def test_every_readable_kind_gives_its_text(files: AttachedFiles) -> None:
    """By its label, by its bytes, or by its name; a PDF with its pages apart."""
    pdf = await files.read(
        "C:\\papers\\tower.pdf", "application/octet-stream", pdf_of("Page one says this.", "Fastnet")
    )
    markdown = await files.read("notes.md", "application/octet-stream", b"# Notes\n\nThe tower is 54 m tall.")
    text = await files.read("log.txt", "text/plain; charset=latin-1", "Größe: 54 m".encode("latin-1"))
    page = await files.read("page.html", "", b"<html><title>T</title><body><p>The tower is 54 m.</p></body></html>")

    assert (pdf.name, pdf.text.split("\f")[1].strip()) == ("tower.pdf", "Fastnet")
    assert (markdown.title, "54 m tall" in markdown.text) == ("Notes", True)
    assert text.text == "Größe: 54 m"
    assert "The tower is 54 m." in page.text


@pytest.mark.parametrize(
    ("name", "label", "content", "sentence"),
    [
        ("empty.txt", "text/plain", b"", "I could not read empty.txt: it is empty."),
        (
            "big.txt",
            "text/plain",
            b"x" * (MAX_ATTACHMENT_BYTES + 1),
            "I could not read big.txt: it is larger than 10 MB.",
        ),
        (
            "cat.png",
            "image/png",
            b"\x89PNG\r\n\x1a\n",
            "I could not read cat.png: it is not one of the kinds I read "
            "(PDF, Word (.docx), text, Markdown, BibTeX, RIS, YAML, JSON and HTML).",
        ),
        (
            "fake.pdf",
            "application/pdf",
            b"MZ not a pdf",
            "I could not read fake.pdf: it is not one of the kinds I read "
            "(PDF, Word (.docx), text, Markdown, BibTeX, RIS, YAML, JSON and HTML).",
        ),
        (
            "broken.pdf",
            "application/pdf",
            b"%PDF-1.4\nnothing",
            "I could not read broken.pdf: it is damaged.",
        ),
        (
            "blank.pdf",
            "application/pdf",
            pdf_of("", ""),
            "I could not read blank.pdf: its pages are empty.",
        ),
        ("blank.txt", "text/plain", b" \n ", "I could not read blank.txt: it holds no readable text."),
        ("../../etc/\x1b[31mx\n.bin", "", b"\x00\x01", None),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith((".txt", ".pdf", ".png")) else "",
)
async def test_what_cannot_be_read_is_one_clear_sentence(
    files: AttachedFiles, name: str, label: str, content: bytes, sentence: str | None
) -> None:
    """It names the file, without its path and without anything that acts on a terminal."""
    with pytest.raises(AttachmentUnreadable) as refused:
        await files.read(name, label, content)

    said = refused.value.user_message
    assert said == sentence or (sentence is None and said.startswith("I could not read x .bin: it is not"))


async def test_a_file_that_takes_too_long_costs_only_itself(files: AttachedFiles) -> None:
    """Its worker is killed; the next file is read."""
    with pytest.raises(AttachmentUnreadable, match="too long"):
        await files.read("slow.html", "text/html", SLOW.body)

    assert (await files.read("a.txt", "text/plain", b"Cats purr.")).text == "Cats purr."


@pytest.mark.parametrize("label", ["application/x-yaml", "application/json", "text/plain", ""])
async def test_yaml_keeps_its_lines_and_indentation(files: AttachedFiles, label: str) -> None:
    """What a section is written about comes as it was attached, whatever the platform calls it."""
    text = "concept:\n  description: >\n    Tides\n    and wind.\n  open_questions:\n    - How much?"

    read = await files.read("paper.yaml", label, text.encode())

    assert read.text == text


COMPATIBLE = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def docx_of(**parts: str) -> bytes:
    """A Word document with these parts of `word/`, as plain as the format allows (ECMA-376, 17)."""
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, body in parts.items():
            names = f'xmlns:w="{name}" xmlns:mc="{COMPATIBLE}"'
            archive.writestr(f"word/{part}.xml", f"<w:document {names}><w:body>{body}</w:body></w:document>")
    return packed.getvalue()


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    runs = "".join(f"<w:r><w:t>{run}</w:t></w:r>" for run in text.split("|"))
    return f"<w:p>{named}{runs}</w:p>"


async def test_a_word_document_gives_its_paragraphs_and_headings(files: AttachedFiles) -> None:
    """Words that lie in several runs are whole, notes stand at the end."""
    body = (
        paragraph("Bathing", "Heading1")
        + paragraph("Mo|od rises |[1].")
        + paragraph("")
        + paragraph("References", "Heading1")
    )
    content = docx_of(document=body, footnotes=paragraph("Lund, B. (2019)."))

    read = await files.read("thesis.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml", content)

    assert read.text == "# Bathing\n\nMood rises [1].\n\n# References\n\nLund, B. (2019)."


async def test_what_stands_in_a_text_box_or_was_moved_is_read_once(files: AttachedFiles) -> None:
    """Word writes a box twice, for new and for old programs, within a paragraph; and a move at both its ends."""
    box = f"<w:txbxContent>{paragraph('Boxed.')}</w:txbxContent>"
    both = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    left, come = (f"<w:p><w:{at}><w:r><w:t>Moved.</w:t></w:r></w:{at}></w:p>" for at in ("moveFrom", "moveTo"))
    body = f"{left}<w:p><w:r><w:t>Around </w:t>{both}<w:t>it.</w:t></w:r></w:p>{come}"

    read = await files.read("thesis.docx", "", docx_of(document=body))

    assert read.text == "Around it.\n\nBoxed.\n\nMoved."


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"PK\x03\x04 broken", id="no archive"),
        pytest.param(docx_of(other="x"), id="no document in it"),
        pytest.param(docx_of(document=paragraph("&lol;")), id="an entity"),
        pytest.param(docx_of(document="<w:p>" + " " * 40_000_000), id="a bomb"),
        pytest.param(b"MZ", id="a program"),
    ],
)
async def test_a_word_document_that_is_none_is_refused(files: AttachedFiles, content: bytes) -> None:
    with pytest.raises(AttachmentUnreadable, match=r"attachment refused"):
        await files.read("thesis.docx", "", content)


@pytest.mark.parametrize("label", ["application/x-bibtex", "application/x-research-info-systems", "text/plain", ""])
async def test_a_list_of_references_keeps_its_lines(files: AttachedFiles, label: str) -> None:
    text = "TY  - JOUR\nTI  - Tides\nER  - "

    assert (await files.read("list.ris", label, text.encode())).text == text.rstrip()
