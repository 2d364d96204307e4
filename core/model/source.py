"""What is searched for and what was found: plan, hits, pages, sources.

A `Source` carries the text exactly as it was read; every citation points into that text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from core.model.works import NO_IDS, Notice, WorkIds
from core.text.injection import mask

Recency = Literal["day", "week", "month", "year", "any"]
ContentType = Literal["news", "academic", "general"]
# What no reader sees and a model reads: soft hyphens, zero-width signs, marks that reorder what is shown, and the plane
# of tags and variation selectors, which hold whole alphabets; for a class of characters.
UNSEEN = "\u00ad\u034f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff"
READ_BY_OCR = "*Read by OCR.*"  # begins the text of a page that was a picture (adapters/pages/pdf)


class SourceKind(StrEnum):
    """What sort of publisher stands behind a source, most authoritative first."""

    OFFICIAL = "official"
    STANDARDS = "standards"
    PEER_REVIEWED = "peer_reviewed"
    PREPRINT = "preprint"
    REFERENCE = "reference"
    ESTABLISHED_PRESS = "established_press"
    LOCAL = "local"  # a file that the operator chose to answer from, or that the asker attached
    UNKNOWN = "unknown"
    FORUM = "forum"


@dataclass(frozen=True)
class SearchFilters:
    """`language` is that of the question where it is not English (ISO 639-1), for queries that do not tell theirs."""

    recency: Recency = "any"
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    content_type: ContentType = "general"
    language: str = ""


@dataclass(frozen=True)
class SearchQuery:
    """`only` names its providers, all when empty; one that `is_verbatim` is in its provider's own search syntax."""

    text: str
    filters: SearchFilters = SearchFilters()
    only: tuple[str, ...] = ()
    is_verbatim: bool = False


@dataclass(frozen=True)
class SearchPlan:
    """`timeout_s` bounds each single provider call, in seconds."""

    queries: tuple[SearchQuery, ...]
    providers: tuple[str, ...]
    max_sources: int = 10
    timeout_s: float = 10.0


@dataclass(frozen=True)
class SearchHit:
    """One result of one provider.

    `text` is what the provider itself gave of the content ("" if nothing). `is_complete` says that
    this text is the whole document, so that no page needs to be fetched (an abstract, a local file,
    an encyclopedia article). `rank` counts from 0 within its provider's answer. `found_at` is when a hit was found
    that is reused, None for one of now. `is_guideline` says that a catalogue lists it as one.
    """

    provider: str
    url: str
    title: str
    text: str = ""
    is_complete: bool = False
    rank: int = 0
    published_at: datetime | None = None
    author: str | None = None
    kind: SourceKind | None = None
    found_at: datetime | None = None
    is_guideline: bool = False
    ids: WorkIds = NO_IDS
    cited_by: int | None = None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page as read. `url` is the address after redirects; `text` is the readable part.

    `etag` and `last_modified` are what its server knows this version by, "" where it does not say. `ids` are those of
    the published work that the page says it is. `entries` are those of a feed, newest first: titles and addresses.
    """

    url: str
    title: str
    text: str
    read_at: datetime
    author: str | None = None
    published_at: datetime | None = None
    etag: str = ""
    last_modified: str = ""
    ids: WorkIds = NO_IDS
    entries: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SourceMetadata:
    """`domain` is the host without `www.` ("" for local files); `word_count` counts `text`.

    `work` names the work of which the source is a version, "" where nobody knows; `ids`, `cited_by` and `notices` are
    what is known of that. `version` says in a few words what of it was read, "" where that goes without saying.
    """

    domain: str
    word_count: int
    provider: str
    kind: SourceKind = SourceKind.UNKNOWN
    published_at: datetime | None = None
    author: str | None = None
    is_guideline: bool = False
    work: str = ""
    ids: WorkIds = NO_IDS
    cited_by: int | None = None
    notices: tuple[Notice, ...] = ()
    version: str = ""


@dataclass(frozen=True)
class SourceScores:
    """Each part 0…1, and their weighted sum 0…1 (core/stages/ranking.py)."""

    relevance: float = 0.0
    authority: float = 0.0
    recency: float = 0.0
    quality: float = 0.0
    total: float = 0.0


@dataclass(frozen=True)
class Source:
    """A document that was read. `id` is `src_1`, `src_2`, … in the order shown to people.

    `content` is the text as read and `content_hash` its SHA-256; `extract_of_page` is why only the
    provider's own extract could be read ("" when the page itself was read). `instructs` are the spans of
    `content` that speak to an assistant instead of the reader (core/text/injection.py).
    """

    id: str
    url: str
    title: str
    content: str
    content_hash: str
    read_at: datetime
    metadata: SourceMetadata
    scores: SourceScores = SourceScores()
    extract_of_page: str = ""
    instructs: tuple[tuple[int, int], ...] = ()

    @property
    def trusted_content(self) -> str:
        """`content` with `instructs` blanked out; offsets are those of `content`."""
        return mask(self.content, self.instructs)

    def page_at(self, offset: int) -> int | None:
        """The page on which the character at `offset` stands, from 1; None where the text has no pages.

        Form feeds part the pages of a document that has any (adapters/pages, adapters/search).
        """
        return self.content.count("\f", 0, offset) + 1 if "\f" in self.content else None

    def section_at(self, offset: int) -> str:
        """The section of a paper's full text in which the character at `offset` stands; "" in any other text."""
        return section_at(self.content, offset) if self.metadata.version.startswith("full text") else ""

    def is_by_ocr(self, offset: int) -> bool:
        """Whether the page on which the character at `offset` stands was read off a picture: letters may be wrong."""
        start = self.content.rfind("\f", 0, offset) + 1
        return self.content.startswith(READ_BY_OCR, start)

    @property
    def number(self) -> int:
        """The number in citation markers: 3 for `src_3`."""
        return int(self.id.removeprefix("src_"))


@dataclass(frozen=True)
class SearchMetadata:
    """What the search stage did. `failures` maps a provider to a few words why it gave nothing.

    `pages_late` of the `pages_failed` did not answer in time. `notes` are sentences on what could not be read of what
    came with the question; `left_out` are the places of pages that were read and have next to none of the question's
    words.
    """

    queries_executed: tuple[str, ...] = ()
    providers_used: tuple[str, ...] = ()
    total_results: int = 0
    fetch_duration_s: float = 0.0
    failures: Mapping[str, str] = field(default_factory=dict)
    pages_read: int = 0
    pages_failed: int = 0
    pages_late: int = 0
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def all_searches(parts: Sequence[SearchMetadata]) -> SearchMetadata:
    """Several searches of one job as one. A provider failed when it never gave anything."""
    used = dict.fromkeys(name for part in parts for name in part.providers_used)
    return SearchMetadata(
        queries_executed=tuple(dict.fromkeys(query for part in parts for query in part.queries_executed)),
        providers_used=tuple(used),
        total_results=sum(part.total_results for part in parts),
        fetch_duration_s=sum(part.fetch_duration_s for part in parts),
        failures={name: why for part in parts for name, why in part.failures.items() if name not in used},
        pages_read=sum(part.pages_read for part in parts),
        pages_failed=sum(part.pages_failed for part in parts),
        pages_late=sum(part.pages_late for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        left_out=tuple(dict.fromkeys(place for part in parts for place in part.left_out)),
    )


@dataclass(frozen=True)
class SourceCollection:
    """Sources best first. `considered` counts distinct documents before the cut to `max_sources`."""

    sources: tuple[Source, ...] = ()
    search_metadata: SearchMetadata = SearchMetadata()
    considered: int = 0


# The sections of a full text: headings on lines of their own, and under which of them a character stands


_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def heading(title: str, depth: int) -> str:
    """The line of a heading; `depth` counts from 1.

    >>> heading("Results", 1)
    '## Results'
    """
    return f"{'#' * min(depth + 1, 6)} {' '.join(title.split())}"


def section_at(text: str, offset: int) -> str:
    """The title of the section that the character at `offset` stands in, "" above the first heading."""
    titles = _HEADING.findall(text, 0, max(offset, 0))
    return titles[-1] if titles else ""
