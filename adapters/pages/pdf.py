"""Text of PDF files page by page, with pdfium."""

from __future__ import annotations

from contextlib import closing

from adapters.pages.extraction import MAX_TEXT_CHARS, Extraction, NoText

PAGE_BREAK = "\f"  # the n-th page is `text.split("\f")[n - 1]`
_MAX_PAGES = 2_000


def extract_pdf(body: bytes) -> Extraction:
    """The text layer, pages joined by form feeds. Raises `NoText`."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as exc:
        raise NoText(f"not a readable PDF: {exc}") from exc
    with closing(document):
        metadata = document.get_metadata_dict(skip_empty=True)
        pages: list[str] = []
        room = MAX_TEXT_CHARS
        for number in range(min(len(document), _MAX_PAGES)):
            pages.append(_page_text(document, number)[: max(room, 0)])
            room -= len(pages[-1]) + len(PAGE_BREAK)
            if room <= 0:
                break
    text = PAGE_BREAK.join(pages).rstrip()
    if not text.strip(PAGE_BREAK).strip():
        raise NoText("a PDF without a text layer")
    title = " ".join(metadata.get("Title", "").split()) or _first_line(text)
    # The creation date is not used: it is when the file was made, often years after publication.
    return Extraction(title, text, metadata.get("Author") or None)


def _page_text(document: object, number: int) -> str:
    import pypdfium2

    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:  # type: ignore[index]
            text = str(text_page.get_text_bounded())
    except pypdfium2.PdfiumError:
        return ""  # one broken page keeps its place, so that the numbers of the others stay true
    # pdfium marks hyphens at line ends with U+FFFE (fpdf_text.h, soft hyphen).
    return (
        text.replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\ufffe\n", "")
        .replace("\ufffe", "")
        .replace(PAGE_BREAK, "")
    )


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:200]
