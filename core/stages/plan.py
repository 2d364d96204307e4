"""Stage 2: what to search for, and where.

One short model call refines the intent and words the queries; without a model, or when it fails, rules do.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast, get_args

from core.answer import ModelUsage
from core.deps import Deps
from core.errors import ModelError
from core.events import Json
from core.job import QueryIntent, QuestionType, ResearchJob, TimeConstraint
from core.llm import complete, parse_object
from core.ports import ChatRequest, ProviderStrength
from core.prompts import load_prompt
from core.source import ContentType, Recency, SearchFilters, SearchPlan, SearchQuery
from core.stages.search import Gathering
from core.terms import STOPWORDS

log = logging.getLogger(__name__)

MAX_QUERIES = 4  # the question itself and up to three variations
_CONCEPTUAL = frozenset({QuestionType.EXPLANATION, QuestionType.COMPARISON})

_PLAN_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["intent", "queries"],
    "properties": {
        "intent": {
            "type": "object",
            "additionalProperties": False,
            "required": ["question_type", "entities", "time_constraint", "language"],
            "properties": {
                "question_type": {"type": "string", "enum": [kind.value for kind in QuestionType]},
                "entities": {"type": "array", "items": {"type": "string"}},
                "time_constraint": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["kind", "value"],
                    "properties": {
                        "kind": {"type": "string", "enum": ["none", "recent", "historical", "date"]},
                        "value": {"type": "string"},
                    },
                },
                "language": {"type": "string"},
            },
        },
        "queries": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["text", "recency", "content_type"],
                "properties": {
                    "text": {"type": "string"},
                    "recency": {"type": "string", "enum": list(get_args(Recency))},
                    "content_type": {"type": "string", "enum": list(get_args(ContentType))},
                },
            },
        },
    },
}


@dataclass(frozen=True)
class ResearchPlan:
    """The refined intent, the searches, and what making the plan cost."""

    intent: QueryIntent
    search: SearchPlan
    usage: tuple[ModelUsage, ...] = ()


async def plan_research(job: ResearchJob, gathering: Gathering, deps: Deps, *, timeout_s: float) -> ResearchPlan:
    """Plan the searches of a job. Never fails: a model that fails is replaced by the rules.

    The search for the question as asked starts at once, so that it is done when the plan is.
    """
    by_rules = plan_by_rules(job, deps)
    gathering.start_early(by_rules.search.providers, by_rules.search.queries[0])
    if deps.model is None:
        return by_rules
    try:
        completion = await complete(deps.model, _plan_request(job, deps, timeout_s=timeout_s))
        refined = _read_plan(parse_object(completion.text), by_rules)
    except ModelError as exc:
        deps.count_error("plan", exc)
        return by_rules
    return replace(refined, usage=(completion.usage,))


def plan_by_rules(job: ResearchJob, deps: Deps) -> ResearchPlan:
    """The question itself, and its keywords where they differ; providers by type of question (S003-06)."""
    filters = _filters(job.intent)
    texts = [job.query[:400], keywords(job.query)]
    queries = tuple(SearchQuery(text, filters) for text in dict.fromkeys(texts) if text)
    return ResearchPlan(job.intent, _search_plan(job, deps, queries, job.intent))


def choose_providers(
    strengths: Mapping[str, ProviderStrength], job: ResearchJob, intent: QueryIntent
) -> tuple[str, ...]:
    """Names in the configured order: the factual web search by default, the conceptual one for explanations and
    comparisons, both when much hangs on the answer; encyclopedia and scholarly ones where there is no web search or
    when much hangs on it; local files always.
    """
    web = [name for name, strength in strengths.items() if strength in ("factual", "conceptual")]
    needs_all = intent.importance == "high" or job.request.depth == "deep" or not web
    wanted: ProviderStrength = "conceptual" if intent.question_type in _CONCEPTUAL else "factual"
    best = next((name for name in web if strengths[name] == wanted), web[0] if web else None)
    return tuple(name for name, strength in strengths.items() if needs_all or name == best or strength == "files")


def keywords(question: str) -> str:
    """The question without its function words, in order; the whole question when nothing else is left."""
    kept = [word for word in question.split() if word.strip("?!.,;:\"'()").casefold() not in STOPWORDS]
    return " ".join(kept).strip(" ?!.,;:")[:200] or question[:200]


def _search_plan(job: ResearchJob, deps: Deps, queries: Sequence[SearchQuery], intent: QueryIntent) -> SearchPlan:
    strengths = {name: provider.strength for name, provider in deps.providers.items()}
    return SearchPlan(
        queries=tuple(queries),
        providers=choose_providers(strengths, job, intent),
        max_sources=deps.settings.search.max_sources,
        timeout_s=deps.settings.search.provider_timeout_s,
    )


def _filters(intent: QueryIntent) -> SearchFilters:
    """Time filters for current events (S003-05); a dated question must not be cut to the last weeks."""
    is_current = intent.question_type is QuestionType.CURRENT_EVENT
    if is_current and (intent.time_constraint is None or intent.time_constraint.kind == "recent"):
        return SearchFilters(recency="month", content_type="news")
    return SearchFilters()


def _plan_request(job: ResearchJob, deps: Deps, *, timeout_s: float) -> ChatRequest:
    settings = deps.settings.synthesis
    system = load_prompt("plan_research").substitute(
        today=deps.clock().date().isoformat(), max_variations=str(MAX_QUERIES - 1)
    )
    user = f"<question>\n{job.query}\n</question>"
    if job.request.context:
        user += f"\n<context>\n{job.request.context[:2000]}\n</context>"
    return ChatRequest(
        purpose="plan",
        system=system,
        user=user,
        schema_name="plan",
        schema=_PLAN_SCHEMA,
        max_tokens=settings.max_plan_tokens,
        timeout_s=min(settings.plan_timeout_s, timeout_s),
    )


def _read_plan(answer: Mapping[str, Json], by_rules: ResearchPlan) -> ResearchPlan:
    """The model's plan where it is usable, the rules' where it is not. The question as asked stays the first query."""
    intent = _read_intent(answer.get("intent"), by_rules.intent)
    first = by_rules.search.queries[0]
    variations = [query for query in map(_read_query, _listed(answer.get("queries"))) if query]
    unique = {query.text.casefold(): query for query in reversed([first, *variations])}
    queries = [query for query in dict.fromkeys([first, *variations]) if unique.get(query.text.casefold()) is query]
    if len(queries) == 1:
        queries = list(by_rules.search.queries)
    search = replace(by_rules.search, queries=tuple(queries[:MAX_QUERIES]))
    return ResearchPlan(intent, search)


def _read_query(entry: Json) -> SearchQuery | None:
    if not isinstance(entry, dict):
        return None
    text = " ".join(str(entry.get("text") or "").split())[:400]
    recency, content_type = entry.get("recency"), entry.get("content_type")
    filters = SearchFilters(
        recency=cast("Recency", recency) if recency in get_args(Recency) else "any",
        content_type=cast("ContentType", content_type) if content_type in get_args(ContentType) else "general",
    )
    return SearchQuery(text, filters) if text else None


def _read_intent(entry: Json, by_rules: QueryIntent) -> QueryIntent:
    if not isinstance(entry, dict):
        return by_rules
    kind, language = entry.get("question_type"), entry.get("language")
    entities = tuple(str(name)[:80] for name in _listed(entry.get("entities")) if str(name).strip())[:8]
    return replace(
        by_rules,
        question_type=QuestionType(kind) if kind in list(QuestionType) else by_rules.question_type,
        entities=entities or by_rules.entities,
        time_constraint=_read_time(entry.get("time_constraint"), by_rules.time_constraint),
        language=language if isinstance(language, str) and 2 <= len(language) <= 3 else by_rules.language,
    )


def _read_time(entry: Json, by_rules: TimeConstraint | None) -> TimeConstraint | None:
    kind = entry.get("kind") if isinstance(entry, dict) else None
    value = str(entry.get("value") or "")[:10] if isinstance(entry, dict) else ""
    match kind:
        case "recent":
            return TimeConstraint("recent")
        case "historical":
            return TimeConstraint("historical")
        case "date" if value:
            return TimeConstraint("date", value)
    return by_rules


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
