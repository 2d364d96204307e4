"""What is forgotten is gone: from every table, from the free space of the files, from Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis

from adapters.records.archive import SqlArchive
from adapters.records.cache import SqlAnswerCache, SqlLimits
from adapters.records.jobs import SqlEventLog, SqlJobMemo, SqlJobStore, SqlSourceStore
from adapters.records.redis import RedisArchive, RedisLimits
from adapters.records.sql import Tables
from adapters.records.sqlite import FILE_NAME, Database
from adapters.records.traces import SqlSpending, SqlTraceStore
from core.model.errors import JobNotFound, StoreError
from core.model.job import JobStatus, ResearchJob, Scope
from core.model.ports import record_nothing
from core.pipeline.tool_traces import Exchange, ToolTraces, TraceEntry
from core.tenancy.admission import month_of
from core.tenancy.forgetting import Filed, Whose
from tests.adapters.records.samples import NOON, RESULT, StandingClock, finished, make_job, make_source

PLANTED = "zanzibar-lantern"  # a word that stands nowhere else
MINE, YOURS = Scope("slack:T1", "channel:C1"), Scope("slack:T2", "channel:C2")


class House:
    """The stores on one database."""

    def __init__(self, tables: Tables, clock: StandingClock) -> None:
        self.database, self.archive, self.jobs = tables, SqlArchive(tables), SqlJobStore(tables)
        self.sources, self.memo, self.spending = SqlSourceStore(tables), SqlJobMemo(tables), SqlSpending(tables)
        self.log, self.events = SqlTraceStore(tables), SqlEventLog(tables, clock=clock)
        self.traces = ToolTraces(self.log, clock=clock)

    async def ask(self, number: int, *, asker: str = "U1", scope: Scope = MINE, word: str = PLANTED) -> ResearchJob:
        """A finished job that has left `word` in every table."""
        job = make_job(number, scope=scope)
        job = replace(job, request=replace(job.request, query=f"{word}?", asker=asker, context="NUL \x00"))
        await self.jobs.save(job, dedupe_key=f"{word} {number}")
        await self.sources.put(job, [replace(make_source(1), content=word)])
        await self.events.append(job.id, 1, "status", {"message": word})
        await self.memo.put(job.id, "search:" + word, word)
        call = TraceEntry("model", "answer", NOON, 1, "done", "loop-1", 0, 10, 10, cost_usd=1.0)
        await self.log.append(job.id, [replace(call, exchange=Exchange(word, word, word))])
        await self.traces.create_trace("deep", asker, {"question": word}, scope=scope, trace_id=job.id)
        await self.jobs.finish(finished(job), replace(RESULT, queries=(word,)))
        return job


@pytest.fixture
def house(tables, clock) -> House:
    return House(tables, clock)


async def everything(house: House) -> str:
    """All rows of all tables, as text."""
    names = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
        "postgres": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
    }
    tables = await house.database.rows(names[house.database.dialect])
    return repr([await house.database.rows(f'SELECT * FROM "{table}"') for (table,) in tables])


WISHES = [
    pytest.param(Whose(job_id="job_1"), ["job_1"], id="job"),
    pytest.param(Whose(user_id="U1"), ["job_1", "job_3"], id="user"),
    pytest.param(Whose(user_id="U1", tenant="slack:T1"), ["job_1"], id="user of one workspace"),
    pytest.param(Whose(tenant="slack:T2"), ["job_3", "job_4"], id="workspace"),
]


@pytest.mark.parametrize(("whose", "expected"), WISHES)
async def test_exactly_what_was_meant_is_forgotten(house: House, whose: Whose, expected: list[str]) -> None:
    """Every row of it in every table goes; everybody else's stays as it was."""
    words = {f"job_{number}": f"{PLANTED}-{number}" for number in (1, 2, 3, 4)}
    await house.ask(1, asker="U1", scope=MINE, word=words["job_1"])
    await house.ask(2, asker="U2", scope=MINE, word=words["job_2"])
    await house.ask(3, asker="U1", scope=YOURS, word=words["job_3"])
    await house.ask(4, asker="U2", scope=YOURS, word=words["job_4"])

    filed = await house.archive.jobs_of(whose)
    gone = await house.archive.erase(whose, [job.job_id for job in filed])

    left = await everything(house)
    assert sorted(filed, key=lambda job: job.job_id) == [Filed(job_id, True) for job_id in expected]
    assert [job_id for job_id, word in words.items() if word in left] == sorted(words.keys() - set(expected))
    assert gone >= 6 * len(expected)
    assert await house.archive.jobs_of(whose) == []


async def test_private_places_of_a_user_are_theirs_whoever_asked(house: House) -> None:
    """Direct messages are scoped to the person, on either platform."""
    await house.ask(1, asker="", scope=Scope("slack:T1", "user:U1"))
    await house.ask(2, asker="", scope=Scope("discord:user:U1", "channel:2"))
    await house.ask(3, asker="", scope=Scope("discord:user:U12", "user:U12"))

    filed = await house.archive.jobs_of(Whose(user_id="U1"))
    await house.archive.erase(Whose(user_id="U1"), [])

    assert {job.job_id for job in filed} == {"job_1", "job_2"}
    assert [job.job_id for job in await house.archive.jobs_of(Whose(user_id="U12"))] == ["job_3"]
    assert await house.archive.jobs_of(Whose(user_id="U1")) == []


async def test_what_a_workspace_spent_stays_true_without_saying_who(house: House) -> None:
    """Forgetting oneself does not refill the team's budget."""
    await house.ask(1, asker="U1")
    await house.ask(2, asker="U2")

    await house.archive.erase(Whose(user_id="U1"), ["job_1"])

    spent = await house.spending.spent("slack:T1", "U1", month_of(NOON))
    assert (spent.user_usd, spent.workspace_usd) == (0, 2)
    assert "'U1'" not in await everything(house)


async def test_a_worker_that_still_runs_a_forgotten_job_stores_nothing_more(house: House) -> None:
    """Whatever it writes is refused or dropped, and nothing of it appears."""
    job = await house.ask(1)
    await house.archive.erase(Whose(job_id=job.id), [job.id])

    for save in (house.jobs.save(replace(job, status=JobStatus.SEARCHING)), house.jobs.finish(finished(job), RESULT)):
        with pytest.raises(StoreError):
            await save
    with pytest.raises(StoreError):
        await house.memo.put(job.id, "key", PLANTED)
    await house.log.append(job.id, [TraceEntry("search", "web", NOON, detail=PLANTED)])

    assert PLANTED not in await everything(house)


async def test_forgetting_what_is_not_there_is_no_error(house: House) -> None:
    """A second wish finds nothing."""
    assert await house.archive.jobs_of(Whose(job_id="job_9")) == []
    assert await house.archive.erase(Whose(user_id="U9"), []) == 0


async def test_old_traces_go_and_answers_stay(house: House) -> None:
    """Prompts, traces and events have their time; the answer has its own. The moment itself is kept."""
    await house.ask(1)

    young = await house.archive.expire(answers_before=NOON, traces_before=NOON)
    gone = await house.archive.expire(answers_before=None, traces_before=NOON + timedelta(seconds=1))

    assert (young, gone) == (0, 3)
    assert await house.log.read("job_1") == []
    assert await house.jobs.result("job_1") is not None
    assert await house.sources.sources("job_1") != []


async def test_old_jobs_go_with_everything_and_unfinished_ones_stay(house: House) -> None:
    """A job that never ended is not swept from under its worker."""
    await house.ask(1)
    waiting = make_job(2)
    await house.jobs.save(waiting)

    await house.archive.expire(answers_before=NOON + timedelta(days=1), traces_before=NOON + timedelta(days=1))

    assert await house.jobs.get("job_2") == waiting
    assert PLANTED not in await everything(house)


async def test_events_go_after_their_time_or_with_their_job(database: Database, clock) -> None:
    """Those of a job that never ended are not swept from under its worker, and none come after the job is forgotten."""
    archive, jobs, events = SqlArchive(database), SqlJobStore(database), SqlEventLog(database, clock=clock)
    for number in (1, 2):
        await jobs.save(make_job(number))
        await events.append(f"job_{number}", 1, "status", {"message": PLANTED})
    await jobs.finish(finished(make_job(1)), RESULT)

    gone = await archive.expire(answers_before=None, traces_before=NOON + timedelta(seconds=1))
    left = [len(await events.read(job_id)) for job_id in ("job_1", "job_2")]
    await archive.erase(Whose(job_id="job_2"), ["job_2"])

    assert (gone, left) == (1, [0, 1])
    assert await events.read("job_2") == []
    with pytest.raises(JobNotFound):
        await events.append("job_2", 1, "status", {"message": PLANTED})


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def test_nothing_of_it_is_left_in_the_files(tmp_path: Path, clock) -> None:
    """Not in the free space of the database, nor in its write-ahead log, while others use it."""
    async with _open(tmp_path) as database, _open(tmp_path) as another:
        jobs, cache = SqlJobStore(database), SqlAnswerCache(database, clock=clock)
        limits = SqlLimits(database, clock=clock, record=record_nothing)
        for number in range(1, 40):
            job = replace(make_job(number), request=replace(make_job().request, query=PLANTED * 200, asker=PLANTED))
            await jobs.save(job)
            await jobs.finish(finished(job), replace(RESULT, queries=(PLANTED * 50,)))
            await SqlSourceStore(database).put(job, [replace(make_source(1), content=PLANTED * 3000)])
            await SqlJobMemo(database).put(job.id, PLANTED, PLANTED * 500)
            await SqlJobMemo(database).clear(job.id)
            await cache.put(job.scope, PLANTED + str(number), job.id, ttl=timedelta(days=1))
            await limits.claim(job.scope, PLANTED, job.id, ttl=timedelta(days=1))
        await limits.take(f"user:{PLANTED}", rate=1, burst=1)
        before = bytes_of(tmp_path).count(PLANTED.encode())
        archive, whose = SqlArchive(database), Whose(user_id=PLANTED)

        await archive.erase(whose, [job.job_id for job in await archive.jobs_of(whose)])

        after = bytes_of(tmp_path)
        assert await SqlJobStore(another).recent(make_job().scope, limit=5) == []
    assert before > 1000
    assert PLANTED.encode() not in after
    assert len(after) < 1_000_000


async def test_a_reader_that_does_not_let_go_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may still stand in the log is not called gone."""
    import sqlite3

    monkeypatch.setattr("adapters.records.archive.SCRUB_WITHIN_S", 0.1)
    async with _open(tmp_path) as database:
        await SqlJobStore(database).save(make_job(1))
        with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT COUNT(*) FROM jobs").fetchone()

            with pytest.raises(StoreError, match="in use"):
                await SqlArchive(database).erase(Whose(job_id="job_1"), ["job_1"])


@asynccontextmanager
async def _open(folder: Path) -> AsyncIterator[Database]:
    database = await Database.open(folder)
    yield database
    await database.aclose()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


async def test_redis_forgets_the_claims_of_those_jobs_and_what_it_no_longer_holds(redis: Redis, redis_url: str) -> None:
    """Others' claims stay; what version 0.1 kept there, events and cached answers, goes whosever it was."""
    flights = RedisLimits(redis_url, clock=StandingClock(), record=record_nothing)
    archive = RedisArchive(redis_url)
    for job_id, scope in (("job_1", MINE), ("job_2", YOURS)):
        await redis.set(f"gorkd:answer:{scope.tenant}:{scope.visibility}:0f", f'{{"value":{{"job_id":"{job_id}"}}}}')
        await flights.claim(scope, "key", job_id, ttl=timedelta(days=1))
        await redis.xadd(f"gorkd:events:{job_id}", {"data": job_id})

    gone = await archive.erase(Whose(job_id="job_1"), ["job_1"])
    for part in (flights, archive):
        await part.aclose()

    left = [key async for key in redis.scan_iter("gorkd:*")]
    assert gone == 1
    assert [await redis.get(key) for key in left] == ["job_2"]
    assert YOURS.tenant not in left[0]


async def test_a_redis_that_is_away_is_told() -> None:
    """Within seconds, as a store's error."""
    archive = RedisArchive("redis://127.0.0.1:9/0")

    with pytest.raises(StoreError, match="REDIS_URL"):
        await archive.erase(Whose(job_id="job_1"), ["job_1"])
    await archive.aclose()
