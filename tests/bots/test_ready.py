"""Alive and ready, in real processes: what is missing is named, and comes back by itself (N-10)."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from adapters.records.jobs import SqlHeartbeats
from adapters.records.sqlite import Database
from core.pipeline.checkup import HEARD_WITHIN_S
from tests.adapters.durable.conftest import many_machines, one_machine, world
from tests.adapters.durable.processes import Process
from tests.adapters.durable.test_disk import fill, small_disk
from tests.servers import PostgresServer

__all__ = ["many_machines", "one_machine"]
__all__ += ["small_disk", "world"]

Env = dict[str, str]
LOCAL = {"HOST": "127.0.0.1", "PORT": "0"}


@asynccontextmanager
async def running(name: str, env: Mapping[str, str]) -> AsyncIterator[Process]:
    process = await Process.start(name, {**env, **LOCAL})
    try:
        yield process
    finally:
        await process.killed()


async def get(address: str, path: str) -> tuple[int, dict[str, object]]:
    async with aiohttp.ClientSession() as client, client.get(f"{address}{path}") as answer:
        return answer.status, await answer.json()


async def until(address: str, status: int, *, within_s: float = 40.0) -> list[str]:
    """Ask whether it is ready until the status is this one; the reasons."""
    async with asyncio.timeout(within_s):
        while (answer := await get(address, "/ready"))[0] != status:  # noqa: ASYNC110  # other processes change it
            await asyncio.sleep(0.2)
    return [str(reason) for reason in answer[1]["reasons"]]  # type: ignore[attr-defined]


async def silent_for_long(env: Env) -> None:
    """What was heard of workers is made as old as counts; how old that is, test_readiness.py tries with a clock."""
    database = await Database.open(Path(env["GORKD_DATA"]))
    try:
        beats = SqlHeartbeats(database)
        for worker, at in (await beats.beats()).items():
            await beats.beat(worker, at - timedelta(seconds=HEARD_WITHIN_S))
    finally:
        await database.aclose()


async def test_pages_are_ready_once_there_is_a_worker_and_no_longer_without(one_machine: Env):
    """Alive all the time."""
    async with running("web", one_machine) as web:
        without = await until(web.address, 503)
        async with running("worker", one_machine):
            assert await until(web.address, 200) == []
        alive = await get(web.address, "/health")
        await silent_for_long(one_machine)
        (gone,) = await until(web.address, 503)

    assert len(without) == 1
    assert "No worker was heard of" in without[0]
    assert "No worker was heard of" in gone
    assert alive == (200, {"status": "ok"})


@pytest.mark.parametrize("name", ["gorkd.db", "dbos.sqlite"])
async def test_a_file_that_is_taken_away_is_noticed(name: str, one_machine: Env):
    """By its name; a journal that opens another connection makes a new one in its place, which is no less lost."""
    async with running("all", one_machine) as process:
        await until(process.address, 200)
        (Path(one_machine["GORKD_DATA"]) / name).unlink()
        (reason,) = await until(process.address, 503)

    assert re.search(rf"{re.escape(name)} (is gone|was replaced while gorkd runs)", reason)


@pytest.mark.slow
async def test_a_full_disk_is_503_and_passes(one_machine: Env, small_disk: Path):
    """Asking and being ready, with the cause; both again when there is room."""
    async with running("all", {**one_machine, "GORKD_DATA": str(small_disk)}) as process:
        await until(process.address, 200)
        ballast = await asyncio.to_thread(fill, small_disk)
        (reason,) = await until(process.address, 503)
        refused = await ask(process.address)

        ballast.unlink()
        await until(process.address, 200)
        accepted = await ask(process.address)

    assert "disk is full" in reason
    assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
    assert accepted.status == 202
    assert not any("Traceback" in str(line) for line in process.lines)


@pytest.mark.slow
async def test_a_restart_of_postgres_is_one_line_and_no_traceback(many_machines: Env, postgres_server: PostgresServer):
    """In each process; asking meanwhile is 503 with Retry-After, and so is being ready, with the cause."""
    async with running("web", many_machines) as web, running("worker", many_machines) as worker:
        await until(web.address, 200)
        asked_before = await ask(web.address)
        await ended(asked_before)  # else what it is at just then fails too, and says so
        seen = [len(process.lines) for process in (web, worker)]
        await asyncio.to_thread(postgres_server.stop)
        try:
            reasons = await until(web.address, 503)
            refused = await ask(web.address)
            await asyncio.sleep(5)
        finally:
            await asyncio.to_thread(postgres_server.start)
        await until(web.address, 200)
        accepted = await ask(web.address)

    for process, since in zip((web, worker), seen, strict=True):
        told = [line for line in process.lines[since:] if line.get("level") in ("warning", "error")]
        about_it = [str(line["event"]) for line in told if line["event"] != "request not served"]
        assert "Traceback" not in str(told)
        assert [text for text in about_it if "is away" in text or "is back" in text] == about_it, about_it
        assert len(about_it) <= 2
    assert "cannot be reached" in reasons[0] or "shutting down" in reasons[0]
    assert (asked_before.status, refused.status, accepted.status) == (202, 503, 202)
    assert "Retry-After" in refused.headers


async def ended(asked: aiohttp.ClientResponse) -> None:
    """Until the job of an accepted question is at its end."""
    async with aiohttp.ClientSession() as client, asyncio.timeout(40):
        job_id = (await asked.json())["job_id"]
        async with client.get(asked.url.join(URL(f"/v1/jobs/{job_id}/stream"))) as events:
            await events.read()


async def ask(address: str, **headers: str) -> aiohttp.ClientResponse:
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{address}/v1/research", json={"query": "What causes the tides?"}, headers=headers) as answer,
    ):
        await answer.read()
        return answer


async def test_a_server_for_others_without_a_token_makes_one_and_says_it_once(one_machine: Env, tmp_path: Path):
    """So that a container is not locked: printed at the first start, kept for the later ones."""
    env = {**one_machine, "GORKD_DATA": str(tmp_path / "kept"), "GORKD_PUBLIC_URL": "https://gorkd.example.org"}
    printed = []
    for _ in range(2):
        async with running("web", env) as web:
            printed.append("\n".join(web.printed))
            found = re.search(r"Asking takes a token.*: (\S+)$", printed[0], re.MULTILINE)
            statuses = [
                (await ask(web.address, **headers)).status for headers in ({}, {"Authorization": f"Bearer {found[1]}"})
            ]
            assert statuses == [401, 202]
            assert found[1] not in str(web.lines)

    file = tmp_path / "kept" / "token"
    assert file.read_text() == found[1]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "token" not in printed[1]


async def test_trusting_this_machine_is_warned_about(one_machine: Env):
    env = {**one_machine, "GORKD_API_TOKENS": "a-token-of-this-server", "GORKD_TRUST_LOCAL": "1"}
    async with running("web", env) as web:
        status = (await ask(web.address)).status
        warned = [line for line in web.lines if line.get("level") == "warning"]

    assert status == 202
    assert [line for line in warned if "GORKD_TRUST_LOCAL=1" in str(line["event"])] == warned != []
