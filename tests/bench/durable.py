"""How many jobs workers carry, and what a job costs them, with an outside that never waits.

By itself: `python -m tests.bench.durable`.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bots.wiring import House
from core.model.job import ResearchRequest, Scope
from tests.adapters.durable.outside import PAGES, QUESTION
from tests.adapters.durable.processes import Process, front
from tests.bench.conditions import Conditions
from tests.bench.usage import cpu_s
from tests.figures import Row, format_table
from tests.loopback.world import World
from tests.servers import find_postgres, running_postgres, running_redis

WORKERS = (1, 3)
JOBS = 80
TENANTS = 7


@dataclass(frozen=True)
class Carried:
    jobs_a_second: float
    cpu_a_job_s: float


def measure_durable(conditions: Conditions) -> str:
    """The table, as text; one column for each number of workers."""
    rows: list[Row] = []
    with ExitStack() as stack:
        places: dict[str, Mapping[str, str]] = {"SQLite": {}}
        if find_postgres() is not None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            redis, postgres = stack.enter_context(running_redis(folder)), stack.enter_context(running_postgres())
            places["PostgreSQL + Redis"] = {
                "DATABASE_URL": postgres.url(), "REDIS_URL": redis.url, "GORKD_SECRET": "s" * 32,
            }  # fmt: skip
        for place, settings in places.items():
            figures = [asyncio.run(_carry(workers, settings)) for workers in WORKERS]
            rows.append(Row(f"{place}: jobs", [figure.jobs_a_second for figure in figures], "1/s", digits=1))
            rows.append(
                Row(f"{place}: processor time", [figure.cpu_a_job_s for figure in figures], "s a job", digits=3)
            )
    columns = [f"{count} worker{'s' if count > 1 else ''}" for count in WORKERS]
    return format_table(f"durable jobs: {JOBS} at once, {TENANTS} tenants, an outside that never waits", columns, rows)


async def _carry(count: int, settings: Mapping[str, str]) -> Carried:
    first_tenant = TENANTS * count  # others for each count, since Redis keeps what a minute's quota has left
    with tempfile.TemporaryDirectory() as folder:
        async with World.of(PAGES) as world:
            env = {**world.env(Path(folder), "tavily", model=True), "GORKD_LOG_LEVEL": "error", **settings}
            workers = list(await asyncio.gather(*(Process.start("worker", env) for _ in range(count))))
            async with front(env) as house:
                await _ask(house, "warm", count, first_tenant)
                before = sum(cpu_s(worker.running.pid) for worker in workers)
                started = time.monotonic()
                await _ask(house, "", JOBS, first_tenant)
                took_s = time.monotonic() - started
                spent_s = sum(cpu_s(worker.running.pid) for worker in workers) - before
            await asyncio.gather(*(worker.killed() for worker in workers))
    return Carried(JOBS / took_s, spent_s / JOBS)


async def _ask(house: House, name: str, count: int, first_tenant: int) -> None:
    """Submit `count` different questions and wait until none is unfinished."""

    async def ask(number: int) -> None:
        scope = Scope(f"discord:{first_tenant + number % TENANTS}", "user:1")
        await house.researcher.submit(ResearchRequest(f"{QUESTION} {name} {number}?", scope=scope))

    await asyncio.gather(*(ask(number) for number in range(count)))
    while await house.deps.jobs.unfinished(limit=1):  # noqa: ASYNC110  # other processes change it
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    print(measure_durable(Conditions()))
