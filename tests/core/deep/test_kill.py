"""kill -9 of a worker in every round of deep research: the same answer, and no finished model call paid again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.model.job import LOCAL, ResearchRequest, Steering
from tests.adapters.durable.processes import Process, Reader, front
from tests.core.deep.world import QUESTION, DeepWorld, read_studies
from tests.loopback.deep_responders import DEEP, block
from tests.loopback.openai_responders import (
    ChatCall,
    Fault,
    Respond,
    answer_responder,
    by_schema,
    verdicts_responder,
)

ROUNDS = 3
STEPS = ("queries", "facts", "coverage")


def coverage(call: ChatCall) -> str:
    """Nothing is satisfied before the third round: only then are there facts enough."""
    facts = [int(line[1 : line.index(" ")]) for line in block(call.user, "facts").splitlines() if line.startswith("F")]
    made = block(call.user, "checklist").count("third")
    level = "satisfied" if made or len(facts) > 20 else "partial"
    rows = [{"id": str(n), "coverage": level, "facts": facts[:3], "missing": "more"} for n in (1, 2, 3)]
    return json.dumps({"items": rows})


def queries(call: ChatCall) -> str:
    """Another corner of the library in each round."""
    made = block(call.user, "queries").count("- ") // 2
    subject = ("chloride", "diabetes", "cancer", "surgery")[min(made, 3)]
    return json.dumps({"pubmed": [f"{subject}[tiab] AND risk[tiab]"], "web": [f"{subject} risk patients"]})


USUAL: Mapping[str, Respond] = {
    **DEEP,
    "answer": answer_responder,
    "verdicts": verdicts_responder,
    "coverage": coverage,
    "queries": queries,
}


@dataclass
class Stuck:
    """The model stops answering at the `turn`-th call for `schema`."""

    schema: str
    turn: int
    usual: Mapping[str, Respond] = field(default_factory=lambda: USUAL)
    seen: int = 0

    def __call__(self, call: ChatCall) -> str | Fault:
        self.seen += call.schema_name == self.schema
        if call.schema_name == self.schema and self.seen == self.turn:
            return Fault(hang_first=True)
        return by_schema(self.usual)(call)


@pytest.fixture
async def world() -> AsyncIterator[DeepWorld]:
    async with DeepWorld.of(read_studies()) as opened:
        opened.model.respond = by_schema(USUAL)
        yield opened


def prompts(world: DeepWorld) -> list[tuple[str, str]]:
    return [(call.schema_name, call.user) for call in world.model.calls]


def essence(done: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same, whenever it was found out; scores of recency move with the clock."""
    shown = {key: done[key] for key in ("answer", "citations", "status")}
    output = {key: value for key, value in done["result"].items() if key != "trace_id"}
    return {**shown, "output": output, "urls": [source["url"] for source in done["sources"]]}


async def undisturbed(world: DeepWorld, folder: Path) -> dict[str, Any]:
    env = world.env(folder)
    worker = await Process.start("worker", env)
    async with front(env) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION, modes=("deep",)))
        done = await Reader().follow(house, job.id)
    await worker.killed()
    world.model.calls.clear()
    return essence(done)


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_worker_that_is_killed_in_any_round_ends_with_the_same_answer(world: DeepWorld, tmp_path: Path) -> None:
    """S002-22, S002-16: after each kill the job goes on at the next step; only the call in flight is made again."""
    expected = await undisturbed(world, tmp_path / "calm")
    env = world.env(tmp_path / "killed")
    async with front(env) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION, modes=("deep",)))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id, within_s=200))
        kills = 0
        for turn in range(1, ROUNDS + 1):
            for step in STEPS:
                world.model.hanging.clear()
                # What was cut off is asked again, so each kill shifts the later turns by one.
                world.model.respond = Stuck(step, 1)
                worker = await Process.start("worker", env)
                hung = asyncio.create_task(world.model.hanging.wait())
                await asyncio.wait([hung, following], timeout=60, return_when=asyncio.FIRST_COMPLETED)
                hung.cancel()
                await worker.killed()
                kills += 1
                print(f"killed in round {turn} at {step}; {len(world.model.calls)} calls so far")
        world.model.respond = by_schema(USUAL)
        worker = await Process.start("worker", env)
        done = await following
        trace = await house.deps.traces.get(done["result"]["trace_id"])
    await worker.killed()

    asked = prompts(world)
    assert done["status"] == "completed"
    assert done["result"]["iterations_used"] == ROUNDS
    assert essence(done) == expected
    assert len(asked) - len(set(asked)) == kills
    assert trace.status == "completed"
    assert len(trace.state["iterations"]) == ROUNDS


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_what_was_said_before_a_kill_counts_after_it(
    world: DeepWorld, tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    """An item added, the worker killed, and the answer asked for: on PostgreSQL and Redis, by another worker."""
    env = {
        **world.env(tmp_path), "DATABASE_URL": postgres_url, "REDIS_URL": redis_url, "GORKD_SECRET": "s" * 32,
    }  # fmt: skip
    world.model.respond = Stuck("facts", 1)
    worker = await Process.start("worker", env)
    async with front(env) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION, modes=("deep",)))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id, within_s=90))
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        await house.researcher.steer(job.id, Steering("add_item", "How many patients were studied"), scope=LOCAL)
        await worker.killed()

        world.model.hanging.clear()
        world.model.respond = Stuck("queries", 1)
        worker = await Process.start("worker", env)
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        await house.researcher.steer(job.id, Steering("answer_now"), scope=LOCAL)
        await worker.killed()
        world.model.respond = by_schema(USUAL)
        worker = await Process.start("worker", env)
        done = await following
        trace = await house.deps.traces.get(done["result"]["trace_id"])
    await worker.killed()

    assert done["status"] == "completed"
    assert done["metadata"]["stopped_because"] == "you asked for the answer"
    assert done["result"]["iterations_used"] == 2
    assert "How many patients were studied" in [item["description"] for item in trace.state["checklist"]]
