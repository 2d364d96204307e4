"""Traces come back as they were noted, and what they cost is booked to who asked: on every database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.store.jobs import SqlJobStore
from adapters.store.traces import SqlSpending, SqlTraceLog
from core.budget import Spent, month_of
from core.job import JobStatus, Scope
from core.tracing import Exchange, TraceEntry
from tests.adapters.store.samples import NOON, finished, make_job

MONTH = month_of(NOON)
TEAM = Scope("slack:T1", "channel:C1")
CALL = TraceEntry(
    "model", "answer", NOON, 1.25, "done", "loop-1", 0, 1200, 300, True, 0.00225, Exchange("System", "Why?", "So \x00!")
)
SEARCH = TraceEntry("search", "tavily", NOON + timedelta(seconds=1), 0.5, "no answer in 10 s", "cats", 0)


def job_of(number: int, asker: str, scope: Scope = TEAM):
    job = make_job(number, scope=scope)
    return replace(job, request=replace(job.request, asker=asker, context='a "quote" and a NUL \x00'))


@pytest.fixture
async def stores(tables):
    """Job store, trace log and spending, knowing jobs 1 to 3."""
    parts = SqlJobStore(tables), SqlTraceLog(tables), SqlSpending(tables)
    for job in (job_of(1, "U1"), job_of(2, "U2"), job_of(3, "U1", Scope("slack:T2", "channel:C9"))):
        await parts[0].save(job)
    return parts


async def test_entries_come_back_whole_and_in_order(stores) -> None:
    """Every field, also those that are hard to store; one job's entries are not another's."""
    _, log, _ = stores

    await log.append("job_1", [CALL, SEARCH])
    await log.append("job_2", [SEARCH])
    await log.append("job_1", [CALL])

    assert await log.read("job_1") == [CALL, SEARCH, CALL]
    assert await log.read("job_2") == [SEARCH]
    assert await log.read("job_3") == []


async def test_what_belongs_to_no_stored_job_is_dropped(stores) -> None:
    """It was forgotten while it ran: nothing may come back."""
    _, log, spending = stores

    await log.append("job_forgotten", [CALL])

    assert await log.read("job_forgotten") == []
    assert await spending.spent("slack:T1", "U1", MONTH) == Spent(0, 0)


async def test_calls_are_booked_to_the_asker_and_the_workspace(stores) -> None:
    """Each sees its own sum; a search costs nothing; another workspace or month is another account."""
    _, log, spending = stores
    next_month = replace(CALL, at=NOON + timedelta(days=31))

    await log.append("job_1", [CALL, SEARCH, CALL])
    await log.append("job_2", [CALL, next_month])
    await log.append("job_3", [replace(CALL, cost_usd=None)])

    assert await spending.spent("slack:T1", "U1", MONTH) == Spent(pytest.approx(0.0045), pytest.approx(0.00675))
    assert await spending.spent("slack:T1", "U2", MONTH) == Spent(pytest.approx(0.00225), pytest.approx(0.00675))
    assert await spending.spent("slack:T1", "U2", month_of(next_month.at)) == Spent(0.00225, 0.00225)
    assert await spending.spent("slack:T2", "U1", MONTH) == Spent(0, 0)
    assert await spending.spent("slack:T1", "nobody", MONTH) == Spent(0, pytest.approx(0.00675))


async def test_waiting_and_running_jobs_are_counted_and_ended_ones_are_not(stores) -> None:
    """Whatever the stage, a job that has begun runs."""
    jobs, _, _ = stores
    await jobs.save(make_job(4, status=JobStatus.SEARCHING))
    await jobs.save(make_job(5, status=JobStatus.SYNTHESIZING))
    await jobs.save(finished(make_job(6)))

    assert await jobs.backlog() == (3, 2)
