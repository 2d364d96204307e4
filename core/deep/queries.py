"""Step 3a: what a round searches for, in PubMed and on the web (S002-08)."""

from __future__ import annotations

from collections.abc import Mapping

from core.deep.asking import ask_step, listed, strings
from core.deep.framing import checklist_frame, facts_frame, queries_frame, question_frame
from core.deep.pubmed_syntax import checked_pubmed_query
from core.deep.state import DeepState, RoundQueries
from core.deps import Deps
from core.events import Json
from core.llm import strict
from core.prompts import load_prompt
from core.stages.plan import MAX_QUERY_TEXT_CHARS, keywords

MAX_PER_KIND = 2
_SCHEMA: Mapping[str, Json] = strict({"pubmed": strings(MAX_PER_KIND), "web": strings(MAX_PER_KIND)})


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
