"""What the outside does while a worker is killed: pages, and a model that stops at a chosen place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.loopback.openai_responders import (
    ChatCall,
    Fault,
    Respond,
    answer_responder,
    by_schema,
    plan_responder,
    verdicts_responder,
)
from tests.loopback.search_faults import Fault as SearchFault
from tests.loopback.world import SitePage, World

QUESTION = "What causes the tides?"
PAGES = {
    "/tides": SitePage(
        "How tides work",
        "The tides are caused by the gravity of the Moon and of the Sun. The Moon raises two bulges in the ocean.\n\n"
        "Spring tides occur when the Sun and the Moon are aligned, about twice a month. Neap tides occur at half moon.",
    ),
    "/coast": SitePage(
        "Tides on the coast",
        "The largest tidal range on Earth is found in the Bay of Fundy, where it reaches 16 metres.\n\n"
        "Most coasts see two high tides and two low tides a day. The tides there follow the Moon.",
    ),
}
USUAL: dict[str, Respond] = {"plan": plan_responder, "answer": answer_responder, "verdicts": verdicts_responder}


def calls(world: World, schema: str) -> int:
    """How often the model was asked for `schema`."""
    return sum(call.schema_name == schema for call in world.model.calls)


def heal(world: World) -> None:
    world.model.respond = by_schema(USUAL)
    world.search.faults.clear()


def hang_at(schema: str, **how: Any) -> Callable[[World], None]:
    """The model stops answering within its call for `schema`."""

    def prepare(world: World) -> None:
        def stuck(call: ChatCall) -> Fault:
            return replace(Fault(text=str(USUAL[schema](call))), **how)

        world.model.respond = by_schema({**USUAL, schema: stuck})

    return prepare


def hang_search(world: World) -> None:
    world.search.faults["tavily"] = SearchFault(kind="hang")
