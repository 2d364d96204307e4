"""200 questions, three workers, and somebody who pulls plugs at random."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import pytest

from bots.wiring import House
from core.model.job import JobStatus, ResearchJob, ResearchRequest, Scope
from tests.adapters.durable.outside import QUESTION
from tests.adapters.durable.processes import Process, Reader, all_ended, front
from tests.loopback.world import World

JOBS = 200
WORKERS = 3
KILL_EVERY_S = 2.5
RAGING_S = 90  # then the workers get on with it: where they start as slowly as they are killed nothing ever ends
WITHIN_S = 240


@dataclass
class Storm:
    """Keeps three workers up, and kills one of them every few seconds."""

    env: dict[str, str]
    rng: random.Random
    workers: list[Process] = field(default_factory=list)
    dead: list[Process] = field(default_factory=list)
    calm: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self) -> None:
        self.workers = list(await asyncio.gather(*(Process.start("worker", self.env) for _ in range(WORKERS))))

    async def rage(self) -> None:
        """Until told to be calm: cancelled between the start of a process and its noting down, it would lose one."""
        ends_at = time.monotonic() + RAGING_S
        while time.monotonic() < ends_at:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.calm.wait(), self.rng.uniform(0.5, 1.5) * KILL_EVERY_S)
                return
            victim = self.workers.pop(self.rng.randrange(len(self.workers)))
            await victim.killed()
            self.dead.append(victim)
            self.workers.append(await Process.start("worker", self.env, wait=False))

    async def end(self) -> None:
        await asyncio.gather(*(worker.killed() for worker in self.workers))

    def log(self) -> list[dict[str, str]]:
        """What all workers said about jobs, in order of time."""
        lines = [line for worker in [*self.dead, *self.workers] for line in worker.lines if "job_id" in line]
        return sorted(lines, key=lambda line: line["ts"])


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_nothing_is_lost_answered_twice_or_done_again(world: World, anywhere: dict[str, str]) -> None:
    """Each of 200 jobs has one end and its answer; a step that had finished never runs again."""
    seed = random.SystemRandom().randrange(10_000)
    storm = Storm(anywhere, random.Random(seed))
    world.model.first_token_s = 0.8  # a quick machine would have ended everything before the storm
    await storm.begin()
    async with front(anywhere) as house:
        started = time.monotonic()
        jobs = await asyncio.gather(*(submit(house, number) for number in range(JOBS)))
        raging = asyncio.create_task(storm.rage())
        try:
            await all_ended(house, within_s=WITHIN_S)
            took_s = time.monotonic() - started
        finally:
            storm.calm.set()
            await raging
        ends = [await read_back(house, job) for job in jobs]
    await storm.end()

    kills = len(storm.dead)
    resumed = sum(end.attempts > 1 for end in ends)
    print(f"\nseed {seed}: {JOBS} jobs in {took_s:.0f} s, {kills} kills, {resumed} jobs resumed")
    assert kills >= 5
    assert resumed > 0
    assert [(end.error, end.attempts) for end in ends if end.error] == []
    assert Counter(end.status for end in ends) == {JobStatus.COMPLETED: JOBS}
    assert [end.completes for end in ends] == [1] * JOBS
    assert [end for end in ends if not (end.has_answer and end.reads_like_its_answer)] == []
    assert steps_run_again(storm.log()) == []


@dataclass(frozen=True)
class End:
    """What became of a job, as its store says and as its readers saw it."""

    status: JobStatus
    error: str
    attempts: int
    completes: int
    has_answer: bool
    reads_like_its_answer: bool


async def submit(house: House, number: int) -> ResearchJob:
    scope = Scope(f"discord:{number % 7}", f"channel:{number % 3}")
    return await house.researcher.submit(ResearchRequest(f"{QUESTION} Number {number}?", scope=scope, is_fresh=True))


async def read_back(house: House, job: ResearchJob) -> End:
    reader = Reader()
    await reader.follow(house, job.id, within_s=45)  # an end that was stored but not told waits for its worker
    stored = await house.researcher.job(job.id)
    result = await house.researcher.result(job.id)
    summary = " ".join(text for name, text in reader.shown.items() if name.startswith("summary"))
    return End(
        stored.status,
        f"{stored.error.code}: {stored.error.message}" if stored.error else "",
        stored.attempt,
        sum(event.type == "complete" for event in await house.deps.events.read(job.id)),
        has_answer=result is not None and result.answer is not None and bool(result.answer.summary),
        reads_like_its_answer=result is not None and result.answer is not None and summary == result.answer.summary,
    )


def steps_run_again(log: list[dict[str, str]]) -> list[str]:
    """Steps that finished although the status after them, which follows their entry in the journal, was told before."""
    after = {"searching": "plan", "synthesizing": "search"}
    over: set[tuple[str, str]] = set()
    again = []
    for line in log:
        if line["event"] == "status" and line["status"] in after:
            over.add((line["job_id"], after[line["status"]]))
        if line["event"] == "stage finished" and (line["job_id"], line["stage"]) in over:
            again.append(json.dumps(line))
    return again
