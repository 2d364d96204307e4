"""Stage 3: ask the providers, read the pages, keep the best sources."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from core.llm.ask_model import kept_anew, recalled, similarities_to
from core.model.errors import (
    FetchError,
    ModelError,
    NoProviderAllowed,
    PageTimeout,
    ProviderError,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnavailable,
    SearchFailed,
)
from core.model.ports import unread
from core.model.source import SearchHit, SearchMetadata, SearchPlan, SearchQuery, Source, SourceCollection
from core.pipeline.limits import Nearness
from core.presentation.wording import no_provider_allowed
from core.stages.gathering import Gathering, Stragglers, make_source, renumbered
from core.stages.plan import stand_ins
from core.stages.ranking import Candidate, coverage_of, rank_sources
from core.text.language import detect_language
from core.text.urls import canonical_url
from core.works.standing import AT_SEARCH_S, stand, with_full_texts

log = logging.getLogger(__name__)

T = TypeVar("T")
Found = Callable[[Source], Awaitable[None]]

CHOICE = "early"  # in the job's memo
EARLY_GRACE_S = 0.3  # that the answer's beginning waits for a page which is later than half of them


async def collect_sources(
    gathering: Gathering,
    plan: SearchPlan,
    *,
    within_s: float,
    on_source: Found,
    on_fetching: Callable[[int], Awaitable[None]] | None = None,
    given: Sequence[Source] = (),
    earlier: Sequence[Source] = (),
    notes: Sequence[str] = (),
    begun: Callable[[], Awaitable[Sequence[Source]]] | None = None,
    full_text_s: float = 0.0,
) -> SourceCollection:
    """Search, fetch, rank, within `within_s` seconds. Raises `SearchFailed` when every provider failed.

    `given` came with the question and is kept whatever else is found, `notes` say what is missing of it; `earlier`
    was found before and is ranked with the rest. With either of them, providers that all fail are a limitation. From
    those that `begun` gives the answer is being written already: they come first and keep their numbers.

    A collection without sources is an answer: nothing relevant was found. `on_fetching` hears how
    many results there are before pages are read, `on_source` each source as soon as it is read.
    Where no provider could be reached, all are asked once more after a moment, since most outages are as short.
    Papers are read whole where their text is free and `full_text_s` may be spent on it, else by their abstracts.
    What is not there in time is left out: a late provider is a failed one, a late page its extract. Once most is there
    the rest is late soon; it joins the next round of the same `gathering`.
    """
    ends_at = asyncio.get_running_loop().time() + within_s
    hits, failures, used = (await _searched(gathering, plan, within_s)).outcome()
    hits = [*hits, *gathering.joined()]
    if not used and not given and not earlier:
        raise SearchFailed(failures)
    documents = _merge(hits)
    if on_fetching is not None:
        await on_fetching(len(documents))
    started = perf_counter()
    candidates, pages_failed, pages_late = await _read_all(gathering, documents, plan, on_source, ends_at=ends_at)
    # Reading long texts takes CPU time, which other jobs on this loop must not wait for.
    relevant = await _ranking(gathering, _relevant, gathering, plan, candidates)
    first = [*given, *(await begun() if begun else ())]
    kept = await _best(gathering, plan, relevant, first, earlier, unranked=len(given))
    kept = await _with_works(gathering, kept, full_text_s)
    said = [unread(gathering.deps.providers.get(name), gathering.job.scope) for name in used]
    metadata = SearchMetadata(
        queries_executed=tuple(dict.fromkeys(query.text for query in plan.queries)),
        providers_used=used,
        total_results=len(hits),
        fetch_duration_s=perf_counter() - started,
        failures=failures,
        pages_read=len(candidates) - pages_failed,
        pages_failed=pages_failed,
        pages_late=pages_late,
        notes=(*notes, *filter(None, said)),
        left_out=tuple(one.source.metadata.domain or one.source.title for one in candidates if one not in relevant),
    )
    return SourceCollection(tuple(renumbered(kept)), metadata, considered=len(documents) + len(given))


async def _searched(gathering: Gathering, plan: SearchPlan, within_s: float) -> _Searching:
    """All is asked, and once more after a moment where no provider could be reached."""
    ends_at = asyncio.get_running_loop().time() + within_s
    searching = _Searching(gathering, plan)
    await searching.run(within_s)
    again_after_s = gathering.deps.settings.search.again_after_s
    if searching.is_outage() and ends_at - asyncio.get_running_loop().time() > 2 * again_after_s:
        await asyncio.sleep(again_after_s)
        gathering.forget_failed_searches()
        searching = _Searching(gathering, plan)
        await searching.run(ends_at - asyncio.get_running_loop().time())
    return searching


async def _with_works(gathering: Gathering, kept: Sequence[Source], full_text_s: float) -> list[Source]:
    """The sources with what is known of the works behind them, and with their full texts where there is time."""
    works = gathering.deps.works
    whole = await with_full_texts(kept, works, gathering.page, within_s=full_text_s)
    return list((await stand(renumbered(whole), works, within_s=AT_SEARCH_S)).sources)


class _Searching:
    """The searches of one stage: who was asked, who answered, and who is asked instead of those that did not."""

    def __init__(self, gathering: Gathering, plan: SearchPlan) -> None:
        self._gathering, self._plan, self._deps = gathering, plan, gathering.deps
        self._calls: dict[asyncio.Task[Sequence[SearchHit]], str] = {}
        self._reserve = stand_ins(gathering.deps, plan.providers)
        self._passed_over: set[str] = set()  # silent for so long that others were asked
        for provider in plan.providers:
            self._ask(provider, [query for query in plan.queries if not query.only or provider in query.only])
        if not self._calls:
            said = no_provider_allowed(gathering.job.scope.tenant)
            raise NoProviderAllowed("the plan names no provider", user_message=said)

    async def run(self, within_s: float) -> None:
        """Until enough have answered and the others had their grace, all are done, or the time is up."""
        now, grace_s = asyncio.get_running_loop().time, self._deps.settings.search.straggler_s
        asked_at = [self._gathering.asked_at[call] for call in self._calls]
        ends_at = now() + within_s
        next_ask = max(asked_at) + grace_s  # the plan's searches began before the plan was made
        while True:
            pending = {call for call, name in self._calls.items() if not call.done()}
            if self._is_enough():
                pending = {call for call in pending if self._calls[call] not in self._passed_over}
                if pending:
                    await asyncio.wait(pending, timeout=max(min(ends_at - now(), grace_s), 0.0))
                return
            is_silent = bool(self._reserve) and now() < ends_at and not self._web_calls(has_answered=True)
            if is_silent and (now() >= next_ask or not pending & self._web_calls()):
                self._ask_the_next()
                next_ask = now() + grace_s
            elif pending:
                wake_at = min(ends_at, next_ask) if is_silent else ends_at
                await asyncio.wait(pending, timeout=max(wake_at - now(), 0.0), return_when=asyncio.FIRST_COMPLETED)
            else:
                return
            if now() >= ends_at:
                return

    def is_outage(self) -> bool:
        """Whether all calls failed and at least one only since its service could not be reached."""
        errors = [call.exception() if call.done() else None for call in self._calls]
        return all(errors) and any(isinstance(error, ProviderUnavailable) for error in errors)

    def outcome(self) -> tuple[list[SearchHit], dict[str, str], tuple[str, ...]]:
        """The hits, why providers gave nothing, and who answered."""
        hits: list[SearchHit] = []
        errors: dict[str, ProviderError] = {}
        used: set[str] = set()
        for call, provider in self._calls.items():
            error = call.exception() if call.done() else ProviderTimeout(provider, "no answer in time")
            if not call.done():
                self._gathering.late_searches.append(call)
            if isinstance(error, ProviderError):
                self._deps.count_error("search", error)
                if provider not in errors or not isinstance(error, ProviderRateLimited):  # our own pace explains least
                    errors[provider] = error
            elif error is not None:
                raise error
            else:
                used.add(provider)
                hits.extend(call.result())
        for provider in used:
            self._deps.setbacks.forget(provider)
        failed = {name: error for name, error in errors.items() if name not in used}
        for error in failed.values():
            self._deps.setbacks.note(error)
            log.warning(
                "provider gave nothing",
                extra={"provider": error.provider, "reason": error.reason, "mend": error.operator_message},
            )
        return (
            hits,
            {name: error.plain for name, error in failed.items()},
            tuple(name for name in dict.fromkeys(self._calls.values()) if name in used),
        )

    def _ask(self, provider: str, queries: Sequence[SearchQuery]) -> None:
        for query in queries:
            self._calls[self._gathering.search(provider, query)] = provider

    def _ask_the_next(self) -> None:
        """What is written for one provider alone is asked of no other."""
        self._passed_over.update(self._calls.values())
        queries = [replace(query, only=()) for query in self._plan.queries if not query.is_verbatim]
        for provider in self._reserve.pop(0):
            self._ask(provider, queries)
            for query in queries:  # time was lost already: pages are read as they are found
                self._gathering.start_early([provider], query)

    def _web_calls(self, *, has_answered: bool = False) -> set[asyncio.Task[Sequence[SearchHit]]]:
        """All but those to local files; `has_answered` are those that were answered, be it with nothing."""
        calls = {call for call, name in self._calls.items() if self._deps.providers[name].strength != "files"}
        return {call for call in calls if call.done() and not call.exception()} if has_answered else calls

    def _is_enough(self) -> bool:
        """Something was found, and one provider is done with its queries, or half of all are answered."""
        calls = self._web_calls() or set(self._calls)
        answered = {call for call in calls if call.done() and not call.exception()}
        waited_for = {self._calls[call] for call in calls if not call.done()}
        is_one_done = any(self._calls[call] not in waited_for for call in answered if call.result())
        return is_one_done or (2 * len(answered) >= len(calls) and any(call.result() for call in answered))


@dataclass
class _Document:
    """All hits that name one page, the fullest first."""

    hit: SearchHit
    best_rank: int
    mentions: set[str]


def _merge(hits: Sequence[SearchHit]) -> list[_Document]:
    """One entry a page (S003-10), and one a work of which several catalogues give the abstract, by their best rank."""
    documents: dict[str, _Document] = {}
    works: dict[str, str] = {}
    for hit in hits:
        names = [f"{kind}:{value}" for kind, value in vars(hit.ids).items() if value] if hit.is_complete else []
        key = next((works[name] for name in names if name in works), canonical_url(hit.url))
        works.update(dict.fromkeys(names, key))
        known = documents.setdefault(key, _Document(hit, hit.rank, set()))
        known.mentions.add(hit.provider)
        known.best_rank = min(known.best_rank, hit.rank)
        is_elsewhere = canonical_url(known.hit.url) != canonical_url(hit.url)  # the same abstract in another catalogue
        if not is_elsewhere and (hit.is_complete, len(hit.text)) > (known.hit.is_complete, len(known.hit.text)):
            known.hit = hit
        if names:
            known.hit = _knowing_more(known.hit, hit)
    return sorted(documents.values(), key=lambda document: (document.best_rank, -len(document.mentions)))


def _knowing_more(hit: SearchHit, other: SearchHit) -> SearchHit:
    """`hit` with what another catalogue knows of the same work."""
    return replace(
        hit,
        ids=hit.ids.joined(other.ids),
        cited_by=other.cited_by if hit.cited_by is None else hit.cited_by,
        notices=tuple(dict.fromkeys((*hit.notices, *other.notices))),
    )


async def _read_all(
    gathering: Gathering, documents: Sequence[_Document], plan: SearchPlan, on_source: Found, *, ends_at: float
) -> tuple[list[Candidate], int, int]:
    """Read the most promising pages in parallel; a page that cannot be read stays as its provider's extract.

    Also how many could not be read, and how many of these were late.
    """
    settings = gathering.deps.settings.search
    limit = max(settings.pages_to_fetch, plan.max_sources)
    pages = [document for document in documents if not document.hit.is_complete][:limit]
    wanted = [*(document for document in documents if document.hit.is_complete), *pages]
    others = Stragglers(len(wanted), ends_at=ends_at, grace_s=settings.straggler_s)
    late: list[str] = []

    async def read(place: int, document: _Document) -> Candidate | None:
        source = await _source_of(gathering, document.hit, others, late)
        if source is None:
            return None
        if gathering.deps.works is not None and place < plan.max_sources:
            gathering.deps.works.begin(source.metadata.ids)
        await on_source(source)
        return Candidate(source, document.best_rank, len(document.mentions))

    outcomes = await asyncio.gather(*(read(place, document) for place, document in enumerate(wanted)))
    candidates = [outcome for outcome in outcomes if outcome]
    unread = len(outcomes) - len(candidates) + sum(bool(candidate.source.extract_of_page) for candidate in candidates)
    return candidates, unread, len(late)


async def _source_of(gathering: Gathering, hit: SearchHit, others: Stragglers, late: list[str]) -> Source | None:
    """None for a page that cannot be read and of which there is no extract; `late` takes it when it is too slow."""
    take = partial(gathering.deps.turns.take, nearness=Nearness.READING)
    if hit.is_complete:
        others.arrived()
        return await take(make_source, gathering, hit, hit.text)
    try:
        async with others.waiting():
            page = await asyncio.shield(gathering.page(hit.url))  # it goes on, for the next round
        others.arrived()
    except (FetchError, TimeoutError) as error:
        exc = error if isinstance(error, FetchError) else PageTimeout(hit.url, "not read in time")
        others.failed()
        log.info("page not read", extra={"reason": exc.reason})  # which page it was, the trace says
        if isinstance(exc, PageTimeout):
            late.append(hit.url)
        if not hit.text.strip():
            gathering.late_pages += [hit] if isinstance(error, TimeoutError) else []
            return None
        return await take(partial(make_source, gathering, hit, hit.text, why_extract=exc.reason))
    merged = replace(
        hit,
        title=page.title or hit.title,
        author=page.author or hit.author,
        published_at=page.published_at or hit.published_at,
        found_at=page.read_at,
        ids=page.ids.joined(hit.ids),
    )
    await gathering.prepared(hit.url)
    return make_source(gathering, merged, page.text)  # which costs next to nothing now, so no turn


async def _best(
    gathering: Gathering,
    plan: SearchPlan,
    relevant: Sequence[Candidate],
    first: Sequence[Source],
    earlier: Sequence[Source],
    *,
    unranked: int,
) -> list[Source]:
    """All of `first`, then the best of the rest, `plan.max_sources` together; so many of them have no rank yet."""
    relevant = _unlike(first, [*relevant, *(Candidate(source) for source in earlier)])
    rank = partial(
        rank_sources,
        question=gathering.job.query,
        intent=gathering.job.intent,
        now=gathering.deps.clock(),
        similarities=await _similarities(gathering, relevant),
        queries=[query.text for query in plan.queries],
    )
    brought = [Candidate(source) for source in first[:unranked]]
    kept = await _ranking(gathering, partial(rank, brought, max_sources=unranked, max_per_domain=unranked))
    kept += first[unranked:]
    room = max(plan.max_sources - len(kept), 0)
    rank = partial(rank, max_per_domain=gathering.deps.settings.search.max_per_domain, beside=first[unranked:])
    best = await _ranking(gathering, partial(rank, relevant, max_sources=room)) if room else []
    return [*kept, *best]


@dataclass(frozen=True)
class EarlyChoice:
    """The addresses of the pages that the answer was begun from, in the order of their numbers; none where too few fit.

    It is kept for the job: whoever goes on with it begins from the same.
    """

    urls: tuple[str, ...]


async def early_sources(gathering: Gathering, plan: SearchPlan, *, may_choose: bool = True) -> list[Source]:
    """The best pages that the plan's first query finds, ranked and numbered, where enough of them fit the question.

    Pages that are later than the others are not waited for. None also where nothing can be searched, and where they
    were not chosen before and this one may not choose.
    """
    job, memo, settings = gathering.job, gathering.deps.memo, gathering.deps.settings
    chosen = await recalled(memo, job.id, CHOICE, EarlyChoice)
    if not (chosen.urls if chosen else may_choose):
        return []
    hits = await _first_hits(gathering, plan)
    candidates: dict[str, Candidate] = {}
    if chosen is None:
        candidates = await _read_early(gathering, _merge(hits)[: settings.search.max_sources])
        sources = [one.source for one in candidates.values() if not one.source.extract_of_page]
        coverages = await _ranking(gathering, coverage_of, sources, job.query)
        fitting = [
            one.url for one, share in zip(sources, coverages, strict=True) if share >= settings.search.min_relevance
        ]
        is_enough = max(coverages, default=0.0) >= settings.synthesis.min_early_coverage
        is_enough = is_enough and len(fitting) >= settings.synthesis.min_early_sources
        chosen = await kept_anew(memo, job.id, CHOICE, EarlyChoice(tuple(fitting if is_enough else ())))
    if missing := [document for document in _merge(hits) if document.hit.url in set(chosen.urls) - candidates.keys()]:
        candidates.update(await _read_early(gathering, missing))
    if not set(chosen.urls) <= candidates.keys():
        return []
    rank = partial(
        rank_sources,
        [candidates[url] for url in chosen.urls],
        job.query,
        job.intent,
        now=job.created_at,  # the same whenever it is done again
        max_sources=settings.synthesis.early_sources,
        max_per_domain=settings.search.max_per_domain,
    )
    return await _ranking(gathering, rank)


async def _first_hits(gathering: Gathering, plan: SearchPlan) -> list[SearchHit]:
    """What the first query finds at the most preferred provider that finds something; not in files."""
    providers = gathering.deps.providers
    for name in (name for name in plan.providers if providers[name].strength != "files"):
        call = gathering.search(name, plan.queries[0])
        await asyncio.wait([call])
        if not call.cancelled() and call.exception() is None and call.result():
            return list(call.result())
    return []


async def _read_early(gathering: Gathering, documents: Sequence[_Document]) -> dict[str, Candidate]:
    """By the hits' addresses, those that are read while most are."""
    settings = gathering.deps.settings.search
    ends_at = asyncio.get_running_loop().time() + settings.fetch_timeout_s
    others = Stragglers(len(documents), ends_at=ends_at, grace_s=EARLY_GRACE_S)
    sources = await asyncio.gather(*(_source_of(gathering, document.hit, others, []) for document in documents))
    return {
        source.url: Candidate(source, document.best_rank, len(document.mentions))
        for source, document in zip(sources, documents, strict=True)
        if source is not None
    }


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


async def _ranking(gathering: Gathering, work: Callable[..., T], *args: object) -> T:
    return await gathering.deps.turns.take(work, *args, nearness=Nearness.RANKING)


def _relevant(gathering: Gathering, plan: SearchPlan, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without those that share next to nothing with the question. Words cannot judge a text in another language.

    What an engine ranks first is kept wherever a model reads it: it may say the same in other words.
    """
    settings = gathering.deps.settings.search
    language = gathering.job.intent.language
    trusted = settings.trusted_ranks if gathering.deps.judge is not None else 0
    queries = [query.text for query in plan.queries]
    coverages = coverage_of([candidate.source for candidate in candidates], gathering.job.query, queries)
    return [
        candidate
        for candidate, coverage in zip(candidates, coverages, strict=True)
        if coverage >= settings.min_relevance
        or candidate.best_rank < trusted
        or detect_language(candidate.source.content[:600]) != language
    ]


async def _similarities(gathering: Gathering, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Cosine to the question by URL; empty without an embedder or when it fails."""
    if gathering.deps.embedder is None or not candidates:
        return {}
    texts = [f"{candidate.source.title}\n{candidate.source.content[:2000]}" for candidate in candidates]
    try:
        async with asyncio.timeout(gathering.deps.settings.search.embedding_timeout_s):
            values = await similarities_to(gathering.deps.embedder, gathering.job.query, texts)
    except (ModelError, TimeoutError) as exc:
        gathering.deps.count_error("search", exc)
        return {}
    return {candidate.source.url: value for candidate, value in zip(candidates, values, strict=True)}
