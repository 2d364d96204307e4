"""`gorkd web` as a real process: a reader outlives its restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from adapters.records.jobs import SqlEventLog, SqlJobStore
from adapters.records.sqlite import Database
from tests.adapters.durable.processes import Process
from tests.adapters.web.sse import Received, parse_events
from tests.fakes import make_job
from tests.servers import needs_ipv6
from tests.shared_data import ROOT

JOB = make_job("How tall?", id="job_" + "a" * 32)


@asynccontextmanager
async def web(folder: Path, host: str = "127.0.0.1") -> AsyncIterator[Process]:
    """Ended by SIGTERM, in good order."""
    env = {"GORKD_DATA": str(folder), "HOST": host, "PORT": "0", "PYTHONPATH": str(ROOT)}
    process = await Process.start("web", env)
    try:
        yield process
    finally:
        if process.running.returncode is None:
            process.running.terminate()
        assert await process.ended() == 0


async def read_on(session: aiohttp.ClientSession, address: str, *, after: str, events: int) -> list[Received]:
    """So many events, or as many as there are until the stream ends."""
    text = ""
    headers = {"Last-Event-ID": after} if after else {}
    async with session.get(f"{address}/v1/jobs/{JOB.id}/stream", headers=headers) as response:
        while len(parse_events(text)) < events and (chunk := await response.content.readany()):
            text += chunk.decode()
    return parse_events(text)


async def test_a_restart_costs_a_reader_nothing(tmp_path: Path):
    """The stream that is open ends with the process; the next process goes on where it ended."""
    database = await Database.open(tmp_path)
    log = SqlEventLog(database, clock=lambda: datetime.now(UTC))
    await SqlJobStore(database).save(JOB)

    async def tell(number: int) -> None:
        data = {"stage": "searching", "message": f"{number}", "progress": 0.5, "data": {}}
        await log.append(JOB.id, 1, "status", data)

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        async with web(tmp_path) as first:
            await tell(1)
            async with session.get(f"{first.address}/v1/jobs/{JOB.id}/stream") as response:
                text = (await response.content.readuntil(b"\r\n\r\n")).decode()
                first.running.terminate()
                text += (await response.content.read()).decode()
        seen = parse_events(text)
        await tell(2)
        async with web(tmp_path) as second:
            seen += await read_on(session, second.address, after=seen[-1].id, events=1)
            await tell(3)
            seen += await read_on(session, second.address, after=seen[-1].id, events=1)
    await database.aclose()

    assert [(event.id, event.data["message"]) for event in seen] == [("1", "1"), ("2", "2"), ("3", "3")]


@needs_ipv6
async def test_the_address_that_is_printed_can_be_opened(tmp_path: Path):
    """Also one of IPv6, which stands in brackets."""
    async with (
        web(tmp_path, "::1") as process,
        aiohttp.ClientSession() as session,
        session.get(f"{process.address}/health") as response,
    ):
        assert response.status == 200
