"""What earlier deep research of the same scope found out, as starting knowledge for a new job.

A fact comes with the source it stands in and the day it was read. One that is older than its kind of question
allows is looked up again, and dropped when its words no longer stand there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.deep.asking import line
from core.deep.facts import bind_fact
from core.deep.searching import PUBMED, known_sources
from core.deep.state import DeepState, Fact, NewFacts
from core.errors import FetchError, GorkdError, ProviderError
from core.events import Json, rows
from core.evidence.verbatim import verify_quote
from core.freshness import lifetime_of
from core.quality import is_retracted, pmid_of
from core.source import SearchHit, SearchQuery, Source, SourceKind
from core.stages.gathering import make_source
from core.terms import terms
from core.trace import ToolTrace, trace_id_of
from core.urls import canonical_url
from core.work import Work

log = logging.getLogger(__name__)

MIN_SHARED = 2  # informative words that an earlier fact has in common with the new question
MIN_SHARE = 0.25  # of the new question's words


@dataclass(frozen=True)
class EarlierFact:
    """A fact as an earlier job left it. `shared` counts the informative words it has in common with the question."""

    text: str
    quote: str
    source_id: str
    job_id: str
    shared: int


async def earlier_facts(work: Work, state: DeepState, traces: Sequence[ToolTrace], *, within_s: float) -> NewFacts:
    """What bears on the question, numbered as this job's own; their sources are kept with the job."""
    if work.job.request.is_fresh:
        return NewFacts(last_number=state.last_number)
    wanted = relevant_facts(state, traces, own=trace_id_of(work.job.id), most=work.deps.settings.deep.max_earlier_facts)
    known = await known_sources(work, state.last_number)
    sources: dict[str, Source] = {canonical_url(source.url): source for source in known}
    facts: list[Fact] = []
    try:
        async with asyncio.timeout(within_s):
            offered = await asyncio.gather(*(_still_true(work, fact) for fact in wanted))
    except TimeoutError:
        log.info("earlier facts could not be looked up in time")
        return NewFacts(last_number=state.last_number)
    for fact, source in zip(wanted, offered, strict=True):
        if source is None:
            continue
        numbered = replace(source, id=f"src_{len(sources) + 1}")
        kept = sources.setdefault(canonical_url(source.url), numbered)
        evidence = await asyncio.to_thread(bind_fact, fact.text, fact.quote, kept)
        if evidence is not None:
            day = kept.read_at.date().isoformat()
            facts.append(Fact(len(state.facts) + len(facts) + 1, fact.text, (), evidence, learned_on=day))
    if not facts:
        return NewFacts(last_number=state.last_number)
    await work.deps.sources.put(work.job, list(sources.values()))
    return NewFacts(tuple(facts), last_number=len(sources))


def relevant_facts(state: DeepState, traces: Sequence[ToolTrace], *, own: str, most: int) -> list[EarlierFact]:
    """Those that share most with the refined question and its checklist, each once; newer jobs first among equals."""
    asked = frozenset(terms(" ".join([state.refined.question, *state.refined.key_terms])))
    found: dict[str, EarlierFact] = {}
    for trace in traces:
        job_id = trace.state.get("job_id")
        if trace.id == own or not isinstance(job_id, str):
            continue
        for row in _evidence_of(trace):
            fact = _read(row, job_id, asked)
            if fact.shared >= max(MIN_SHARED, MIN_SHARE * len(asked)):
                found.setdefault(fact.text.casefold(), fact)
    return sorted(found.values(), key=lambda fact: -fact.shared)[:most]


def _evidence_of(trace: ToolTrace) -> Sequence[Mapping[str, Json]]:
    knowledge = trace.state.get("knowledge_base")
    return rows(knowledge.get("evidence")) if isinstance(knowledge, dict) else []


def _read(row: Mapping[str, Json], job_id: str, asked: frozenset[str]) -> EarlierFact:
    text = line(row.get("fact"))
    quote = row.get("quote")
    shared = len(asked.intersection(terms(text))) if text else 0
    return EarlierFact(text, quote if isinstance(quote, str) else "", line(row.get("source_id")), job_id, shared)


async def _still_true(work: Work, fact: EarlierFact) -> Source | None:
    """The source as it may be cited now: as it was read then while that is fresh, else read again."""
    try:
        stored = await work.deps.sources.sources(fact.job_id)
        source = next((source for source in stored if source.id == fact.source_id), None)
        if source is None or source.metadata.kind is SourceKind.LOCAL:  # local files change unseen
            return None
        now = work.deps.clock()
        lifetime = lifetime_of(work.job.query, work.job.intent, now=now)
        if now - source.read_at > work.deps.settings.cache.ttl[lifetime]:
            source = await _read_again(work, source)
    except (FetchError, ProviderError):
        return None
    except GorkdError as exc:
        work.deps.count_error("known", exc)
        return None
    if source is None or is_retracted(source):
        return None
    if not work.job.request.policy.permits(source.url, source.metadata.kind):
        return None
    return source if verify_quote(fact.quote, source.trusted_content) else None


async def _read_again(work: Work, source: Source) -> Source | None:
    pmid = pmid_of(source.url)
    if pmid and PUBMED in work.deps.providers:
        hits = await work.gathering.search(PUBMED, SearchQuery(f"{pmid}[uid]", only=(PUBMED,), is_verbatim=True))
        hit = next((hit for hit in hits if pmid_of(hit.url) == pmid), None)
        return await asyncio.to_thread(make_source, work.gathering, hit, hit.text) if hit else None
    page = await work.gathering.page(source.url)
    about = source.metadata
    hit = SearchHit(
        provider=about.provider,
        url=source.url,
        title=page.title or source.title,
        published_at=page.published_at or about.published_at,
        author=page.author or about.author,
        kind=about.kind,
    )
    return await asyncio.to_thread(make_source, work.gathering, hit, page.text)
