"""The contracts of a JobMemo and of the list of unfinished jobs, kept by memory and SQLite alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.store.jobs import SqliteJobStore
from adapters.store.memo import SqliteJobMemo
from adapters.store.memory import MemoryJobMemo
from core.answer import JobResult
from core.errors import StoreError
from core.job import JobStatus
from tests.adapters.store.samples import make_job


@pytest.fixture(params=["memory", "sqlite"])
async def memo(request, database):
    """A memo that knows job 1 and job 2."""
    if request.param == "memory":
        return MemoryJobMemo()
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return SqliteJobMemo(database)


async def test_what_was_put_is_found_by_job_and_key(memo):
    """Another job's payment is not this one's; the same key again replaces."""
    await memo.put("job_1", "model:plan", "first")
    await memo.put("job_1", "model:plan", "second")
    await memo.put("job_2", "model:plan", "other")

    assert await memo.get("job_1", "model:plan") == "second"
    assert await memo.get("job_2", "model:plan") == "other"
    assert await memo.get("job_1", "model:answer") is None


async def test_clearing_a_job_leaves_the_others(memo):
    """What a job has paid for goes when it has ended."""
    await memo.put("job_1", "a", "x")
    await memo.put("job_2", "a", "y")

    await memo.clear("job_1")

    assert await memo.get("job_1", "a") is None
    assert await memo.get("job_2", "a") == "y"


async def test_nothing_is_kept_for_a_job_that_is_not_stored(database):
    """A row without its job could not be forgotten with it."""
    with pytest.raises(StoreError, match="job_9"):
        await SqliteJobMemo(database).put("job_9", "a", "x")


async def test_unfinished_jobs_are_listed_oldest_first(jobs):
    """Ended ones are not; the limit holds."""
    for number in (3, 1, 2):
        await jobs.save(make_job(number))
    ended = replace(make_job(2), status=JobStatus.FAILED)
    await jobs.finish(ended, JobResult(answer=None))

    found = await jobs.unfinished(limit=10)

    assert {job.id for job in found} == {"job_1", "job_3"}
    assert [job.created_at for job in found] == sorted(job.created_at for job in found)
    assert len(await jobs.unfinished(limit=1)) == 1
