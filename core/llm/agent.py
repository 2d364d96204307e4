"""A bounded loop in which a model calls one tool until it has enough, or has used up its calls.

Over the tool-calling API; a model that takes no tools is asked for the same decision as structured output. Who runs
the loop hands in how to ask and what to do, so each can be a durable step.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rapidfuzz import fuzz

from core.llm.ask_model import ask_model, complete, retry_once, strict
from core.model.answer import ModelUsage
from core.model.errors import ModelGarbled, ToolsUnsupported
from core.model.job import Json
from core.model.ports import ChatModel, ChatRequest, Tool, ToolCall, ToolTurn
from core.text.growing_json import parse_object
from core.text.terms import terms

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
    return Move(calls, queries, "" if calls else answer.text.strip(), answer.usage)


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
