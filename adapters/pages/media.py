"""Which responses are documents we can read, by their label and their first bytes."""

from __future__ import annotations

from email.message import Message

from adapters.pages.extraction import DocumentKind

_KINDS: dict[str, DocumentKind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "text",
    "text/x-markdown": "text",
    "text/x-rst": "text",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
_UNLABELLED = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/force-download"})
_PDF_MAGIC = b"%PDF-"
_MAGIC_BYTES = 1024  # readers look for the PDF header this far in (ISO 32000-1, Annex H.3.4.1)


def media_type(content_type: str) -> tuple[str, str]:
    """The lower-case media type and charset of a Content-Type header, each "" if absent."""
    message = Message()
    message["Content-Type"] = content_type.replace("\r", " ").replace("\n", " ") or "; "
    kind = content_type.partition(";")[0].strip().lower()
    charset = message.get_param("charset", "") if ";" in content_type else ""
    return kind, charset if isinstance(charset, str) else ""


def may_be_readable(kind: str) -> bool:
    """Whether a body so labelled is worth downloading."""
    return kind in _KINDS or kind in _UNLABELLED


def document_kind(kind: str, body: bytes) -> DocumentKind | None:
    """What `body` is; the PDF signature beats any label. None when it is nothing we read."""
    head = body[:_MAGIC_BYTES]
    if _PDF_MAGIC in head and (kind in _UNLABELLED or head.lstrip().startswith(_PDF_MAGIC)):
        return "pdf"
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _UNLABELLED and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "html"
    if kind == "" and b"\x00" not in head:
        return "text"
    return None
