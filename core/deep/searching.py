"""Steps 3a and 3b: what a round searches for, in PubMed and on the web (S002-08), and the pages behind it (S002-09).

PubMed queries are checked before they are sent: one that PubMed would misread is sent as plain words instead, after
its help (pubmed.ncbi.nlm.nih.gov/help, "Search field tags" and "Boolean operators").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import regex

from core.deep.checklist import ask_step, checklist_frame, facts_frame, listed, queries_frame, question_frame, strings
from core.deep.state import DeepState, RoundQueries, RoundSources
from core.evidence.authority import owner, pmid_of
from core.llm.ask_model import strict
from core.model.errors import SearchFailed
from core.model.job import Json
from core.model.source import SearchFilters, SearchMetadata, SearchPlan, SearchQuery, Source
from core.pipeline.deps import Deps
from core.pipeline.work import Work
from core.prompts import load_prompt
from core.stages.gathering import Gathering, read_given
from core.stages.plan import MAX_QUERY_TEXT_CHARS, awake, foreign, keywords
from core.stages.search import collect_sources
from core.text.urls import canonical_url

MAX_CHARS = 400  # of one query; longer ones come from a model gone astray
FIELDS = frozenset(
    """ad aid all au auid ti tiab title abstract cn cois crdt dcom ed edat date dp pdat pl la lang language lid lr majr
    mesh mh mhda nm ot pa pg pmid uid pt ps pubn py rn sb sh si ta journal tt tw vi ip is ir isbn jid gr fau 1au lastau
    affiliation author subset filter""".split()
) | frozenset(
    {
        "all fields", "title/abstract", "mesh terms", "mesh major topic", "mesh subheading", "publication type",
        "date - publication", "publication date", "text word", "text words", "pharmacological action", "author - first",
        "author - last", "supplementary concept", "other term", "mesh:noexp", "mh:noexp", "majr:noexp",
    }
)  # fmt: skip
_TOKEN = regex.compile(r'"[^"]*"|\[[^\[\]]*\]|[()]|[^\s()\[\]"]+|["\[\]]')
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_NEAR = regex.compile(r"(?:ti|title|tiab|title/abstract|ad|affiliation):~\d{1,3}")
MAX_PER_KIND = 2
_SCHEMA: Mapping[str, Json] = strict({"pubmed": strings(MAX_PER_KIND), "web": strings(MAX_PER_KIND)})
PUBMED, EUROPEPMC, OPENALEX = "pubmed", "europepmc", "openalex"
PAPERS = (PUBMED, EUROPEPMC, OPENALEX)  # catalogues that each round asks beside the web
_YEARS = regex.compile(r'"?(\d{4})(?:/\d\d)*:(\d{4})(?:/\d\d)*"?')
_EUROPEPMC = {  # a term with a field of PubMed's; the years of a publication stand between
    **dict.fromkeys(("ti", "title"), 'TITLE:"{}"'),
    **dict.fromkeys(("tiab", "title/abstract", "tw", "text word"), '(TITLE:"{0}" OR ABSTRACT:"{0}")'),
    **dict.fromkeys(("au", "author", "1au", "lastau"), 'AUTH:"{}"'),
    **dict.fromkeys(("pt", "publication type"), 'PUB_TYPE:"{}"'),
    **dict.fromkeys(("dp", "pdat", "publication date", "date - publication"), "PUB_YEAR:{}"),
    **dict.fromkeys(("ta", "journal"), 'JOURNAL:"{}"'),
    **dict.fromkeys(("uid", "pmid"), "EXT_ID:{}"),
}
FULL_TEXT_S = 8.0  # for the full texts of a round's papers, all at once
MIN_RELEVANCE = 0.03  # 0…1; far below a quick answer's, since a round's queries speak of several things
MAX_DOCUMENTS = 1000  # more than a job ever finds


def check_pubmed_query(query: str) -> str:
    """Why PubMed would not understand the query; "" when it would."""
    if len(query) > MAX_CHARS:
        return "too long"
    tokens = _TOKEN.findall(query)
    if not any(_kind(token) == "term" for token in tokens):
        return "no search term"
    named = [token.strip("[]").strip().lower() for token in tokens if token.startswith("[")]
    for reason, is_broken in (
        ("a quotation mark or bracket is not closed", any(token in {'"', "[", "]"} for token in tokens)),
        ("parentheses do not match", not _is_balanced(tokens)),
        ("an unknown field", any(not (name in FIELDS or _NEAR.fullmatch(name)) for name in named)),
        ("an operator without a term on both sides", not _is_joined(tokens)),
    ):
        if is_broken:
            return reason
    return ""


def plain_words(query: str) -> str:
    """The terms of a query without syntax, as PubMed's own mapping of words understands them."""
    terms = [token.strip('"') for token in _TOKEN.findall(query) if _kind(token) == "term"]
    words = [regex.sub(r"[^\w\s'./:-]|\*", " ", term) for term in terms if term not in {'"', "[", "]"}]
    return " ".join(word for word in " ".join(words).split() if word not in _OPERATORS)[:MAX_CHARS]


def checked_pubmed_query(query: str) -> str:
    """The query itself when PubMed understands it, its plain words when not; "" when nothing is left."""
    query = " ".join(query.split())
    return query if not check_pubmed_query(query) else plain_words(query)


def europepmc_query(query: str) -> str:
    """A PubMed query in the syntax of Europe PMC (europepmc.org/searchsyntax): terms keep their fields and groups.

    What it has no field for is looked for anywhere; one that is not whole is sent as plain words.
    """
    if check_pubmed_query(query):
        return plain_words(query)
    written: list[str] = []
    run: list[str] = []  # words before a field are its phrase: `heart failure[mh]`
    for token in [*_TOKEN.findall(query), ""]:
        if token.startswith("["):
            written.append(_fielded(run, token.strip("[]").strip().lower()))
            run = []
        elif token and _kind(token) == "term":
            run.append(token)
        else:
            written += [_fielded([term], "") for term in run] + [token]
            run = []
    return " ".join(filter(None, written))


def _fielded(terms: Sequence[str], field: str) -> str:
    """A term of one field in the syntax of Europe PMC."""
    text = " ".join(terms)
    years = _YEARS.fullmatch(text)
    plain = " ".join(regex.sub(r"[^\w\s.'/-]", " ", text.replace('"', "")).split())
    return _EUROPEPMC.get(field, '"{}"').format(f"[{years[1]} TO {years[2]}]" if years else plain)


def _kind(token: str) -> str:
    if token in _OPERATORS:
        return "operator"
    return {"(": "(", ")": ")", "[": "field"}.get(token[0], "term")


def _is_balanced(tokens: list[str]) -> bool:
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0:
            return False
    return depth == 0


def _is_joined(tokens: list[str]) -> bool:
    """Operators stand between terms or groups, fields right behind a term, and no group is empty."""
    kinds = ["(", *(_kind(token) for token in tokens), ")"]
    wrong = {
        ("(", "operator"), ("operator", ")"), ("operator", "operator"), ("(", ")"), ("(", "field"),
        ("operator", "field"), ("field", "field"), (")", "field"),
    }  # fmt: skip
    return not any(pair in wrong for pair in pairwise(kinds))


async def generate_queries(state: DeepState, deps: Deps, *, within_s: float) -> RoundQueries:
    """From the question, what is known and what is still needed. Raises `ModelError`.

    PubMed's are checked for its syntax; a query that was made before is not made again.
    """
    known = facts_frame(state.facts, max_tokens=deps.settings.deep.max_known_tokens)
    parts = [question_frame(state), known, queries_frame(state), checklist_frame(state.needed)]
    said = await ask_step(
        deps,
        "queries",
        system=load_prompt("generate_queries").substitute(today=deps.clock().date().isoformat()),
        user="\n".join(part for part in parts if part),
        schema_name="queries",
        schema=_SCHEMA,
        within_s=within_s,
    )
    made = {query.casefold() for round_ in state.rounds for query in round_.queries}
    pubmed = [checked_pubmed_query(query) for query in listed(said.fields.get("pubmed"), most=MAX_PER_KIND)]
    web = [query[:MAX_QUERY_TEXT_CHARS] for query in listed(said.fields.get("web"), most=MAX_PER_KIND)]
    queries = RoundQueries(
        tuple(query for query in pubmed if query and query.casefold() not in made),
        tuple(query for query in web if query.casefold() not in made),
        said.usage,
    )
    return queries if queries.pubmed or queries.web else RoundQueries(web=_by_rule(state), usage=said.usage)


def _by_rule(state: DeepState) -> tuple[str, ...]:
    """For a model that had nothing new to ask: the words of what is needed, one item after the other."""
    needed = state.needed
    item = needed[len(state.rounds) % len(needed)] if needed else None
    return (keywords(f"{item.missing or item.description} {' '.join(state.refined.key_terms[:2])}"),) if item else ()


async def execute_searches(work: Work, state: DeepState, queries: RoundQueries, *, within_s: float) -> RoundSources:
    """Every query to its providers in parallel, about ten results each; what is new is read and kept with the job.

    A provider that fails costs its own results. Raises `SearchFailed` when all fail and nothing was found before.
    """
    known = await known_sources(work, state.last_number)
    plan = _plan(work, queries, known)
    if not plan.queries:
        return RoundSources(state.last_number, 0, 0, 0)
    gathering = _focused(work, state, queries)
    for query in plan.queries:  # pages of a quick service are read while a slow one is still searching
        gathering.start_early(query.only, query)
    try:
        found = await collect_sources(
            gathering,
            plan,
            within_s=within_s,
            on_source=work.progress.source,
            full_text_s=min(FULL_TEXT_S, within_s / 2),
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
    """All but the catalogues of papers; web searches alone where there are any: others answer plain words poorly."""
    strengths = {name: strength for name, strength in awake(work.deps).items() if name not in PAPERS}
    web = [name for name, strength in strengths.items() if strength in ("factual", "conceptual", "files")]
    has_web = any(strengths[name] != "files" for name in web)
    return tuple(web if has_web else strengths)


def _plan(work: Work, queries: RoundQueries, known: Sequence[Source]) -> SearchPlan:
    settings = work.deps.settings
    web = web_providers(work)
    filters = SearchFilters(language=foreign(work.job.intent))
    papers = tuple(name for name in PAPERS if name in work.deps.providers and name not in web)
    wanted = [
        *(_of_papers(name, text) for name in papers for text in (queries.web if name == OPENALEX else queries.pubmed)),
        *(SearchQuery(text, filters, only=web) for text in queries.web),
    ]
    return SearchPlan(
        queries=tuple(query for query in wanted if query.only and query.text),
        providers=(*web, *papers),
        max_sources=settings.deep.sources_per_round + len(known),  # known ones are found again and left out
        timeout_s=settings.search.provider_timeout_s,
    )


def _of_papers(provider: str, query: str) -> SearchQuery:
    """For a catalogue of papers in its own syntax: a PubMed query; plain words for OpenAlex, which has all fields."""
    if provider == OPENALEX:
        return SearchQuery(query, only=(OPENALEX,))
    text = query if provider == PUBMED else europepmc_query(query)
    return SearchQuery(text, only=(provider,), is_verbatim=True)


def _focused(work: Work, state: DeepState, queries: RoundQueries) -> Gathering:
    """The job as ranking shall see it: a page that answers one open item need not speak of the others.

    All that PubMed has is of one domain, so owners are counted here instead (`fresh`).
    """
    words = " ".join([state.refined.question, *queries.web, *(plain_words(query) for query in queries.pubmed)])
    job = replace(work.job, request=replace(work.job.request, query=words))
    search = replace(work.deps.settings.search, max_per_domain=MAX_DOCUMENTS, min_relevance=MIN_RELEVANCE)
    deps = replace(work.deps, settings=replace(work.deps.settings, search=search))
    return replace(work.gathering, job=job, deps=deps)
