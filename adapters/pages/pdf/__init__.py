"""Text of PDF files page by page, with pdfium: Markdown in reading order."""

from __future__ import annotations

from contextlib import closing

from adapters.pages.extraction import MAX_TEXT_CHARS, Extraction, NoText
from adapters.pages.pdf.layout import lay_out
from adapters.pages.pdf.lines import Line, read_lines
from adapters.pages.pdf.markdown import to_markdown

PAGE_BREAK = "\f"  # the n-th page is `text.split("\f")[n - 1]`
_MAX_PAGES = 2_000


def extract_pdf(body: bytes, *, max_chars: int = MAX_TEXT_CHARS) -> Extraction:
    """The text layer as Markdown, pages parted by form feeds; behind a single one stands one too. Raises `NoText`."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as exc:
        raise NoText(f"not a readable PDF: {exc}") from exc
    with closing(document):
        own_labels = [document.get_page_label(number) for number in range(min(len(document), _MAX_PAGES))]
        metadata = document.get_metadata_dict(skip_empty=True)
        pages: list[tuple[list[Line], float, float]] = []
        room = max_chars
        for number in range(min(len(document), _MAX_PAGES)):
            pages.append(_read_page(document, number))
            room -= sum(len(line.text) + 1 for line in pages[-1][0])
            if room <= 0:
                break
    paper = to_markdown(lay_out(pages))
    text = PAGE_BREAK.join(page.replace(PAGE_BREAK, "") for page in paper.pages)[:max_chars].rstrip()
    if PAGE_BREAK not in text:
        text += PAGE_BREAK  # else a document of one page with text would seem to have none
    if not text.strip(PAGE_BREAK).strip():
        raise NoText("a PDF without a text layer")
    labels = tuple(printed or own for printed, own in zip(paper.labels, own_labels, strict=False))
    title = " ".join(metadata.get("Title", "").split()) or paper.title or _first_line(text)
    # The creation date is not used: it is when the file was made, often years after publication.
    return Extraction(title, text, metadata.get("Author") or None, labels=labels)


def _read_page(document: object, number: int) -> tuple[list[Line], float, float]:
    import pypdfium2

    try:
        return read_lines(document, number)
    except pypdfium2.PdfiumError:
        return [], 0.0, 0.0  # one broken page keeps its place, so that the numbers of the others stay true


def _first_line(text: str) -> str:
    return next((line.strip("# ") for line in text.splitlines() if line.strip()), "")[:200]
