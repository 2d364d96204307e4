"""Files that people attach to a question, read by the same killable workers as pages."""

from __future__ import annotations

from pathlib import PurePath

from adapters.pages.body import document_kind, media_type
from adapters.pages.extraction import DocumentKind, PageDocument, plain_reason
from adapters.pages.workers import ExtractionWorkers
from core.model.errors import FetchError, PageTimeout
from core.model.job import MAX_ATTACHMENT_BYTES, Attachment, AttachmentUnreadable
from core.presentation.render import one_line

MAX_NAME_CHARS = 120
_BY_SUFFIX: dict[str, DocumentKind] = {
    ".pdf": "pdf", ".txt": "text", ".text": "text", ".md": "text", ".markdown": "text", ".rst": "text",
    ".csv": "text", ".log": "text", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".yaml": "text", ".yml": "text", ".json": "text", ".bib": "text", ".bibtex": "text", ".ris": "text", ".tex": "text",
    ".docx": "docx",
}  # fmt: skip
_READABLE = "PDF, Word (.docx), text, Markdown, BibTeX, RIS, YAML, JSON and HTML"


class AttachedFiles:
    """An `AttachmentReader`."""

    def __init__(self, workers: ExtractionWorkers) -> None:
        self._workers = workers

    async def read(self, name: str, media_type: str, content: bytes) -> Attachment:
        name = one_line(PurePath(name.replace("\\", "/")).name)[:MAX_NAME_CHARS] or "file"
        if not content:
            raise _unreadable(name, "it is empty")
        if len(content) > MAX_ATTACHMENT_BYTES:
            raise _unreadable(name, f"it is larger than {MAX_ATTACHMENT_BYTES // 1_000_000} MB")
        kind, charset = _kind(name, media_type, content)
        try:
            found = await self._workers.extract(PageDocument(f"attachment:{name}", kind, charset, content))
        except FetchError as exc:
            is_known = kind == "pdf" or isinstance(exc, PageTimeout)
            raise _unreadable(name, plain_reason(exc) if is_known else "it holds no readable text") from exc
        cut = f"Of {name} {found.gap}." if found.gap else ""
        return Attachment(name, media_type, found.title or name, found.text, cut)


def _kind(name: str, label: str, content: bytes) -> tuple[DocumentKind, str]:
    """By the bytes and the label as for a page; by the file's ending where the label says nothing we know."""
    kind, charset = media_type(label)
    by_name = _BY_SUFFIX.get(PurePath(name).suffix.lower())
    found = by_name if by_name == "docx" else document_kind(kind, content) or by_name
    is_other = (found == "pdf" and b"%PDF-" not in content[:1024]) or (found == "docx" and content[:2] != b"PK")
    if found is None or is_other:
        raise _unreadable(name, f"it is not one of the kinds I read ({_READABLE})")
    return found, charset


def _unreadable(name: str, why: str) -> AttachmentUnreadable:
    return AttachmentUnreadable(f"attachment refused: {why}", user_message=f"I could not read {name}: {why}.")
