"""The contracts of a JobMemo and of the list of unfinished jobs, kept by every store alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.store.belongings import SqlJobMemo
from core.answer import JobResult
from core.errors import StoreError
from core.job import JobStatus
from tests.adapters.store.samples import make_job


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


async def test_text_and_keys_of_any_kind_survive(memo):
    """NUL, line ends, what is no word, and keys longer than an index takes."""
    text, key = "a\x00b\r\n\U0001f469\u200d\U0001f52c \ufeff", "search:\x00" + "ü" * 5000

    await memo.put("job_1", key, text)

    assert await memo.get("job_1", key) == text
    assert await memo.get("job_1", key + "ü") is None


async def test_nothing_is_kept_for_a_job_that_is_not_stored(database, postgres):
    """A row without its job could not be forgotten with it."""
    for memo in (SqlJobMemo(database), SqlJobMemo(postgres)):
        with pytest.raises(StoreError, match="job_9"):
            await memo.put("job_9", "a", "x")


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
