"""The contract of an EventLog, kept by every store alike (S003-22, S003-23)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from adapters.records.jobs import Tail, follow_log
from core.model.errors import StaleAttempt, StoreError, Unstorable
from core.model.job import Event
from tests.adapters.records.samples import NOON


async def collect(log, job_id, *, after=0):
    return [event async for event in log.follow(job_id, after=after)]


async def until(condition):
    """Let other tasks run until `condition()` holds; the suite's timeout bounds it."""
    while not condition():  # noqa: ASYNC110  # turns of the loop, no waiting for time to pass
        await asyncio.sleep(0)


async def test_appended_events_are_numbered_and_read_back(events):
    """`seq` counts up from 1 within each job, and the data comes back as it was."""
    data = {"stage": "planning", "progress": 0.5, "data": [1, None, True, {"deep": "ü"}]}

    first = await events.append("job_1", 1, "status", data)
    second = await events.append("job_1", 1, "source", {"id": "src_1"})
    other = await events.append("job_2", 1, "status", {})

    assert [first.seq, second.seq, other.seq] == [1, 2, 1]
    assert await events.read("job_1") == [first, second]
    assert (first.type, first.attempt, first.at, first.data) == ("status", 1, NOON, data)


async def test_data_of_any_kind_survives(events):
    """NUL and what is no word come back; what no encoding holds is refused in our words and takes no number."""
    data = {"text": "a\x00b\r\n\U0001f469\u200d\U0001f52c \ufeff"}

    with pytest.raises(StoreError):
        await events.append("job_1", 1, "answer", {"text": "\ud83d"})
    appended = await events.append("job_1", 1, "answer", data)

    assert appended.seq == 1
    assert (await events.read("job_1"))[0].data == data


async def test_events_that_come_at_once_keep_their_order(events):
    """One that is refused, since a newer attempt has begun or what it says cannot be stored, costs no other."""
    drafts = [(1, {"place": 0}), (2, {"place": 1}), (1, {"place": 2}), (2, {"place": "\ud83d"}), (2, {"place": 3})]

    outcomes = await asyncio.gather(
        *(events.append("job_1", attempt, "status", data) for attempt, data in drafts), return_exceptions=True
    )

    kept = await events.read("job_1")
    assert [(event.seq, event.data["place"]) for event in kept] == [(1, 0), (2, 1), (3, 3)]
    assert [type(outcome) for outcome in outcomes] == [Event, Event, StaleAttempt, Unstorable, Event]
    assert [outcome for outcome in outcomes if isinstance(outcome, Event)] == kept


async def test_reading_after_a_number_gives_the_rest(events):
    """A reader that reconnects sees only what it has missed; with the last id, or one past it, it waits for nothing."""
    for kind in ("status", "status", "complete"):
        await events.append("job_1", 1, kind, {})

    assert [event.seq for event in await events.read("job_1", after=1)] == [2, 3]
    for after in (3, 4, 99):
        assert await events.read("job_1", after=after) == await collect(events, "job_1", after=after) == []


async def test_follower_gets_past_events_then_new_ones_until_complete(events):
    """S003-22: the final event closes the stream."""
    await events.append("job_1", 1, "status", {"stage": "planning"})
    seen = []

    async with aclosing(events.follow("job_1")) as following:
        async for event in following:
            seen.append(event.type)
            if len(seen) == 1:
                await events.append("job_1", 1, "source", {})
            elif len(seen) == 2:
                await events.append("job_1", 1, "complete", {})

    assert seen == ["status", "source", "complete"]


async def test_waiting_followers_all_get_an_event(events):
    """Everyone who waits is woken."""
    followers = [asyncio.create_task(collect(events, "job_1")) for _ in range(5)]
    await until(lambda: events.followers() == 5)

    done = await events.append("job_1", 1, "complete", {})

    assert await asyncio.gather(*followers) == [[done]] * 5


async def test_late_follower_sees_what_a_live_one_saw(events):
    """The log is replayable from any number."""
    live = asyncio.create_task(collect(events, "job_1"))
    await until(lambda: events.followers() == 1)
    for kind in ("status", "answer", "status", "complete"):
        await events.append("job_1", 1, kind, {})

    seen = await live

    assert await collect(events, "job_1") == seen
    assert await collect(events, "job_1", after=2) == seen[2:]


async def test_nothing_follows_complete_but_a_newer_attempt(events):
    """`complete` is the last event of its attempt, whatever became of the job; an older attempt is fenced off, and a
    follower gets the retry's end, not the failure before it.
    """
    await events.append("job_1", 1, "complete", {"status": "failed"})

    with pytest.raises(StaleAttempt):
        await events.append("job_1", 1, "status", {})
    resumed = await events.append("job_1", 2, "status", {})
    with pytest.raises(StaleAttempt, match="attempt 1 of job_1"):
        await events.append("job_1", 1, "answer", {})
    await events.append("job_1", 2, "complete", {"status": "completed"})

    assert resumed.seq == 2
    assert len(await events.read("job_1")) == 3
    seen = [(event.attempt, event.type) for event in await collect(events, "job_1")]
    assert seen == [(2, "status"), (2, "complete")]


async def test_concurrent_appends_are_numbered_without_gap_or_double(events):
    """Two hundred appends at once take the numbers 1 … 200."""
    await asyncio.gather(*(events.append("job_1", 1, "status", {}) for _ in range(200)))

    assert [event.seq for event in await events.read("job_1")] == list(range(1, 201))


async def test_cancelled_follower_leaves_nothing_behind(events):
    """A reader who goes away is forgotten."""
    follower = asyncio.create_task(collect(events, "job_1"))
    await until(lambda: events.followers() == 1)

    follower.cancel()
    await asyncio.wait([follower])

    assert follower.cancelled()
    assert events.followers() == 0


@pytest.mark.parametrize(("is_near", "asks"), [(True, False), (False, True)])
async def test_follower_asks_again_only_where_what_is_written_may_not_be_rung_for(is_near, asks):
    """Once this process wrote all that came, a log is not read ten times a second for what others might write."""
    rung, reads, seen = asyncio.Event(), [], []

    async def read_tail(after):
        reads.append(after)
        new = [Event(after + 1, "status", 1, NOON, {})] if after < min(len(seen) + 1, 5) else []
        return Tail(tuple(new), 1, False)

    async def follow():
        async for event in follow_log(read_tail, rung, after=0, poll_s=lambda: 0.0):
            seen.append(event)
            if is_near:
                rung.set()

    following = asyncio.create_task(follow())
    await until(lambda: len(seen) == 5)
    for _ in range(9):
        await asyncio.sleep(0)
    before = len(reads)
    for _ in range(9):
        await asyncio.sleep(0)
    following.cancel()

    assert (len(reads) > before) is asks
