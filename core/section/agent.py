"""Evidence for one section: the default queries, then an agent's own, each search one durable step (S001, phase 2).

The agent, its tools and its limits stand first.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rapidfuzz import fuzz

from core.library.funnel import Shelves
from core.library.paper import Paper
from core.llm.ask_model import ask_model, complete, retry_once, strict
from core.model.answer import ModelUsage
from core.model.errors import ModelGarbled, ModelTimeout, ToolsUnsupported
from core.model.job import JobStatus, Json
from core.model.ports import ChatModel, ChatRequest, Tool, ToolCall, ToolTurn
from core.pipeline.work import Deadline, Work
from core.prompts import load_prompt
from core.section.evidence import KeptEvidence, Phase, PhaseUsage, Searched, search_evidence
from core.section.sections import PLANS, Brief, Section, default_queries
from core.stages.prompting import fenced
from core.text.growing_json import parse_object
from core.text.saying import say
from core.text.terms import terms

SEARCH_EVIDENCE = Tool(
    name="search_evidence",
    description="Look through the whole library for passages that bear on a query; gives the best with summaries.",
    parameters=strict({"query": {"type": "string", "description": "One thing to find, in the words of papers."}}),
)
TIME_IS_UP = "its time was up"
MAX_MOVE_TOKENS = 600
MAX_AUTHORS, MAX_TITLE_CHARS = 3, 200
MAX_CONTEXT_CHARS = 8000  # of the brief in a prompt: 2,000 tokens


@dataclass
class EvidenceGathering:
    """The searches of one section, folded from what its steps return."""

    work: Work
    model: ChatModel
    shelves: Shelves
    brief: Brief
    section: Section
    keys: Mapping[str, str]
    papers: Mapping[str, Paper] = field(default_factory=dict)  # by id
    searches: list[Searched] = field(default_factory=list)
    usage: list[PhaseUsage] = field(default_factory=list)
    refused: tuple[AgentRefusal, ...] = ()
    ending: str = ""
    _moves: int = 0

    def __post_init__(self) -> None:
        settings = self.work.deps.settings.section
        self._search_until = Deadline.after(settings.deadline_s - settings.write_reserve_s)

    @property
    def evidence(self) -> list[KeptEvidence]:
        """Every chunk once, under the query that found it best."""
        best: dict[str, KeptEvidence] = {}
        for entry in (entry for search in self.searches for entry in search.found):
            held = best.get(entry.chunk_id)
            if held is None or entry.combined_score > held.combined_score:
                best[entry.chunk_id] = entry
        return sorted(best.values(), key=lambda entry: -entry.combined_score)

    async def run(self) -> None:
        """Raises `ModelError`, `StoreError`, and `InvalidQuery` for a brief without what the section needs."""
        defaults = default_queries(self.section, self.brief)
        for query in defaults:
            await self._search(query, is_custom=False)
        ended = await run_agent(
            self._ask, self._act, asked=defaults, max_calls=self.work.deps.settings.section.max_search_iterations
        )
        self.ending, self.refused = ended.reason, ended.refused

    async def _search(self, query: str, *, is_custom: bool) -> Searched:
        # A default query of another section may find the same; within one, a custom query finds only what is new.
        known = [entry.chunk_id for entry in self.evidence] if is_custom else []
        name = f"{self.section}-search-{len(self.searches) + 1}"
        step = partial(self._searched, query, known, is_custom=is_custom)
        searched = await self.work.steps.run(name, step, Searched)
        self.searches.append(searched)
        self.usage += searched.usage
        return searched

    async def _searched(self, query: str, known: Sequence[str], *, is_custom: bool) -> Searched:
        title = PLANS[self.section].title
        await self.work.progress.status(
            JobStatus.SEARCHING, message=say("{title}: gathering evidence", title=say(title)), data={"queries": [query]}
        )
        within_s = self._search_until.remaining()
        if not self.evidence:  # without any there is nothing to write from
            within_s = within_s or self.work.deps.settings.section.call_timeout_s
        with self.work.deps.stage("evidence"):
            try:
                return await search_evidence(
                    self.work.job,
                    query,
                    self.shelves,
                    self.work.deps,
                    self.model,
                    known=known,
                    is_custom=is_custom,
                    within_s=within_s,
                )
            except ModelTimeout:
                if not self.evidence:
                    raise
                return Searched(query, is_custom, (), 0, 0, ())

    async def _act(self, query: str) -> str:
        searched = await self._search(query, is_custom=True)
        return self._told(searched.found) or "Nothing was found that is not known already."

    async def _ask(self, turns: Sequence[ToolTurn]) -> Move:
        self._moves += 1
        step = partial(self._decided, tuple(turns))
        move = await self.work.steps.run(f"{self.section}-agent-{self._moves}", step, Move)
        self.usage.append(PhaseUsage(Phase.AGENT, move.usage or ModelUsage()))
        return move

    async def _decided(self, turns: tuple[ToolTurn, ...]) -> Move:
        """That time is up is decided within the step, so that a job that goes on elsewhere decides the same."""
        if self._search_until.remaining() <= 0:
            return Move(said=TIME_IS_UP, usage=ModelUsage())
        with self.work.deps.stage("agent"):
            request = replace(self._request(), turns=turns)
            return await decide(self.model, request)

    def _request(self) -> ChatRequest:
        plan, settings = PLANS[self.section], self.work.deps.settings.section
        prompt = load_prompt("gather_evidence").substitute(
            title=plan.title,
            focus=plan.focus,
            instructions=plan.instructions,
            search_for=plan.search_for,
            max_searches=str(settings.max_search_iterations),
        )
        initial = [entry for search in self.searches if not search.is_custom for entry in search.found]
        return ChatRequest(
            purpose=Phase.AGENT.value,
            system=prompt,
            user=f"{context_block(self.brief)}\n\n{self._told(initial)}",
            schema_name="",
            schema={},
            max_tokens=MAX_MOVE_TOKENS,
            timeout_s=settings.call_timeout_s,
            tools=(SEARCH_EVIDENCE,),
        )

    def _told(self, found: Sequence[KeptEvidence]) -> str:
        return "\n".join(
            f'<source key="{self.keys.get(entry.paper_id, entry.paper_id)}" score="{entry.combined_score:.2f}">\n'
            f"{self._titled(entry.paper_id)}Found by: {fenced(entry.source_query[:200])}\n"
            f"{fenced(entry.summary)}\n</source>"
            for entry in found
        )

    def _titled(self, paper_id: str) -> str:
        """Title and authors, as the agent tells papers apart."""
        paper = self.papers.get(paper_id)
        if paper is None:
            return ""
        authors = ", ".join(paper.authors[:MAX_AUTHORS]) + (" and others" if len(paper.authors) > MAX_AUTHORS else "")
        return f"{fenced(paper.title[:MAX_TITLE_CHARS])}{f' ({fenced(authors)})' if authors else ''}\n"


def context_block(brief: Brief) -> str:
    """What the work is about, for a prompt."""
    return f"<context>\n{fenced(brief.text[:MAX_CONTEXT_CHARS])}\n</context>"


# A bounded loop in which a model calls one tool until it has enough, or has used up its calls


MAX_QUERY_CHARS = 400
SAME_WORDING = 90  # rapidfuzz token_sort_ratio 0…100; the same words in another order give 100
SAME_TERMS = 0.75  # of all terms of two queries, how many they share; a new question brings its own
UNREAD = "the agent's decision could not be read"
_STRUCTURED = strict(
    {
        "missing": {"type": "string"},
        "action": {"type": "string", "enum": ["search", "enough"]},
        "query": {"type": "string"},
    }
)


@dataclass(frozen=True)
class Move:
    """What the model decided: its calls, each with a query; none when it has enough, `said` is then its reason."""

    calls: tuple[ToolCall, ...] = ()
    queries: tuple[str, ...] = ()
    said: str = ""
    usage: ModelUsage | None = None


@dataclass(frozen=True)
class AgentRefusal:
    """A query that was not searched for, and why."""

    query: str
    reason: str


@dataclass(frozen=True)
class Ending:
    """Why the loop ended, in a few words, and what was refused."""

    reason: str
    refused: tuple[AgentRefusal, ...] = ()


async def run_agent(
    decide_next: Callable[[Sequence[ToolTurn]], Awaitable[Move]],
    act: Callable[[str], Awaitable[str]],
    *,
    asked: Sequence[str],
    max_calls: int,
) -> Ending:
    """Ask, do what was called for, and ask again; at most `max_calls` calls are done, and twice as many asked for.

    `asked` are the queries that were searched for before. Raises what `decide_next` and `act` raise.
    """
    turns: list[ToolTurn] = []
    known, refused = list(asked), list[AgentRefusal]()
    done = 0
    while done < max_calls and len(turns) < 2 * max_calls:
        move = await decide_next(turns)
        if not move.calls:
            return Ending(move.said or "the agent has enough", tuple(refused))
        results: list[str] = []
        for query in move.queries:
            reason = refusal(query, known) if done < max_calls else f"all {max_calls} searches are used up"
            if reason:
                refused.append(AgentRefusal(query, reason))
                results.append(f"Refused: {reason}.")
                continue
            known.append(query)
            done += 1
            results.append(await act(query))
        turns.append(ToolTurn(move.calls, tuple(results)))
    return Ending(f"{done} of {max_calls} searches were used", tuple(refused))


def refusal(query: str, known: Sequence[str]) -> str:
    """Why a query is not worth a search, "" when it is: empty, asked before, or nearly so."""
    if not terms(query):
        return "the query is empty"
    for earlier in known:
        if " ".join(query.casefold().split()) == " ".join(earlier.casefold().split()):
            return "this query was searched for before"
        mine, theirs = set(terms(query)), set(terms(earlier))
        shared = len(mine & theirs) / len(mine | theirs)
        if shared >= SAME_TERMS or fuzz.token_sort_ratio(query.casefold(), earlier.casefold()) >= SAME_WORDING:
            return f'this query is nearly the same as "{earlier[:120]}"'
    return ""


async def decide(model: ChatModel, request: ChatRequest) -> Move:
    """The model's next move. `request` has exactly one tool, with one argument `query`. Raises `ModelError`.

    What cannot be read is no search.
    """
    try:
        return await retry_once(partial(_by_tools, model, request))
    except ToolsUnsupported:
        return await _by_structure(model, request)
    except ModelGarbled:
        return Move(said=UNREAD, usage=ModelUsage())


async def _by_tools(model: ChatModel, request: ChatRequest) -> Move:
    answer = await complete(model, request)
    calls, queries = answer.calls, tuple(_query_of(call.arguments) for call in answer.calls)
    if not calls and (query := _query_of(answer.text)):  # a model that writes its call down instead of making it
        calls, queries = (_written_call(request.tools[0], len(request.turns), answer.text),), (query,)
    return Move(calls, queries, "" if calls else answer.text.strip(), answer.cost(request))


async def _by_structure(model: ChatModel, request: ChatRequest) -> Move:
    tool = request.tools[0]
    asked = replace(
        request,
        system=f"{request.system}\n\nYou cannot call functions here. Say your decision as JSON: what is `missing`; "
        f"the `action`, `search` to use {tool.name} ({tool.description}) or `enough`; and the `query`, else empty.",
        user="\n\n".join([request.user, *map(_told, request.turns)]),
        schema_name="next_move",
        schema=_STRUCTURED,
        tools=(),
        turns=(),
    )
    told = await ask_model(model, asked, _decision)
    spent = _together(told.usage)
    if told.value is None:
        return Move(said=UNREAD, usage=spent)
    action, query, missing = told.value
    if action != "search" or not query:
        return Move(said=missing, usage=spent)
    written = json.dumps({"query": query}, ensure_ascii=False)
    return Move((_written_call(tool, len(request.turns), written),), (query,), usage=spent)


def _decision(fields: Mapping[str, Json]) -> tuple[str, str, str] | None:
    """The action, the query and what is missing; None without an action."""
    action, query = fields.get("action"), fields.get("query")
    if not isinstance(action, str):
        return None
    return action.strip().lower(), _one_query(query), str(fields.get("missing") or "")


def _together(usage: Sequence[ModelUsage]) -> ModelUsage:
    prompt, completion = sum(one.prompt_tokens for one in usage), sum(one.completion_tokens for one in usage)
    return ModelUsage(prompt, completion, is_estimated=any(one.is_estimated for one in usage))


def _told(turn: ToolTurn) -> str:
    pairs = zip(turn.calls, turn.results, strict=True)
    return "\n\n".join(f'You searched for "{_query_of(call.arguments)}". Result:\n{result}' for call, result in pairs)


def _written_call(tool: Tool, turn: int, text: str) -> ToolCall:
    return ToolCall(f"written_{turn}", tool.name, text)


def _query_of(arguments: str) -> str:
    try:
        return _one_query(parse_object(arguments).get("query"))
    except ModelGarbled:
        return ""


def _one_query(query: Json) -> str:
    return " ".join(query.split())[:MAX_QUERY_CHARS] if isinstance(query, str) else ""
