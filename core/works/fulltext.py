"""The whole of a paper instead of its abstract, where it is free to read: which version it was is always said.

Europe PMC's text with its sections first, then arXiv's, then the open copies that registries name, through the one
guarded reader of pages. What is not plainly the same paper is not taken for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from core.model.errors import FetchError, ProviderError
from core.model.source import Page, Source, SourceKind
from core.model.works import OpenCopy, WorkIds, WorkRecord
from core.text.injection import instructions_in
from core.text.terms import terms
from core.works.registry import Works

log = logging.getLogger(__name__)

ABSTRACT = "abstract"
MIN_GAIN = 2.0  # a full text is so many times as long as what was read; else it is the abstract again
MIN_TITLE = 0.6  # of the title's words that stand at the text's head
HEAD_CHARS = 6_000
MAX_COPIES = 3  # that are tried, one after the other
ARXIV = "https://arxiv.org/{}/{}"
_ORDER = ("published", "accepted", "submitted", "")

ReadPage = Callable[[str], Awaitable[Page]]


@dataclass(frozen=True)
class FullText:
    """`version` says in a few words which version was read, and where."""

    text: str
    version: str


async def with_full_texts(
    sources: Sequence[Source], works: Works | None, read: ReadPage, *, within_s: float
) -> list[Source]:
    """The sources, papers among them with their full text where it is free and comes in time."""
    if works is None or within_s <= 0:
        return list(sources)
    reading = [asyncio.create_task(_whole(source, works, read, within_s)) for source in sources]
    try:
        await asyncio.wait(reading, timeout=within_s) if reading else None
    finally:
        for task in reading:
            task.cancel() if not task.done() else None
    await asyncio.gather(*reading, return_exceptions=True)
    found = zip(sources, reading, strict=True)
    return [source if task.cancelled() or task.exception() else task.result() for source, task in found]


def may_have_more(source: Source) -> bool:
    """Whether what was read is an abstract, or the extract of a paper's page."""
    is_paper = source.metadata.kind in (SourceKind.PEER_REVIEWED, SourceKind.PREPRINT)
    is_short = source.metadata.version == ABSTRACT or bool(source.extract_of_page)
    return is_paper and is_short and not source.metadata.ids.is_none


async def _whole(source: Source, works: Works, read: ReadPage, within_s: float) -> Source:
    if not may_have_more(source):
        return source
    looked = await works.by_ids(source.metadata.ids, within_s=within_s)
    found = await _find(source, looked.record, works, read)
    if found is None:
        is_closed = looked.record is not None and looked.record.is_open is False
        return _said(source, f"{ABSTRACT}; its full text is behind a paywall") if is_closed else source
    metadata = replace(source.metadata, version=found.version, word_count=len(found.text.split()))
    return replace(
        source,
        content=found.text,
        content_hash=sha256(found.text.encode()).hexdigest(),
        metadata=metadata,
        extract_of_page="",
        instructs=tuple(instructions_in(found.text)),
    )


async def _find(source: Source, record: WorkRecord | None, works: Works, read: ReadPage) -> FullText | None:
    """The first that can be read and is the paper."""
    every = [source.metadata.ids, *(record.all_ids if record else ())]
    for pmcid in dict.fromkeys(ids.pmcid for ids in every if ids.pmcid):
        text = await works.full_text(pmcid)
        if is_the_paper(text, title=source.title, read=source.content):
            return FullText(text, f"full text, published version, Europe PMC ({pmcid})")
    for url, version in [*_arxiv(every), *_copies(record.copies if record else ())]:
        try:
            page = await read(url)
        except (FetchError, ProviderError) as exc:
            log.info("an open copy was not read", extra={"reason": exc.reason})
            continue
        if is_the_paper(page.text, title=source.title, read=source.content):
            return FullText(page.text, version)
    return None


def _arxiv(every: Sequence[WorkIds]) -> list[tuple[str, str]]:
    """HTML is not there for all papers, the PDF is."""
    ids = next((ids.arxiv for ids in every if ids.arxiv), "")
    told = f"full text, preprint, arXiv ({ids})"
    return [(ARXIV.format(form, ids), told) for form in ("html", "pdf")] if ids else []


def _copies(copies: Sequence[OpenCopy]) -> list[tuple[str, str]]:
    """PDFs before pages, and what was published before what was submitted."""
    ordered = sorted(copies, key=lambda copy: (not copy.is_pdf, _ORDER.index(copy.version)))
    named = {"published": "published version", "accepted": "accepted manuscript", "submitted": "preprint", "": ""}
    return [
        (copy.url, ", ".join(filter(None, ("full text", named[copy.version], copy.host))))
        for copy in ordered[:MAX_COPIES]
    ]


def is_the_paper(text: str, *, title: str, read: str) -> bool:
    """Longer than what was `read` of it, and about its title from the start."""
    if len(text) < MIN_GAIN * len(read):
        return False
    wanted, head = set(terms(title.removeprefix("[Retracted] "))), set(terms(text[:HEAD_CHARS]))
    return not wanted or len(wanted & head) >= MIN_TITLE * len(wanted)


def _said(source: Source, version: str) -> Source:
    return replace(source, metadata=replace(source.metadata, version=version))
