"""What is Redis's own in the event log: other processes, outages, lost data, expiry, and few connections."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from adapters.store.redis_client import MAX_CONNECTIONS
from adapters.store.redis_events import POLL_S, RedisEventLog
from adapters.store.redis_streams import stream_of
from core.errors import SetupError, StaleAttempt, StoreError
from core.telemetry import Silence
from tests.adapters.store.gate import open_gate
from tests.adapters.store.processes import python
from tests.adapters.store.samples import Notes, StandingClock
from tests.servers import free_port, running_redis


@asynccontextmanager
async def opened(url, *, recorder=None, timeout_s=0.2, **settings):
    log = RedisEventLog(url, clock=StandingClock(), recorder=recorder or Silence(), timeout_s=timeout_s, **settings)
    try:
        yield log
    finally:
        await log.aclose()


async def until(condition):
    """Let other tasks run until `condition()` holds; the suite's timeout bounds it."""
    while not condition():  # noqa: ASYNC110  # what is waited for happens in another process
        await asyncio.sleep(0.001)


@pytest.fixture
def own_server(tmp_path):
    """A Redis that this test may stop."""
    with running_redis(tmp_path) as server:
        yield server


APPEND = """
import asyncio, sys
from datetime import UTC, datetime
from adapters.store.redis_events import POLL_S, RedisEventLog
from core.telemetry import Silence

async def main():
    log = RedisEventLog(sys.argv[1], clock=lambda: datetime.now(UTC), recorder=Silence())
    await log.append("job_2", 1, "status", {})
    print("ready", flush=True)
    for kind in ["status"] * 10 + ["complete"]:
        sys.stdin.readline()
        await log.append("job_1", 1, kind, {})
    await log.aclose()

asyncio.run(main())
"""


async def test_follower_sees_events_of_another_process_within_50_ms(redis_url):
    """From the moment before it is sent; the clock of both is the machine's."""
    process = await python(APPEND, redis_url)
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdout.readline()
    delays = []

    async with opened(redis_url) as log:
        process.stdin.write(b"go\n")
        async for event in log.follow("job_1"):
            delays.append(datetime.now(UTC) - event.at)
            process.stdin.write(b"go\n")
    await process.communicate()

    assert len(delays) == 11
    assert sorted(delays)[5] < timedelta(milliseconds=50)


async def test_number_of_an_event_is_the_id_of_its_entry(redis_url):
    """So that any client can read on from where it was, and the log goes by itself when its time is over."""
    async with opened(redis_url, ttl=timedelta(hours=1)) as log, Redis.from_url(redis_url) as server:
        for _ in range(3):
            await log.append("job_1", 1, "status", {})

        assert [entry[0] for entry in await server.xrange(stream_of("job_1"))] == [b"1-0", b"2-0", b"3-0"]
        assert 0 < await server.pttl(stream_of("job_1")) <= 3_600_000


async def test_restart_of_redis_loses_no_event(own_server, caplog):
    """It comes back empty: the log is written anew under the same numbers, also what was appended meanwhile."""
    notes = Notes()
    async with opened(own_server.url, recorder=notes) as worker, opened(own_server.url) as other:
        seen: list[int] = []
        follower = asyncio.create_task(collect(other, "job_1", seen))
        for _ in range(3):
            await worker.append("job_1", 1, "status", {"text": "before"})
        await until(lambda: len(seen) == 3)

        with caplog.at_level(logging.WARNING):
            own_server.stop()
            began = time.monotonic()
            during = [await worker.append("job_1", 1, "status", {"text": "during"}) for _ in range(50)]
            took = time.monotonic() - began
            own_server.start()
            await worker.append("job_1", 1, "complete", {})
            await follower
        kept = await other.read("job_1")

    assert [event.seq for event in during] == list(range(4, 54))
    assert took < 1
    assert seen == list(range(1, 55))
    assert [event.seq for event in kept] == seen
    assert [event.data["text"] for event in kept[:-1]] == ["before"] * 3 + ["during"] * 50
    assert {note.name for note in notes.taken} == {"errors"}
    assert all(note.label.startswith("events:") for note in notes.taken)
    away = [record for record in caplog.records if "away" in record.message]
    assert 1 <= len(away) <= 4  # each of the two processes says it when it notices, not with each event


async def collect(log, job_id, seen):
    async for event in log.follow(job_id):
        seen.append(event.seq)


async def test_followers_in_the_same_process_see_events_while_redis_is_away(own_server):
    """On one machine an outage is not even noticed."""
    async with opened(own_server.url) as log:
        await log.append("job_1", 1, "status", {})
        own_server.stop()

        async with aclosing(log.follow("job_1")) as following:
            await log.append("job_1", 1, "complete", {})
            seen = [(event.seq, event.type) async for event in following]
        read = await log.read("job_1", after=1)

    assert seen == [(1, "status"), (2, "complete")]
    assert [event.seq for event in read] == [2]


async def test_reply_that_is_lost_does_not_double_the_event(own_server):
    """Redis takes the command, answers too late, and gets it once more."""
    async with opened(own_server.url, timeout_s=0.1) as log, opened(own_server.url, timeout_s=5) as other:
        await log.append("job_1", 1, "status", {})
        own_server.pause()
        event = await log.append("job_1", 1, "source", {})
        own_server.resume()
        await until(lambda: log.unsent() == 0)

        assert event.seq == 2
        assert [(event.seq, event.type) for event in await other.read("job_1")] == [(1, "status"), (2, "source")]


async def test_worker_that_was_cut_off_is_fenced_when_it_is_back(redis_server, redis_url, caplog):
    """Another has taken the job up meanwhile: what the first appended alone is dropped, and it is told."""
    async with open_gate(redis_server.port) as gate, opened(gate.url) as cut_off, opened(redis_url) as other:
        await cut_off.append("job_1", 1, "status", {})
        await gate.shut()
        await cut_off.append("job_1", 1, "answer", {"text": "alone"})
        await other.append("job_1", 2, "status", {})

        await gate.open()
        await until(lambda: cut_off.unsent() == 0)

        with pytest.raises(StaleAttempt, match="attempt 1 of job_1"):
            await cut_off.append("job_1", 1, "complete", {})
        assert [(event.attempt, event.type) for event in await other.read("job_1")] == [(1, "status"), (2, "status")]
        assert any("dropped" in record.message for record in caplog.records)


async def test_follower_that_was_cut_off_catches_up_when_it_is_back(redis_server, redis_url):
    """What others appended meanwhile rang for nobody here; it is read at the first moment all the same."""
    async with open_gate(redis_server.port) as gate, opened(gate.url) as cut_off, opened(redis_url) as other:
        seen: list[int] = []
        follower = asyncio.create_task(collect(cut_off, "job_1", seen))
        await other.append("job_1", 1, "status", {})
        await until(lambda: seen == [1])

        await gate.shut()
        await other.append("job_1", 1, "complete", {})
        began = time.monotonic()
        await gate.open()
        await follower

    assert seen == [1, 2]
    assert time.monotonic() - began < POLL_S / 2


async def test_what_is_left_is_sent_before_the_end(redis_server, redis_url):
    """A process that ends in good order while Redis is coming back leaves nothing unsent."""
    async with open_gate(redis_server.port) as gate:
        async with opened(gate.url) as log:
            await gate.shut()
            await log.append("job_1", 1, "complete", {})
            await gate.open()

        async with opened(redis_url) as other:
            assert [event.type for event in await other.read("job_1")] == ["complete"]


async def test_many_followers_share_few_connections(redis_url):
    """Two hundred readers of fifty jobs, each of which gets everything."""
    async with opened(redis_url, timeout_s=2) as log, Redis.from_url(redis_url) as server:
        seen: list[list[int]] = [[] for _ in range(200)]
        followers = [
            asyncio.create_task(collect(log, f"job_{number % 50}", seen[number])) for number in range(len(seen))
        ]
        await until(lambda: log.followers() == len(seen))

        for kind in ("status", "complete"):
            await asyncio.gather(*(log.append(f"job_{number}", 1, kind, {}) for number in range(50)))
        await asyncio.gather(*followers)
        clients = len(await server.client_list())

    assert seen == [[1, 2]] * 200
    assert clients <= MAX_CONNECTIONS + 2  # the one that listens, and this test's


async def test_cancelled_append_neither_hangs_nor_hinders(redis_url):
    """A job that is cancelled in the middle of an append lets the next one through."""
    async with opened(redis_url) as log:
        appends = [asyncio.create_task(log.append("job_1", 1, "status", {})) for _ in range(20)]
        await asyncio.sleep(0)
        for append in appends:
            append.cancel()
        await asyncio.wait(appends)

        last = await log.append("job_1", 1, "complete", {})

        assert all(append.cancelled() for append in appends)
        assert [event.seq for event in await log.read("job_1")] == list(range(1, last.seq + 1))


async def test_forgotten_job_has_no_log(redis_url):
    """Neither in Redis nor in this process."""
    async with opened(redis_url) as log:
        await log.append("job_1", 1, "status", {"text": "private"})
        await log.append("job_2", 1, "status", {})

        await log.forget("job_1")

        assert await log.read("job_1") == []
        assert len(await log.read("job_2")) == 1


async def test_log_of_another_process_cannot_be_read_without_redis():
    """That is said, and within the timeout."""
    async with opened(f"redis://127.0.0.1:{free_port()}/0") as log:
        began = time.monotonic()
        with pytest.raises(StoreError, match="REDIS_URL"):
            await log.read("job_1")
        with pytest.raises(StoreError, match="REDIS_URL"):
            await log.forget("job_1")

        assert time.monotonic() - began < 1


async def test_address_that_is_none_is_a_setup_error():
    """The sentence names the setting and not what it holds, which may be a password."""
    with pytest.raises(SetupError, match="REDIS_URL") as caught:
        RedisEventLog("postgres://user:hunter2@host", clock=StandingClock(), recorder=Silence())

    assert "hunter2" not in str(caught.value)
