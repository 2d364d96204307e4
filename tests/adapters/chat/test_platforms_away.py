"""Each platform starts by itself: one that is away is tried again, and what it refuses ends its own bot alone."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import ClientSession

from adapters.chat.connecting import (
    LASTED_S,
    MOST_TRIES,
    MOST_WAITING,
    RETRY_S,
    Outages,
    PlatformAway,
    keep_trying,
    run_by_itself,
)
from core.model.errors import RowUnreadable, SetupError, StoreError, Unstorable
from tests.adapters.durable.processes import Process
from tests.loopback import discord_world as discords
from tests.loopback.discord_house import LAUNCHER, SETTINGS
from tests.loopback.discord_world import DiscordWorld, discord_world
from tests.loopback.slack_api import Fault as SlackFault
from tests.loopback.slack_world import SlackWorld

FOR_EVER = 10**6
AWAY = "cannot be reached; trying again"
OFF = "is off until gorkd is started again"


@dataclass
class Platforms:
    discord: DiscordWorld
    slack: SlackWorld
    env: dict[str, str]
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def running(self, name: str, *, wait: bool = True) -> AsyncIterator[Process]:
        process = await Process.start(
            name, self.env, module=LAUNCHER, wait=wait, on_line=lambda process, line: self.heard.set()
        )
        try:
            yield process
        finally:
            await process.killed()

    async def said(self, process: Process, words: str, *, within_s: float = 30.0) -> dict[str, object]:
        """Wait for the line with these words."""
        async with asyncio.timeout(within_s):
            while not (found := [line for line in process.lines if words in str(line.get("event"))]):
                self.heard.clear()
                await self.heard.wait()
        return found[0]


@asynccontextmanager
async def platforms(data: Path, *, http: bool = False) -> AsyncIterator[Platforms]:
    async with discord_world() as discord, SlackWorld.open() as slack:
        env = {
            **SETTINGS, **slack.env(http=http), "GORKD_DATA": str(data), "GORKD_PROVIDERS": "files", "PORT": "0",
            "DISCORD_TOKEN": discords.TOKEN, "LOOPBACK_DISCORD": discord.url,
        }  # fmt: skip
        yield Platforms(discord, slack, env)


async def is_served(process: Process) -> bool:
    async with ClientSession() as client, client.get(f"{process.address}/health") as response:
        return response.status == 200


DISCORD_FAULTS = {
    "503": discords.Fault(503, FOR_EVER),
    "cut": discords.Fault(0, FOR_EVER),
    "an odd body": discords.Fault(200, FOR_EVER),
    "403 of a gate before it": discords.Fault(403, FOR_EVER),
}
Wrong = tuple[str, str] | None  # a kind of fault, and the call that meets it
# Every fault at the first call, and one at the later ones: what becomes of it is decided where all of them pass. One
# platform alone, then both in one process.
AWAY_FROM: list[tuple[Wrong, Wrong]] = [
    (("away", "auth.test"), None),
    (None, ("503", "gateway")),
    (("odd", "auth.test"), ("403 of a gate before it", "me")),
    (("down", "auth.test"), ("cut", "commands.get")),
    (("away", "apps.connections.open"), ("an odd body", "me")),
]
AWAY_FROM_LATER: list[tuple[Wrong, Wrong]] = [
    (("away", "auth.test"), ("503", "me")),
    (("away", "apps.connections.open"), ("cut", "me")),
    (("odd", "apps.connections.open"), ("503", "commands.get")),
    (("down", "apps.connections.open"), ("cut", "gateway")),
    (("silent", "auth.test"), ("an odd body", "gateway")),
    (("silent", "apps.connections.open"), ("an odd body", "commands.get")),
    (("down", "auth.test"), ("403 of a gate before it", "gateway")),
    (("odd", "auth.test"), ("403 of a gate before it", "commands.get")),
]


@pytest.mark.parametrize(
    ("slack", "discord"), [*AWAY_FROM, *(pytest.param(*both, marks=pytest.mark.slow) for both in AWAY_FROM_LATER)]
)
async def test_a_platform_that_is_away_is_tried_again_while_the_rest_serves(
    slack: Wrong, discord: Wrong, tmp_path: Path
):
    """G-02: one line says so, the page and the other platform are there, and it is when it comes back."""
    async with platforms(tmp_path) as here:
        if slack:
            here.slack.api.faults[slack[1]] = SlackFault(slack[0], times=FOR_EVER)
        if discord:
            here.discord.faults[discord[1]] = DISCORD_FAULTS[discord[0]]
        async with here.running("all") as process:
            away = [name for name, wrong in (("Slack", slack), ("Discord", discord)) if wrong]
            lines = [await here.said(process, f"{name} {AWAY}") for name in away]
            if not slack:
                await asyncio.wait_for(here.slack.socket.connected.wait(), 30)
            if not discord:
                await here.discord.until(lambda: here.discord.gateway.is_connected)
            served = await is_served(process)
            here.slack.api.faults.clear()
            here.discord.faults.clear()
            await asyncio.wait_for(here.slack.socket.connected.wait(), 30)
            await here.discord.until(lambda: here.discord.gateway.is_connected, within_s=30)

    assert served
    assert {(line["level"], line["retry_s"]) for line in lines} == {("warning", RETRY_S[0])}
    assert [line for line in lines if "exception" in line] == []


@pytest.mark.parametrize("kind", ["invalid_auth", "account_inactive"])
async def test_a_token_that_slack_refuses_ends_that_bot_alone(kind: str, tmp_path: Path):
    async with platforms(tmp_path) as here:
        here.slack.api.faults["auth.test"] = SlackFault(kind, times=FOR_EVER)
        async with here.running("all") as process:
            line = await here.said(process, f"Slack {OFF}")
            await here.discord.until(lambda: here.discord.gateway.is_connected)
            served = await is_served(process)

    assert served
    assert f"Slack refused SLACK_BOT_TOKEN: {kind}." in str(line["event"])
    assert [call.method for call in here.slack.api.calls].count("auth.test") == 1


async def test_a_token_that_discord_refuses_ends_that_bot_alone(tmp_path: Path):
    async with platforms(tmp_path) as here:
        here.discord.faults["me"] = discords.Fault(401, FOR_EVER)
        async with here.running("all") as process:
            line = await here.said(process, f"Discord {OFF}")
            await asyncio.wait_for(here.slack.socket.connected.wait(), 30)
            served = await is_served(process)

    assert served
    assert "Discord refused DISCORD_TOKEN" in str(line["event"])


async def test_in_http_mode_a_refused_token_leaves_the_pages_alone(tmp_path: Path):
    async with platforms(tmp_path, http=True) as here:
        here.slack.api.faults["auth.test"] = SlackFault("invalid_auth", times=FOR_EVER)
        async with here.running("web") as process:
            here.slack.over_http(process.address)
            await here.said(process, f"Slack {OFF}")
            ack = await here.slack.commands("UADA", "CGENERAL", "help")
            served = await is_served(process)

    assert served
    assert ack.attempts == 1
    assert [call.method for call in here.slack.api.calls].count("auth.test") == 1


async def test_in_http_mode_a_slack_that_is_away_does_not_hold_the_pages_back(tmp_path: Path):
    async with platforms(tmp_path, http=True) as here:
        here.slack.api.faults["auth.test"] = SlackFault("silent", times=FOR_EVER)
        async with here.running("web") as process:
            before = len(here.slack.api.calls)
            served = await is_served(process)

    assert served
    assert before <= 1


@pytest.mark.parametrize(
    ("name", "refuse"),
    [
        ("slack", lambda here: here.slack.api.faults.update({"auth.test": SlackFault("invalid_auth", FOR_EVER)})),
        ("slack", lambda here: here.slack.api.faults.update({"apps.connections.open": SlackFault("invalid_auth", 9)})),
        ("discord", lambda here: here.discord.faults.update({"me": discords.Fault(401, FOR_EVER)})),
    ],
    ids=["slack's bot token", "slack's app token", "discord's token"],
)
async def test_alone_a_refused_token_ends_the_process_with_code_4(
    name: str, refuse: Callable[[Platforms], None], tmp_path: Path
):
    """docs/deploy.md: nothing that another try would heal."""
    async with platforms(tmp_path) as here:
        refuse(here)
        async with here.running(name, wait=False) as process:
            code = await process.ended()

    assert code == 4
    assert "refused" in str(process.lines[-1]["event"])


async def test_alone_too_a_platform_that_is_away_is_waited_for(tmp_path: Path):
    async with platforms(tmp_path) as here:
        here.slack.api.faults["auth.test"] = SlackFault("away", times=FOR_EVER)
        async with here.running("slack", wait=False) as process:
            await here.said(process, f"Slack {AWAY}")
            del here.slack.api.faults["auth.test"]
            await asyncio.wait_for(here.slack.socket.connected.wait(), 30)


async def test_a_bot_whose_platform_is_away_ends_when_it_is_told_to(tmp_path: Path):
    """Well before the next try, let alone for ever after it."""
    async with platforms(tmp_path) as here:
        here.discord.faults["me"] = DISCORD_FAULTS["403 of a gate before it"]
        async with here.running("discord", wait=False) as process:
            await here.said(process, f"Discord {AWAY}")
            process.running.send_signal(signal.SIGTERM)
            code = await process.ended(within_s=20)

    assert code == 0


@dataclass
class Clock:
    now: float = 0.0
    slept: tuple[float, ...] = ()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept += (seconds,)


def scripted(*steps: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    left = iter(steps)

    async def connect() -> None:
        next(left)()

    return connect


def away(clock: Clock, lasted_s: float = 0.0) -> Callable[[], object]:
    def fail() -> object:
        clock.now += lasted_s
        raise PlatformAway("503")

    return fail


async def test_pauses_grow_and_begin_anew_after_a_connection_that_lasted():
    clock = Clock()
    steps = [away(clock) for _ in range(6)] + [away(clock, LASTED_S), lambda: None]

    await keep_trying("Slack", scripted(*steps), clock=clock, sleep=clock.sleep)

    assert clock.slept == (*RETRY_S, RETRY_S[-1], RETRY_S[-1], RETRY_S[0])


async def test_what_is_refused_is_not_tried_again_and_raised_to_nobody_else():
    tried: list[str] = []

    async def refused() -> None:
        tried.append("once")
        raise SetupError("Slack refused SLACK_BOT_TOKEN: invalid_auth.")

    await run_by_itself("Slack", refused)

    assert tried == ["once"]


class Deed:
    """Something said to the bot, which meets these errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.told = list(errors), 0

    async def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def tell(self) -> None:
        self.told += 1


@pytest.mark.parametrize(
    ("errors", "ends_in", "told"),
    [
        pytest.param([], "done", 0, id="records that are there"),
        pytest.param([StoreError("away")] * 5, "done", 1, id="records that are away for a while"),
        pytest.param([StoreError("away")] * (MOST_TRIES + 1), "away", 1, id="records that stay away"),
        pytest.param([StoreError("away"), Unstorable("half a pair")], "half a pair", 1, id="what no records take"),
        pytest.param([RowUnreadable("of v9")], "of v9", 0, id="a row that nobody can read"),
        pytest.param([SetupError("no token")], "no token", 0, id="another fault"),
    ],
)
async def test_what_is_told_once_waits_for_the_records(errors: list[Exception], ends_in: str, told: int):
    deed = Deed(*errors)

    try:
        ended = await Outages((0.0,)).outlast(deed, deed.tell)
    except (StoreError, SetupError) as error:
        ended = str(error)

    assert (ended, deed.told) == (ends_in, told)


async def test_no_more_wait_than_there_is_room_for_and_none_when_the_bot_ends():
    """Who came too late hears it at once, the others when the bot is about to end."""
    outages = Outages((3600.0,))
    away = [asyncio.create_task(outages.outlast(Deed(*[StoreError("away")] * 9))) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)

    with pytest.raises(StoreError, match="away"):
        await outages.outlast(Deed(StoreError("away")))
    outages.end()

    assert {str(error) for error in await asyncio.gather(*away, return_exceptions=True)} == {"away"}
