"""The contract of a SteeringStore, kept by every store alike."""

from __future__ import annotations

import asyncio

import pytest

from adapters.store.belongings import SqlSteeringStore
from core.errors import StoreError
from core.steering import Steering


async def test_what_is_said_is_read_in_its_order(steering):
    """From any number on, and each job by itself."""
    said = [Steering("add_item", "the dose"), Steering("constraint", 'only "adults" \u00fc'), Steering("answer_now")]

    numbers = [await steering.add("job_1", entry) for entry in said]
    await steering.add("job_2", Steering("go_deeper"))

    assert numbers == [1, 2, 3]
    assert await steering.read("job_1") == said
    assert await steering.read("job_1", after=2) == said[2:]
    assert await steering.read("job_1", after=3) == []
    assert await steering.read("job_2") == [Steering("go_deeper")]


async def test_those_who_speak_at_once_are_all_heard(steering):
    """No number is given twice."""
    numbers = await asyncio.gather(*(steering.add("job_1", Steering("constraint", str(n))) for n in range(8)))

    assert sorted(numbers) == list(range(1, 9))
    assert len(await steering.read("job_1")) == 8


async def test_nothing_is_kept_for_a_job_that_is_not_stored(database, postgres):
    """A row without its job could not be forgotten with it."""
    for store in (SqlSteeringStore(database), SqlSteeringStore(postgres)):
        with pytest.raises(StoreError, match="job_9"):
            await store.add("job_9", Steering("answer_now"))
