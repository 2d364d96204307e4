"""`make soak ARGS=kills`: kill -9 at random moments while people ask over HTTP, on both pairs of databases.

What was counted is kept in a folder after every round, and a later run goes on there until there were as many kills as
are wanted. Lost, doubled and unfinished are as in the soak; of the model's calls, those are counted that came again
although their answer was out for more than `JUST_ENDED_S` when the worker that made them died.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout
from redis import Redis

from bots.wiring import House
from core.model.job import LOCAL, TERMINAL_STATUSES, JobStatus
from tests.adapters.durable.outside import PAGES
from tests.adapters.durable.processes import Process, Reader, all_ended, front
from tests.loopback.world import World
from tests.servers import PostgresServer, RedisServer, free_port, fresh_database
from tests.soak.house import API_TOKEN, servers

ROLES = ("web", "worker 1", "worker 2")
KILLS_A_ROUND = 20
KILL_EVERY_S, ASK_EVERY_S = (0.3, 4.0), (0.1, 0.7)  # a process needs one to three seconds to start
FIRST_TOKEN_S = 0.5  # so that a job takes two seconds, and most kills meet some
JUST_ENDED_S = 1.0  # an answer on its way into the journal is in flight as well
STARTS_WITHIN_S, ENDS_WITHIN_S = 180.0, 240.0  # at the lowest priority of a busy machine
_NUMBER = re.compile(r"Number (\d+)\?")


@dataclass
class Figures:
    """What was counted on one pair of databases, over all rounds."""

    kills: int = 0
    rounds: int = 0
    asked: int = 0
    sent: int = 0  # requests, those included that were sent again under their key
    refused: int = 0  # questions that nobody took within `ENDS_WITHIN_S`
    answered: int = 0
    failed: int = 0
    resumed: int = 0  # jobs of more than one attempt
    lost: int = 0
    doubled: int = 0
    unfinished: int = 0
    calls: int = 0  # of the model, for plans and answers
    repeated_in_flight: int = 0
    repeated_after: int = 0

    @property
    def is_good(self) -> bool:
        return not (self.refused or self.failed or self.lost or self.doubled or self.unfinished or self.repeated_after)

    def plus(self, other: Figures) -> Figures:
        return Figures(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(Figures)})


@dataclass
class Round:
    """One house, killed `KILLS_A_ROUND` times. `deaths` are loop times, by the key of the worker's model calls."""

    world: World
    env: Mapping[str, str]
    rng: random.Random
    port: int
    processes: dict[str, Process] = field(default_factory=dict)
    deaths: dict[str, list[float]] = field(default_factory=dict)
    jobs: dict[str, set[str]] = field(default_factory=dict)  # ids by the key of the question
    figures: Figures = field(default_factory=lambda: Figures(rounds=1))
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def start(self, role: str) -> None:
        env = {**self.env, "OPENAI_API_KEY": _key(role)}
        self.processes[role] = await Process.start(role.split(maxsplit=1)[0], env, wait=False, on_line=self._heard)

    def _heard(self, process: Process, line: dict[str, Any]) -> None:
        """Why a job failed stands in the log alone."""
        if line.get("level") == "error":
            cause = str(line.get("exception", "")).strip().splitlines()[-1:]
            print(f"  logged: {line.get('job', '')} {line.get('event')} {''.join(cause)}")

    async def kill_one(self) -> None:
        role = self.rng.choice(ROLES)
        self.deaths.setdefault(_key(role), []).append(asyncio.get_running_loop().time())
        await self.processes[role].killed()
        self.figures.kills += 1
        await self.start(role)

    async def ask_on(self) -> None:
        """Until the last kill; who has asked waits until somebody has taken it."""
        async with asyncio.TaskGroup() as asking:
            while self.figures.kills < KILLS_A_ROUND:
                await asyncio.sleep(self.rng.uniform(*ASK_EVERY_S))
                asking.create_task(self._ask(next(self._numbers)))

    async def _ask(self, number: int) -> None:
        """As a client does that reconnects: the same key until there is an answer, and now and then once more."""
        key = uuid.uuid4().hex
        self.jobs[key] = set()
        self.figures.asked += 1
        taken = 0
        ends_at = asyncio.get_running_loop().time() + ENDS_WITHIN_S
        while asyncio.get_running_loop().time() < ends_at:
            taken += await self._send(key, f"What causes the tides? Number {number}?")
            if taken and (taken > 1 or self.rng.random() < 0.6):
                return
            await asyncio.sleep(0.3)
        self.figures.refused += not taken

    async def _send(self, key: str, question: str) -> bool:
        headers = {"Authorization": f"Bearer {API_TOKEN}", "Idempotency-Key": key}
        self.figures.sent += 1
        with suppress(ClientError, ConnectionError, TimeoutError):
            async with (
                ClientSession(timeout=ClientTimeout(total=10), headers=headers) as session,
                session.post(f"http://127.0.0.1:{self.port}/v1/research", json={"query": question}) as response,
            ):
                if response.status == 202:
                    self.jobs[key].add((await response.json())["job_id"])
                    return True
        return False

    async def judge(self, house: House) -> None:
        """Wait until everything has ended, then count."""
        with suppress(TimeoutError):  # what has not ended is counted
            await all_ended(house, within_s=ENDS_WITHIN_S)
        found = {job.id: job for job in await house.deps.jobs.recent(LOCAL, limit=100_000)}
        known = set().union(*self.jobs.values())
        self.figures.lost += len(known - set(found))
        self.figures.doubled += sum(len(ids) > 1 for ids in self.jobs.values())
        asked = Counter(job.query for job in found.values())
        self.figures.doubled += sum(times - 1 for times in asked.values())
        for job in found.values():
            self.figures.resumed += job.attempt > 1
            if job.status not in TERMINAL_STATUSES:
                self.figures.unfinished += 1
                continue
            self.figures.answered += job.status is JobStatus.COMPLETED
            self.figures.failed += job.status is not JobStatus.COMPLETED
            if job.error:
                print(f"  failed: {job.id}, attempt {job.attempt}: {job.error.code}: {job.error.message}")
            reader = Reader()
            await reader.follow(house, job.id)
            self.figures.doubled += sum(event.type == "complete" for event in reader.events) - 1
        self._count_calls()

    def _count_calls(self) -> None:
        """A call that comes again is excused by the death of who made the one before, while that was under way."""
        last: dict[tuple[str, str], int] = {}
        model = self.world.model
        for place, call in enumerate(model.calls):
            number = _NUMBER.search(call.user)
            if number is None or call.schema_name not in ("plan", "answer"):
                continue
            self.figures.calls += 1
            name = (number[1], call.schema_name)
            if name in last:
                before, answered_at = model.calls[last[name]], model.answered_at.get(last[name], call.at)
                deaths = [at for at in self.deaths.get(before.key, []) if before.at <= at]
                late_s = min(deaths, default=call.at) - answered_at
                self.figures.repeated_in_flight += late_s <= JUST_ENDED_S
                self.figures.repeated_after += late_s > JUST_ENDED_S
                if late_s > JUST_ENDED_S:
                    print(
                        f"  repeated {late_s:.1f} s after its answer was out: {name}, by {before.key}, then {call.key}"
                    )
            last[name] = place


def _key(role: str) -> str:
    return f"sk-test-{role.replace(' ', '-')}-0123456789"


async def run_round(database_env: Mapping[str, str], rng: random.Random, folder: Path) -> Figures:
    async with World.of(PAGES) as world:
        world.model.first_token_s = FIRST_TOKEN_S
        port = free_port()
        env = {
            **world.env(folder, "tavily", model=True),
            "GORKD_API_TOKENS": API_TOKEN,
            "GORKD_ASKS_PER_MINUTE": "100000",
            "GORKD_LOG_LEVEL": "error",
            "PORT": str(port),
            **database_env,
        }
        one = Round(world, env, rng, port)
        try:
            await asyncio.gather(*(one.start(role) for role in ROLES))
            async with asyncio.timeout(STARTS_WITHIN_S):
                await asyncio.gather(*(process.ready.wait() for process in one.processes.values()))
            async with asyncio.TaskGroup() as group:
                group.create_task(one.ask_on())
                while one.figures.kills < KILLS_A_ROUND:
                    await asyncio.sleep(rng.uniform(*KILL_EVERY_S))
                    await one.kill_one()
            async with front(env) as house:
                await one.judge(house)
        finally:
            await asyncio.gather(*(process.killed() for process in one.processes.values()))
    return one.figures


async def soak_kills(kills: int, seed: int, folder: Path, databases: tuple[str, ...]) -> bool:
    """Rounds on each in turn until each has had `kills`; prints the figures after every one. Whether all was well."""
    rng, file = random.Random(seed), folder / "kills.json"
    totals = {name: Figures() for name in databases} | _read(file)
    print(f"kills: until {kills} on each of {', '.join(databases)}; figures in {file}", flush=True)
    with ExitStack() as stack:
        served = None
        while waiting := [name for name in databases if totals[name].kills < kills]:
            name = min(waiting, key=lambda one: totals[one].kills)
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as data:
                if name == "postgres":
                    served = served or stack.enter_context(servers(folder))
                    figures = await _on_postgres(*served, rng, Path(data))
                else:
                    figures = await run_round({}, rng, Path(data))
            totals[name] = totals[name].plus(figures)
            _keep(totals, file)
            print(_line(name, totals[name]), flush=True)
    return all(figures.is_good for figures in totals.values())


def _read(file: Path) -> dict[str, Figures]:
    kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {name: Figures(**figures) for name, figures in kept.items()}


def _keep(totals: Mapping[str, Figures], file: Path) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps({name: asdict(figures) for name, figures in totals.items()}, indent=1), "utf-8")
    draft.replace(file)


async def _on_postgres(postgres: PostgresServer, redis: RedisServer, rng: random.Random, folder: Path) -> Figures:
    with Redis.from_url(redis.url) as connection:
        connection.flushall()
    with fresh_database(postgres) as url:
        return await run_round({"DATABASE_URL": url, "REDIS_URL": redis.url, "GORKD_SECRET": "s" * 32}, rng, folder)


def _line(name: str, figures: Figures) -> str:
    said = ", ".join(f"{words.replace('_', ' ')} {number}" for words, number in asdict(figures).items())
    return f"{name}: {said}"
