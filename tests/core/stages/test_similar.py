"""Answered before in other words: what is offered to the plan call, what is shown meanwhile, what is given (D12)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from core.model.config import CacheSettings, Settings
from core.model.errors import ModelUnavailable
from core.model.job import Event, Scope
from core.model.ports import ChatRequest, Vector
from core.pipeline.deps import Deps
from core.presentation.snapshot import Snapshot
from core.presentation.wording import CHECKING_EARLIER
from tests.core.cats import TRUSTED, cat_search, final, research, written
from tests.fakes import NOW, FakeModel, FakeSearch, make_deps

ASKED = "Why do cats purr?"
SAME = "What is the reason cats purr?"
RELATED = "Why would a cat be purring so loudly?"
OTHER = "Why do dogs purr?"
PLAN = {
    "recency": "any", "content": "general", "queries": ["cat purring larynx"], "type": "explanation", "language": "en",
    "entities": ["cats"], "time": "",
}  # fmt: skip
ANGLES = {ASKED: 0.0, SAME: 0.2, RELATED: 0.5, OTHER: 0.1}  # in radians; the cosine of the first two is 0.98


@dataclass
class FakeEmbedder:
    """Vectors in a plane, by the angle of each text; texts without one point away from all others."""

    angles: Mapping[str, float]
    name: str = "plane"
    error: Exception | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.error:
            raise self.error
        angles = [self.angles.get(text, 2.5) for text in texts]
        return [np.array([np.cos(angle), np.sin(angle)], dtype=np.float32) for angle in angles]


def planner(same_as: str | None) -> Any:
    def answer(request: ChatRequest) -> str:
        is_comparing = "same_as" in str(request.schema)
        return json.dumps({**({"same_as": same_as} if is_comparing else {}), **PLAN})

    return answer


def house(same_as: str | None = None, *, with_model: bool = True, is_instant: bool = False, **more: Any) -> Deps:
    """One provider, and a model that finds every offered question the same, or none."""
    search = cat_search(url=TRUSTED)
    summary = "Cats purr because the muscles of the larynx twitch about 25 times a second [1]."
    model = FakeModel({"plan": planner(same_as), "answer": written(summary)}) if with_model else None
    settings = Settings(cache=CacheSettings(is_instant=is_instant))
    deps = make_deps(search=[search], model=model, settings=settings, **more)
    return replace(deps, embedder=FakeEmbedder(ANGLES))


def searches(deps: Deps) -> int:
    (search,) = deps.providers.values()
    assert isinstance(search, FakeSearch)
    return len(search.asked)


def calls(deps: Deps, purpose: str) -> list[ChatRequest]:
    assert isinstance(deps.model, FakeModel)
    return deps.model.calls(purpose)


def shown(events: Sequence[Event]) -> list[tuple[str, dict[str, str]]]:
    """After each event, the question of the earlier answer and the sentences that a person sees."""
    snapshot, seen = Snapshot(), []
    for event in events:
        snapshot = snapshot.after(event)
        seen.append((snapshot.earlier, dict(snapshot.sentences)))
    return seen


async def test_a_confirmed_answer_is_shown_at_once_and_then_final() -> None:
    """D12, S002-22: under its own question, marked as unconfirmed; the plan call makes it final."""
    deps = house(same_as="1")
    await research(deps, ASKED)
    before = searches(deps), len(calls(deps, "answer"))

    events = await research(deps, SAME)

    done = final(events)
    assert done["metadata"]["cached"] is True
    assert done["metadata"]["cached_question"] == ASKED
    assert (searches(deps), len(calls(deps, "answer"))) == before
    marked = next(event for event in events if str(event.data.get("message")).startswith(CHECKING_EARLIER))
    assert marked.data["data"]["earlier"]["question"] == ASKED  # type: ignore[index, call-overload]
    assert shown(events)[-2][0] == ASKED
    assert "larynx" in shown(events)[-2][1]["summary-0"]
    assert "[1]" in shown(events)[-2][1]["summary-0"]


async def test_an_answer_that_is_not_confirmed_is_taken_back_and_research_goes_on() -> None:
    """D12: nobody keeps seeing the answer to another question."""
    deps = house(same_as=None)
    await research(deps, ASKED)
    before = searches(deps)

    events = await research(deps, SAME)

    seen = shown(events)
    at = next(number for number, (earlier, sentences) in enumerate(seen) if earlier and sentences)
    taken_back = next(number for number, (earlier, sentences) in enumerate(seen[at:]) if not earlier and not sentences)
    later = [event for event in events[at + taken_back :] if event.data.get("stage") == "searching"]
    assert later != []
    assert searches(deps) > before
    assert final(events)["metadata"]["cached"] is False


async def test_a_question_that_is_less_near_is_confirmed_before_anything_is_shown() -> None:
    """Between 0.80 and 0.92 only the plan call can make a hit."""
    deps = house(same_as="1")
    await research(deps, ASKED)

    events = await research(deps, RELATED)

    assert final(events)["metadata"]["cached_question"] == ASKED
    assert all(earlier == "" for earlier, _ in shown(events))


async def test_a_look_alike_is_not_even_offered() -> None:
    """The guard vetoes; the plan call costs not a token more than without a cache."""
    deps = house(same_as="1")
    await research(deps, ASKED)

    events = await research(deps, OTHER)

    assert final(events)["metadata"]["cached"] is False
    assert "same_as" not in str(calls(deps, "plan")[-1].schema)
    assert "earlier" not in calls(deps, "plan")[-1].user


@pytest.mark.parametrize("answer", ["2", "job_1", "", "yes"])
async def test_a_model_cannot_name_what_was_not_offered(answer: str) -> None:
    """Anything but an offered number is no confirmation."""
    deps = house(same_as=answer)
    await research(deps, ASKED)

    assert final(await research(deps, SAME))["metadata"]["cached"] is False


@pytest.mark.parametrize(
    ("is_instant", "query", "is_cached"),
    [(True, SAME, True), (True, RELATED, False), (True, OTHER, False), (False, SAME, False)],
    ids=["near and allowed", "less near", "look-alike", "not allowed"],
)
async def test_without_a_model_only_what_is_allowed_and_near(is_instant: bool, query: str, is_cached: bool) -> None:
    """D12: instant hits without a model are opt-in."""
    deps = house(with_model=False, is_instant=is_instant)
    await research(deps, ASKED)

    done = final(await research(deps, query))

    assert done["metadata"]["cached"] is is_cached


@pytest.mark.parametrize(
    "request_",
    [
        {"scope": Scope("slack:T1", "channel:C1")},
        {"is_fresh": True},
        {"context": "for a child"},
        {"top_k": 3},
        {"thread": "slack:C1:1", "query": "And why do they purr?"},
    ],
    ids=["other scope", "fresh", "other context", "other options", "leans on its thread"],
)
async def test_what_was_asked_elsewhere_or_otherwise_is_not_offered(request_: dict[str, Any]) -> None:
    """An answer is valid for its scope and options alone."""
    deps = house(same_as="1")
    await research(deps, ASKED)

    await research(deps, request_.pop("query", SAME), **request_)

    assert "same_as" not in str(calls(deps, "plan")[-1].schema)


async def test_an_embedding_that_fails_costs_nothing_but_the_hit() -> None:
    """S003-23: continue without the cache."""
    deps = house(same_as="1")
    await research(deps, ASKED)
    deps = replace(deps, embedder=FakeEmbedder(ANGLES, error=ModelUnavailable("away", user_message="away")))

    done = final(await research(deps, SAME))

    assert done["status"] == "completed"
    assert done["metadata"]["cached"] is False


async def test_a_repeated_answer_says_how_old_it_is_and_what_it_cost() -> None:
    """It answered another question three days ago, and only the plan call had to be paid."""
    moments = [NOW]
    deps = house(same_as="1", clock=lambda: moments[-1])
    first = final(await research(deps, ASKED))
    moments.append(NOW + timedelta(days=3, hours=1))

    metadata = final(await research(deps, SAME))["metadata"]

    assert metadata["cached_notice"] == f"Answered 3 days ago for: {ASKED}"
    assert metadata["cached_age_s"] == 3 * 86_400 + 3600
    assert 0 < metadata["tokens"] < first["metadata"]["tokens"]
