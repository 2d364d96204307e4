"""Two workspaces and two guilds in one installation never see anything of each other, whatever they do.

All of them use the same channels, people, threads, keys and paper ids, so only the tenant tells them apart. Whatever
is stored says whose it is; whatever is seen must say that it is one's own. What is added to the records gets an
`Aspect` here.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from bots.config import BotSettings
from bots.records import Records, open_records
from core.library.paper import Index, Paper, PaperChunk
from core.library.states import Conversation
from core.model.answer import Confidence, JobResult, Rating, ResearchAnswer
from core.model.job import JobStatus, QueryIntent, QuestionType, ResearchJob, ResearchRequest, Scope
from core.model.ports import record_nothing
from core.pipeline.tool_traces import TraceEntry
from core.tenancy.admission import month_of
from core.tenancy.forgetting import Whose, forget
from core.tenancy.settings import TenantSettings
from core.tenancy.settings_desk import SettingChange
from core.tenancy.usage import Period

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TENANTS = ("slack:T1", "slack:T2", "discord:1", "discord:2")
PLACES = ("workspace", "channel:C1", "channel:C2", "user:U1")
PEOPLE = ("U1", "U2")
DAY = timedelta(days=1)


@dataclass
class Town:
    """The records of one installation, and what each tenant must find: how many jobs, and what it has spent."""

    records: Records
    rng: random.Random
    jobs: dict[str, list[ResearchJob]] = field(default_factory=lambda: {tenant: [] for tenant in TENANTS})
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TENANTS, 0.0))
    seen: dict[str, int] = field(default_factory=dict)
    number: int = 0

    def scope(self, tenant: str) -> Scope:
        return Scope(tenant, self.rng.choice(PLACES))

    def any_job(self, tenant: str) -> ResearchJob | None:
        return self.rng.choice(self.jobs[tenant]) if self.jobs[tenant] else None

    def vector(self) -> np.ndarray:
        """One of three directions, so that there are always neighbours in other tenants."""
        return np.eye(4, dtype=np.float32)[self.rng.randrange(3)]

    def saw(self, aspect: str, tenant: str, *shown: str) -> None:
        """Judge what a tenant was shown."""
        for text in shown:
            assert tenant in text, f"{tenant} was shown {text!r} ({aspect})"
            assert not [other for other in TENANTS if other != tenant and other in text], (aspect, tenant, text)
        self.seen[aspect] = self.seen.get(aspect, 0) + len(shown)


Aspect = Callable[[Town, str], Awaitable[None]]


async def ask(town: Town, tenant: str) -> None:
    town.number += 1
    scope, asker = town.scope(tenant), town.rng.choice(PEOPLE)
    request = ResearchRequest(f"question of {tenant}", scope, asker=asker, thread="slack:C1:1.1")
    intent = QueryIntent(QuestionType.FACTUAL)
    at = NOW + timedelta(seconds=town.number)
    job = ResearchJob(f"job_{town.number}", request, intent, JobStatus.PENDING, at)
    stored = await town.records.jobs.save(job, dedupe_key=f"key {town.rng.randrange(2000)}")
    town.saw("asked", tenant, stored.query)
    if stored.id == job.id:
        done = replace(job, status=JobStatus.COMPLETED, completed_at=at)
        answer = ResearchAnswer(f"answer for {tenant}", "", confidence=Confidence.LOW)
        await town.records.jobs.finish(done, JobResult(answer))
        town.jobs[tenant].append(done)


async def look_at_answers(town: Town, tenant: str) -> None:
    jobs, scope = town.records.jobs, town.scope(tenant)
    found = await jobs.recent(scope, limit=20)
    found += await jobs.asked_by(tenant, town.rng.choice(PEOPLE), limit=20)
    found += await jobs.in_thread(scope, "slack:C1:1.1", before=NOW + DAY, limit=5)
    again = await jobs.asked(scope, f"key {town.rng.randrange(2000)}")
    found += [again] if again else []
    results = [await jobs.result(job.id) for job in found[:3]]
    town.saw("answers", tenant, *(f"{job.query} {job.scope.tenant}" for job in found))
    town.saw("answers", tenant, *(result.answer.summary for result in results if result and result.answer))


async def repeat_answers(town: Town, tenant: str) -> None:
    cache, scope, key, job = town.records.cache, town.scope(tenant), f"q{town.rng.randrange(5)}", town.any_job(tenant)
    if job is not None:
        await cache.put(job.scope, key, job.id, ttl=DAY, group="g", vector=town.vector())
    hit = await cache.get(scope, key)
    near = await cache.similar(scope, "g", town.vector(), limit=10, at_least=0.5)
    ids = [hit[0]] if hit else []
    found = [await town.records.jobs.get(job_id) for job_id in [*ids, *(one.job_id for one in near)]]
    holder = await town.records.limits.claim(scope, key, f"flight of {tenant}", ttl=DAY)
    town.saw("cache", tenant, *(one.query for one in found), holder)


async def shelve(town: Town, tenant: str) -> None:
    paper = Paper(f"2401.{town.rng.randrange(6):05}v1", f"Paper of {tenant}", "hash", NOW)
    text = f"Tides on the shelf of {tenant}."
    chunk = PaperChunk(paper, 0, text, 0, len(text), embedding=town.vector())
    await town.records.library.put(town.scope(tenant), paper, text, {Index.CONTENT: [chunk]}, tenant.encode())


async def look_at_papers(town: Town, tenant: str) -> None:
    library, shelves = town.records.library, [Scope(tenant, place) for place in town.rng.sample(PLACES, 2)]
    found = await library.matching(shelves, Index.CONTENT, "tides on the shelf", limit=20)
    found += await library.nearest(shelves, Index.CONTENT, town.vector(), limit=20)
    papers = await library.papers(shelves)
    texts = [await library.text(shelves, paper.id) for paper in papers[:2]]
    files = [(await library.file(shelves, paper.id)).decode() for paper in papers[:2]]
    town.saw("papers", tenant, *(one.chunk.chunk_text for one in found), *(one.title for one in papers), *texts, *files)


async def talk(town: Town, tenant: str) -> None:
    kept, scope = town.records.conversations, town.scope(tenant)
    before = await kept.get(scope, "thread")
    await kept.put(scope, "thread", Conversation(draft=f"draft of {tenant}"), asker="U1", at=NOW)
    town.saw("conversations", tenant, *([before.draft] if before else []))


async def spend(town: Town, tenant: str) -> None:
    job = town.any_job(tenant)
    if job is not None:
        entry = TraceEntry("model", "answer", NOW, detail="loop-1", cost_usd=0.25, prompt_tokens=10)
        await town.records.traces.append(job.id, [entry])
        town.spent[tenant] += 0.25
    spent = await town.records.spending.spent(tenant, "U1", month_of(NOW))
    assert spent.workspace_usd == pytest.approx(town.spent[tenant]), tenant
    town.saw("costs", tenant, tenant)


async def count_usage(town: Town, tenant: str) -> None:
    """Of one tenant, its own questions, and they are all of them."""
    period = Period(NOW.date(), NOW.date())
    entries = await town.records.spending.usage(period, tenant)
    assert sum(entry.questions for entry in entries) == len(town.jobs[tenant])
    town.saw("usage", tenant, *(entry.tenant for entry in entries))


async def vote(town: Town, tenant: str) -> None:
    job = town.any_job(tenant)
    if job is not None:
        await town.records.evaluations.rate(job, Rating("U1", True, f"reason of {tenant}", NOW))


async def install(town: Town, tenant: str) -> None:
    before = await town.records.tenants.token(tenant)
    await town.records.tenants.put_token(tenant, f"token of {tenant}")
    town.saw("tokens", tenant, *([before] if before else []))


async def settle_settings(town: Town, tenant: str) -> None:
    kept = await town.records.settings.get(tenant)
    new = replace(kept, settings=TenantSettings(channels=(f"channel of {tenant}",)))
    change = SettingChange("channels", "", tenant, f"admin of {tenant}", NOW)
    assert await town.records.settings.put(tenant, new, [change])
    changes = await town.records.settings.changes(tenant, limit=5)
    town.saw("settings", tenant, *kept.settings.channels, *(one.who for one in changes))


async def leave(town: Town, tenant: str) -> None:
    """Everything of one is forgotten, and nothing of the others."""
    await forget(
        Whose(tenant=tenant),
        town.records.archive.jobs_of,
        town.records.archives,
        cancel=_nothing,
        condemn=_nothing,
        sleep=_nothing,
    )
    town.jobs[tenant], town.spent[tenant] = [], 0.0
    assert await town.records.library.papers([Scope(tenant, place) for place in PLACES]) == []
    for place in PLACES:
        assert await town.records.jobs.recent(Scope(tenant, place), limit=1) == []
    for other in TENANTS:
        for job in town.jobs[other][-3:]:
            assert (await town.records.jobs.get(job.id)).query == f"question of {other}"


ASPECTS: Mapping[Aspect, int] = {
    ask: 30,
    look_at_answers: 20,
    repeat_answers: 15,
    shelve: 5,
    look_at_papers: 10,
    talk: 8,
    spend: 8,
    count_usage: 3,
    vote: 4,
    install: 4,
    settle_settings: 4,
}
LEAVING_EVERY = 400  # operations; each rewrites the file


async def _nothing(_: object) -> None: ...


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[Records]:
    async with AsyncExitStack() as stack:
        yield await open_records(
            {}, BotSettings(data=tmp_path), stack, clock=lambda: NOW + timedelta(hours=1), record=record_nothing
        )


@pytest.mark.parametrize("operations", [400, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_no_tenant_ever_sees_anything_of_another(records: Records, operations: int) -> None:
    """Answers, papers, conversations, settings, tokens and costs, over random operations of all at once."""
    town = Town(records, random.Random(operations))
    aspects, weights = list(ASPECTS), list(ASPECTS.values())

    for number in range(1, operations + 1):
        tenant = town.rng.choice(TENANTS)
        if number % LEAVING_EVERY == 0:
            await leave(town, tenant)
        else:
            await town.rng.choices(aspects, weights)[0](town, tenant)

    assert set(town.seen) >= {"answers", "cache", "papers", "conversations", "costs", "settings", "tokens", "usage"}
    assert min(town.seen.values()) > operations / 100
