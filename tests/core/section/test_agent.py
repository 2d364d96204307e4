"""A loop that asks a model for its next move: bounded, without repetition, with tools or without."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from adapters.llm.endpoint import Endpoint
from adapters.llm.openai import OpenAIChat
from core.model.ports import ChatRequest, Tool, ToolCall, ToolTurn
from core.section.agent import Ending, Move, decide, refusal, run_agent
from tests.loopback.openai_responders import ChatCall
from tests.loopback.openai_world import Fault, OpenAIWorld, openai_world

SEARCH = Tool(
    "search_evidence",
    "Look for passages.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {"query": {"type": "string"}},
    },
)
REQUEST = ChatRequest("agent", "You gather evidence.", "What is there", "", {}, 200, 5.0, tools=(SEARCH,))
WISHES = [
    "effect of wind on harbours",
    "sample sizes of gauge studies",
    "conflicting results in the Baltic",
    "history of tide tables",
    "instruments and calibration",
    "economic cost of floods",
]


def call(query: str, at: int = 0) -> ToolCall:
    return ToolCall(f"call_{at}", "search_evidence", json.dumps({"query": query}))


async def run(moves: Sequence[Sequence[str]], *, asked: Sequence[str] = (), max_calls: int = 5):
    """What was searched for, what the agent was told of each turn, and how it ended."""
    done: list[str] = []
    seen: list[ToolTurn] = []

    async def ask(turns: Sequence[ToolTurn]) -> Move:
        seen[:] = turns
        queries = moves[len(turns)] if len(turns) < len(moves) else ()
        return Move(tuple(call(query, at) for at, query in enumerate(queries)), tuple(queries), "it is enough")

    async def act(query: str) -> str:
        done.append(query)
        return f"found for {query}"

    ending: Ending = await run_agent(ask, act, asked=asked, max_calls=max_calls)
    return done, seen, ending


async def test_it_stops_when_the_agent_has_enough() -> None:
    """S001-14, S001-21: two searches were enough, and it says so."""
    done, turns, ending = await run([WISHES[:1], WISHES[1:2]])

    assert done == WISHES[:2]
    assert ending.reason == "it is enough"
    assert [turn.results for turn in turns] == [(f"found for {query}",) for query in WISHES[:2]]


async def test_it_never_searches_more_often_than_it_may() -> None:
    """S001-14, S001-36: of six wishes five are granted, whether they come one by one or at once."""
    one_by_one, _, ending = await run([[query] for query in WISHES])
    at_once, _, second = await run([WISHES])

    assert one_by_one == at_once == WISHES[:5]
    assert ending.reason == "5 of 5 searches were used"
    assert second.refused[0].query == WISHES[5]


async def test_a_query_that_was_asked_before_is_refused_with_a_reason() -> None:
    """S001-21, S001-33: the agent hears why, and a refusal costs no search."""
    default = "tides and wind in harbours"

    done, turns, ending = await run([[default], [WISHES[1]]], asked=[default], max_calls=1)

    assert done == [WISHES[1]]
    assert turns[0].results == ("Refused: this query was searched for before.",)
    assert ending.refused[0].query == default


async def test_an_agent_that_only_repeats_itself_comes_to_an_end() -> None:
    """S001-36: twice as many turns as there are searches."""
    done, _, ending = await run([[WISHES[0]]] * 100, asked=[WISHES[0]])

    assert done == []
    assert len(ending.refused) == 10


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        pytest.param("Effect of wind on harbours", True, id="another case"),
        pytest.param("harbours: the effect of wind on", True, id="another order"),
        pytest.param("effects of winds on a harbour", True, id="another number"),
        pytest.param("effect of the moon on harbours in winter storms", False, id="another subject"),
        pytest.param("  ", True, id="empty"),
    ],
)
def test_near_equal_queries_are_told_from_new_ones(query: str, refused: bool) -> None:
    """S001-21."""
    assert bool(refusal(query, ["effect of wind on harbours"])) is refused


def chat(world: OpenAIWorld) -> OpenAIChat:
    return OpenAIChat(Endpoint(model="loop-1", base_url=world.url))


def searching(call: ChatCall) -> Fault | str:
    """One search, then enough."""
    if "You cannot call functions" in call.system:
        is_done = "You searched for" in call.user
        return json.dumps({"missing": "", "action": "enough" if is_done else "search", "query": WISHES[0]})
    if any(message["role"] == "tool" for message in call.body["messages"]):
        return "That is enough."
    return Fault(calls=(("search_evidence", json.dumps({"query": WISHES[0]})),), finish_reason="tool_calls")


@pytest.mark.parametrize(
    "rejects",
    [
        pytest.param(set(), id="tools"),
        pytest.param({"tools"}, id="no tools: structured output"),
        pytest.param({"tools", "response_format.json_schema"}, id="no tools and no strict schemas"),
    ],
)
@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
async def test_a_model_decides_with_tools_and_without(rejects: set[str], is_streamed: bool) -> None:
    """S001-13, S001-36: through the SDK, one tool, a turn with its result, then enough."""
    async with openai_world(searching) as world:
        world.rejects, world.ignores_stream = rejects, not is_streamed
        model = chat(world)

        first = await decide(model, REQUEST)
        turn = ToolTurn(first.calls, ("a passage was found",))
        second = await decide(model, ChatRequest(**{**vars(REQUEST), "turns": (turn,)}))
        await model.aclose()

    assert first.queries == (WISHES[0],)
    assert second.calls == ()
    assert first.usage is not None
    offered = [tool["function"]["name"] for sent in world.calls for tool in sent.body.get("tools") or ()]
    assert set(offered) == (set() if rejects else {"search_evidence"})


@pytest.mark.parametrize(
    ("answer", "queries"),
    [
        pytest.param('{"query": "wind in harbours"}', ("wind in harbours",), id="a call that is only written down"),
        pytest.param(Fault(calls=(("search_evidence", "{broken"),)), ("",), id="broken arguments"),
        pytest.param("I have all I need.", (), id="words"),
    ],
)
async def test_what_models_make_of_tools_is_read_with_tolerance(answer: str | Fault, queries: tuple[str, ...]) -> None:
    """An empty query is refused by the loop, in words that the model reads."""
    async with openai_world(answer) as world:
        model = chat(world)

        move = await decide(model, REQUEST)
        await model.aclose()

    assert move.queries == queries
