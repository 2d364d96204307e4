"""The contracts of an AnswerCache and of a ReuseStore, by databases and by Redis (S002-23, S003-04, S003-18)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import timedelta

import numpy as np
import pytest

from adapters.records.cache import SqlReuseStore
from adapters.records.redis import RedisReuseStore
from adapters.records.vectors import VectorRows, VectorShelf
from core.model.job import Scope
from core.model.ports import ReuseStore
from tests.adapters.records.samples import CHANNEL, NOON
from tests.servers import free_port

HOUR = timedelta(hours=1)


async def test_put_answer_is_found_by_the_same_key_alone(cache):
    """With the job that answered and the time it was kept; similar is not equal."""
    await cache.put(CHANNEL, "why is the sky blue", "job_1", ttl=HOUR)

    assert await cache.get(CHANNEL, "why is the sky blue") == ("job_1", NOON)
    for key in ("why is the sky blue ", "Why is the sky blue", "why", ""):
        assert await cache.get(CHANNEL, key) is None, key


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
    """What was asked in a channel stays there, by key and by likeness, which ends at other options too."""
    await keep(cache, "key", unit(1, 0))

    assert await cache.get(other, "key") is None
    for place in ((other, "g"), (CHANNEL, "another mode")):
        assert await cache.similar(*place, unit(1, 0), limit=3, at_least=0.8) == []


async def test_expired_answer_is_not_returned(cache, clock):
    """Fresh until the last second of its time, gone when it is over; a lifetime of zero or below keeps nothing."""
    for key, ttl in (("key", HOUR), ("none", timedelta(0)), ("less", -HOUR)):
        await cache.put(CHANNEL, key, "job_1", ttl=ttl)

    clock.advance(HOUR - timedelta(seconds=1))
    before = [await cache.get(CHANNEL, key) for key in ("key", "none", "less")]
    clock.advance(timedelta(seconds=1))

    assert before == [("job_1", NOON), None, None]
    assert await cache.get(CHANNEL, "key") is None


async def test_newer_answer_replaces_the_older(cache, clock):
    """The last one put is the one served."""
    await cache.put(CHANNEL, "key", "job_1", ttl=HOUR)
    clock.advance(timedelta(minutes=1))

    await cache.put(CHANNEL, "key", "job_2", ttl=HOUR)

    assert await cache.get(CHANNEL, "key") == ("job_2", NOON + timedelta(minutes=1))


async def test_oldest_answers_make_room(cache, clock):
    """A cache of three rows keeps the three that were put last."""
    for number in range(5):
        await cache.put(CHANNEL, f"key {number}", "job_1", ttl=HOUR)
        clock.advance(timedelta(seconds=1))

    found = [await cache.get(CHANNEL, f"key {number}") is not None for number in range(5)]

    assert found == [False, False, True, True, True]


async def test_expired_answers_make_room_first(cache, clock):
    """What nobody can be served does not push out what is fresh."""
    await cache.put(CHANNEL, "fresh", "job_1", ttl=10 * HOUR)
    for number in range(2):
        await cache.put(CHANNEL, f"short {number}", "job_1", ttl=HOUR)
    clock.advance(2 * HOUR)

    for number in range(2):
        await cache.put(CHANNEL, f"new {number}", "job_1", ttl=HOUR)

    assert await cache.get(CHANNEL, "fresh") == ("job_1", NOON)


def unit(*numbers: float):
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


async def keep(cache, key: str, vector, *, scope=CHANNEL, group: str = "g", job: str = "job_1", ttl=HOUR):
    await cache.put(scope, key, job, ttl=ttl, group=group, vector=vector)


async def test_nearest_questions_come_first_and_far_ones_not_at_all(cache):
    """S002-22: at most as many as asked for, each with its cosine."""
    await keep(cache, "near", unit(1, 0.3), job="job_1")
    await keep(cache, "nearest", unit(1, 0.1), job="job_2")
    await keep(cache, "far", unit(0, 1), job="job_1")

    found = await cache.similar(CHANNEL, "g", unit(1, 0), limit=3, at_least=0.8)

    assert [answer.job_id for answer in found] == ["job_2", "job_1"]
    assert found[0].similarity == pytest.approx(1 / np.sqrt(1.01), abs=1e-6)
    assert found[0].answered_at == NOON
    assert await cache.similar(CHANNEL, "g", unit(1, 0), limit=1, at_least=0.8) == found[:1]


async def test_a_look_up_sees_what_was_put_and_removed_since_the_last(cache, clock):
    """Whatever a process holds in memory follows the store at once: new, replaced, dropped, expired."""
    near = {"limit": 3, "at_least": 0.8}
    await keep(cache, "a", unit(1, 0), job="job_1")
    first = await cache.similar(CHANNEL, "g", unit(1, 0), **near)
    await keep(cache, "b", unit(1, 0.1), job="job_2", ttl=2 * HOUR)
    second = await cache.similar(CHANNEL, "g", unit(1, 0), **near)
    await keep(cache, "a", unit(0, 1), job="job_1")
    replaced = await cache.similar(CHANNEL, "g", unit(1, 0), **near)
    dropped_count = await cache.drop(["job_1"])
    clock.advance(HOUR)
    late = await cache.similar(CHANNEL, "g", unit(1, 0), **near)
    await cache.drop(["job_2"])

    assert [answer.job_id for answer in first] == ["job_1"]
    assert [answer.job_id for answer in second] == ["job_1", "job_2"]
    assert [answer.job_id for answer in replaced] == ["job_2"]
    assert dropped_count == 1
    assert [answer.job_id for answer in late] == ["job_2"]
    assert await cache.similar(CHANNEL, "g", unit(1, 0), **near) == []
    assert await cache.get(CHANNEL, "b") is None


async def test_a_look_up_that_was_given_up_leaves_nothing_twice(cache, monkeypatch):
    """Its time is over while what is new is being taken in: the next look-up finds each answer once."""
    await keep(cache, "a", unit(1, 0), job="job_1")
    await keep(cache, "b", unit(1, 0.1), job="job_2")
    taking, may_go_on, extend = threading.Event(), threading.Event(), VectorShelf.extend

    def slowly(shelf: VectorShelf, rows: VectorRows) -> None:
        taking.set()
        may_go_on.wait(30)
        extend(shelf, rows)

    monkeypatch.setattr(VectorShelf, "extend", slowly)
    given_up = asyncio.create_task(cache.similar(CHANNEL, "g", unit(1, 0), limit=9, at_least=0.8))
    await asyncio.to_thread(taking.wait, 30)
    given_up.cancel()
    second = asyncio.create_task(cache.similar(CHANNEL, "g", unit(1, 0), limit=9, at_least=0.8))
    for _ in range(3):  # the one is told of its end, the other has its turn
        await asyncio.sleep(0)
    may_go_on.set()

    assert [answer.job_id for answer in await second] == ["job_1", "job_2"]
    assert given_up.cancelled()


async def test_the_operator_sees_what_is_kept_of_a_tenant(cache, clock):
    """Newest first; neither what has expired nor another tenant's."""
    await keep(cache, "a", None, job="job_1", ttl=2 * HOUR)
    await keep(cache, "gone", None, job="job_1", ttl=timedelta(minutes=1))
    clock.advance(timedelta(minutes=2))
    await keep(cache, "b", unit(1, 0), job="job_2")

    kept = await cache.kept(tenant="discord:1")

    assert [(entry.job_id, entry.scope) for entry in kept] == [("job_2", CHANNEL), ("job_1", CHANNEL)]
    assert await cache.kept(tenant="slack:T1") == []
    assert await cache.kept() == kept


@pytest.fixture(params=["sqlite", "redis"])
def reuse(request) -> ReuseStore:
    """A store, empty."""
    found: ReuseStore = request.getfixturevalue(f"{request.param}_reuse")
    return found


@pytest.fixture
def sqlite_reuse(sqlite, clock) -> SqlReuseStore:
    return SqlReuseStore(sqlite, clock=clock)


@pytest.fixture
async def redis_reuse(redis_url) -> AsyncIterator[RedisReuseStore]:
    store = RedisReuseStore(redis_url, timeout_s=10.0)  # a busy machine is no Redis that is away
    yield store
    await store.aclose()


async def test_what_was_put_is_found_until_it_is_cleared(reuse):
    """The newest text of a key; nothing of another."""
    await reuse.put("page", "first", ttl=HOUR)
    await reuse.put("page", "second", ttl=HOUR)

    found, other = await reuse.get("page"), await reuse.get("another page")
    gone = await reuse.clear()

    assert (found, other, gone) == ("second", None, 1)
    assert await reuse.get("page") is None


async def test_what_is_over_is_not_given(database, clock):
    """A page of yesterday is read again."""
    store = SqlReuseStore(database, clock=clock)
    await store.put("page", "text", ttl=HOUR)

    clock.advance(HOUR)

    assert await store.get("page") is None


async def test_an_absent_redis_is_a_miss():
    """Reading goes on without it."""
    store = RedisReuseStore(f"redis://127.0.0.1:{free_port()}/0")

    await store.put("page", "text", ttl=HOUR)

    assert await store.get("page") is None
    await store.aclose()
