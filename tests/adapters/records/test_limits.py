"""The contracts of SharedLimits and SharedLimits, kept by memory, SQLite and Redis alike, and the law of the bucket."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from adapters.records.cache import MemoryLimits, SqlLimits
from adapters.records.redis import RedisLimits
from core.model.job import Scope
from core.model.ports import record_nothing
from core.pipeline.limits import ROUNDING_S, take_token, tokens_left
from tests.adapters.records.samples import CHANNEL, Notes, StandingClock
from tests.servers import free_port, running_redis

HOUR = timedelta(hours=1)
SILENCE = record_nothing
PATIENT_S = 10.0  # a busy machine is no Redis that is away


def machine_clock() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
async def redis_limits(redis_url):
    made = [RedisLimits(redis_url, clock=machine_clock, record=SILENCE, timeout_s=PATIENT_S) for _ in range(2)]
    yield made
    for limits in made:
        await limits.aclose()


@pytest.fixture(params=["memory", "sqlite", "redis"])
def limits(request):
    """The limits of two processes; with memory there is only one."""
    if request.param == "memory":
        return [MemoryLimits(clock=machine_clock)] * 2
    if request.param == "redis":
        return request.getfixturevalue("redis_limits")
    database = request.getfixturevalue("sqlite")
    return [SqlLimits(database, clock=machine_clock, record=SILENCE) for _ in range(2)]


async def test_processes_share_a_bucket(limits):
    """Of fifty takes at once by two processes exactly as many succeed as the bucket holds."""
    waits = await asyncio.gather(*(limits[number % 2].take("exa", rate=1 / 3600, burst=7) for number in range(50)))

    assert sum(wait == 0 for wait in waits) == 7
    assert all(3590 < wait <= 3600 for wait in waits if wait)


async def test_a_bucket_says_when_it_is_full_again(limits):
    """In either process, to the second; one that nobody has used is full."""
    for _ in range(3):
        await limits[0].take("ask 1", rate=0.1, burst=5)

    full_in_s = await limits[1].full_in_s("ask 1")

    assert 28 < full_in_s <= 30
    assert tokens_left(full_in_s, rate=0.1, burst=5) == 2
    assert await limits[1].full_in_s("ask 2") == 0.0


async def test_refusal_takes_nothing_and_other_buckets_are_others(limits):
    """Asking again does not make the wait longer."""
    await limits[0].take("user 1", rate=1 / 3600, burst=1)
    first = await limits[0].take("user 1", rate=1 / 3600, burst=1)

    again = await limits[1].take("user 1", rate=1 / 3600, burst=1)

    assert 0 < again <= first
    assert await limits[0].take("user 2", rate=1 / 3600, burst=1) == 0


async def test_bucket_fills_again(limits):
    """Whoever keeps asking gets the next token when its time has come, and not before."""
    await limits[0].take("exa", rate=20, burst=1)
    asked_at = time.monotonic()
    wait = await limits[0].take("exa", rate=20, burst=1)

    while await limits[1].take("exa", rate=20, burst=1):  # noqa: ASYNC110  # time passes in the store
        await asyncio.sleep(0.001)

    assert wait - ROUNDING_S <= time.monotonic() - asked_at < wait + 1


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (float("nan"), 1), (1, 0)])
async def test_bucket_that_never_gives_is_a_mistake(limits, rate, burst):
    """Rather than a wait for ever."""
    with pytest.raises(ValueError, match="bucket"):
        await limits[0].take("exa", rate=rate, burst=burst)


@given(
    rate=st.floats(0.01, 1000),
    burst=st.integers(1, 50),
    steps=st.lists(st.floats(0, 100), max_size=60),
)
def test_no_window_gives_more_than_burst_and_rate(rate, burst, steps):
    """In any stretch of time at most `burst` tokens and `rate` a second, however the takes fall."""
    now, full_at, granted = 1.8e9, 0.0, []
    for step in steps:
        now += step / rate / 10
        full_at, wait = take_token(full_at, now, rate=rate, burst=burst)
        if wait == 0:
            granted.append(now)

    for first, begin in enumerate(granted):
        for last in range(first, len(granted)):
            assert (
                last - first + 1 <= burst + (granted[last] - begin) * rate + 0.1001
            )  # a tenth of a millisecond is forgiven


@given(rate=st.floats(0.01, 1000), burst=st.integers(1, 50), taken=st.integers(0, 60))
def test_the_wait_that_is_told_is_enough_and_needed(rate, burst, taken):
    """After it there is a token; half of it is too little."""
    now, full_at, wait = 1.8e9, 0.0, 0.0
    for _ in range(taken):
        full_at, wait = take_token(full_at, now, rate=rate, burst=burst)

    if wait:
        assert take_token(full_at, now + wait, rate=rate, burst=burst)[1] == 0
        assert take_token(full_at, now + wait / 2, rate=rate, burst=burst)[1] > 0
    assert (wait > 0) == (taken > burst)


@given(rate=st.floats(0.01, 1000), burst=st.integers(1, 50), taken=st.integers(0, 60))
def test_what_is_left_is_what_can_still_be_taken(rate, burst, taken):
    """Counted from the time at which the bucket will be full."""
    now, full_at = 1.8e9, 0.0
    for _ in range(taken):
        full_at, _ = take_token(full_at, now, rate=rate, burst=burst)

    assert tokens_left(max(full_at - now, 0.0), rate=rate, burst=burst) == max(burst - taken, 0)


def test_clock_that_was_set_back_makes_nobody_wait_for_an_hour():
    """At most as long as an empty bucket does."""
    full_at, _ = take_token(0.0, 1.8e9, rate=1, burst=5)

    _, wait = take_token(full_at, 1.8e9 - 3600, rate=1, burst=5)

    assert 0 < wait <= 1


async def test_first_of_identical_questions_is_researched(limits):
    """Twenty claims of two processes at once have one winner, and all learn which."""
    winners = await asyncio.gather(
        *(limits[number % 2].claim(CHANNEL, "why?\x1fquick", f"job_{number}", ttl=HOUR) for number in range(20))
    )

    assert len(set(winners)) == 1
    assert await limits[0].claim(CHANNEL, "why?\x1fquick", "job_99", ttl=HOUR) == winners[0]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Scope("discord:9", "channel:2"), id="other tenant"),
        pytest.param(Scope("discord:1", "channel:3"), id="other channel"),
        pytest.param(Scope("discord", "1:channel:2"), id="same letters, cut elsewhere"),
    ],
)
async def test_questions_of_other_scopes_are_researched_apart(limits, other):
    """What is asked in a channel says nothing about another."""
    await limits[0].claim(CHANNEL, "why?", "job_1", ttl=HOUR)

    assert await limits[1].claim(other, "why?", "job_2", ttl=HOUR) == "job_2"


async def test_claim_is_given_back_by_its_holder_only(limits):
    """One that lost cannot end the flight of the winner."""
    await limits[0].claim(CHANNEL, "why?", "job_1", ttl=HOUR)

    await limits[1].release(CHANNEL, "why?", "job_2")
    held = await limits[1].claim(CHANNEL, "why?", "job_3", ttl=HOUR)
    await limits[1].release(CHANNEL, "why?", "job_1")

    assert held == "job_1"
    assert await limits[0].claim(CHANNEL, "why?", "job_4", ttl=HOUR) == "job_4"


async def test_claim_of_a_job_that_was_lost_ends_by_itself(limits):
    """Nobody waits for ever for a winner that never comes back."""
    claimed_at = time.monotonic()
    await limits[0].claim(CHANNEL, "why?", "job_1", ttl=timedelta(milliseconds=30))

    while await limits[1].claim(CHANNEL, "why?", "job_2", ttl=HOUR) == "job_1":  # noqa: ASYNC110  # see above
        await asyncio.sleep(0.001)

    assert 0.029 < time.monotonic() - claimed_at < 1


async def test_without_redis_each_process_counts_for_itself(tmp_path, caplog):
    """Nobody is turned away by an outage and nobody gets everything; it is told once, counted, and ends."""
    notes = Notes()
    with running_redis(tmp_path) as server, caplog.at_level(logging.WARNING):
        limits = RedisLimits(server.url, clock=machine_clock, record=notes)
        before = [await limits.take("user", rate=1 / 3600, burst=2) for _ in range(3)]

        server.stop()
        began = time.monotonic()
        during = [await limits.take("user", rate=1 / 3600, burst=2) for _ in range(3)]
        took = time.monotonic() - began
        server.start()
        while len(caplog.records) < 2:
            await limits.take("somebody else", rate=1000, burst=1)
            await asyncio.sleep(0.01)
        after = [await limits.take("user", rate=1 / 3600, burst=2) for _ in range(3)]
        await limits.aclose()

    assert [[wait == 0 for wait in waits] for waits in (before, during, after)] == [[True, True, False]] * 3
    assert took < 0.5
    assert [note.label.partition(":")[0] for note in notes.taken] == ["limits"]
    assert [(record.levelname, record.message.partition(",")[0]) for record in caplog.records] == [
        ("ERROR", "Redis is away"),  # which a command shows that is told no level
        ("WARNING", "Redis is back for limits"),
    ]


async def test_who_asks_at_once_when_redis_goes_shares_one_bucket():
    """All of them notice it by themselves; nobody empties what the first has taken from."""
    limits = RedisLimits(f"redis://127.0.0.1:{free_port()}/0", clock=StandingClock(), record=Notes())

    waits = await asyncio.gather(*(limits.take("user", rate=1 / 3600, burst=2) for _ in range(8)))

    assert sum(wait == 0 for wait in waits) == 2
    await limits.aclose()


async def test_without_redis_a_question_is_researched_by_each_process():
    """Twice is safe; not at all is not. Within one process it is still once."""
    notes = Notes()
    url = f"redis://127.0.0.1:{free_port()}/0"
    one, two = (RedisLimits(url, clock=StandingClock(), record=notes) for _ in range(2))

    winners = [await one.claim(CHANNEL, "why?", job, ttl=HOUR) for job in ("job_1", "job_2")]
    elsewhere = await two.claim(CHANNEL, "why?", "job_3", ttl=HOUR)
    await one.release(CHANNEL, "why?", "job_1")

    assert winners == ["job_1", "job_1"]
    assert elsewhere == "job_3"
    assert await one.claim(CHANNEL, "why?", "job_4", ttl=HOUR) == "job_4"
    assert [note.label.partition(":")[0] for note in notes.taken] == ["single flight"] * 2
    await one.aclose()
    await two.aclose()


async def test_failing_database_lets_pass(database, tmp_path):
    """A limit that cannot be counted holds nobody up, and it is counted that it was not."""
    notes = Notes()
    limits = SqlLimits(database, clock=machine_clock, record=notes)
    await database.aclose()

    assert await limits.take("user", rate=1 / 3600, burst=1) == 0
    assert await limits.take("user", rate=1 / 3600, burst=1) == 0
    assert await limits.claim(CHANNEL, "why?", "job_1", ttl=HOUR) == "job_1"
    assert await limits.claim(CHANNEL, "why?", "job_2", ttl=HOUR) == "job_2"
    assert [note.label for note in notes.taken] == ["limits:StoreError"] * 2 + ["single flight:StoreError"] * 2


async def test_what_another_program_has_put_in_redis_breaks_no_question(redis_url: str) -> None:
    """A value that is no text counts as trouble with Redis: each process goes on by itself."""
    flight = RedisLimits(redis_url, clock=StandingClock(), record=SILENCE)
    await flight.claim(CHANNEL, "key", "job_1", ttl=HOUR)
    async with Redis.from_url(redis_url) as server:
        for name in await server.keys():
            await server.set(name, b"\x80\x04\x95")

    holder = await flight.claim(CHANNEL, "key", "job_2", ttl=HOUR)

    assert holder == "job_2"
    await flight.aclose()
