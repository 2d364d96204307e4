"""Stage 3: ask the providers, read the pages, keep the best sources.

What is in flight or done is kept by key in a `Gathering`, so that the plan stage may start the
obvious search early and nothing is asked or fetched twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from time import perf_counter

from core.authority import kind_of
from core.deps import Deps
from core.embedding import similarities_to
from core.errors import (
    FetchError,
    ModelError,
    NoProviderAllowed,
    PageTimeout,
    ProviderError,
    ProviderRateLimited,
    ProviderTimeout,
    SearchFailed,
    SiteExcluded,
)
from core.injection import instructions_in
from core.job import ResearchJob
from core.language import detect_language
from core.memo import remembered
from core.passages import passage_terms
from core.ranking import Candidate, coverage_of, rank_sources
from core.source import (
    Page,
    SearchHit,
    SearchMetadata,
    SearchPlan,
    SearchQuery,
    Source,
    SourceCollection,
    SourceMetadata,
)
from core.stages.reuse import reused_hits, reused_page
from core.telemetry import Measurement
from core.urls import canonical_url, domain_of
from core.wording import no_provider_allowed

log = logging.getLogger(__name__)

Found = Callable[[Source], Awaitable[None]]


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
    _slots: asyncio.Semaphore | None = None
    _permitted: set[str] = field(default_factory=set)  # pages of hits that the policy lets pass

    def search(self, provider: str, query: SearchQuery) -> asyncio.Task[Sequence[SearchHit]]:
        key = (provider, query)
        if key not in self._searches:
            self._searches[key] = asyncio.create_task(self._search(provider, query))
        return self._searches[key]

    def page(self, url: str) -> asyncio.Task[Page]:
        key = canonical_url(url)
        if key not in self._pages:
            self._pages[key] = asyncio.create_task(self._read(url))
        return self._pages[key]

    def start_early(self, providers: Iterable[str], query: SearchQuery) -> None:
        """Begin the obvious search and its best pages while the plan is still being made."""
        for provider in providers:
            self.search(provider, query).add_done_callback(self._read_early)

    def _read_early(self, search: asyncio.Task[Sequence[SearchHit]]) -> None:
        if not search.cancelled() and search.exception() is None:
            for hit in search.result()[: self.deps.settings.search.max_sources]:
                if not hit.is_complete:
                    self.page(hit.url)

    async def aclose(self) -> None:
        tasks = [*self._searches.values(), *self._pages.values()]
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
        permitted = [hit for hit in hits if policy.permits(hit.url, kind_of(hit.url, hint=hit.kind))]
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
            self.deps.recorder.record(Measurement("search_provider_latency_seconds", seconds, provider))

    async def _read(self, url: str) -> Page:
        place, policy = canonical_url(url), self.job.request.policy
        if place not in self._permitted and not policy.permits(url, kind_of(url)):
            raise SiteExcluded(url, "not permitted")
        page = await remembered(self.deps.memo, self.job.id, f"page:{place}", Page, lambda: self._get(url))
        if not policy.permits_site(page.url):
            raise SiteExcluded(url, "not permitted")
        return page

    async def _get(self, url: str) -> Page:
        page = await reused_page(self.job, self.deps, url, partial(self._fetch, url))
        # Most pages come while the plan is being made: what ranking needs of them is worked out before it asks.
        await asyncio.to_thread(_read_ahead, page.text)
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
            self.deps.recorder.record(Measurement("source_fetch", 0))
            raise
        self.deps.recorder.record(Measurement("source_fetch", 1))
        return replace(page, text=_storable(page.text))


async def collect_sources(
    gathering: Gathering,
    plan: SearchPlan,
    *,
    within_s: float,
    on_fetching: Callable[[int], Awaitable[None]],
    on_source: Found,
    given: Sequence[Source] = (),
    earlier: Sequence[Source] = (),
    notes: Sequence[str] = (),
) -> SourceCollection:
    """Search, fetch, rank, within `within_s` seconds. Raises `SearchFailed` when every provider failed.

    `given` came with the question and is kept whatever else is found; `earlier` was found before and is ranked
    with the rest. With either of them, providers that all fail are a limitation. `notes` say what is missing of
    what was given.

    A collection without sources is an answer: nothing relevant was found. `on_fetching` hears how
    many results there are before pages are read, `on_source` each source as soon as it is read.
    What is not there in time is left out: a late provider is a failed one, a late page its extract.
    """
    ends_at = asyncio.get_running_loop().time() + within_s
    hits, failures, used = await _search_all(gathering, plan, within_s=within_s)
    if not used and not given and not earlier:
        raise SearchFailed(failures)
    documents = _merge(hits)
    await on_fetching(len(documents))
    started = perf_counter()
    candidates, pages_failed = await _read_all(gathering, documents, plan, on_source, ends_at=ends_at)
    # Reading long texts takes CPU time, which other jobs on this loop must not wait for.
    relevant = await asyncio.to_thread(_relevant, gathering, candidates)
    relevant = _unlike(given, [*relevant, *(Candidate(source) for source in earlier)])
    rank = partial(
        rank_sources,
        question=gathering.job.query,
        intent=gathering.job.intent,
        now=gathering.deps.clock(),
        similarities=await _similarities(gathering, relevant),
    )
    brought = [Candidate(source) for source in given]
    kept = await asyncio.to_thread(rank, brought, max_sources=len(given), max_per_domain=len(given))
    room = max(plan.max_sources - len(kept), 0)
    per_domain = gathering.deps.settings.search.max_per_domain
    best = await asyncio.to_thread(rank, relevant, max_sources=room, max_per_domain=per_domain) if room else []
    metadata = SearchMetadata(
        queries_executed=tuple(dict.fromkeys(query.text for query in plan.queries)),
        providers_used=tuple(name for name in plan.providers if name in used),
        total_results=len(hits),
        fetch_duration_s=perf_counter() - started,
        failures=failures,
        pages_read=len(candidates) - pages_failed,
        pages_failed=pages_failed,
        notes=tuple(notes),
    )
    return SourceCollection(tuple(renumbered([*kept, *best])), metadata, considered=len(documents) + len(given))


async def _search_all(
    gathering: Gathering, plan: SearchPlan, *, within_s: float
) -> tuple[list[SearchHit], dict[str, str], set[str]]:
    """Every provider × query in parallel; one that fails costs only its own results (S003-08, S003-23)."""
    calls = {
        gathering.search(provider, query): provider
        for provider in plan.providers
        for query in plan.queries
        if not query.only or provider in query.only
    }
    if not calls:
        said = no_provider_allowed(gathering.job.scope.tenant)
        raise NoProviderAllowed("the plan names no provider", user_message=said)
    done, _ = await asyncio.wait(calls, timeout=within_s)
    hits: list[SearchHit] = []
    failures: dict[str, str] = {}
    used: set[str] = set()
    for call, provider in calls.items():
        error = call.exception() if call in done else ProviderTimeout(provider, "no answer in time")
        if isinstance(error, ProviderError):
            gathering.deps.count_error("search", error)
            if provider not in failures or not isinstance(error, ProviderRateLimited):  # our own pace explains least
                failures[provider] = error.reason
        elif error is not None:
            raise error
        else:
            used.add(provider)
            hits.extend(call.result())
    return hits, {name: reason for name, reason in failures.items() if name not in used}, used


@dataclass
class _Document:
    """All hits that name one page, the fullest first."""

    hit: SearchHit
    best_rank: int
    mentions: set[str]


def _merge(hits: Sequence[SearchHit]) -> list[_Document]:
    """One entry a page (S003-10), in the order of their best rank."""
    documents: dict[str, _Document] = {}
    for hit in hits:
        key = canonical_url(hit.url)
        known = documents.setdefault(key, _Document(hit, hit.rank, set()))
        known.mentions.add(hit.provider)
        known.best_rank = min(known.best_rank, hit.rank)
        if (hit.is_complete, len(hit.text)) > (known.hit.is_complete, len(known.hit.text)):
            known.hit = hit
    return sorted(documents.values(), key=lambda document: (document.best_rank, -len(document.mentions)))


async def _read_all(
    gathering: Gathering, documents: Sequence[_Document], plan: SearchPlan, on_source: Found, *, ends_at: float
) -> tuple[list[Candidate], int]:
    """Read the most promising pages in parallel; a page that cannot be read stays as its provider's extract."""
    limit = max(gathering.deps.settings.search.pages_to_fetch, plan.max_sources)
    pages = [document for document in documents if not document.hit.is_complete][:limit]
    whole = [document for document in documents if document.hit.is_complete]

    async def read(document: _Document) -> Candidate | None:
        source = await _source_of(gathering, document.hit, ends_at=ends_at)
        if source is None:
            return None
        await on_source(source)
        return Candidate(source, document.best_rank, len(document.mentions))

    outcomes = await asyncio.gather(*(read(document) for document in [*whole, *pages]))
    candidates = [outcome for outcome in outcomes if outcome]
    unread = len(outcomes) - len(candidates) + sum(bool(candidate.source.extract_of_page) for candidate in candidates)
    return candidates, unread


async def _source_of(gathering: Gathering, hit: SearchHit, *, ends_at: float) -> Source | None:
    if hit.is_complete:
        return await asyncio.to_thread(make_source, gathering, hit, hit.text)
    try:
        async with asyncio.timeout_at(ends_at):
            page = await gathering.page(hit.url)
    except (FetchError, TimeoutError) as error:
        exc = error if isinstance(error, FetchError) else PageTimeout(hit.url, "not read in time")
        log.info("page not read", extra={"url": hit.url, "reason": exc.reason})
        if not hit.text.strip():
            return None
        return await asyncio.to_thread(make_source, gathering, hit, hit.text, why_extract=exc.reason)
    merged = replace(
        hit,
        title=page.title or hit.title,
        author=page.author or hit.author,
        published_at=page.published_at or hit.published_at,
        found_at=page.read_at,
    )
    return await asyncio.to_thread(make_source, gathering, merged, page.text)


def renumbered(sources: Sequence[Source]) -> list[Source]:
    """With ids `src_1`… in the order given."""
    return [replace(source, id=f"src_{number}") for number, source in enumerate(sources, start=1)]


def make_source(gathering: Gathering, hit: SearchHit, text: str, *, why_extract: str = "") -> Source:
    """The document as it was read, now or when it was found; it gets its number from whoever keeps it."""
    domain = domain_of(hit.url)
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
            kind=kind_of(hit.url, hint=hit.kind),
            published_at=hit.published_at,
            author=hit.author,
            is_guideline=hit.is_guideline,
        ),
        extract_of_page=why_extract,
        instructs=tuple(instructions_in(text)),
    )


def _read_ahead(text: str) -> None:
    """Whatever is remembered by text and asked for after the search."""
    instructions_in(text)
    passage_terms(text)


def _storable(text: str) -> str:
    """Text that can be stored: lone surrogates, which JSON servers can send, become U+FFFD; NUL goes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")


def _unlike(given: Sequence[Source], candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are not among `given`; of two with one address the first."""
    known = {canonical_url(source.url) for source in given}
    kept: list[Candidate] = []
    for candidate in candidates:
        place = canonical_url(candidate.source.url)
        if place not in known:
            known.add(place)
            kept.append(candidate)
    return kept


def _relevant(gathering: Gathering, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without those that share next to nothing with the question. Words cannot judge a text in another language."""
    floor = gathering.deps.settings.search.min_relevance
    language = gathering.job.intent.language
    coverages = coverage_of([candidate.source for candidate in candidates], gathering.job.query)
    return [
        candidate
        for candidate, coverage in zip(candidates, coverages, strict=True)
        if coverage >= floor or detect_language(candidate.source.content[:600]) != language
    ]


async def _similarities(gathering: Gathering, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Cosine to the question by URL; empty without an embedder or when it fails."""
    if gathering.deps.embedder is None or not candidates:
        return {}
    try:
        texts = [f"{candidate.source.title}\n{candidate.source.content[:2000]}" for candidate in candidates]
        values = await similarities_to(gathering.deps.embedder, gathering.job.query, texts)
    except ModelError as exc:
        gathering.deps.count_error("search", exc)
        return {}
    return {candidate.source.url: value for candidate, value in zip(candidates, values, strict=True)}
