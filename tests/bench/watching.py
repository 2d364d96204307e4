"""kill -9 of processes that run watches over a store on disk: every change is told once, every time is asked once.

Two processes at once look at what is due while simulated time flies; one after the other is killed at any moment and
started again. By itself: `python -m tests.bench.watching`.
"""

from __future__ import annotations

import asyncio
import fcntl
import random
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from adapters.records.cache import SqlReuseStore
from adapters.records.sql import Tables
from core.model.delivery import Address
from core.model.job import ResearchRequest, Scope
from core.model.source import Page, SearchHit, SearchQuery
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.watch.runner import WatchRunner
from core.watch.watch import Rhythm, Watch
from tests.adapters.durable.processes import READY, Process
from tests.bench.conditions import Conditions
from tests.fakes import NOW, Clock, FakePages, FakeSearch, Idle, hit, make_deps
from tests.figures import Row, format_table
from tests.records import MemoryTables
from tests.servers import find_postgres, fresh_database, running_postgres

KILLS = 50
PROCESSES = 2
LIVES_S = (0.0, 0.3)  # of a process once it is ready; a look takes some 20 ms, research some 50
IDLE_S = 0.02  # with nothing due, before time goes on to what is due next
ENDS_WITHIN_S = 120.0
SCOPE = Scope("discord:1", "channel:2")
QUESTION = "How tall is the Harbour Tower?"
URL = "https://tower.example/facts"


@dataclass
class Told:
    """What came of it. `keys` are those of messages, with how often each was to be posted."""

    kills: int = 0
    in_a_run: int = 0
    changes: int = 0
    values: list[str] = field(default_factory=list)
    notices: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    asked: int = 0
    times: int = 0

    @property
    def is_good(self) -> bool:
        """Every change told once and in its order, every time asked once, no message posted twice."""
        said = [str(_height(number)) for number in range(1, self.changes + 1)]
        is_once = self.values == said and set(self.keys.values()) <= {1} and self.asked == self.times
        return is_once and len(self.keys) == self.notices + self.times


class _Web(FakePages):
    """One page, of which a file in the folder says how tall the tower is, and a search that finds it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.file = folder / "height.txt"

    @property
    def text(self) -> str:
        height = self.file.read_text("utf-8")
        return f"The Harbour Tower is {height} metres tall. It was opened by the city of Quayside in 1931."

    def put(self, change: int) -> None:
        draft = self.file.with_suffix(".draft")
        draft.write_text(str(_height(change)), "utf-8")
        draft.replace(self.file)

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        return Page(url, "Harbour Tower", self.text, NOW)


class _Search(FakeSearch):
    web: _Web

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        return [hit(URL, self.web.text, title="Harbour Tower")]


def _height(change: int) -> int:
    return 121 + 2 * change  # never round: 120 and 121 may be one figure


@asynccontextmanager
async def _opened(folder: Path, database_url: str, clock: Clock) -> AsyncIterator[Deps]:
    tables: Tables
    if database_url:
        from adapters.records.postgres import PostgresDatabase

        tables = opened = await PostgresDatabase.open(database_url)
    else:
        from adapters.records.sqlite import Database

        tables = opened = await Database.open(folder)  # type: ignore[assignment]
    try:
        search, web = _Search("web"), _Web(folder)
        search.web = web
        deps = make_deps(search=[search], clock=clock, tables=tables)
        reuse = SqlReuseStore(MemoryTables(), clock=clock)  # PostgreSQL has none: that is Redis' part
        yield replace(deps, pages=web, reuse=reuse, new_id=lambda: f"job_{uuid.uuid4().hex}")
    finally:
        await opened.aclose()


async def watch_on(folder: Path, database_url: str) -> None:
    """The process that is killed. Its time is that of whatever is due next."""
    clock = Clock()
    async with _opened(folder, database_url, clock) as deps:
        runner = WatchRunner(deps, deps.watches, Researcher(deps, Idle()).submit_run)
        print(READY, flush=True)
        while True:
            taken = await runner.tick(clock.now)
            await _research(deps, folder)
            if not taken:
                await asyncio.sleep(IDLE_S)
                due = [watch.next_at for watch in await deps.watches.of(SCOPE.tenant)]
                clock.now = max(clock.now, min(due, default=clock.now))


async def _research(deps: Deps, folder: Path) -> None:
    """Of a job one process takes care at a time, as the queue does; its lock dies with it."""
    with (folder / "research.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for job in await deps.jobs.unfinished(limit=10):
            await run_job(job.id, deps, DirectSteps())


async def kill_watches(kills: int, *, seed: int, database_url: str = "") -> Told:
    """Kill processes until there were so many, let what is under way come to its end, and count."""
    rng, told = random.Random(seed), Told()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as data:
        folder = Path(data)
        async with _opened(folder, database_url, Clock()) as deps:
            watches = await _begin(deps, folder)
            processes = [await _start(folder, database_url) for _ in range(PROCESSES)]
            try:
                while told.kills < kills:
                    await asyncio.sleep(rng.uniform(*LIVES_S))
                    one = rng.randrange(PROCESSES)
                    told.in_a_run += await _is_running(deps, watches)
                    await processes[one].killed()
                    told.kills += 1
                    processes[one] = await _start(folder, database_url)
                    await _look(deps, folder, watches, told, may_change=True)
                async with asyncio.timeout(ENDS_WITHIN_S):
                    while len(told.values) < told.changes or await _is_running(deps, watches):
                        await asyncio.sleep(IDLE_S)
                        await _look(deps, folder, watches, told, may_change=False)
            finally:
                await asyncio.gather(*(process.killed() for process in processes))
            await _settle(deps, watches, told)
    return told


async def _begin(deps: Deps, folder: Path) -> tuple[Watch, Watch]:
    """A watched answer, looked at every hour, and a question that is asked every day."""
    _Web(folder).put(0)
    researcher = Researcher(deps, Idle())
    job = await researcher.submit(ResearchRequest(QUESTION, SCOPE, asker="ada", is_fresh=True))
    await run_job(job.id, deps, DirectSteps())
    place = Address("discord", {"channel_id": 2, "asker_id": 7})
    watch = await researcher.watching.watch(job.id, "ada", scope=SCOPE, rhythm=Rhythm(1), address=place)
    request = ResearchRequest("Who opened the Harbour Tower?", SCOPE, asker="bob")
    asked = await researcher.watching.schedule(request, rhythm=Rhythm(24), address=place)
    for one in (watch, asked):
        assert await deps.watches.put(replace(one, ends_at=NOW + timedelta(days=36_500)))
    return watch, asked


async def _start(folder: Path, database_url: str) -> Process:
    return await Process.start(str(folder), {"DATABASE_URL": database_url}, module="tests.bench.watching")


async def _is_running(deps: Deps, watches: Sequence[Watch]) -> bool:
    """Whether a run of one of them is under way: claimed, researching, or waiting for its second look."""
    now = [await deps.watches.get(watch.id) for watch in watches]
    return any(one.stage != "waiting" or one.suspected for one in now)


async def _look(deps: Deps, folder: Path, watches: Sequence[Watch], told: Told, *, may_change: bool) -> None:
    """Deliver what waits, as a bot does; and once a change is told, let there be another one."""
    await _deliver(deps, told)
    notices = [one for one in await deps.watches.notices(watches[0].id) if one.tone == "changed"]
    told.values = ["".join(filter(str.isdigit, one.changes[0].now)) for one in notices]
    if may_change and len(notices) >= told.changes:
        told.changes += 1
        _Web(folder).put(told.changes)


async def _deliver(deps: Deps, told: Told) -> None:
    for job_id, address in await deps.messages.waiting("discord"):
        if (await deps.jobs.get(job_id)).completed_at is not None:
            told.keys[str(address.data["key"])] += 1
            await deps.messages.delivered(job_id)


async def _settle(deps: Deps, watches: Sequence[Watch], told: Told) -> None:
    for job in await deps.jobs.unfinished(limit=100):
        await run_job(job.id, deps, DirectSteps())
    await _deliver(deps, told)
    now = [await deps.watches.get(watch.id) for watch in watches]
    told.runs = sum(watch.run for watch in now)
    told.notices = sum([len(await deps.watches.notices(watch.id)) for watch in watches])
    told.times = now[1].run
    told.asked = sum(job.query == now[1].request.query for job in await deps.jobs.recent(SCOPE, limit=100_000))


def measure_watching(_: Conditions) -> str:
    """The table, as text; one column for each database."""
    with ExitStack() as stack:
        places = {"SQLite": ""}
        if find_postgres() is not None:
            places["PostgreSQL"] = stack.enter_context(fresh_database(stack.enter_context(running_postgres())))
        told = [asyncio.run(kill_watches(KILLS, seed=1, database_url=url)) for url in places.values()]
    rows = [
        Row("kill -9", [one.kills for one in told], "", digits=0),
        Row("of these in a run", [one.in_a_run for one in told], "", digits=0),
        Row("runs", [one.runs for one in told], "", digits=0),
        Row("changes", [one.changes for one in told], "", digits=0),
        Row("told", [len(one.values) for one in told], "", digits=0),
        Row("times to ask", [one.times for one in told], "", digits=0),
        Row("asked", [one.asked for one in told], "", digits=0),
        Row("messages posted twice", [sum(n > 1 for n in one.keys.values()) for one in told], "", digits=0),
        Row("all told and asked exactly once", [float(one.is_good) for one in told], "", digits=0),
    ]
    return format_table(f"watches that {PROCESSES} processes run, killed {KILLS} times", list(places), rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import os

        asyncio.run(watch_on(Path(sys.argv[1]), os.environ.get("DATABASE_URL", "")))
    else:
        print(measure_watching(Conditions()))
