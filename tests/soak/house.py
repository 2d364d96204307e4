"""Whole deployments for the soak, in a loopback world.

Web, both bots and three workers over PostgreSQL and Redis; or all in one process over SQLite.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg import connect

from tests.adapters.chat.slack.house import manifest_scopes
from tests.adapters.durable.outside import PAGES
from tests.adapters.durable.processes import Process
from tests.adapters.durable.test_disk import disk
from tests.bench.usage import rss_mib
from tests.loopback.discord_house import LAUNCHER, SETTINGS
from tests.loopback.discord_world import TOKEN, DiscordWorld, discord_world
from tests.loopback.slack_world import SlackWorld
from tests.loopback.world import World
from tests.servers import PostgresServer, RedisServer, free_port, running_postgres, running_redis

ROLES: Mapping[str, tuple[str, ...]] = {  # by database
    "sqlite": ("all",),
    "postgres": ("web", "discord", "slack", "worker 1", "worker 2", "worker 3"),
}
DISK_MIB = 256  # the disk of SQLite's files, which is filled at times
API_TOKEN = "soak-" + "t" * 32


@dataclass(frozen=True)
class Usage:
    """What a process holds: memory in MiB with its children's, and open descriptors.

    Connections to PostgreSQL and Redis are counted apart: their pools open one more whenever a restart of
    the server lets calls pile up, and keep it, until they are full.
    """

    memory_mib: float
    descriptors: int
    pooled: int


@dataclass
class SoakHouse:
    """Processes are started again at once. `postgres` and `redis` are there when `ports` are."""

    world: World
    discord: DiscordWorld
    slack: SlackWorld
    env: Mapping[str, str]
    rng: random.Random
    database: str
    data: Path
    has_disk: bool  # of its own, for `data`
    postgres: PostgresServer = field(init=False)
    redis: RedisServer = field(init=False)
    ports: Collection[int] = ()
    processes: dict[str, Process] = field(default_factory=dict)
    strikes: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # what processes logged as errors
    striking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.env['PORT']}"

    @property
    def roles(self) -> tuple[str, ...]:
        return ROLES[self.database]

    @property
    def workers(self) -> list[str]:
        return [role for role in self.roles if role.startswith(("worker", "all"))]

    @property
    def paths(self) -> list[str]:
        return list(PAGES)

    async def start(self, role: str) -> None:
        name = role.split(maxsplit=1)[0]
        module = LAUNCHER if name in {"discord", "all"} else "bots"
        self.processes[role] = await Process.start(name, self.env, module=module, wait=False, on_line=self._heard)

    def _heard(self, process: Process, line: dict[str, Any]) -> None:
        if line.get("level") == "error":
            self.errors[f"{line.get('event')}: {str(line.get('exception', '')).strip().splitlines()[-1:]}"] += 1

    async def strike(self, role: str) -> None:
        """End a process as an operator, a terminal or the kernel would, and start it again."""
        process = self.processes[role]
        self.strikes += 1
        async with self.striking:
            way = self.rng.choice(["terminate", "kill", "kill"])
            if process.running.returncode is None:
                getattr(process.running, way)()
            try:
                await process.ended(within_s=30)
            except TimeoutError:
                await process.killed()
            await self.start(role)

    async def tend(self) -> None:
        """Start again what has ended by itself, as a supervisor does: one without a database ends in words."""
        for role, process in list(self.processes.items()):
            if process.running.returncode is not None and not self.striking.locked():
                await self.start(role)

    def heal(self) -> None:
        """Make the outside friendly again."""
        self.world.search.faults.clear()
        self.slack.api.faults.clear()
        self.discord.faults.clear()

    def usage(self) -> dict[str, Usage]:
        """Of every process, by role."""
        return {role: _usage(process.running.pid, self.ports) for role, process in self.processes.items()}


def _usage(pid: int, servers: Collection[int]) -> Usage:
    opened = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    connections = _connections(servers)
    pooled = sum(name in connections for name in opened)
    return Usage(rss_mib(pid), len(opened) - pooled, pooled)


def _connections(ports: Collection[int]) -> set[str]:
    """The names under which /proc shows the sockets of this machine that go to one of `ports`."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if int(row[2].rpartition(":")[2], 16) in ports}


@contextmanager
def servers(folder: Path) -> Iterator[tuple[PostgresServer, RedisServer]]:
    with running_postgres() as postgres, running_redis(folder) as redis:
        with connect(postgres.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE soak")
            # It is restarted, and may lose nothing.
            connection.execute("ALTER DATABASE soak SET synchronous_commit = on")
        yield postgres, redis


@asynccontextmanager
async def soak_house(rng: random.Random, database: str) -> AsyncIterator[SoakHouse]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        data = folder / "data"
        has_disk = database == "sqlite" and not stack.enter_context(disk(data, DISK_MIB))
        world = await stack.enter_async_context(World.of(PAGES))
        discord = await stack.enter_async_context(discord_world())
        slack = await stack.enter_async_context(SlackWorld.open())
        slack.state.scopes = manifest_scopes()
        env = {
            **world.env(data, "tavily", model=True, embedder=True),
            **slack.env(),
            **SETTINGS,
            "GORKD_DISCORD_GUILD_PER_MIN": "10000",
            "DISCORD_TOKEN": TOKEN,
            "LOOPBACK_DISCORD": discord.url,
            "GORKD_SLACK_WORKSPACE_PER_MIN": "10000",
            "GORKD_API_TOKENS": API_TOKEN,
            "GORKD_ASKS_PER_MINUTE": "10000",
            "PORT": str(free_port()),
        }
        house = SoakHouse(world, discord, slack, env, rng, database, data, has_disk)
        if database == "postgres":
            house.postgres, house.redis = stack.enter_context(servers(folder))
            house.ports = {house.postgres.port, house.redis.port}
            env |= {"DATABASE_URL": house.postgres.url("soak"), "REDIS_URL": house.redis.url}
        try:
            await asyncio.gather(*(house.start(role) for role in house.roles))
            yield house
        finally:
            await asyncio.gather(*(process.killed() for process in house.processes.values()))


async def settled(house: SoakHouse, *, within_s: float = 60.0) -> None:
    """Wait until every process is up and both bots are connected."""
    await house.tend()
    ends_at = time.monotonic() + within_s
    try:
        await house.discord.until(lambda: house.discord.gateway.is_connected, within_s=within_s)
    except TimeoutError:
        said = [process.lines[-5:] for role, process in house.processes.items() if role in {"discord", "all"}]
        raise AssertionError(f"the Discord bot is not back: {said}") from None
    await asyncio.wait_for(house.slack.socket.connected.wait(), max(1.0, ends_at - time.monotonic()))
    for role in house.roles:
        if role not in {"discord", "slack"}:
            try:
                await house.processes[role].wait_ready()
            except TimeoutError:
                raise AssertionError(f"{role} is not back: {house.processes[role].lines[-5:]}") from None
