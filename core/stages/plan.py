"""Stage 2: what to search for, and where.

One short model call refines the intent and words the queries; without a model, or when it fails, rules do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast, get_args

import regex

from core.llm.ask_model import ask_model, strict
from core.model.answer import ModelUsage
from core.model.errors import InvalidQuery, ModelError
from core.model.job import Json, QueryIntent, QuestionType, ResearchJob, TimeConstraint
from core.model.ports import ChatDelta, ChatRequest, ProviderStrength
from core.model.source import ContentType, Recency, SearchFilters, SearchPlan, SearchQuery
from core.pipeline.conversation import Turn, needs_context, standalone_by_rules
from core.pipeline.deps import Deps
from core.presentation.render import one_line
from core.presentation.wording import IMPROVE_IT
from core.prompts import load_prompt
from core.stages.cache import EarlierAnswer, instant_answer, normalise_question
from core.stages.gathering import Gathering, without_addresses
from core.stages.intake import parse_intent, read_query
from core.stages.prompting import asked, format_earlier, said_before
from core.text.growing_json import PartialJson
from core.text.language import detect_language
from core.text.terms import STOPWORDS, asking_words, forms_of, terms, without_wish

MAX_QUERIES = 4  # the question itself and up to three variations
MAX_ENTITIES = 8
MAX_QUERY_TEXT_CHARS = 400  # Tavily takes no more (docs.tavily.com, API reference)
_LANGUAGE = regex.compile(r"[a-z]{2}", regex.IGNORECASE)  # ISO 639-1
_WEB = frozenset({"factual", "conceptual"})  # strengths of providers that search the whole web
_CONCEPTUAL = frozenset({QuestionType.EXPLANATION, QuestionType.COMPARISON})

# Short keys and flat: at 30 ms a token every field delays the first word. Queries come first, so that each can be sent
# while the rest is still being written.
_PLAN_SCHEMA: Mapping[str, Json] = strict(
    {
        "queries": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_QUERIES - 1},
        "recency": {"type": "string", "enum": list(get_args(Recency))},
        "content": {"type": "string", "enum": list(get_args(ContentType))},
        "type": {"type": "string", "enum": [kind.value for kind in QuestionType]},
        "language": {"type": "string"},
        "entities": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_ENTITIES},
        "time": {"type": "string"},
    }
)


@dataclass(frozen=True)
class ResearchPlan:
    """The refined intent, the searches, and what making the plan cost.

    `question` is what a follow-up was taken to ask, so that it can be understood alone; "" when it was already.
    `same_as` is the job that has answered the same question already, "" where there is none.
    """

    intent: QueryIntent
    search: SearchPlan
    usage: tuple[ModelUsage, ...] = ()
    question: str = ""
    same_as: str = ""


async def plan_research(
    job: ResearchJob,
    gathering: Gathering,
    deps: Deps,
    *,
    timeout_s: float,
    turns: Sequence[Turn] = (),
    earlier: Sequence[EarlierAnswer] = (),
) -> ResearchPlan:
    """Plan the searches of a job, or say which of the `earlier` answers will do. Never fails: rules replace a model.

    The search for the question as asked starts at once, so that it is done when the plan is; not where an earlier
    answer is so near that nothing will have to be searched. `turns` are what was said before in its thread.
    """
    by_rules = plan_by_rules(job, deps, turns=turns)
    if sure := instant_answer(earlier, deps):
        return replace(by_rules, same_as=sure.job_id)
    if not any(answer.is_near for answer in earlier) or deps.model is None:
        gathering.start_early(by_rules.search.providers, by_rules.search.queries[0])
    if deps.model is None:
        return by_rules
    request = _plan_request(job, deps, turns, earlier, timeout_s=timeout_s)
    told = _Told.to_plan(job, turns)
    growing = PartialJson()

    def start_searches(delta: ChatDelta) -> None:
        if growing.feed(delta.text) and not growing.value.get("same_as"):
            for query in _finished_queries(growing.value, told)[: MAX_QUERIES - 1]:
                gathering.start_early(by_rules.search.providers, query)

    try:
        planned = await ask_model(deps.model, request, dict, is_once=True, hear=start_searches)
        if planned.unread:
            raise planned.unread
        answer = planned.value or {}
        offered = {str(number): one.job_id for number, one in enumerate(earlier, start=1)}
        same_as = offered.get(str(answer.get("same_as")).strip(), "")
        refined = replace(_read_plan(answer, by_rules, told, job if turns else None), same_as=same_as)
        is_academic = any(query.filters.content_type == "academic" for query in refined.search.queries)
        of_papers = [name for name, one in awake(deps).items() if one == "scholarly" and is_academic]
        providers = {*by_rules.search.providers, *_providers(job, deps, refined.intent), *of_papers}
    except ModelError as exc:
        deps.count_error("plan", exc)
        return by_rules
    # What the rules chose is being asked already; the refined intent may add to it.
    search = replace(refined.search, providers=tuple(name for name in deps.providers if name in providers))
    return replace(refined, search=search, usage=planned.usage)


def plan_by_rules(job: ResearchJob, deps: Deps, *, turns: Sequence[Turn] = ()) -> ResearchPlan:
    """The question itself, and its keywords where they differ; providers by type of question (S003-06)."""
    question = standalone_by_rules(job.query, turns)
    intent = job.intent if question == job.query else parse_intent(question)
    searched = without_addresses(question)
    filters = replace(_filters(intent), language=foreign(intent))
    wish = "" if job.request.feedback == IMPROVE_IT else without_addresses(job.request.feedback)
    texts = [searched[:MAX_QUERY_TEXT_CHARS], keywords(f"{searched} {wish}")]
    queries = tuple(SearchQuery(text, filters) for text in dict.fromkeys(texts) if text)
    understood = question if question != job.query else ""
    settings = deps.settings.search
    search = SearchPlan(
        queries, _providers(job, deps, intent), max_sources=settings.max_sources, timeout_s=settings.provider_timeout_s
    )
    return ResearchPlan(intent, search, question=understood)


def is_otherwise(plan: ResearchPlan, by_rules: ResearchPlan) -> bool:
    """Whether the model takes the question for another one than rules do, in another language, or of another time."""
    recencies = {query.filters.recency for query in plan.search.queries[1:]} or {plan.search.queries[0].filters.recency}
    is_newer = not recencies & {by_rules.search.queries[0].filters.recency}
    return bool(plan.question or plan.same_as) or plan.intent.language != by_rules.intent.language or is_newer


def choose_providers(
    strengths: Mapping[str, ProviderStrength], job: ResearchJob, intent: QueryIntent
) -> tuple[str, ...]:
    """Names in the configured order: the factual web search by default, the conceptual one for explanations and
    comparisons, both when much hangs on the answer; encyclopedia and scholarly ones where there is no web search or
    when much hangs on it; local files always.
    """
    web = [name for name, strength in strengths.items() if strength in _WEB]
    needs_all = intent.importance == "high" or job.request.depth == "deep" or not web
    wanted: ProviderStrength = "conceptual" if intent.question_type in _CONCEPTUAL else "factual"
    best = next((name for name in web if strengths[name] == wanted), web[0] if web else None)
    return tuple(name for name, strength in strengths.items() if needs_all or name == best or strength == "files")


def foreign(intent: QueryIntent) -> str:
    """The question's language where it is not English, for searches that take one."""
    return intent.language if intent.language != "en" else ""


def awake(deps: Deps) -> dict[str, ProviderStrength]:
    """The providers in the configured order without those that failed of late; all where nobody else could search."""
    strengths = {name: provider.strength for name, provider in deps.providers.items()}
    awake = {name: one for name, one in strengths.items() if one == "files" or not deps.setbacks.rests(name)}
    return awake if any(one != "files" for one in awake.values()) else strengths


def stand_ins(deps: Deps, asked: Sequence[str]) -> list[tuple[str, ...]]:
    """Who is asked next, in turn, while nobody of `asked` answers: one web search more, at last all the others.

    Those that failed of late come after those that did not. None where `asked` are files alone.
    """
    strengths = {name: provider.strength for name, provider in deps.providers.items()}
    if all(strengths[name] == "files" for name in asked):
        return []
    left = sorted(
        (name for name, one in strengths.items() if one != "files" and name not in asked), key=deps.setbacks.rests
    )
    web = [name for name in left if strengths[name] in _WEB]
    rest = tuple(name for name in left if name not in web)
    return [*((name,) for name in web), *([rest] if rest else [])]


def keywords(question: str) -> str:
    """The question without its function words, in order; the whole question when nothing else is left."""
    language = detect_language(question)
    small = STOPWORDS if language == "en" else STOPWORDS | asking_words(language)
    kept = [word for word in without_wish(question).split() if word.strip("?!.,;:\"'()").casefold() not in small]
    whole = [word.strip("?!,;:" if word.count("(") == word.count(")") else "()?!.,;:") for word in kept]
    return " ".join(whole).strip(" ?!.,;:")[:200] or question.strip()[:200]


def _providers(job: ResearchJob, deps: Deps, intent: QueryIntent) -> tuple[str, ...]:
    return choose_providers(awake(deps), job, intent)


def _filters(intent: QueryIntent) -> SearchFilters:
    """Time filters for current events (S003-05); a dated question must not be cut to the last weeks."""
    is_current = intent.question_type is QuestionType.CURRENT_EVENT
    if is_current and (intent.time_constraint is None or intent.time_constraint.kind == "recent"):
        return SearchFilters(recency="month", content_type="news")
    return SearchFilters()


def _plan_request(
    job: ResearchJob, deps: Deps, turns: Sequence[Turn], earlier: Sequence[EarlierAnswer], *, timeout_s: float
) -> ChatRequest:
    settings = deps.settings.synthesis
    # One variation fewer where nothing much hangs on the answer: a query costs a third of a second of writing.
    needs_more = job.intent.importance == "high" or job.request.depth == "deep"
    most = MAX_QUERIES - 1 if needs_more else MAX_QUERIES - 2
    today = deps.clock().date().isoformat()
    system = load_prompt("plan_research").substitute(today=today, max_variations=str(most))
    user = f"{said_before(turns)}\n{asked(job)}" if turns else asked(job)
    first: dict[str, Json] = {"question": {"type": "string"}} if turns else {}
    if earlier:  # else not a token more
        system = f"{system}\n\n{load_prompt('compare_questions').substitute()}"
        user = f"{user}\n{format_earlier([answer.question for answer in earlier])}"
        numbers = [str(number) for number in range(1, len(earlier) + 1)]
        first |= {"same_as": {"type": ["string", "null"], "enum": [*numbers, None]}}
    return ChatRequest(
        purpose="plan",
        system=system,
        user=user,
        schema_name="plan",
        schema=_schema(first),
        max_tokens=settings.max_plan_tokens,
        timeout_s=min(settings.plan_timeout_s, timeout_s),
        temperature=0.0,
    )


@dataclass(frozen=True)
class _Told:
    """The stems of all that the model was told: the question, its context, what was said before; and its intent."""

    stems: frozenset[str]
    intent: QueryIntent

    @classmethod
    def to_plan(cls, job: ResearchJob, turns: Sequence[Turn]) -> _Told:
        request = job.request
        said = [request.query, request.context, request.feedback, *(f"{turn.question} {turn.answer}" for turn in turns)]
        return cls(frozenset(terms(" ".join(said))), job.intent)

    def near(self, queries: Sequence[str]) -> list[str]:
        """The queries without those that share no word with what was said, as small models make them up.

        Kept are queries in another language, and queries in other words if some query shares words with what was said.
        """
        language = self.intent.language
        shared = [text for text in queries if any(forms_of(term, self.stems, language) for term in terms(text))]
        return [
            text
            for text in queries
            if text in shared or (shared and len(terms(text)) > 1) or detect_language(text) != language
        ]


def _read_plan(
    answer: Mapping[str, Json], by_rules: ResearchPlan, told: _Told, follow_up: ResearchJob | None
) -> ResearchPlan:
    """The model's plan where it is usable, the rules' where it is not. The question as asked stays the first query."""
    distinct: dict[str, SearchQuery] = {}
    by_rules = _with_question(answer, by_rules, follow_up) if follow_up else by_rules
    for query in (by_rules.search.queries[0], *_read_queries(answer, by_rules.intent, told)):
        distinct.setdefault(query.text.casefold(), query)
    queries = list(distinct.values())
    if len(queries) == 1:
        queries = list(by_rules.search.queries)
    search = replace(by_rules.search, queries=tuple(queries[:MAX_QUERIES]))
    return ResearchPlan(_read_intent(answer, by_rules.intent), search, question=by_rules.question)


def _with_question(answer: Mapping[str, Json], by_rules: ResearchPlan, job: ResearchJob) -> ResearchPlan:
    """The rules' plan for the question that the model has made of a follow-up, where that is a whole question."""
    said = answer.get("question")
    try:
        question = read_query(one_line(said)) if isinstance(said, str) and said.strip() else job.query
    except InvalidQuery:
        return by_rules
    if needs_context(question) or normalise_question(question) == normalise_question(job.query):
        return by_rules
    first = replace(by_rules.search.queries[0], text=without_addresses(question)[:MAX_QUERY_TEXT_CHARS])
    intent = parse_intent(question)
    search = replace(by_rules.search, queries=(first, *by_rules.search.queries[1:]))
    return replace(by_rules, intent=intent, search=search, question=question)


def _schema(first: Mapping[str, Json]) -> Mapping[str, Json]:
    """The plan's schema with what only some plans say before all others: the queries are worded after it."""
    required = [*first, *cast("list[Json]", _PLAN_SCHEMA["required"])]
    return {
        **_PLAN_SCHEMA,
        "required": required,
        "properties": {**first, **cast("dict[str, Json]", _PLAN_SCHEMA["properties"])},
    }


def _finished_queries(growing: Mapping[str, Json], told: _Told) -> list[SearchQuery]:
    """Of a plan that is still being written, the queries that are whole: all but the last, unless more follows.

    Where rules take the question for one of current events, none before the filters, which such a query needs.
    """
    if told.intent.question_type is QuestionType.CURRENT_EVENT and "type" not in growing:
        return []
    texts = growing.get("queries")
    if list(growing)[-1:] == ["queries"] and isinstance(texts, list):
        growing = {**growing, "queries": texts[:-1]}
    return _read_queries(growing, told.intent, told)


def _read_queries(answer: Mapping[str, Json], by_rules: QueryIntent, told: _Told) -> list[SearchQuery]:
    """The model's queries; where it sets no filter, those that its reading of the question demands."""
    recency, content_type = answer.get("recency"), answer.get("content")
    filters = _filters(_read_intent(answer, by_rules)) if "type" in answer else SearchFilters()
    filters = replace(filters, language=foreign(by_rules))  # the rules' word: an early query is not to be asked twice
    if recency in get_args(Recency) and recency != "any":
        filters = replace(filters, recency=cast("Recency", recency))
    if content_type in get_args(ContentType) and content_type != "general":
        filters = replace(filters, content_type=cast("ContentType", content_type))
    texts = [text[:MAX_QUERY_TEXT_CHARS] for text in _lines(answer.get("queries"))]
    return [SearchQuery(text, filters) for text in told.near(texts)]


def _read_intent(answer: Mapping[str, Json], by_rules: QueryIntent) -> QueryIntent:
    kind, language = answer.get("type"), answer.get("language")
    entities = tuple(name[:80] for name in _lines(answer.get("entities")))[:MAX_ENTITIES]
    return replace(
        by_rules,
        question_type=QuestionType(kind) if kind in list(QuestionType) else by_rules.question_type,
        entities=entities or by_rules.entities,
        time_constraint=_read_time(answer.get("time")) or by_rules.time_constraint,
        language=language.lower() if isinstance(language, str) and _LANGUAGE.fullmatch(language) else by_rules.language,
    )


def _read_time(value: Json) -> TimeConstraint | None:
    match value:
        case "recent":
            return TimeConstraint("recent")
        case "historical":
            return TimeConstraint("historical")
        case str() if regex.fullmatch(r"\d{4}(?:-\d{2}){0,2}", value):
            return TimeConstraint("date", value)
    return None


def _lines(value: Json) -> list[str]:
    """The strings of a list that say something, each on one line and without controls."""
    texts = [one_line(text) for text in value if isinstance(text, str)] if isinstance(value, list) else []
    return [text for text in texts if text]
