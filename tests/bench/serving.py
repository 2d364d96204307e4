"""What `gorkd web` needs for the page of a finished job, and how many followers it carries.

It runs on two processors, as one process on SQLite; jobs are told of by another process, this one, as a worker would.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import aiohttp

from adapters.records.jobs import SqlEventLog, SqlJobStore, SqlSourceStore
from adapters.records.sqlite import Database
from core.model.answer import Citation, Claim, Evidence, JobResult, ResearchAnswer, Verdict
from core.model.job import JobStatus, ResearchJob
from core.model.source import Source
from core.presentation.render import job_json
from tests.adapters.durable.processes import Process
from tests.adapters.web.sse import parse_events
from tests.bench.conditions import Conditions
from tests.bench.usage import cpu_s
from tests.fakes import make_job, make_source
from tests.figures import Goal, Row, format_table
from tests.golden import samples

PROCESSORS = 2
EVENTS = 40  # of each job, besides the last
PAGES = 40
SOURCES = 10
ANSWERS = {"standard": 14, "long": 40}  # sentences; of about 19 words, so that the first is as long as real ones
_SENTENCE = "The tower on the rock was rebuilt after the storm and raised by {number} metres above the old gallery. "


@dataclass(frozen=True)
class Carried:
    """`lost` and `doubled` count events over all followers; delays are from before the append to the reader."""

    lost: int
    doubled: int
    delay_s: list[float]
    cpu_s: float
    wall_s: float


def measure_serving(conditions: Conditions) -> str:
    """The tables, as text."""
    return asyncio.run(_measure(conditions))


async def _measure(conditions: Conditions) -> str:
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        try:
            async with _web(folder) as web:
                page = await _pages(web, database)
                carried = await _follow(web, database, conditions)
        finally:
            await database.aclose()
    return f"{page}\n{_table(carried, conditions)}"


@asynccontextmanager
async def _web(folder: str) -> AsyncIterator[Process]:
    env = {
        "HOST": "127.0.0.1",
        "PORT": "0",
        "GORKD_DATA": folder,
        "PYTHONPATH": sys.path[0],
        "GORKD_LOG_LEVEL": "error",
    }
    process = await Process.start("web", {**env, "GORKD_STREAMS_PER_ADDRESS": "100000"})
    os.sched_setaffinity(process.running.pid, sorted(os.sched_getaffinity(0))[:PROCESSORS])
    try:
        yield process
    finally:
        process.running.terminate()
        await process.ended()


async def _pages(web: Process, database: Database) -> str:
    jobs = [finished_job(sentences) for sentences in ANSWERS.values()]
    for job, result, sources in jobs:
        await SqlJobStore(database).save(job)
        await SqlSourceStore(database).put(job, sources)
        await SqlJobStore(database).finish(job, result)
    async with aiohttp.ClientSession(web.address) as session:
        pages = [await _timed(session, f"/jobs/{job.id}") for job, _, _ in jobs]
        parts = [(await _timed(session, path, repeats=1))[0] for path in dict.fromkeys(_parts(pages[0][0]))]
    sizes = [len(html.encode()) / 1000 for html, _ in pages]
    loaded = sum(len(part.encode()) for part in parts) / 1000
    rows = [
        Row("from request to last byte", [1000 * median(times) for _, times in pages], "ms", 1, Goal(50)),
        Row("slowest", [1000 * max(times) for _, times in pages], "ms", 1),
        Row("page", sizes, "KB", 1),
        Row("page, style and script", [size + loaded for size in sizes], "KB", 1, Goal(60)),
    ]
    columns = [f"{name}, {sentences}" for name, sentences in ANSWERS.items()]
    return format_table(f"page of a finished job by sentences, with {SOURCES} sources: {PAGES} times", columns, rows)


async def _timed(session: aiohttp.ClientSession, path: str, *, repeats: int = PAGES) -> tuple[str, list[float]]:
    """The text, and how long each request but the first took, which also loads templates."""
    times: list[float] = []
    text = ""
    for _ in range(repeats + 1):
        began_at = time.perf_counter()
        async with session.get(path) as response:
            assert response.status == 200, path
            text = await response.text()
        times.append(time.perf_counter() - began_at)
    return text, times[1:]


def _parts(html: str) -> Iterator[str]:
    """What the page loads besides: style, script, icon."""
    yield from re.findall(r'(?:href|src)="(/static/[^"]+)"', html)


async def _follow(web: Process, database: Database, conditions: Conditions) -> Carried:
    """All followers listen before the first event is told, and read to the end."""
    followers, jobs = conditions.followers, conditions.followed_jobs
    log, store = SqlEventLog(database, clock=lambda: datetime.now(UTC)), SqlJobStore(database)
    running = [replace(make_job("How tall?"), id=f"job_{number:031x}f") for number in range(jobs)]
    for job in running:
        await store.save(job)
    open_streams = asyncio.Semaphore(0)
    before, began_at = cpu_s(web.running.pid), time.monotonic()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(web.address, connector=connector, timeout=aiohttp.ClientTimeout()) as session:
        following = [
            asyncio.create_task(_read(session, running[number % jobs].id, open_streams)) for number in range(followers)
        ]
        for _ in range(followers):
            await open_streams.acquire()
        await _tell(log, store, running, conditions.event_pause_s)
        received = await asyncio.gather(*following)
    wanted = list(range(1, EVENTS + 2))
    return Carried(
        lost=sum(len(set(wanted) - {seq for seq, _ in events}) for events in received),
        doubled=sum(len(events) - len({seq for seq, _ in events}) for events in received),
        delay_s=[delay for events in received for _, delay in events],
        cpu_s=cpu_s(web.running.pid) - before,
        wall_s=time.monotonic() - began_at,
    )


async def _read(session: aiohttp.ClientSession, job_id: str, is_open: asyncio.Semaphore) -> list[tuple[int, float]]:
    """Each event's number and how long it was under way."""
    received: list[tuple[int, float]] = []
    text = ""
    async with session.get(f"/v1/jobs/{job_id}/stream") as response:
        assert response.status == 200
        is_open.release()
        async for chunk in response.content.iter_any():
            now = time.time()
            text += chunk.decode()
            whole, _, text = text.rpartition("\r\n\r\n")
            for event in parse_events(f"{whole}\r\n\r\n"):
                told_at = event.data.get("data", {}).get("told_at") if event.type == "status" else None
                received.append((int(event.id), now - told_at if told_at else 0.0))
    return received


async def _tell(log: SqlEventLog, store: SqlJobStore, jobs: list[ResearchJob], pause_s: float) -> None:
    async def tell(job: ResearchJob) -> None:
        for number in range(EVENTS):
            said = {"stage": "searching", "message": "Searching", "progress": number / EVENTS}
            await log.append(job.id, 1, "status", {**said, "data": {"told_at": time.time()}})
            await asyncio.sleep(pause_s)
        done = replace(job, status=JobStatus.COMPLETED, completed_at=datetime.now(UTC))
        result = JobResult(samples.ANSWER)
        await store.finish(done, result)
        await log.append(job.id, 1, "complete", job_json(done, result, samples.SOURCES))

    await asyncio.gather(*(tell(job) for job in jobs))


def _table(carried: Carried, conditions: Conditions) -> str:
    delays = sorted(delay for delay in carried.delay_s if delay)
    rows = [
        Row("events lost", [float(carried.lost)], digits=0, goal=Goal(0)),
        Row("events twice", [float(carried.doubled)], digits=0, goal=Goal(0)),
        Row("delay, median", [1000 * median(delays)], "ms", 0),
        Row("delay, of 95 %", [1000 * delays[int(0.95 * len(delays))]], "ms", 0),
        Row("processors used", [carried.cpu_s / carried.wall_s]),
    ]
    title = f"{conditions.followers} followers of {conditions.followed_jobs} jobs with {EVENTS + 1} events each"
    return format_table(f"{title}, on {PROCESSORS} processors", ("",), rows)


def finished_job(sentences: int) -> tuple[ResearchJob, JobResult, list[Source]]:
    """An answer of so many sentences, each of which cites two of its sources, each of 9,000 characters."""
    sources = [make_source(number, _SENTENCE.format(number=number) * 90) for number in range(1, SOURCES + 1)]
    claims, citations = [], []
    for number in range(sentences):
        sentence = _SENTENCE.format(number=number).strip()
        cited = [sources[(number + step) % SOURCES] for step in range(2)]
        evidence = tuple(_evidence(source) for source in cited)
        section = "summary" if number < 4 else "detail"
        claims.append(Claim(f"{section}-{number}", sentence, Verdict.SUPPORTED, evidence))
        citations += [
            Citation(sentence, one.source_id, one.quote, Verdict.SUPPORTED, one.start, one.end) for one in evidence
        ]
    answer: ResearchAnswer = replace(
        samples.ANSWER,
        summary=_text(claims[:4]),
        detail="\n\n".join(_text(claims[start : start + 5]) for start in range(4, sentences, 5)),
        claims=tuple(claims),
        citations=tuple(citations),
    )
    job = replace(samples.COMPLETED, id=f"job_{sentences:032x}")
    return job, replace(samples.RESULT, answer=answer, source_ids=tuple(one.id for one in sources)), sources


def _evidence(source: Source) -> Evidence:
    end = source.content.index(". ") + 1
    return Evidence(source.id, source.content[:end], 0, end, Verdict.SUPPORTED)


def _text(claims: list[Claim]) -> str:
    return " ".join(
        f"{claim.text[:-1]} {''.join(f'[{one.source_id[4:]}]' for one in claim.evidence)}." for claim in claims
    )


if __name__ == "__main__":
    print(measure_serving(Conditions()))
