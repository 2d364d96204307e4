"""Papers for the library: files read whole, and addresses that lead to one, parsed in killable processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import PurePath

from adapters.pages.extraction import MAX_PAPER_CHARS, Document, DocumentKind
from adapters.pages.media import document_kind
from adapters.pages.workers import ExtractionWorkers
from core.errors import FetchError, PageTimeout
from core.library.ingest import MAX_PAPER_BYTES, PaperRecord, PaperText, PaperUnreadable

LIMIT_S = 120.0  # 2,000 pages at 40 a second, on a machine under load
MEMORY_BYTES = 2 * 1024 * 1024 * 1024
_BY_SUFFIX: dict[str, DocumentKind] = {".md": "text", ".markdown": "text", ".txt": "text", ".pdf": "pdf"}
_META = re.compile(rb"<meta\b[^>]{0,2000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b(name|property|content)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_MAX_HEAD_BYTES = 300_000  # where a page says what it is about


class PaperFiles:
    """A `PaperReader`. One a process; `aclose` it."""

    def __init__(self, *, workers: int = 2) -> None:
        self._workers = ExtractionWorkers(count=workers, limit_s=LIMIT_S, memory_bytes=MEMORY_BYTES)

    async def read(self, name: str, content: bytes) -> PaperText:
        kind = document_kind("", content) if content else None
        kind = _BY_SUFFIX.get(PurePath(name).suffix.lower(), kind) if kind in (None, "text") else kind
        if len(content) > MAX_PAPER_BYTES:
            raise _unreadable(name, f"it is larger than {MAX_PAPER_BYTES // 1_000_000} MB")
        if kind not in ("pdf", "text") or (kind == "pdf" and b"%PDF-" not in content[:1024]):
            raise _unreadable(name, "it is empty" if not content else "it is neither a PDF nor Markdown")
        try:
            found = await self._workers.extract(Document(f"paper:{name}", kind, "", content, MAX_PAPER_CHARS))
        except PageTimeout as exc:
            raise _unreadable(name, "reading it took too long") from exc
        except FetchError as exc:
            raise _unreadable(name, _plain(str(exc))) from exc
        return PaperText(found.title or PurePath(name).stem, found.text, found.labels, found.author or "")

    async def aclose(self) -> None:
        await self._workers.aclose()


def _plain(reason: str) -> str:
    if "text layer" in reason:
        return "it is a scan: its pages are images without text"
    if "assword" in reason or "ncrypt" in reason:
        return "it is protected by a password"
    return "it is damaged"


def _unreadable(name: str, why: str) -> PaperUnreadable:
    return PaperUnreadable(f"paper refused: {why}", user_message=f"{name} cannot be read: {why}.")


def record_of(html: bytes, url: str) -> tuple[PaperRecord, str]:
    """What a publisher's page says of its paper, and where the PDF is ("" if it does not say).

    By the `citation_…` tags that Google Scholar asks publishers for ("Inclusion Guidelines for Webmasters").
    """
    found: dict[str, list[str]] = {}
    for tag in _META.findall(html[:_MAX_HEAD_BYTES]):
        pairs = {
            key.lower(): first or second for key, first, second in _ATTRIBUTE.findall(tag.decode("utf-8", "replace"))
        }
        name = pairs.get("name") or pairs.get("property") or ""
        if name.lower().startswith("citation_") and pairs.get("content"):
            found.setdefault(name.lower(), []).append(" ".join(unescape(pairs["content"]).split()))
    record = PaperRecord(
        id=_first(found, "citation_arxiv_id"),
        title=_first(found, "citation_title"),
        authors=tuple(found.get("citation_author", ())),
        published=_date(_first(found, "citation_publication_date", "citation_date", "citation_online_date")),
        doi=_first(found, "citation_doi"),
        url=url,
        abstract=_first(found, "citation_abstract"),
    )
    return record, _first(found, "citation_pdf_url")


def _first(found: dict[str, list[str]], *names: str) -> str:
    return next((found[name][0] for name in names if found.get(name)), "")


def _date(text: str) -> str:
    """`2024/01/02` as an ISO date; a year or month alone stays one."""
    parts: Sequence[str] = re.findall(r"\d+", text)[:3]
    return "-".join(part.zfill(2) for part in parts) if parts and len(parts[0]) == 4 else ""
