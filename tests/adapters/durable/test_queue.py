"""The queue without a worker: what is on it, what it refuses, and what the reaper finds."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.durable.journal import DurableSettings
from adapters.durable.queue import DurableQueue
from adapters.durable.worker import Endings, Reaper
from adapters.records.jobs import SqlHeartbeats
from bots.config import read_settings
from bots.wiring import open_house
from core.model.errors import QueueFull, SetupError
from core.model.job import JobStatus, ResearchRequest, Scope
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from tests.fakes import NOW, Ticking, make_deps, make_job
from tests.records import MemoryTables


class Opened:
    """A queue on a journal of its own, and the ids of the jobs it ended."""

    def __init__(self, folder: Path, deps: Deps, **settings: int) -> None:
        self.ended: list[tuple[str, str]] = []
        self.queue = DurableQueue(
            DurableSettings.from_env({}, folder=folder, max_waiting_jobs=settings.get("limit", 200)),
            deps.jobs,
            on_cancelled=self.cancelled,
        )
        self.reaper = Reaper(
            "worker-1",
            SqlHeartbeats(MemoryTables()),
            deps.jobs,
            self.queue,
            Endings(self.cancelled, self.broken),
            lambda: NOW + timedelta(seconds=10),
        )

    async def cancelled(self, job_id: str) -> None:
        self.ended.append(("cancelled", job_id))

    async def broken(self, job_id: str) -> None:
        self.ended.append(("broken", job_id))

    async def waiting(self) -> list[tuple[str, int]]:
        await self.queue.written()
        client = await self.queue.client()
        return [(row.workflow_id, row.priority or 0) for row in await client.list_workflows_async(status="ENQUEUED")]


async def test_enqueueing_is_idempotent_by_job(tmp_path: Path) -> None:
    """However often, from however many processes at once: the job waits once, under its own id, with a priority."""
    deps = make_deps()
    here, there = Opened(tmp_path, deps), Opened(tmp_path, deps)
    job = make_job("Why do cats purr?")

    await asyncio.gather(here.queue.enqueue(job), there.queue.enqueue(job), here.queue.enqueue(job))

    assert await here.waiting() == [(job.id, 1)]
    await asyncio.gather(here.queue.aclose(), there.queue.aclose())


async def test_place_in_the_queue_counts_the_tenants_own_by_their_turn(tmp_path: Path) -> None:
    """Who is told "3 ahead" waits for three, not for another tenant's, a later one's or a running one's end."""
    deps = make_deps()
    opened = Opened(tmp_path, deps)
    per_tenant = DurableSettings.from_env({}, folder=tmp_path, max_waiting_jobs=1).jobs_per_tenant
    others = Scope("discord:2", "channel:1")
    for number in range(per_tenant):
        await deps.jobs.save(replace(make_job("Why?", id=f"job_r{number}"), status=JobStatus.SEARCHING))
    waiting = [make_job("Why?", id=f"job_w{number}") for number in range(4)]
    for number, job in enumerate([*waiting, make_job("Why?", id="job_other", scope=others)]):
        await deps.jobs.save(replace(job, created_at=NOW + timedelta(seconds=number)))

    places = [await opened.queue.position(job.id) for job in waiting]

    assert places == [0, 1, 2, 3]
    assert await opened.queue.position("job_other") == 0
    assert await opened.queue.position("job_r1") is None
    assert await opened.queue.position("job_unknown") is None


async def test_who_must_wait_is_told_for_how_many(tmp_path: Path) -> None:
    """The first event of a question that finds every place taken says so; one that finds a place hears nothing."""
    deps = make_deps(clock=Ticking())
    opened = Opened(tmp_path, deps)
    researcher = Researcher(deps, opened.queue)
    per_tenant = DurableSettings.from_env({}, folder=tmp_path, max_waiting_jobs=1).jobs_per_tenant

    jobs = [await researcher.submit(ResearchRequest(f"Why do {number} cats purr?")) for number in range(per_tenant + 3)]
    await researcher.settle()

    told = [[event.data["message"] for event in await deps.events.read(job.id)] for job in jobs]
    assert told == [[] for _ in range(per_tenant + 1)] + [
        ["1 question is ahead of yours"],
        ["2 questions are ahead of yours"],
    ]
    assert (await researcher.position(jobs[-1].id), await researcher.position(jobs[0].id)) == (2, 0)
    await opened.queue.aclose()


async def test_question_that_finds_no_room_has_failed_in_words_and_is_not_run_later(tmp_path: Path) -> None:
    """A refusal is a refusal: the reaper does not enqueue it behind the asker's back."""
    deps = make_deps()
    opened = Opened(tmp_path, deps, limit=1)
    researcher = Researcher(deps, opened.queue)
    first = await researcher.submit(ResearchRequest("Why do cats purr?"))

    with pytest.raises(QueueFull):
        await researcher.submit(ResearchRequest("Why do dogs bark?"))
    await opened.reaper.sweep()

    assert [name for name, _ in await opened.waiting()] == [first.id]
    refused = [job for job in await deps.jobs.recent(first.scope, limit=9) if job.id != first.id]
    assert [(job.status, job.error.code if job.error else "") for job in refused] == [
        (JobStatus.FAILED, "RATE_LIMITED")
    ]
    await opened.queue.aclose()


async def test_question_is_taken_when_it_is_stored_and_the_journal_is_written_behind(tmp_path: Path) -> None:
    """S003-23: nobody waits for the journal, here while another holds it; what was taken meanwhile comes into it."""
    deps = make_deps()
    opened = Opened(tmp_path, deps)
    researcher = Researcher(deps, opened.queue)
    await researcher.submit(ResearchRequest("Why do cats purr?"))  # opens the journal, and counts
    await opened.queue.written()
    with closing(sqlite3.connect(tmp_path / "dbos.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        async with asyncio.timeout(4):  # the journal's own patience with a lock is longer
            taken = [await researcher.submit(ResearchRequest(f"Why do {number} dogs bark?")) for number in range(9)]

        other.execute("ROLLBACK")
    waiting = {name for name, _ in await opened.waiting()}
    assert {job.id for job in taken} < waiting
    await opened.queue.aclose()


async def test_job_that_was_stored_but_never_enqueued_is_enqueued(tmp_path: Path) -> None:
    """Its process died in between. One that has begun without the journal runs elsewhere, and is left alone."""
    deps = make_deps()
    opened = Opened(tmp_path, deps)
    await deps.jobs.save(make_job("Why do cats purr?", id="job_stored"))
    await deps.jobs.save(replace(make_job("Why do dogs bark?", id="job_begun"), status=JobStatus.SEARCHING))

    await opened.reaper.sweep()
    await opened.reaper.sweep()

    assert [name for name, _ in await opened.waiting()] == ["job_stored"]
    await opened.queue.aclose()


async def test_cancelling_a_job_that_waits_ends_it_at_once(tmp_path: Path) -> None:
    """It never begins; cancelling again changes nothing."""
    deps = make_deps()
    opened = Opened(tmp_path, deps)
    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)
    await opened.queue.enqueue(job)

    await opened.queue.cancel(job.id)
    await opened.queue.enqueue(job)

    assert opened.ended == [("cancelled", job.id)]
    assert await opened.waiting() == []
    await opened.queue.aclose()


async def test_job_whose_canceller_died_is_ended_by_the_reaper(tmp_path: Path) -> None:
    """Cancelled in the journal, unfinished in the store, twice in a row: nobody is about to end it."""
    deps = make_deps()
    opened = Opened(tmp_path, deps)
    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)
    await opened.queue.enqueue(job)
    await opened.queue.written()
    client = await opened.queue.client()
    await client.cancel_workflow_async(job.id)

    await opened.reaper.sweep()
    at_first = list(opened.ended)
    await opened.reaper.sweep()

    assert at_first == []
    assert opened.ended == [("cancelled", job.id)]
    await opened.queue.aclose()


async def test_what_a_job_left_in_the_journal_can_be_forgotten(tmp_path: Path) -> None:
    """Not even its id stays."""
    deps = make_deps()
    opened = Opened(tmp_path, deps)
    job = make_job("Why do cats purr?")
    await opened.queue.enqueue(job)

    await opened.queue.forget(job.id)

    client = await opened.queue.client()
    assert await client.list_workflows_async() == []
    await opened.queue.aclose()


async def test_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    """It holds answers while they are worked out."""
    opened = Opened(tmp_path, make_deps())
    await opened.queue.client()

    with os.scandir(tmp_path) as entries:
        modes = {entry.name: entry.stat().st_mode & 0o077 for entry in entries}
    assert "dbos.sqlite" in modes
    assert set(modes.values()) == {0}
    await opened.queue.aclose()


async def test_journal_that_cannot_be_opened_is_one_clear_sentence(tmp_path: Path) -> None:
    """It names the setting."""
    (tmp_path / "dbos.sqlite").write_text("this is no database, and it is long enough to be taken for one" * 9)
    opened = Opened(tmp_path, make_deps())

    with pytest.raises(SetupError) as refused:
        await opened.queue.client()

    assert "GORKD_DATA" in refused.value.operator_message
    await opened.queue.aclose()


@pytest.mark.parametrize("missing", ["REDIS_URL", "GORKD_SECRET"])
async def test_half_of_what_several_machines_need_is_refused_at_start(missing: str, tmp_path: Path) -> None:
    """In one sentence that names what is missing."""
    whole = {"DATABASE_URL": "postgresql://127.0.0.1:9/x", "REDIS_URL": "redis://127.0.0.1:9/0", "GORKD_SECRET": "s"}
    env = {name: value for name, value in whole.items() if name != missing} | {"GORKD_DATA": str(tmp_path)}

    with pytest.raises(SetupError, match=missing):
        async with open_house(env, read_settings(env), grace_s=0, role="front"):
            pass
