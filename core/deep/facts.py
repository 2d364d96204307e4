"""Step 3c: facts, each bound to the words of the source that say it: from what a round found, and from earlier jobs.

A fact comes with the source it stands in and the day it was read. One of an earlier job that is older than its kind of
question allows is looked up again, and dropped when its words no longer stand there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from core.deep.checklist import ask_step, checklist_frame, facts_frame, line, listed, number, question_frame
from core.deep.searching import PUBMED, known_sources
from core.deep.state import DeepState, Fact, NewFacts
from core.deep.viewing import evidence_of
from core.evidence.authority import is_retracted, pmid_of
from core.evidence.passages import EvidenceIndex
from core.evidence.quoting import quote_answer
from core.evidence.rules.alignment import Force
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.verbatim import find_verbatim, verify_quote
from core.llm.ask_model import strict
from core.model.answer import Evidence, ModelUsage, Verdict
from core.model.errors import FetchError, GorkdError, ModelError, ProviderError
from core.model.job import Json, rows
from core.model.source import SearchHit, SearchQuery, Source, SourceKind
from core.pipeline.deps import Deps
from core.pipeline.tool_traces import ToolTrace, trace_id_of
from core.pipeline.work import Work
from core.prompts import load_prompt
from core.stages.gathering import make_source
from core.stages.intake import lifetime_of
from core.stages.prompting import format_sources, passage_tokens
from core.text.chunking import Passage, select_passages
from core.text.terms import terms
from core.text.urls import canonical_url

log = logging.getLogger(__name__)

NEVER_IN_FACTS = frozenset({"numbers", "dates", "units", "names", "negation", "opposites", "roles"})  # rules' doubts
SAME_FACT = 90.0  # rapidfuzz token-set ratio 0…100 of two facts of one source

CALLS_AT_ONCE = 3  # of a round's facts, where the model serves that; each repeats question, list and known facts
MIN_SHARED = 2  # informative words that an earlier fact has in common with the new question
MIN_SHARE = 0.25  # of the new question's words


@dataclass(frozen=True)
class _GivenFact:
    """A fact as the model gave it."""

    text: str
    items: tuple[str, ...]
    source_id: str
    quote: str


async def process_results(state: DeepState, sources: Sequence[Source], deps: Deps, *, within_s: float) -> NewFacts:
    """What the sources say for the checklist. Raises `ModelError`.

    A fact without its words in the source is looked for there, and dropped when the source does not say it.
    What was retracted gives no facts.
    """
    readable = [source for source in sources if not is_retracted(source)]
    passages = await asyncio.to_thread(_choose, state, readable, deps)
    if not passages:
        return NewFacts()
    most, groups = deps.settings.deep.max_facts_per_round, _groups(readable, deps)
    outcomes = await asyncio.gather(
        *(_take(state, group, passages, deps, most=-(-most // len(groups)), within_s=within_s) for group in groups),
        return_exceptions=True,
    )
    taken = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    for error in (outcome for outcome in outcomes if isinstance(outcome, BaseException)):
        if not (taken and isinstance(error, ModelError)):  # what other calls found will do
            raise error
    found = [entry for entries, _ in taken for entry in entries][:most]
    facts = await asyncio.to_thread(_bind, state, found, readable)
    return NewFacts(facts=tuple(facts), usage=tuple(spent for _, usage in taken for spent in usage))


def _groups(sources: Sequence[Source], deps: Deps) -> list[Sequence[Source]]:
    """Sources that are read by one call each, side by side: what a round writes of its facts is most of its time."""
    count = min(CALLS_AT_ONCE, len(sources)) if deps.writes_in_parallel else 1
    return [sources[at::count] for at in range(count)]


async def _take(
    state: DeepState,
    sources: Sequence[Source],
    passages: Mapping[str, Sequence[Passage]],
    deps: Deps,
    *,
    most: int,
    within_s: float,
) -> tuple[list[_GivenFact], tuple[ModelUsage, ...]]:
    """What one call finds in these, at most so many, and what it cost."""
    if not any(source.id in passages for source in sources):
        return [], ()
    known = facts_frame(state.facts, max_tokens=deps.settings.deep.max_known_tokens)
    parts = [format_sources(sources, passages), question_frame(state), known, checklist_frame(state.needed)]
    said = await ask_step(
        deps,
        "facts",
        system=load_prompt("process_results").substitute(today=deps.clock().date().isoformat(), max_facts=most),
        user="\n".join(parts),
        schema_name="facts",
        schema=_schema(state, most),
        within_s=within_s,
    )
    found = [_read(row) for row in rows(said.fields.get("facts"))][:most]
    known_ids = {source.id for source in sources}
    is_noise = bool(found) and not any(entry.text and entry.source_id in known_ids for entry in found)
    if not said.fields or is_noise:
        found = await asyncio.to_thread(_quoted, state, sources)
    return found, said.usage


def bind_fact(text: str, quote: str, source: Source) -> Evidence | None:
    """The span of the source that says `text`: the quote's where it stands there, else the best passage; None if none.

    The rules judge the sentence against it as they judge every sentence of an answer.
    """
    return _bind_to(text, quote, _index(source))


def _choose(state: DeepState, sources: Sequence[Source], deps: Deps) -> dict[str, list[Passage]]:
    """Of the whole texts what bears on the items that are still needed, within the budget."""
    needs = " ".join([state.refined.question, *(f"{item.description} {item.missing}" for item in state.needed)])
    budget = deps.settings.deep.max_source_tokens
    return select_passages(sources, needs, max_tokens=budget, count_tokens=passage_tokens)


def _read(row: Mapping[str, Json]) -> _GivenFact:
    items = tuple(str(number(item)) for item in listed(row.get("items"), most=5))
    return _GivenFact(line(row.get("fact")), items, f"src_{number(row.get('source'))}", line(row.get("quote")))


def _quoted(state: DeepState, sources: Sequence[Source]) -> list[_GivenFact]:
    """For a model that gave nothing readable, or nothing of any source: sentences that answer, as they stand."""
    quoted = quote_answer(state.refined.question, sources)
    return [_GivenFact(entry.said, (), entry.source_id, entry.text) for entry in (*quoted.summary, *quoted.detail)]


def _schema(state: DeepState, most: int) -> dict[str, Json]:
    items: list[Json] = [item.id for item in state.checklist]
    row = strict(
        {
            "fact": {"type": "string"},
            "items": {"type": "array", "items": {"type": "string", "enum": items}, "maxItems": 5},
            "source": {"type": "string"},
            "quote": {"type": "string"},
        }
    )
    return strict({"facts": {"type": "array", "items": row, "maxItems": most}})


def _bind(state: DeepState, found: Sequence[_GivenFact], sources: Sequence[Source]) -> list[Fact]:
    indexes = {source.id: _index(source) for source in sources if any(entry.source_id == source.id for entry in found)}
    items = {item.id for item in state.checklist}
    facts: list[Fact] = []
    for entry in found:
        if not entry.text or entry.source_id not in indexes:
            continue
        if any(_is_same(entry, fact) for fact in [*state.facts, *facts]):
            continue
        evidence = _bind_to(entry.text, entry.quote, indexes[entry.source_id])
        if evidence is not None:
            named = tuple(item for item in entry.items if item in items)
            facts.append(Fact(len(state.facts) + len(facts) + 1, entry.text, named, evidence))
    return facts


def _is_same(entry: _GivenFact, fact: Fact) -> bool:
    """From another source the same fact is a second voice for it."""
    return (
        fact.evidence.source_id == entry.source_id
        and fuzz.token_set_ratio(entry.text.casefold(), fact.text.casefold()) >= SAME_FACT
    )


def _index(source: Source) -> EvidenceIndex:
    """What a page says to assistants is no evidence; blanked out, it keeps the offsets of the rest true."""
    return EvidenceIndex(replace(source, content=source.trusted_content))


def _bind_to(text: str, quote: str, index: EvidenceIndex) -> Evidence | None:
    source = index.source
    span = verify_quote(quote, source.content) if quote else None
    if span is None or any(first < span[1] and last > span[0] for first, last in source.instructs):
        evidence = index.find(text)
    else:
        evidence = Evidence(source.id, source.content[slice(*span)], *span)
    if evidence is None:
        return None
    vetoes = find_vetoes(text, evidence.quote, context=index.context(text, evidence))
    if any(veto.force is Force.CONTRADICTS or veto.rule in NEVER_IN_FACTS for veto in vetoes):
        return None
    verdict = Verdict.SUPPORTED if find_verbatim(text, source.content) else Verdict.UNCHECKED
    reasons = tuple(veto.reason for veto in vetoes)
    return replace(evidence, verdict=verdict, page=source.page_at(evidence.start), reasons=reasons)


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
        for row in evidence_of(trace):
            fact = _reread(row, job_id, asked)
            if fact.shared >= max(MIN_SHARED, MIN_SHARE * len(asked)):
                found.setdefault(fact.text.casefold(), fact)
    return sorted(found.values(), key=lambda fact: -fact.shared)[:most]


def _reread(row: Mapping[str, Json], job_id: str, asked: frozenset[str]) -> EarlierFact:
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
