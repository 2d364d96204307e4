"""Events between processes: the doorbell rings within milliseconds, and nothing waits for it or is lost with it."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis

from adapters.records.jobs import POLL_S, RUNG_POLL_S, SqlEventLog, SqlJobStore
from adapters.records.redis import RedisDoorbell
from adapters.records.sqlite import Database
from core.model.errors import SetupError
from core.model.ports import record_nothing
from tests.adapters.records.gate import open_gate
from tests.adapters.records.processes import python
from tests.adapters.records.samples import Notes, StandingClock, make_job
from tests.servers import running_redis


@asynccontextmanager
async def opened(folder: Path, url: str, *, record=None):
    """An event log as a process of its own would have it."""
    database = await Database.open(folder)
    doorbell = RedisDoorbell(url, record=record or record_nothing, timeout_s=0.2)
    try:
        yield SqlEventLog(database, clock=StandingClock(), doorbell=doorbell)
    finally:
        await doorbell.aclose()
        await database.aclose()


@pytest.fixture
async def folder(tmp_path) -> Path:
    """A data folder that knows fifty jobs."""
    database = await Database.open(tmp_path)
    for number in range(50):
        await SqlJobStore(database).save(make_job(number))
    await database.aclose()
    return tmp_path


@pytest.fixture
def own_server(tmp_path_factory):
    """A Redis that this test may stop."""
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


async def collect(log, job_id, seen):
    async for event in log.follow(job_id):
        seen.append(event.seq)


async def until(condition):
    """Let other tasks run until `condition()` holds; the suite's timeout bounds it."""
    while not condition():  # noqa: ASYNC110  # what is waited for happens in another process
        await asyncio.sleep(0.001)


APPEND = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from adapters.records.redis import RedisDoorbell
from adapters.records.jobs import SqlEventLog
from adapters.records.sqlite import Database
from core.model.ports import record_nothing

async def main():
    database = await Database.open(Path(sys.argv[1]))
    doorbell = RedisDoorbell(sys.argv[2], record=record_nothing)
    log = SqlEventLog(database, clock=lambda: datetime.now(UTC), doorbell=doorbell)
    await log.append("job_2", 1, "status", {})
    print("ready", flush=True)
    for kind in ["status"] * 10 + ["complete"]:
        await asyncio.to_thread(sys.stdin.readline)
        await log.append("job_1", 1, kind, {})
    await asyncio.sleep(0.5)
    await doorbell.aclose()
    await database.aclose()

asyncio.run(main())
"""


async def test_follower_sees_events_of_another_process_within_100_ms(folder, redis_url):
    """From the moment before it is kept; the clock of both is the machine's. Asking again would take two seconds."""
    process = await python(APPEND, folder, redis_url)
    await process.stdout.readline()
    delays = []

    async with opened(folder, redis_url) as log:
        process.stdin.write(b"go\n")
        async for event in log.follow("job_1"):
            delays.append(datetime.now(UTC) - event.at)
            process.stdin.write(b"go\n")
    await process.communicate()

    assert len(delays) == 11
    assert sorted(delays)[5] < timedelta(milliseconds=100)


async def test_restart_of_redis_loses_no_event(folder, own_server, caplog):
    """While it is away, followers elsewhere ask again; nobody waits for it, and it is told once when it goes."""
    notes = Notes()
    async with opened(folder, own_server.url, record=notes) as worker, opened(folder, own_server.url) as other:
        seen: list[int] = []
        follower = asyncio.create_task(collect(other, "job_1", seen))
        for _ in range(3):
            await worker.append("job_1", 1, "status", {"text": "before"})
        await until(lambda: len(seen) == 3)

        with caplog.at_level(logging.WARNING):
            own_server.stop()
            during = [await worker.append("job_1", 1, "status", {"text": "during"}) for _ in range(50)]
            await until(lambda: len(seen) == 53)
            own_server.start()
            await worker.append("job_1", 1, "complete", {})
            await follower
        kept = await other.read("job_1")

    assert [event.seq for event in during] == list(range(4, 54))
    assert seen == list(range(1, 55))
    assert [event.data["text"] for event in kept[:-1]] == ["before"] * 3 + ["during"] * 50
    assert {note.name for note in notes.taken} <= {"errors"}
    assert all(note.label.startswith("events:") for note in notes.taken)
    away = [record for record in caplog.records if "away" in record.message]
    assert 1 <= len(away) <= 4  # each of the two processes says it when it notices, not with each event


async def test_follower_that_was_cut_off_catches_up_when_it_is_back(folder, redis_server, redis_url):
    """What others appended meanwhile rang for nobody here."""
    async with (
        open_gate(redis_server.port) as gate,
        opened(folder, gate.url) as cut_off,
        opened(folder, redis_url) as other,
    ):
        seen: list[int] = []
        follower = asyncio.create_task(collect(cut_off, "job_1", seen))
        await other.append("job_1", 1, "status", {})
        await until(lambda: seen == [1])

        await gate.shut()
        await other.append("job_1", 1, "complete", {})
        await follower

    assert seen == [1, 2]


async def test_many_followers_share_few_connections(folder, redis_url):
    """Two hundred readers of fifty jobs, each of which gets everything."""
    async with opened(folder, redis_url) as log, Redis.from_url(redis_url) as server:
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
    assert clients <= 3  # the one that rings, the one that listens, and this test's


async def test_a_silent_redis_delays_no_append(folder, own_server):
    """It takes what is sent and answers nobody."""
    async with opened(folder, own_server.url) as log:
        own_server.pause()
        began = time.monotonic()
        for _ in range(20):
            await log.append("job_1", 1, "status", {})
        took = time.monotonic() - began
        own_server.resume()

    assert took < RUNG_POLL_S - POLL_S


async def test_address_that_is_none_is_a_setup_error():
    """The sentence names the setting and not what it holds, which may be a password."""
    with pytest.raises(SetupError, match="REDIS_URL") as caught:
        RedisDoorbell("postgres://user:hunter2@host", record=record_nothing)

    assert "hunter2" not in str(caught.value)
