"""Step 3b: a round's searches, all at once, and the pages behind them read whole (S002-09)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from core.deep.pubmed_syntax import plain_words
from core.deep.state import DeepState, RoundQueries, RoundSources
from core.errors import SearchFailed
from core.evidence.independence import owner
from core.quality import pmid_of
from core.source import SearchFilters, SearchMetadata, SearchPlan, SearchQuery, Source
from core.stages.gathering import Gathering
from core.stages.given import read_given
from core.stages.plan import awake, foreign
from core.stages.search import collect_sources
from core.urls import canonical_url
from core.work import Work

PUBMED = "pubmed"
MIN_RELEVANCE = 0.03  # 0…1; far below a quick answer's, since a round's queries speak of several things
MAX_DOCUMENTS = 1000  # more than a job ever finds


async def execute_searches(work: Work, state: DeepState, queries: RoundQueries, *, within_s: float) -> RoundSources:
    """Every query to its providers in parallel, about ten results each; what is new is read and kept with the job.

    A provider that fails costs its own results. Raises `SearchFailed` when all fail and nothing was found before.
    """
    known = await known_sources(work, state.last_number)
    plan = _plan(work, queries, known)
    if not plan.queries:
        return RoundSources(state.last_number, 0, 0, 0)
    try:
        found = await collect_sources(
            _focused(work, state, queries),
            plan,
            within_s=within_s,
            on_source=work.progress.source,
        )
    except SearchFailed as exc:
        if not known:
            raise
        work.deps.count_error("search", exc)
        return RoundSources(state.last_number, 0, 0, 0, failure=exc.user_message)
    settings = work.deps.settings
    per_owner = settings.search.max_per_domain
    new = fresh(found.sources, known, most=settings.deep.sources_per_round, per_owner=per_owner)
    # All of them, since the first that a resumed job keeps takes the place of what was kept before.
    await work.deps.sources.put(work.job, [*known, *new])
    articles = sum(bool(pmid_of(source.url)) for source in new)
    return RoundSources(
        last_number=state.last_number + len(new),
        results=found.considered,
        articles=articles,
        pages=len(new) - articles,
        metadata=found.search_metadata,
    )


async def keep_given(work: Work, *, within_s: float) -> RoundSources:
    """The files and addresses that came with the question, and what the job it is based on had read.

    They are read before anything is searched for, so that the first queries aim at what they leave open.
    """
    given = await read_given(work.job, work.gathering, work.deps, within_s=within_s)
    most = work.deps.settings.deep.max_given_sources
    new = fresh([*given.sources, *given.earlier], (), most=most, per_owner=MAX_DOCUMENTS)
    for source in new:
        await work.progress.source(source)
    if new:
        await work.deps.sources.put(work.job, new)
    return RoundSources(len(new), len(new), 0, len(new), metadata=SearchMetadata(notes=given.notes))


async def known_sources(work: Work, last_number: int) -> list[Source]:
    """The job's sources up to a number: what an interrupted round had added counts as not yet read."""
    return [source for source in await work.deps.sources.sources(work.job.id) if source.number <= last_number]


def fresh(found: Sequence[Source], known: Sequence[Source], *, most: int, per_owner: int) -> list[Source]:
    """Those of `found` that are not known yet, numbered behind the known ones; few of one owner."""
    seen = {canonical_url(source.url) for source in known} | {source.content_hash for source in known}
    new: list[Source] = []
    owners: Counter[str] = Counter()
    for source in found:
        owners[owner(source)] += 1
        is_known = {canonical_url(source.url), source.content_hash} & seen
        if not is_known and owners[owner(source)] <= per_owner and len(new) < most:
            new.append(source)
    first = max((source.number for source in known), default=0) + 1
    return [replace(source, id=f"src_{number}") for number, source in enumerate(new, start=first)]


def web_providers(work: Work) -> tuple[str, ...]:
    """All but PubMed; web searches alone where there is one, since the others answer a question's words poorly."""
    strengths = {name: strength for name, strength in awake(work.deps).items() if name != PUBMED}
    web = [name for name, strength in strengths.items() if strength in ("factual", "conceptual", "files")]
    has_web = any(strengths[name] != "files" for name in web)
    return tuple(web if has_web else strengths)


def _plan(work: Work, queries: RoundQueries, known: Sequence[Source]) -> SearchPlan:
    settings = work.deps.settings
    web = web_providers(work)
    filters = SearchFilters(language=foreign(work.job.intent))
    pubmed = [SearchQuery(text, only=(PUBMED,), is_verbatim=True) for text in queries.pubmed]
    wanted = [
        *(pubmed if PUBMED in work.deps.providers else []),
        *(SearchQuery(text, filters, only=web) for text in queries.web),
    ]
    return SearchPlan(
        queries=tuple(query for query in wanted if query.only),
        providers=(*web, *((PUBMED,) if PUBMED in work.deps.providers else ())),
        max_sources=settings.deep.sources_per_round + len(known),  # known ones are found again and left out
        timeout_s=settings.search.provider_timeout_s,
    )


def _focused(work: Work, state: DeepState, queries: RoundQueries) -> Gathering:
    """The job as ranking shall see it: a page that answers one open item need not speak of the others.

    All that PubMed has is of one domain, so owners are counted here instead (`fresh`).
    """
    words = " ".join([state.refined.question, *queries.web, *(plain_words(query) for query in queries.pubmed)])
    job = replace(work.job, request=replace(work.job.request, query=words))
    search = replace(work.deps.settings.search, max_per_domain=MAX_DOCUMENTS, min_relevance=MIN_RELEVANCE)
    deps = replace(work.deps, settings=replace(work.deps.settings, search=search))
    return replace(work.gathering, job=job, deps=deps)
