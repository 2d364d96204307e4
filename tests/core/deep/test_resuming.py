"""A deep research job whose worker dies, at any step: the same end, and nothing that was finished is done again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from core.model.answer import ResearchAnswer
from core.model.job import JobStatus, Steering
from core.model.ports import ChatRequest
from core.pipeline.deps import Deps
from core.pipeline.runner import run_job
from tests.core.deep.making import SOUND, Ran, deep_deps, look_at, pubmed, research, scripted, tavily
from tests.core.deep.world import QUESTION
from tests.fakes import Died, FakeModel, Journal, make_job

STEPS = ("queries", "search", "facts", "coverage")
MOMENTS = [
    "refine",
    "given",
    "known",
    "round-1",
    *(f"round-{n}-{step}" for n in (1, 3) for step in STEPS),  # before anything is known, and behind other rounds
    "synthesize",
]


def three_rounds() -> FakeModel:
    """Item by item is satisfied, one a round; every round finds another study's facts."""

    def covered(request: ChatRequest) -> str:
        made = request.user.count("\nF") + request.user.count("<facts>\nF")
        levels = ["satisfied" if made >= 2 * number else "unsatisfied" for number in (1, 2, 3)]
        items = [{"id": str(n), "coverage": c, "facts": [n], "missing": ""} for n, c in enumerate(levels, start=1)]
        return json.dumps({"items": items})

    def facts(request: ChatRequest) -> str:
        found = [
            {"fact": text, "items": ["1"], "source": request.user.split('<source id="')[1].split('"')[0], "quote": text}
            for study in SOUND
            for text in [study.sections[0][1], study.sections[1][1]]
            if text in request.user
        ]
        return json.dumps({"facts": found[:2]})

    return scripted(coverage=covered, facts=facts)


class OneByOne:
    """A search that finds another study each time it is asked anew."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.strength = "factual"
        self.asked: dict[object, int] = {}

    async def search(self, query, *, limit, scope):
        place = self.asked.setdefault(query, len(self.asked))
        study = SOUND[place % len(SOUND)]
        made = pubmed(study) if self.name == "pubmed" else tavily(study)
        return list(made.hits)


def world() -> Deps:
    deps = deep_deps(model=three_rounds())
    return replace(deps, providers={"tavily": OneByOne("tavily")})


def essence(ran: Ran) -> tuple[ResearchAnswer, Mapping[str, object], list[str]]:
    """All that must be the same; times and token sums of repeated calls may differ."""
    answer = replace(ran.result.answer, metadata=replace(ran.result.answer.metadata, synthesis_duration_s=0.0))
    return answer, ran.details, [source["url"] for source in ran.details["sources"]]


@pytest.fixture(scope="module")
def undisturbed() -> Ran:
    return asyncio.run(research(world(), steps=Journal()))


@pytest.mark.parametrize("is_after", [False, True], ids=["before it ends", "after it ended"])
@pytest.mark.parametrize("step", MOMENTS)
async def test_a_job_that_dies_in_any_step_ends_as_if_nothing_had_been(step: str, is_after: bool, undisturbed: Ran):
    """S002-22: the same answer, checklist and sources; no finished model call is paid again, and one search is one."""
    deps = world()
    journal = Journal(dies_in=step, dies_after=is_after)

    with pytest.raises(Died):
        await research(deps, steps=journal)
    journal.dies_in = ""
    await run_job("job_1", deps, journal, is_resumable=True)
    ran = await look_at(deps, "job_1")

    assert ran.job.status is JobStatus.COMPLETED
    assert undisturbed.details["iterations_used"] == 3
    assert essence(ran) == essence(undisturbed)
    assert ran.trace.state == undisturbed.trace.state
    assert ran.trace.metrics == undisturbed.trace.metrics
    prompts = [(call.purpose, call.user) for call in deps.model.asked]
    assert len(prompts) == len(set(prompts))


async def test_what_was_said_before_a_crash_is_said_once():
    """The journal keeps what was heard before a round; what came later is heard at the next one."""
    deps = world()
    await deps.jobs.save(make_job(QUESTION))
    await deps.jobs.steer("job_1", Steering("add_item", "Which dose was given"))
    journal = Journal(dies_in="round-1-search")
    with pytest.raises(Died):
        await research(deps, steps=journal)
    await deps.jobs.steer("job_1", Steering("add_item", "Who paid for it"))

    journal.dies_in = ""
    await run_job("job_1", deps, journal, is_resumable=True)
    ran = await look_at(deps, "job_1")

    described = [item["description"] for item in ran.trace.state["checklist"]]
    assert described.count("Which dose was given") == 1
    assert described.count("Who paid for it") == 1
    assert described.index("Which dose was given") < described.index("Who paid for it")


async def test_time_that_a_worker_was_away_is_no_runtime():
    """S002-14: ten minutes of work, however long the machine was down."""
    deps = world()
    journal = Journal(dies_in="round-2-queries")
    with pytest.raises(Died):
        await research(deps, steps=journal)
    began = json.loads(journal.kept["round-2"])["value"]["runtime_s"]

    journal.dies_in = ""
    await run_job("job_1", deps, journal, is_resumable=True)

    later = json.loads(journal.kept["round-3"])["value"]["runtime_s"]
    assert 0 <= began <= later < 30


async def test_an_attempt_of_another_worker_is_told_with_the_whole_card():
    """Who looks only after the restart sees the plan and how far it is."""
    deps = world()
    journal = Journal(dies_in="round-2-search")
    with pytest.raises(Died):
        await research(deps, steps=journal)

    journal.dies_in = ""
    await run_job("job_1", deps, journal, is_resumable=True)
    ran = await look_at(deps, "job_1")

    first = next(event for event in ran.events if event.attempt == 2 and "card" in (event.data.get("data") or {}))
    card = first.data["data"]["card"]
    assert card["question"] == QUESTION
    assert card["iteration"] == 2
    assert len(card["checklist"]) == 3
