"""The door inward: who is let in, and what a late follower sees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.answer import JobResult
from core.budget import BudgetSpent
from core.deps import Deps
from core.errors import JobNotFound
from core.job import JobStatus, ResearchJob, ResearchRequest
from core.researcher import Researcher
from tests.fakes import NOW, make_deps, make_job


class Idle:
    """A queue that only remembers."""

    def __init__(self) -> None:
        self.enqueued: list[str] = []

    async def enqueue(self, job: ResearchJob) -> None:
        self.enqueued.append(job.id)

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        return None


async def ended(deps: Deps) -> ResearchJob:
    job = replace(make_job("Why do cats purr?"), status=JobStatus.FAILED, completed_at=NOW)
    await deps.jobs.finish(job, JobResult(answer=None))
    return job


async def test_who_is_not_admitted_leaves_nothing_behind() -> None:
    """The refusal comes before anything is stored or enqueued."""
    deps, queue = make_deps(), Idle()

    async def refuse(request: ResearchRequest) -> None:
        raise BudgetSpent("spent", user_message="Your budget is used up.")

    with pytest.raises(BudgetSpent):
        await Researcher(deps, queue, admit=refuse).submit(ResearchRequest("Why do cats purr?"))

    assert queue.enqueued == []
    assert await deps.jobs.unfinished(limit=5) == []


async def test_a_follower_of_a_job_whose_events_have_expired_gets_its_end() -> None:
    """S003-22: nobody waits for ever for a log that is no longer kept."""
    deps = make_deps()
    job = await ended(deps)

    events = [event async for event in Researcher(deps, Idle()).follow(job.id, after=7)]

    assert [(event.seq, event.type, event.data["status"]) for event in events] == [(8, "complete", "failed")]


async def test_a_follower_of_a_job_with_events_gets_these() -> None:
    """What is kept is replayed as it was."""
    deps = make_deps()
    job = await ended(deps)
    await deps.events.append(job.id, 1, "complete", {"status": "kept"})

    events = [event async for event in Researcher(deps, Idle()).follow(job.id)]

    assert [event.data for event in events] == [{"status": "kept"}]


async def test_following_an_unknown_job_is_an_error() -> None:
    """Instead of silence."""
    with pytest.raises(JobNotFound):
        await anext(aiter(Researcher(make_deps(), Idle()).follow("job_unknown")))
