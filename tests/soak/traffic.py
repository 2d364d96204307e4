"""People who ask, in both chats and over HTTP, and what became of what they asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from aiohttp import ClientError, ClientSession, ClientTimeout

from bots.wiring import House
from core.model.job import TERMINAL_STATUSES
from tests.adapters.chat.slack.house import ENDINGS
from tests.adapters.durable.processes import Reader, all_ended, front
from tests.loopback.discord_data import Interaction, Message, user
from tests.loopback.discord_house import is_final
from tests.loopback.slack_delivery import NotAcknowledged
from tests.loopback.slack_state import BOT_USER, Channel
from tests.soak.house import API_TOKEN, SoakHouse

QUESTIONS = ("What causes the tides?", "How large is the tidal range in the Bay of Fundy?", "When are neap tides?")
PAUSE_S = (0.2, 1.2)  # between two questions; every third is one asked before
ENDS_WITHIN_S = 180.0


@dataclass
class Traffic:
    """What was asked so far: in Discord, in Slack channels of their own, and by job over HTTP."""

    house: SoakHouse
    discord: list[Interaction | Message] = field(default_factory=list)
    slack: dict[str, bool] = field(default_factory=dict)  # channel, and whether the app acknowledged
    jobs: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    _numbers: count[int] = field(default_factory=count)

    async def ask_on(self) -> None:
        """Until cancelled."""
        ways = (self._in_discord, self._in_slack, self._over_http)
        async with asyncio.TaskGroup() as asking:
            while True:
                await asyncio.sleep(self.house.rng.uniform(*PAUSE_S))
                asking.create_task(self.house.rng.choice(ways)())

    def _question(self) -> str:
        asked = self.house.rng.choice(QUESTIONS)
        return asked if self.house.rng.random() < 0.33 else f"{asked} Number {next(self._numbers)}?"

    async def _in_discord(self) -> None:
        world, question = self.house.discord, self._question()
        person = user(str(700000000000100000 + next(self._numbers)), "someone")
        if not world.gateway.is_connected or not world.commands:
            self.refused["Discord: the bot was away"] += 1
        elif self.house.rng.random() < 0.5:
            self.discord.append(world.slash("research", query=question, person=person))
        else:
            self.discord.append(world.say(f"@gorkd {question}", person=person))

    async def _in_slack(self) -> None:
        state = self.house.slack.state
        person, channel = state.new_id("U"), state.new_id("C")
        state.channels[channel] = Channel(channel, "channel", {person, BOT_USER})
        self.slack[channel] = False
        try:
            await self.house.slack.mentions(person, channel, self._question())
        except NotAcknowledged:
            self.refused["Slack: not acknowledged"] += 1
            return
        self.slack[channel] = True

    async def _over_http(self) -> None:
        headers = {"Authorization": f"Bearer {API_TOKEN}"}
        address = f"http://127.0.0.1:{self.house.env['PORT']}/v1/research"
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=10), headers=headers) as session,
                session.post(address, json={"query": self._question()}) as response,
            ):
                if response.status == 202:
                    self.jobs.append((await response.json())["job_id"])
                else:
                    self.refused[f"HTTP: {response.status}"] += 1
        except (ClientError, ConnectionError, TimeoutError):
            self.refused["HTTP: the server was away"] += 1


@dataclass(frozen=True)
class Verdict:
    """What came of it. `lost`, `doubled` and `unfinished` say where; all are empty when nothing went wrong."""

    ends: Counter[str]
    unheard: int
    lost: list[str]
    doubled: list[str]
    unfinished: list[str]

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.unfinished)


async def judge(traffic: Traffic) -> Verdict:
    """Wait until all jobs have ended and all messages were edited for the last time, then look."""
    async with front(traffic.house.env) as house:
        with suppress(TimeoutError):  # the verdict names them
            await all_ended(house, within_s=ENDS_WITHIN_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN_S):
                while _waiting(traffic):  # noqa: ASYNC110  # other processes change it
                    await asyncio.sleep(0.5)
        ends, unfinished, doubled = await _read_jobs(house, traffic)
    lost = _waiting(traffic)
    unheard = sum(not traffic.house.discord.replies_to(one) for one in traffic.discord)
    return Verdict(ends, unheard, lost, doubled + _twice(traffic), unfinished)


async def _read_jobs(house: House, traffic: Traffic) -> tuple[Counter[str], list[str], list[str]]:
    """How the jobs asked over HTTP ended, which did not, and which were told to end twice."""
    ends: Counter[str] = Counter()
    unfinished, doubled = [], []
    for job_id in traffic.jobs:
        job = await house.researcher.job(job_id)
        ends[job.status.value + (f": {job.error.code}" if job.error else "")] += 1
        if job.status not in TERMINAL_STATUSES:
            unfinished.append(job_id)
        reader = Reader()
        with suppress(TimeoutError):  # a log without an end is counted
            await reader.follow(house, job_id)  # one that Redis has lost is told again from what is stored
        completes = sum(event.type == "complete" for event in reader.events)
        if not completes:
            unfinished.append(f"{job_id}: never told that it has ended")
        elif completes > 1:
            doubled.append(f"{job_id}: told {completes} times that it has ended")
    return ends, unfinished, doubled


def _finals(traffic: Traffic, asked: Interaction | Message) -> list[Message]:
    return [one for one in traffic.house.discord.replies_to(asked) if is_final(one)]


def _endings(traffic: Traffic, channel: str) -> int:
    return sum(one.text.startswith(ENDINGS) for one in traffic.house.slack.state.of_bot(channel))


def _waiting(traffic: Traffic) -> list[str]:
    """Who was heard and has no answer."""
    discord = traffic.house.discord
    return [
        *(f"Discord {one.id}" for one in traffic.discord if discord.replies_to(one) and not _finals(traffic, one)),
        *(f"Slack {channel}" for channel, heard in traffic.slack.items() if heard and not _endings(traffic, channel)),
    ]


def _twice(traffic: Traffic) -> list[str]:
    return [
        *(f"Discord {one.id}" for one in traffic.discord if len(_finals(traffic, one)) > 1),
        *(f"Slack {channel}" for channel in traffic.slack if _endings(traffic, channel) > 1),
    ]
