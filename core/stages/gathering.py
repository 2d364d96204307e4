"""Searches and page reads of one job, and the sources that are made of them.

What is in flight or done is kept by key in a `Gathering`, so that the plan stage may start the
obvious search early and nothing is asked or fetched twice. What was left behind as too slow goes on, and joins the next
round if there is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import quote, urldefrag

import regex

from core.evidence.authority import kind_of
from core.llm.ask_model import remembered
from core.model.codec import decode, encode
from core.model.config import ReuseSettings
from core.model.errors import (
    FetchError,
    JobNotFound,
    PageTimeout,
    ProviderTimeout,
    SiteExcluded,
    StoreError,
    say_reason,
)
from core.model.job import Attachment, ResearchJob
from core.model.ports import Measurement
from core.model.source import Page, SearchHit, SearchQuery, Source, SourceKind, SourceMetadata
from core.model.works import NO_IDS, ids_in_url
from core.pipeline.deps import Deps
from core.pipeline.limits import Nearness
from core.stages.intake import is_of_the_day
from core.text.chunking import passage_terms
from core.text.injection import instructions_in
from core.text.saying import say
from core.text.sentences import kept_by_length
from core.text.urls import canonical_url, domain_of, is_web_url
from core.works.standing import ABSTRACT

T = TypeVar("T")


@dataclass(frozen=True)
class SearchHits:
    """One provider's answer to one query."""

    hits: tuple[SearchHit, ...]


@dataclass
class Gathering:
    """Searches and page reads of one job, each started at most once. `aclose` ends what nobody waits for any more."""

    job: ResearchJob
    deps: Deps
    _searches: dict[tuple[str, SearchQuery], asyncio.Task[Sequence[SearchHit]]] = field(default_factory=dict)
    _pages: dict[str, asyncio.Task[Page]] = field(default_factory=dict)
    _ahead: dict[str, asyncio.Future[None]] = field(default_factory=dict)  # of pages that are read
    _slots: asyncio.Semaphore | None = None
    _permitted: set[str] = field(default_factory=set)  # pages of hits that the policy lets pass
    asked_at: dict[asyncio.Task[Sequence[SearchHit]], float] = field(default_factory=dict)  # of the loop
    late_searches: list[asyncio.Task[Sequence[SearchHit]]] = field(default_factory=list)
    late_pages: list[SearchHit] = field(default_factory=list)

    def search(self, provider: str, query: SearchQuery) -> asyncio.Task[Sequence[SearchHit]]:
        key = (provider, query)
        if key not in self._searches:
            self._searches[key] = asyncio.create_task(self._search(provider, query))
            self.asked_at[self._searches[key]] = asyncio.get_running_loop().time()
        return self._searches[key]

    def forget_failed_searches(self) -> None:
        """They are begun anew when they are asked for again."""
        self._searches = {key: task for key, task in self._searches.items() if not task.done() or not task.exception()}

    def page(self, url: str) -> asyncio.Task[Page]:
        key = canonical_url(url)
        if key not in self._pages:
            self._pages[key] = asyncio.create_task(self._read(url))
        return self._pages[key]

    async def prepared(self, url: str) -> None:
        """Returns when what a source and its ranking need of a page that was read is worked out."""
        await asyncio.shield(self._ahead[canonical_url(url)])

    def start_early(self, providers: Iterable[str], query: SearchQuery) -> None:
        """Begin the obvious search and its best pages while the plan is still being made."""
        for provider in providers:
            self.search(provider, query).add_done_callback(self._read_early)

    def _read_early(self, search: asyncio.Task[Sequence[SearchHit]]) -> None:
        if not search.cancelled() and search.exception() is None:
            for hit in search.result()[: self.deps.settings.search.max_sources]:
                if not hit.is_complete:
                    self.page(hit.url)

    def joined(self) -> list[SearchHit]:
        """What was left behind and has come since, once: the hits of late searches, and those whose page is read."""
        come = [task for task in self.late_searches if _has_come(task)]
        read = [hit for hit in self.late_pages if _has_come(self.page(hit.url))]
        self.late_searches[:] = [task for task in self.late_searches if task not in come]
        self.late_pages[:] = [hit for hit in self.late_pages if hit not in read]
        return [*(hit for task in come for hit in task.result()), *read]

    def kind_of(self, url: str, *, hint: SourceKind | None = None) -> SourceKind:
        """By the operator's table, then what the provider knows, then ours."""
        return kind_of(url, hint=hint, overrides=self.deps.settings.source_kinds)

    async def aclose(self) -> None:
        tasks: list[asyncio.Future[Any]] = [*self._searches.values(), *self._pages.values(), *self._ahead.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _search(self, provider: str, query: SearchQuery) -> Sequence[SearchHit]:
        policy = self.job.request.policy
        if self.deps.providers[provider].strength != "files":  # files have no site
            query = replace(query, filters=policy.narrow(query.filters))

        async def pay() -> SearchHits:
            ask = partial(self._ask, provider, query)
            return SearchHits(await reused_hits(self.job, self.deps, provider, query, ask))

        key = f"search:{provider}:{query}"
        hits = (await remembered(self.deps.memo, self.job.id, key, SearchHits, pay)).hits
        permitted = [hit for hit in hits if policy.permits(hit.url, self.kind_of(hit.url, hint=hit.kind))]
        self._permitted.update(canonical_url(hit.url) for hit in permitted)
        return permitted

    async def _ask(self, provider: str, query: SearchQuery) -> Sequence[SearchHit]:
        settings = self.deps.settings.search
        started = perf_counter()
        try:
            async with asyncio.timeout(settings.provider_timeout_s):
                return await self.deps.providers[provider].search(
                    query, limit=settings.results_per_query, scope=self.job.scope
                )
        except TimeoutError as exc:
            raise ProviderTimeout(provider, f"no answer in {settings.provider_timeout_s:g} s") from exc
        finally:
            seconds = perf_counter() - started
            self.deps.record(Measurement("search_provider_latency_seconds", seconds, provider))

    async def _read(self, url: str) -> Page:
        place, policy = canonical_url(url), self.job.request.policy
        if place not in self._permitted and not policy.permits(url, self.kind_of(url)):
            raise SiteExcluded(url, "not permitted")
        get = partial(reused_page, self.job, self.deps, url, partial(self._fetch, url))
        page = await remembered(self.deps.memo, self.job.id, f"page:{place}", Page, get)
        if not policy.permits_site(page.url):
            raise SiteExcluded(url, "not permitted")
        # Most pages come while the plan is being made: what ranking needs of them is worked out before it asks. A page
        # is read without it: who waits for a turn behind other jobs is no slow server.
        self._ahead[place] = self.deps.turns.share(_read_ahead, page.text, Nearness.READING)
        return page

    async def _fetch(self, url: str, known: Page | None) -> Page:
        settings = self.deps.settings.search
        self._slots = self._slots or asyncio.Semaphore(settings.fetch_concurrency)
        try:
            async with (
                self._slots,
                asyncio.timeout(settings.fetch_timeout_s + 6),
            ):  # the fetcher's own limits come first
                page = await self.deps.pages.fetch(url, known=known)
        except TimeoutError as exc:
            raise FetchError(url, "did not end") from exc
        except FetchError:
            self.deps.record(Measurement("source_fetch", 0))
            raise
        self.deps.record(Measurement("source_fetch", 1))
        return replace(page, text=_storable(page.text))


class Stragglers:
    """Waits for `parts` until `ends_at` (loop time), or `grace_s` after half of those that may still come are there."""

    def __init__(self, parts: int, *, ends_at: float, grace_s: float) -> None:
        self._left, self._there = parts, 0
        self._ends_at, self._grace_s = ends_at, grace_s
        self._timers: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """For one part. Raises `TimeoutError`."""
        async with asyncio.timeout_at(self._ends_at) as timer:
            self._timers.add(timer)
            try:
                yield
            finally:
                self._timers.discard(timer)

    def arrived(self) -> None:
        self._there += 1
        self._hurry()

    def failed(self) -> None:
        self._left -= 1
        self._hurry()

    def _hurry(self) -> None:
        if not self._there or 2 * self._there < self._left:
            return
        self._ends_at = min(self._ends_at, asyncio.get_running_loop().time() + self._grace_s)
        for timer in self._timers:
            if not timer.expired():
                timer.reschedule(self._ends_at)


def make_source(gathering: Gathering, hit: SearchHit, text: str, *, why_extract: str = "") -> Source:
    """The document as it was read, now or when it was found; it gets its number from whoever keeps it."""
    domain, known = domain_of(hit.url), gathering.deps.providers.get(hit.provider)
    text = _storable(text)
    return Source(
        id="src_0",  # ids are given in the order shown, after ranking
        url=hit.url,
        title=_storable(hit.title).strip() or domain or hit.url,
        content=text,
        content_hash=sha256(text.encode()).hexdigest(),
        read_at=hit.found_at or gathering.deps.clock(),
        metadata=SourceMetadata(
            domain=domain,
            word_count=len(text.split()),
            provider=hit.provider,
            kind=gathering.kind_of(hit.url, hint=hit.kind),
            published_at=hit.published_at,
            author=hit.author,
            is_guideline=hit.is_guideline,
            ids=ids_in_url(hit.url).joined(hit.ids) if domain else NO_IDS,
            cited_by=hit.cited_by,
            notices=hit.notices,
            version=ABSTRACT if hit.is_complete and known is not None and known.strength == "scholarly" else "",
        ),
        extract_of_page=why_extract,
        instructs=tuple(instructions_in(text)),
    )


def renumbered(sources: Sequence[Source]) -> list[Source]:
    """With ids `src_1`… in the order given."""
    return [replace(source, id=f"src_{number}") for number, source in enumerate(sources, start=1)]


def _has_come(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _read_ahead(text: str) -> None:
    """Whatever is remembered by text and asked for after the search."""
    instructions_in(text)
    passage_terms(text)


@kept_by_length  # a page is the same object for all jobs that read it
def _storable(text: str) -> str:
    """Text that can be stored: lone surrogates, which JSON servers can send, become U+FFFD; NUL goes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")


# Found and read before? Search results and pages of the public web, by any job of any scope, while they are fresh.
#
# Only what anybody could find is shared: no local files, no libraries, no attachments. The keys say nothing of who
# asked. A job that wants everything anew takes nothing from here, and still leaves what it read.


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
    kept = None if job.request.is_fresh else _kept(await deps.reuse.get(key), KeptHits)
    if kept is not None and now - kept.found_at <= _longest(job, settings, settings.search):
        return tuple(replace(hit, found_at=kept.found_at) for hit in kept.hits)
    hits = tuple(await ask())
    if hits:
        await deps.reuse.put(key, encode(KeptHits(hits, now)), ttl=settings.search)
    return hits


async def reused_page(job: ResearchJob, deps: Deps, url: str, read: Callable[[Page | None], Awaitable[Page]]) -> Page:
    """The page at `url`, of before while it is fresh, else from `read`, whose errors pass.

    A stale page is handed to `read`, so that its server may say that it is still the same. It is kept by the very
    address that was asked: in canonical form, whose hosts may have different owners, one could speak for another.
    """
    settings, now = deps.settings.reuse, deps.clock()
    key = f"page:{urldefrag(url).url}"
    kept = None if job.request.is_fresh else _kept(await deps.reuse.get(key), KeptPage)
    if kept is not None and sha256(kept.page.text.encode()).hexdigest() != kept.content_hash:
        kept = None
    usual = settings.pages.get(kind_of(url), settings.other_pages)
    if kept is not None and now - kept.checked_at <= _longest(job, settings, usual):
        return kept.page
    page = await read(kept.page if kept is not None and (kept.page.etag or kept.page.last_modified) else None)
    fresh = KeptPage(page, sha256(page.text.encode()).hexdigest(), now)
    await deps.reuse.put(key, encode(fresh), ttl=settings.kept)
    return page


def _longest(job: ResearchJob, settings: ReuseSettings, usual: timedelta) -> timedelta:
    """How old it may be: what is asked of the day takes nothing old."""
    return min(usual, settings.of_the_day) if is_of_the_day(job.query, job.intent) else usual


def _kept(text: str | None, kind: type[T]) -> T | None:
    try:
        return None if text is None else decode(text, kind)
    except StoreError:
        return None


# Sources that come with a request: attached files, addresses named in the question, an earlier job's sources


MAX_ADDRESSES = 3  # of one question; more is a reading list, not a question
ATTACHED, NAMED = "attachment", "asker"  # providers of what the asker brought
_ADDRESS = regex.compile(r"<?(?P<url>https?://[^\s<>|\"'`]+)(?:\|[^<>]*)?>?", regex.IGNORECASE)
_POINTER = r"(?:[,(\s]*\b(?:according\s+to|based\s+on|as\s+per|per|from|at|in|on|see|via|using|says|source:?)\s+)?"
_POINTED = regex.compile(r"\(?" + _POINTER + _ADDRESS.pattern, regex.IGNORECASE)
_TRAILING = ".,;:!?*_)]}»”’"


@dataclass(frozen=True)
class Given:
    """`sources` are kept whatever else is found; `earlier` are those of the basis; `notes` say what is missing.

    Ids are not given yet (`src_0`).
    """

    sources: tuple[Source, ...] = ()
    earlier: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()


def addresses_in(text: str) -> list[str]:
    """The web addresses that a question names, each once, at most `MAX_ADDRESSES`."""
    found: dict[str, str] = {}
    for match in _ADDRESS.finditer(text):
        url = _bare(match["url"])
        if is_web_url(url):
            found.setdefault(canonical_url(url), url)
    return list(found.values())[:MAX_ADDRESSES]


def without_addresses(text: str) -> str:
    """`text` without its addresses and what points to them, as it is searched for; all of it if no word is left."""
    rest = " ".join(_POINTED.sub(_left_of, text).split())
    rest = regex.sub(r"^[.!?]\s|\s(?=[.!?]\s)", "", rest)
    return rest if any(char.isalpha() for char in rest) else text


def _left_of(pointed: regex.Match[str]) -> str:
    """Of an address the end of a sentence that another one follows, and a bracket that it does not close."""
    behind = pointed["url"][len(_bare(pointed["url"])) :]
    opened = "(" if pointed[0].startswith("(") and ")" not in behind else ""
    ends = [char for char in behind if char in ".!?"]
    return f"{ends[0]} " if ends and pointed.string[pointed.end() :].strip() else f" {opened}"


async def read_given(job: ResearchJob, gathering: Gathering, deps: Deps, *, within_s: float) -> Given:
    """All that came with the request. A store that fails costs what it held, with a note, never the answer."""
    notes: list[str] = []
    sources = [*await _attached(job, gathering, deps, notes), *await _named(job, gathering, notes, within_s=within_s)]
    return Given(tuple(sources), tuple(await earlier_sources(job, deps)), tuple(notes))


async def earlier_sources(job: ResearchJob, deps: Deps) -> list[Source]:
    """What the job's basis had found; nothing when it is gone or of another scope."""
    if not job.request.basis:
        return []
    try:
        if (await deps.jobs.get(job.request.basis)).scope != job.scope:
            return []
        found, policy = await deps.sources.sources(job.request.basis), job.request.policy
        return [source for source in found if policy.permits(source.url, source.metadata.kind)]
    except JobNotFound:
        return []
    except StoreError as exc:
        deps.count_error("search", exc)
        return []


async def _attached(job: ResearchJob, gathering: Gathering, deps: Deps, notes: list[str]) -> list[Source]:
    if not job.request.attachments:
        return []
    try:
        attachments = await deps.jobs.attached(job.id)
    except StoreError as exc:
        deps.count_error("search", exc)
        attachments = []
    notes += [attachment.cut for attachment in attachments if attachment.cut]
    kept = {attachment.name for attachment in attachments}
    notes += [
        say("{name} was lost before it could be read; please send it again.", name=name)
        for name in job.request.attachments
        if name not in kept
    ]
    return [await asyncio.to_thread(_source_of, gathering, attachment) for attachment in attachments]


def _source_of(gathering: Gathering, attachment: Attachment) -> Source:
    """A file of the asker's: it has no address on the web, and its name is what people know it by."""
    hit = SearchHit(
        provider=ATTACHED,
        url=f"attachment:{quote(attachment.name)}",
        title=attachment.name,
        is_complete=True,
        kind=SourceKind.LOCAL,
    )
    return make_source(gathering, hit, attachment.text)


async def _named(job: ResearchJob, gathering: Gathering, notes: list[str], *, within_s: float) -> list[Source]:
    urls = addresses_in(f"{job.query} {job.request.feedback}")

    async def read(url: str) -> Source | str:
        try:
            async with asyncio.timeout(within_s):
                page = await gathering.page(url)
        except (FetchError, TimeoutError) as error:
            exc = error if isinstance(error, FetchError) else PageTimeout(url, "not read in time")
            return say("{url} could not be read ({reason}).", url=url, reason=say_reason(exc))
        hit = SearchHit(NAMED, url, page.title, published_at=page.published_at, author=page.author)
        return await asyncio.to_thread(make_source, gathering, hit, page.text)

    outcomes = await asyncio.gather(*(read(url) for url in urls))
    notes += [outcome for outcome in outcomes if isinstance(outcome, str)]
    return [outcome for outcome in outcomes if isinstance(outcome, Source)]


def _bare(url: str) -> str:
    """Without the punctuation of the sentence around it; a closing bracket stays where one is open."""
    while url and url[-1] in _TRAILING:
        if url[-1] == ")" and url.count("(") >= url.count(")"):
            break
        url = url[:-1]
    return url
