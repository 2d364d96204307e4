"""The contract of Heartbeats, kept by every store alike."""

from __future__ import annotations

from datetime import timedelta

from tests.adapters.store.samples import NOON

SECOND = timedelta(seconds=1)


async def test_only_the_last_beat_counts(heartbeats):
    """Of each worker, also when the clock was set back in between."""
    await heartbeats.beat("worker 1", NOON + 3600 * SECOND)
    await heartbeats.beat("worker 2", NOON - 5 * SECOND)

    await heartbeats.beat("worker 1", NOON)

    assert await heartbeats.beats() == {"worker 1": NOON, "worker 2": NOON - 5 * SECOND}


async def test_forgotten_worker_is_not_missed(heartbeats):
    """One that ended in good order leaves nothing to take up; forgetting twice is fine."""
    await heartbeats.beat("worker 1", NOON)
    await heartbeats.beat("worker 2", NOON)

    await heartbeats.forget("worker 1")
    await heartbeats.forget("worker 1")

    assert list(await heartbeats.beats()) == ["worker 2"]
