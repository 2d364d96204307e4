"""How gorkd is used, counted by SQLite and by PostgreSQL alike, and as plain Python counts it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.records.jobs import SqlEvaluations, SqlJobStore
from adapters.records.schema import steps
from adapters.records.sql import Tables
from adapters.records.sqlite import Database
from adapters.records.traces import SqlSpending, counting_queries
from core.model.answer import Confidence, JobResult, Rating, ResearchAnswer, SynthesisMetadata
from core.model.job import TERMINAL_STATUSES, JobStatus, ResearchJob, Scope
from core.model.ports import JobStore
from core.tenancy.usage import EvaluationStore, Period, Usage
from tests.adapters.records.samples import make_job

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
NOVEMBER = Period(date(2026, 11, 1), date(2026, 11, 30))


def ended(
    number: int, at: datetime, tenant: str, status: JobStatus, *, seconds: float = 1.0,
    confidence: Confidence = Confidence.HIGH, cost: float | None = None, calls: int = 0, cached_at: str | None = None,
) -> tuple[ResearchJob, JobResult | None]:  # fmt: skip
    base = make_job(number)
    request = replace(base.request, scope=Scope(tenant, "workspace"), query="a\x00b")
    job = replace(base, request=request, status=status, created_at=at)
    answer = ResearchAnswer("a\x00b", "", confidence, metadata=SynthesisMetadata(cost_usd=cost, model_calls=calls))
    kept = answer if status is JobStatus.COMPLETED else None
    return job, JobResult(kept, duration_s=seconds, cached_at=cached_at) if status in TERMINAL_STATUSES else None


async def keep(store: JobStore, kept: Sequence[tuple[ResearchJob, JobResult | None]]) -> None:
    for job, result in kept:
        if result is None:
            await store.save(job)
        else:
            await store.finish(job, result)


@pytest.fixture
def counting(tables: Tables) -> tuple[JobStore, EvaluationStore, SqlSpending]:
    return SqlJobStore(tables), SqlEvaluations(tables), SqlSpending(tables)


async def test_day_of_a_tenant_has_its_questions_answers_votes_and_costs(
    counting: tuple[JobStore, EvaluationStore, SqlSpending],
) -> None:
    """What came from the cache costs nothing again; other tenants and other days are apart."""
    jobs, ratings, usage = counting
    kept = [
        ended(number, FIRST + timedelta(minutes=number), "slack:T1", JobStatus.COMPLETED, seconds=number, cost=0.01)
        for number in range(1, 21)
    ]
    kept += [
        ended(21, FIRST, "slack:T1", JobStatus.COMPLETED, seconds=0.1, confidence=Confidence.LOW, cost=0.01,
              cached_at="2026-10-30T00:00:00+00:00"),
        ended(22, FIRST, "slack:T1", JobStatus.FAILED, seconds=90),
        ended(23, FIRST, "slack:T1", JobStatus.CANCELLED),
        ended(24, FIRST, "slack:T1", JobStatus.SEARCHING),
        ended(25, FIRST - timedelta(microseconds=400), "slack:T1", JobStatus.COMPLETED),
        ended(26, FIRST, "discord:5", JobStatus.COMPLETED, cost=3.0),
    ]  # fmt: skip
    await keep(jobs, kept)
    for asker, is_good in (("U1", True), ("U2", False), ("U3", True)):
        await ratings.rate(kept[0][0], Rating(asker, is_good, "", FIRST))

    found = await usage.usage(NOVEMBER, tenant="slack:T1")

    assert found == [
        Usage(
            "slack:T1", "2026-11-01", questions=24, answered=21, failed=1, cancelled=1, running=1, cached=1, high=20,
            low=1, good=2, bad=1, cost_usd=pytest.approx(0.2), p50_s=10.0, p95_s=19.0,
        )
    ]  # fmt: skip


async def test_all_tenants_are_counted_together_by_day_and_apart_by_tenant(
    counting: tuple[JobStore, EvaluationStore, SqlSpending],
) -> None:
    jobs, _, usage = counting
    days = [FIRST, FIRST, FIRST + timedelta(days=1)]
    tenants = ["discord:5", "slack:T1", "slack:T1"]
    await keep(
        jobs,
        [
            ended(number, day, tenant, JobStatus.COMPLETED, seconds=number)
            for number, (day, tenant) in enumerate(zip(days, tenants, strict=True), start=1)
        ],
    )

    by_day = await usage.usage(NOVEMBER, by="day")
    by_tenant = await usage.usage(NOVEMBER, by="tenant")
    by_both = await usage.usage(NOVEMBER)

    assert [(one.tenant, one.day, one.questions, one.p95_s) for one in by_day] == [
        ("", "2026-11-01", 2, 2.0), ("", "2026-11-02", 1, 3.0),
    ]  # fmt: skip
    assert [(one.tenant, one.day, one.questions, one.p50_s) for one in by_tenant] == [
        ("discord:5", "", 1, 1.0), ("slack:T1", "", 2, 2.0),
    ]  # fmt: skip
    assert [(one.tenant, one.day) for one in by_both] == [
        ("discord:5", "2026-11-01"), ("slack:T1", "2026-11-01"), ("slack:T1", "2026-11-02"),
    ]  # fmt: skip


async def test_answers_of_an_older_gorkd_are_counted_too(
    counting: tuple[JobStore, EvaluationStore, SqlSpending],
    tables: Tables,
) -> None:
    """The migration reads the figures out of what is stored."""
    store, _, usage = counting
    job, result = ended(1, FIRST, "local", JobStatus.COMPLETED, seconds=4.5, confidence=Confidence.LOW, cost=0.02)
    assert result.answer is not None
    await store.finish(job, replace(result, answer=replace(result.answer, summary="So.")))
    counted = await usage.usage(NOVEMBER)

    await tables.execute("UPDATE jobs SET seconds = NULL, confidence = NULL, cost_usd = NULL, is_cached = NULL")
    step = next(one for version in steps(tables.dialect) for one in version if "UPDATE jobs SET seconds" in one)
    await tables.execute(step)

    assert await usage.usage(NOVEMBER) == counted
    assert (counted[0].p50_s, counted[0].low, counted[0].cost_usd) == (4.5, 1, 0.02)


async def test_answer_of_a_model_without_a_price_is_counted_and_not_taken_for_free(
    counting: tuple[JobStore, EvaluationStore, SqlSpending],
) -> None:
    """What was quoted without a model has cost nothing, and what was repeated costs nothing again."""
    jobs, _, usage = counting
    kept = [
        ended(1, FIRST, "local", JobStatus.COMPLETED, cost=0.02, calls=2),
        ended(2, FIRST, "local", JobStatus.COMPLETED, cost=None, calls=2),
        ended(3, FIRST, "local", JobStatus.COMPLETED, cost=None, calls=0),
        ended(4, FIRST, "local", JobStatus.COMPLETED, calls=2, cached_at="2026-10-30T00:00:00+00:00"),
        ended(5, FIRST, "local", JobStatus.FAILED),
    ]
    await keep(jobs, kept)

    (found,) = await usage.usage(NOVEMBER)

    assert (found.cost_usd, found.unpriced) == (0.02, 1)


async def test_nothing_asked_is_nothing_counted(counting: tuple[JobStore, EvaluationStore, SqlSpending]) -> None:
    _, _, usage = counting

    assert await usage.usage(NOVEMBER) == []


@pytest.mark.parametrize("tenant", ["", "slack:T1"])
async def test_counting_reads_the_index_alone(database: Database, tenant: str) -> None:
    """No job and no answer is read, however long they are."""
    query, _ = counting_queries("sqlite", "day", tenant)
    values = {"since": NOVEMBER.begins_at, "until": NOVEMBER.ends_at, "tenant": tenant}

    plan = str(await database.rows(f"EXPLAIN QUERY PLAN {query}", values))

    assert "COVERING INDEX jobs_by_day" in plan
    assert plan.count("jobs_by_") == 1


_JOBS = st.lists(
    st.tuples(
        st.integers(-2, 32 * 24 * 3600 * 1000).map(lambda ms: FIRST + timedelta(milliseconds=ms)),
        st.sampled_from(["local", "slack:T1", "discord:5"]),
        st.sampled_from(JobStatus),
        st.floats(0, 200, allow_nan=False),
    ),
    max_size=40,
)


@settings(max_examples=15)  # each has up to 40 jobs
@given(_JOBS)
def test_sums_of_the_days_are_the_number_of_jobs(asked: list[tuple[datetime, str, JobStatus, float]]) -> None:
    """However they are grouped; and each tenant's own days hold its own jobs. Percentiles are nearest ranks."""
    kept = [ended(number, at, tenant, status, seconds=s) for number, (at, tenant, status, s) in enumerate(asked)]
    within = [job for job, _ in kept if NOVEMBER.begins_at <= job.created_at < NOVEMBER.ends_at]

    async def count() -> dict[str, list[Usage]]:
        with TemporaryDirectory() as folder:
            database = await Database.open(Path(folder))
            try:
                await keep(SqlJobStore(database), kept)
                usage = SqlSpending(database)
                both = {
                    "day": await usage.usage(NOVEMBER, by="day"),
                    "tenant": await usage.usage(NOVEMBER, by="tenant"),
                }
                own = {
                    tenant: await usage.usage(NOVEMBER, tenant=tenant) for tenant in ("local", "slack:T1", "discord:5")
                }
                return {**both, **own, "": await usage.usage(NOVEMBER)}
            finally:
                await database.aclose()

    found = asyncio.run(count())

    for key in ("day", "tenant", ""):
        assert sum(one.questions for one in found[key]) == len(within)
    for tenant in ("local", "slack:T1", "discord:5"):
        assert {one.tenant for one in found[tenant]} <= {tenant}
        assert sum(one.questions for one in found[tenant]) == sum(job.scope.tenant == tenant for job in within)
    for one in found["day"]:
        assert one.questions == one.answered + one.failed + one.cancelled + one.running
        of_day = [s for at, _, status, s in asked if f"{at:%F}" == one.day and status is JobStatus.COMPLETED]
        assert one.p95_s == (sorted(of_day)[math.ceil(0.95 * len(of_day)) - 1] if of_day else None)
