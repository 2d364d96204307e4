"""Found and read before? Search results and pages of the public web, by any job of any scope, while they are fresh.

Only what anybody could find is shared: no local files, no libraries, no attachments. The keys say nothing of who
asked. A job that wants everything anew takes nothing from here, and still leaves what it read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from core.evidence.authority import kind_of
from core.model.codec import decode, encode
from core.model.config import ReuseSettings
from core.model.errors import StoreError
from core.model.job import ResearchJob
from core.model.source import Page, SearchHit, SearchQuery
from core.pipeline.deps import Deps
from core.pipeline.freshness import is_of_the_day
from core.text.urls import canonical_url

T = TypeVar("T")


@dataclass(frozen=True)
class KeptHits:
    """What a provider answered, and when."""

    hits: tuple[SearchHit, ...]
    found_at: datetime


@dataclass(frozen=True)
class KeptPage:
    """A page with the SHA-256 of its text; `checked_at` is when it was read, or its server said that it is the same."""

    page: Page
    content_hash: str
    checked_at: datetime


async def reused_hits(
    job: ResearchJob,
    deps: Deps,
    provider: str,
    query: SearchQuery,
    ask: Callable[[], Awaitable[Sequence[SearchHit]]],
) -> tuple[SearchHit, ...]:
    """The provider's answer to `query`, of before or from `ask`, whose errors pass. An empty answer is not kept."""
    if deps.providers[provider].strength == "files":
        return tuple(await ask())
    settings, now = deps.settings.reuse, deps.clock()
    key = f"search:{provider}:{deps.settings.search.results_per_query}:{query}"
    kept = None if job.request.is_fresh else _read(await deps.reuse.get(key), KeptHits)
    if kept is not None and now - kept.found_at <= _longest(job, settings, settings.search):
        return tuple(replace(hit, found_at=kept.found_at) for hit in kept.hits)
    hits = tuple(await ask())
    if hits:
        await deps.reuse.put(key, encode(KeptHits(hits, now)), ttl=settings.search)
    return hits


async def reused_page(job: ResearchJob, deps: Deps, url: str, read: Callable[[Page | None], Awaitable[Page]]) -> Page:
    """The page at `url`, of before while it is fresh, else from `read`, whose errors pass.

    A stale page is handed to `read`, so that its server may say that it is still the same.
    """
    settings, now = deps.settings.reuse, deps.clock()
    key = f"page:{canonical_url(url)}"
    kept = None if job.request.is_fresh else _read(await deps.reuse.get(key), KeptPage)
    if kept is not None and sha256(kept.page.text.encode()).hexdigest() != kept.content_hash:
        kept = None
    kind = kind_of(url)
    if kept is not None and now - kept.checked_at <= _longest(
        job, settings, settings.pages.get(kind, settings.other_pages)
    ):
        return kept.page
    page = await read(kept.page if kept is not None and (kept.page.etag or kept.page.last_modified) else None)
    fresh = KeptPage(page, sha256(page.text.encode()).hexdigest(), now)
    await deps.reuse.put(key, encode(fresh), ttl=settings.kept)
    return page


def _longest(job: ResearchJob, settings: ReuseSettings, usual: timedelta) -> timedelta:
    """How old it may be: what is asked of the day takes nothing old."""
    return min(usual, settings.of_the_day) if is_of_the_day(job.query, job.intent) else usual


def _read(text: str | None, kind: type[T]) -> T | None:
    try:
        return None if text is None else decode(text, kind)
    except StoreError:
        return None
