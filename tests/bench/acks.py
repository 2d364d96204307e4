"""How soon an asker hears that the question was taken, while 200 questions are in flight: over HTTP.

Every way in is a `Way`: something that asks once and returns when it was acknowledged. The house is `gorkd web` and two
workers on SQLite, with a model that answers slowly, so that nothing ends while the burst is taken.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.adapters.durable.outside import PAGES
from tests.adapters.durable.processes import Process
from tests.bench.conditions import Conditions
from tests.bench.questions import percentile
from tests.bench.table import Goal, Row, format_table
from tests.bench.usage import cpu_s
from tests.loopback.world import World
from tests.servers import free_port

GOAL_S = 1.0
WITHIN_S = 60.0
TOKEN = "bench-" + "t" * 32
WORKERS = 2

Ask = Callable[[int], Awaitable[bool]]  # the number of a question that nobody asked before; whether it was acknowledged


@dataclass(frozen=True)
class Door:
    """What asks, and the process that acknowledges."""

    ask: Ask
    pid: int


@dataclass(frozen=True)
class Way:
    """`open` gives the door of a house in this world, with these settings."""

    name: str
    open: Callable[[World, Mapping[str, str]], AsyncIterator[Door]]


@dataclass(frozen=True)
class Acked:
    """Seconds from asking to the acknowledgement, of those that got one; how many did not; processor time of each."""

    seconds: list[float]
    unheard: int
    cpu_s: float


def measure_acks(conditions: Conditions) -> str:
    """The table, as text."""
    return asyncio.run(_measure(conditions))


async def _measure(conditions: Conditions) -> str:
    columns = []
    for way in WAYS:
        once = await _burst(way, conditions.asked_at_once, is_steady=False)
        steady = await _burst(way, conditions.asked_at_once, is_steady=True)
        columns += [(f"{way.name}, at once", once), (f"{way.name}, one by one", steady)]
    rows = [
        Row("acknowledged, p50", [percentile(one.seconds, 50) for _, one in columns], "s"),
        Row("acknowledged, p99", [percentile(one.seconds, 99) for _, one in columns], "s", goal=Goal(GOAL_S)),
        Row("slowest", [max(one.seconds, default=None) for _, one in columns], "s"),
        Row("processor time of each", [1000 * one.cpu_s for _, one in columns], "ms", 1),
        Row("not acknowledged", [one.unheard for _, one in columns], digits=0, goal=Goal(0)),
    ]
    title = f"acks: {conditions.asked_at_once} questions in flight, {WORKERS} workers, SQLite"
    return format_table(title, [name for name, _ in columns], rows)


async def _burst(way: Way, questions: int, *, is_steady: bool) -> Acked:
    """All asked in the same moment; or, `is_steady`, the last quarter of them one after the other."""
    async with World.of(PAGES) as world:
        world.model.first_token_s = WITHIN_S  # nothing ends while it is measured
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            env = world.env(Path(folder), "tavily", model=True)
            async with asynccontextmanager(way.open)(world, env) as door:
                ask = door.ask
                await _timed(ask, questions)  # what is loaded with the first
                before = cpu_s(door.pid)
                at_once = 3 * questions // 4 if is_steady else questions
                asked = await asyncio.gather(*(_timed(ask, number) for number in range(at_once)))
                if is_steady:
                    asked = [await _timed(ask, number) for number in range(at_once, questions)]
                used_s = cpu_s(door.pid) - before
    seconds = [took_s for took_s in asked if took_s is not None]
    return Acked(seconds, len(asked) - len(seconds), used_s / questions)


async def _timed(ask: Ask, number: int) -> float | None:
    began_at = time.perf_counter()
    try:
        async with asyncio.timeout(WITHIN_S):
            is_heard = await ask(number)
    except (TimeoutError, aiohttp.ClientError):
        return None
    return time.perf_counter() - began_at if is_heard else None


async def over_http(world: World, env: Mapping[str, str]) -> AsyncIterator[Door]:
    """The acknowledgement is the 202 with the job's address."""
    settings = {
        **env,
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
        "GORKD_API_TOKENS": TOKEN,
        "GORKD_ASKS_PER_MINUTE": "100000",
        "GORKD_LOG_LEVEL": "error",
    }
    processes = await asyncio.gather(*(Process.start(name, settings) for name in ("web", *["worker"] * WORKERS)))
    connector = aiohttp.TCPConnector(limit=0)
    try:
        async with aiohttp.ClientSession(
            processes[0].address, connector=connector, headers={"Authorization": f"Bearer {TOKEN}"}
        ) as client:

            async def ask(number: int) -> bool:
                question = {"query": f"What causes the tides? Number {number}?"}
                async with client.post("/v1/research", json=question) as answer:
                    await answer.read()
                    return answer.status == 202

            yield Door(ask, processes[0].running.pid)
    finally:
        await asyncio.gather(*(process.killed() for process in processes))


WAYS = (Way("HTTP", over_http),)
