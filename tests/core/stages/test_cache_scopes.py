"""Nothing leaves its place: many random questions, forgettings and restarts, and never another's answer."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from adapters.records.archive import SqlArchive
from adapters.records.cache import SqlAnswerCache
from adapters.records.jobs import SqlJobStore, SqlSourceStore
from adapters.records.sqlite import Database
from core.model.answer import Confidence, JobResult, ResearchAnswer
from core.model.job import JobStatus, ResearchJob, ResearchRequest, Scope
from core.model.ports import AnswerCache
from core.model.source import SourceKind
from core.pipeline.deps import Deps
from core.stages.cache import cached_result, find_earlier, keep_result
from core.stages.intake import parse_intent
from core.tenancy.forgetting import Archive, Whose
from tests.core.stages.test_similar import FakeEmbedder
from tests.fakes import NOW, make_deps, make_source

WORKSPACES = ("discord:1", "discord:2", "slack:T1")
USERS = ("ada", "bob", "eve", "kim", "lea")
SUBJECTS = ("cats", "dogs", "lions", "bees")
WORDINGS = (
    "Why do {} sleep?",
    "What is the reason {} sleep?",
    "WHY do {} sleep, please?",
    "Why would {} sleep so long?",
)
ANGLES = {
    wording.format(subject): 0.9 * place + 0.1 * number
    for place, subject in enumerate(SUBJECTS)
    for number, wording in enumerate(WORDINGS)
}


@dataclass(frozen=True)
class Origin:
    """Where an answer came from, and whether anybody else may have it."""

    scope: Scope
    asker: str
    may_be_given: bool
    until: datetime


@dataclass
class World:
    """Several processes on one store, each with its own cache object; `seen` counts what was given again."""

    processes: list[Deps]
    archives: list[Archive]
    rng: random.Random
    moments: list[datetime]
    origins: dict[str, Origin] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    leaks: list[str] = field(default_factory=list)
    given: int = 0
    number: int = 0

    async def step(self) -> None:
        chance = self.rng.random()
        if chance < 0.002:
            await self.forget()
        elif chance < 0.02:
            self.moments.append(self.moments[-1] + timedelta(hours=self.rng.choice((1, 30, 400))))
        else:
            await self.ask()

    async def ask(self) -> None:
        deps, job = self.rng.choice(self.processes), self.make_job()
        await deps.jobs.save(job)
        result = await cached_result(job, deps)
        if result is not None:
            self.judge(job, result.cached_job)
            return
        for earlier in await find_earlier(job, deps):
            self.judge(job, earlier.job_id)
        await self.research(job, deps)

    def make_job(self) -> ResearchJob:
        self.number += 1
        tenant, asker = self.rng.choice(WORKSPACES), self.rng.choice(USERS)
        visibility = self.rng.choice(("workspace", "channel:secret", f"user:{asker}"))
        query = self.rng.choice(WORDINGS).format(self.rng.choice(SUBJECTS))
        request = ResearchRequest(
            query,
            Scope(tenant, visibility),
            asker=asker,
            is_private=self.rng.random() < 0.1,
            attachments=("notes.pdf",) if self.rng.random() < 0.1 else (),
        )
        return ResearchJob(
            f"job_{self.number}", request, parse_intent(query), JobStatus.PENDING, created_at=self.moments[-1]
        )

    async def research(self, job: ResearchJob, deps: Deps) -> None:
        is_local = self.rng.random() < 0.1
        kind = SourceKind.LOCAL if is_local else SourceKind.UNKNOWN
        sources = [make_source(1, "Sleep.", kind=kind)]
        confidence = self.rng.choice((Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW))
        answer = ResearchAnswer(f"Asked in {job.scope} [1].", "", confidence)
        result = JobResult(answer, source_ids=("src_1",))
        ended = replace(job, status=JobStatus.COMPLETED, completed_at=self.moments[-1])
        await deps.sources.put(ended, sources)
        await deps.jobs.finish(ended, result)
        await keep_result(ended, deps, result, sources)
        is_hidden = job.request.is_private and not job.scope.visibility.startswith("user:")
        is_weak = confidence is Confidence.LOW
        may_be_given = not (is_hidden or is_local or is_weak or job.request.attachments)
        until = self.moments[-1] + max(deps.settings.cache.ttl.values())
        self.origins[job.id] = Origin(job.scope, job.request.asker, may_be_given, until)

    def judge(self, job: ResearchJob, earlier_id: str) -> None:
        self.given += 1
        origin = self.origins.get(earlier_id)
        if origin is None or earlier_id in self.forgotten:
            self.leaks.append(f"{job.id} was given the forgotten {earlier_id}")
        elif origin.scope != job.scope:
            self.leaks.append(f"{job.scope} was given what was asked in {origin.scope}")
        elif not origin.may_be_given:
            self.leaks.append(f"{job.id} was given {earlier_id}, which is nobody else's")
        elif origin.until < self.moments[-1]:
            self.leaks.append(f"{job.id} was given the outdated {earlier_id}")

    async def forget(self) -> None:
        tenant, asker = self.rng.choice(WORKSPACES), self.rng.choice(USERS)
        whose = self.rng.choice((Whose(user_id=asker), Whose(user_id=asker, tenant=tenant), Whose(tenant=tenant)))
        gone = [
            job_id
            for job_id, origin in self.origins.items()
            if job_id not in self.forgotten
            and (not whose.tenant or origin.scope.tenant == whose.tenant)
            and (not whose.user_id or origin.asker == whose.user_id)
        ]
        for archive in self.archives:
            await archive.erase(whose, gone)
        self.forgotten.update(gone)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


def make_world(
    database: Database, caches: list[AnswerCache], archives: list[Archive], moments: list[datetime]
) -> World:
    base = replace(
        make_deps(clock=lambda: moments[-1]),
        jobs=SqlJobStore(database),
        sources=SqlSourceStore(database),
        embedder=FakeEmbedder(ANGLES),
    )
    return World([replace(base, cache=cache) for cache in caches], archives, random.Random(5), moments)


MANY = pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(300)])


@pytest.mark.parametrize("operations", [500, MANY])
async def test_no_answer_leaves_its_place_on_one_machine(database: Database, operations: int) -> None:
    """Three workspaces, open and closed channels and direct messages, five people, two processes on one file."""
    moments = [NOW]
    caches: list[AnswerCache] = [SqlAnswerCache(database, clock=lambda: moments[-1], max_rows=200) for _ in range(2)]
    world = make_world(database, caches, [SqlArchive(database)], moments)

    for _ in range(operations):
        await world.step()

    assert world.leaks == []
    assert world.given > operations // 4
    assert world.forgotten != set()
