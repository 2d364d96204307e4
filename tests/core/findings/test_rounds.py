"""At depth `deep` a model that searches by itself gets a second round: told what is known and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from core.model.errors import ModelTimeout
from core.model.job import Depth
from core.model.ports import ChatRequest, FoundPage, SearchedText
from tests.core.cats import final, research
from tests.core.findings.test_malformed import FIRST, QUESTION, SAID, SECOND, A, B, item, wrapped
from tests.fakes import FakeModel, make_deps

INVENTED = "https://invented.example/x"
ROUNDS = (
    SearchedText(wrapped(item(A, FIRST), item(INVENTED, "It is so.")), (FoundPage(A),), ("streaming",)),
    SearchedText(wrapped(item(A, FIRST), item(B, SECOND)), (FoundPage(B),), ("server-sent events",)),
)


@dataclass
class Searching:
    """A `WebSearchModel` that gives its rounds in turn."""

    rounds: tuple[SearchedText | Exception, ...]
    asked: list[ChatRequest] = field(default_factory=list)
    name: str = "searching-1"

    async def search_and_write(self, request: ChatRequest, *, depth: Depth) -> SearchedText:
        self.asked.append(request)
        answer = self.rounds[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def found(model: Searching, depth: Depth, mode: str = "idea") -> Any:
    deps = replace(make_deps(pages=SAID, model=FakeModel({})), web_model=model)
    return final(await research(deps, QUESTION, modes=(mode,), depth=depth, top_k=3))


async def test_second_round_knows_the_first_and_adds_to_it() -> None:
    """S004-16: two calls and no more; the pages of both rounds may be cited, what both searched for is told."""
    model = Searching(ROUNDS)

    done = await found(model, "deep")

    first, second = (request.user for request in model.asked)
    assert "<first_round>" not in first
    assert FIRST in second
    assert "- 1 more of the 3 results\n- a page that your search did find, instead of https://invented" in second
    assert {idea["source"] for idea in done["result"]["findings"]["ideas"]} == {A, B}
    assert done["metadata"]["queries"] == ["streaming", "server-sent events"]


@pytest.mark.parametrize(
    ("second", "note"),
    [
        pytest.param(
            ModelTimeout("too slow", user_message="The model took too long."),
            "The second round of search failed: The model took too long.",
            id="fails",
        ),
        pytest.param(SearchedText("Nothing more could be found.", (), ("more",)), "", id="brings less"),
    ],
)
async def test_second_round_that_brings_nothing_costs_nothing_of_the_first(
    second: SearchedText | Exception, note: str
) -> None:
    done = await found(Searching((ROUNDS[1], second, second)), "deep")

    assert B in {idea["source"] for idea in done["result"]["findings"]["ideas"]}
    assert note in "\n".join(done["answer"]["limitations"])


async def test_one_round_is_enough_unless_depth_is_asked_for() -> None:
    model = Searching(ROUNDS)

    await found(model, "light")

    assert len(model.asked) == 1


async def test_what_a_report_lacks_is_named() -> None:
    """S004-13: sections that are missing, and addresses that no search gave."""
    report = f"<research_result>\n## Abstract\n\n{FIRST[:-1]} ({INVENTED}).\n\n## Methodology\n\n</research_result>"

    model = Searching((SearchedText(report, (FoundPage(A),)), ROUNDS[1]))

    await found(model, "deep", "freeform")

    missing = model.asked[1].user.partition("Still missing:\n\n")[2].splitlines()
    assert missing[:4] == [
        f"- the section {title}" for title in ("Introduction", "Literature Review", "Methodology", "Implementations")
    ]
    assert INVENTED in missing[4]
