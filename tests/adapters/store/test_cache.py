"""The contract of an AnswerCache, kept by memory, SQLite and Redis alike (S003-04, S003-18)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.job import Scope
from tests.adapters.store.samples import CHANNEL, NOON

HOUR = timedelta(hours=1)


async def test_put_answer_is_found_by_the_same_key(cache):
    """With the job that answered and the time it was kept."""
    await cache.put(CHANNEL, "why is the sky blue", "job_1", ttl=HOUR)

    assert await cache.get(CHANNEL, "why is the sky blue") == ("job_1", NOON)


@pytest.mark.parametrize("key", ["why is the sky blue ", "Why is the sky blue", "why", ""])
async def test_only_the_exact_key_finds_it(cache, key):
    """Similar is not equal."""
    await cache.put(CHANNEL, "why is the sky blue", "job_1", ttl=HOUR)

    assert await cache.get(CHANNEL, key) is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Scope("discord:9", "channel:2"), id="other tenant"),
        pytest.param(Scope("discord:1", "channel:3"), id="other channel"),
        pytest.param(Scope("discord:1", "workspace"), id="whole workspace"),
        pytest.param(Scope("discord", "1:channel:2"), id="same letters, cut elsewhere"),
    ],
)
async def test_answer_is_never_served_in_another_scope(cache, other):
    """What was asked in a channel stays there."""
    await cache.put(CHANNEL, "key", "job_1", ttl=HOUR)

    assert await cache.get(other, "key") is None


async def test_expired_answer_is_not_returned(cache, clock):
    """Fresh until the last second of its time, gone when it is over."""
    await cache.put(CHANNEL, "key", "job_1", ttl=HOUR)

    clock.advance(HOUR - timedelta(seconds=1))
    before = await cache.get(CHANNEL, "key")
    clock.advance(timedelta(seconds=1))

    assert before == ("job_1", NOON)
    assert await cache.get(CHANNEL, "key") is None


async def test_newer_answer_replaces_the_older(cache, clock):
    """The last one put is the one served."""
    await cache.put(CHANNEL, "key", "job_1", ttl=HOUR)
    clock.advance(timedelta(minutes=1))

    await cache.put(CHANNEL, "key", "job_2", ttl=HOUR)

    assert await cache.get(CHANNEL, "key") == ("job_2", NOON + timedelta(minutes=1))


async def test_answer_without_time_to_live_is_not_kept(cache):
    """A lifetime of zero or below keeps nothing."""
    await cache.put(CHANNEL, "key", "job_1", ttl=timedelta(0))
    await cache.put(CHANNEL, "other key", "job_1", ttl=-HOUR)

    assert await cache.get(CHANNEL, "key") is None
    assert await cache.get(CHANNEL, "other key") is None


async def test_oldest_answers_make_room(bounded_cache, clock):
    """A cache of three rows keeps the three that were put last."""
    for number in range(5):
        await bounded_cache.put(CHANNEL, f"key {number}", "job_1", ttl=HOUR)
        clock.advance(timedelta(seconds=1))

    found = [await bounded_cache.get(CHANNEL, f"key {number}") is not None for number in range(5)]

    assert found == [False, False, True, True, True]


async def test_expired_answers_make_room_first(bounded_cache, clock):
    """What nobody can be served does not push out what is fresh."""
    await bounded_cache.put(CHANNEL, "fresh", "job_1", ttl=10 * HOUR)
    for number in range(2):
        await bounded_cache.put(CHANNEL, f"short {number}", "job_1", ttl=HOUR)
    clock.advance(2 * HOUR)

    for number in range(2):
        await bounded_cache.put(CHANNEL, f"new {number}", "job_1", ttl=HOUR)

    assert await bounded_cache.get(CHANNEL, "fresh") == ("job_1", NOON)
