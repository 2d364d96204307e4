"""How soon an asker hears that the question was taken, while 200 questions are in flight: over HTTP, Discord, Slack.

Every way in is a `Way`: something that asks once and returns when it was acknowledged. The house is `gorkd web` or a
bot, and two workers on SQLite, with a model that answers slowly, so that nothing ends while the burst is taken. The
platforms of the bots run in the process that measures, so what they need to deliver and to judge counts as waiting.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp

from tests.adapters.chat.slack.house import manifest_scopes
from tests.adapters.durable.outside import PAGES
from tests.adapters.durable.processes import Process
from tests.bench.conditions import Conditions
from tests.bench.questions import percentile
from tests.bench.usage import cpu_s
from tests.figures import Goal, Row, format_table
from tests.loopback.discord_data import Interaction, user
from tests.loopback.discord_house import LAUNCHER
from tests.loopback.discord_world import TOKEN as DISCORD_TOKEN
from tests.loopback.discord_world import DiscordWorld, discord_world
from tests.loopback.slack_delivery import NotAcknowledged
from tests.loopback.slack_state import BOT_USER, Channel
from tests.loopback.slack_world import SlackWorld
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


async def over_discord(world: World, env: Mapping[str, str]) -> AsyncIterator[Door]:
    """The acknowledgement is the callback of the interaction; one that comes after Discord's 3 s is measured too."""
    async with discord_world(ack_s=WITHIN_S) as discord:
        settings = {
            **env,
            "DISCORD_TOKEN": DISCORD_TOKEN,
            "LOOPBACK_DISCORD": discord.url,
            "GORKD_DISCORD_GUILD_PER_MIN": "10000",
            "GORKD_LOG_LEVEL": "error",
        }
        bot = Process.start("discord", settings, module=LAUNCHER, wait=False)
        processes = await asyncio.gather(bot, *(Process.start("worker", settings) for _ in range(WORKERS)))
        waiting: dict[str, tuple[Interaction, asyncio.Future[bool]]] = {}
        hearing = asyncio.create_task(_hear(discord, waiting))
        try:
            await discord.until(lambda: discord.gateway.is_connected and discord.commands, within_s=WITHIN_S)

            async def ask(number: int) -> bool:
                person = user(str(700000000000100000 + number), "someone")
                asked = discord.slash("research", query=f"What causes the tides? Number {number}?", person=person)
                heard: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
                waiting[asked.id] = (asked, heard)
                return await heard

            yield Door(ask, processes[0].running.pid)
        finally:
            hearing.cancel()
            with suppress(asyncio.CancelledError):
                await hearing
            await asyncio.gather(*(process.killed() for process in processes))


async def _hear(discord: DiscordWorld, waiting: dict[str, tuple[Interaction, asyncio.Future[bool]]]) -> None:
    """Tell those who wait; one looks for all, since 200 who look at every change would slow down what they measure."""
    while True:
        await discord.until(lambda: any(asked.acked_s is not None for asked, _ in waiting.values()), within_s=600.0)
        for name, (asked, heard) in list(waiting.items()):
            if asked.acked_s is not None:
                del waiting[name]
                if not heard.done():
                    heard.set_result(True)


async def over_slack(world: World, env: Mapping[str, str], *, http: bool) -> AsyncIterator[Door]:
    """The acknowledgement is that of a mention's event; after 3 s it is sent again, and the time goes on."""
    async with SlackWorld.open() as slack:
        slack.state.scopes = manifest_scopes()
        settings = {
            **env,
            **slack.env(http=http),
            "HOST": "127.0.0.1",
            "PORT": str(free_port()),
            "GORKD_SLACK_WORKSPACE_PER_MIN": "10000",
            "GORKD_LOG_LEVEL": "error",
        }
        bot = Process.start("web", settings) if http else Process.start("slack", settings, wait=False)
        processes = await asyncio.gather(bot, *(Process.start("worker", settings) for _ in range(WORKERS)))
        try:
            if http:
                slack.over_http(processes[0].address)
            else:
                await asyncio.wait_for(slack.socket.connected.wait(), WITHIN_S)

            async def ask(number: int) -> bool:
                person, channel = slack.state.new_id("U"), slack.state.new_id("C")
                slack.state.channels[channel] = Channel(channel, "channel", {person, BOT_USER})
                try:
                    await slack.mentions(person, channel, f"What causes the tides? Number {number}?")
                except NotAcknowledged:
                    return False
                return True

            yield Door(ask, processes[0].running.pid)
        finally:
            await asyncio.gather(*(process.killed() for process in processes))


WAYS = (
    Way("HTTP", over_http),
    Way("Discord", over_discord),
    Way("Slack, socket", partial(over_slack, http=False)),
    Way("Slack, HTTP", partial(over_slack, http=True)),
)
