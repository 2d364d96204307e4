"""A real gorkd process in a loopback Slack, and what people there look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.adapters.durable.outside import PAGES, QUESTION
from tests.adapters.durable.processes import Process
from tests.loopback.discord_house import LAUNCHER
from tests.loopback.slack_state import BOT_USER, Channel, Message
from tests.loopback.slack_world import SlackWorld
from tests.loopback.world import SitePage, World
from tests.shared_data import ROOT

COMPLETE = "Research Complete"
PUBLIC_URL = "https://gorkd.test"
ENDINGS = (COMPLETE, "Not Enough Sources", "Research Failed", "Research Cancelled", "Please wait")


@dataclass
class SlackHouse:
    """`gorkd all` and the workspace it serves. People are new for each test, so that quotas never meet."""

    world: World
    slack: SlackWorld
    env: Mapping[str, str]
    process: Process = field(init=False)

    @property
    def first_call(self) -> str:
        """What makes the message that lives, in a thread."""
        return "chat.postMessage" if "GORKD_SLACK_STREAMING" in self.env else "chat.startStream"

    async def restart(self) -> None:
        """Kill it without warning, and start another."""
        await self.process.killed()
        await self.start()

    async def start(self) -> None:
        """Returns when Slack can reach it."""
        self.slack.socket.connected.clear()
        self.process = await Process.start("all", self.env, module=LAUNCHER)
        if "SLACK_APP_TOKEN" in self.env:
            await self.slack.socket.connected.wait()
        else:
            self.slack.over_http(self.process.address)

    def person(self, *channels: str) -> str:
        """Somebody new, who is in these channels."""
        user = self.slack.state.new_id("U")
        for channel in channels:
            self.slack.state.channels[channel].members.add(user)
        return user

    def channel(self, user: str, kind: str = "channel", *, with_bot: bool = True) -> str:
        """A channel of one's own."""
        channel_id = self.slack.state.new_id("C")
        members = {user, BOT_USER} if with_bot else {user}
        self.slack.state.channels[channel_id] = Channel(channel_id, kind, members)
        return channel_id

    def newcomer(self) -> tuple[str, str]:
        """Somebody new, and a channel of their own."""
        user = self.person()
        return user, self.channel(user)

    async def has_asked(self) -> tuple[str, str, Message]:
        """A newcomer who has asked there, and the answer."""
        user, channel = self.newcomer()
        return user, channel, await self.answered(user, channel)

    def endings(self, channel: str) -> list[Message]:
        """Messages that are the end of a question."""
        return [one for one in self.slack.state.of_bot(channel) if one.text.startswith(ENDINGS)]

    async def ended(self, channel: str, *, times: int = 1, within_s: float = 40.0) -> Message:
        """Wait until so many questions of a channel have their end; the last one's message."""
        await self.slack.until(lambda: len(self.endings(channel)) >= times, within_s=within_s)
        assert len(self.endings(channel)) == times
        return self.endings(channel)[-1]

    async def answered(self, user: str, channel: str, question: str = QUESTION) -> Message:
        """Ask by a mention; the message with the answer, when its sources have been posted too."""
        asked = await self.slack.mentions(user, channel, question)
        answer = await self.ended(channel)
        await self.sources_of(asked.ts)
        return answer

    async def sources_of(self, thread_ts: str) -> Message:
        """Wait for the sources in a thread; there is one such message."""

        def found() -> list[Message]:
            posted = self.slack.state.of_bot(thread_ts=thread_ts)
            return [one for one in posted if one.text.startswith("Sources: ")]

        await self.slack.until(found)
        assert len(found()) == 1
        return found()[0]

    def whispers(self, user: str) -> list[str]:
        return [one.shown for one in self.slack.state.ephemerals if one.user == user]


def manifest_scopes() -> set[str]:
    """What an app made from our manifest may do."""
    return set(yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))["oauth_config"]["scopes"]["bot"])


@asynccontextmanager
async def slack_house(
    data: Path,
    *,
    http: bool = False,
    service: str = "tavily",
    embedder: bool = False,
    pages: Mapping[str, SitePage] = PAGES,
    **changes: str,
) -> AsyncIterator[SlackHouse]:
    """Everything in one process, that searches with `service`. `changes` are more settings."""
    async with World.of(pages) as world, SlackWorld.open() as slack:
        slack.state.scopes = manifest_scopes()
        env = {
            **world.search.env("arxiv"),
            **world.env(data, service, model=True, embedder=embedder),
            **slack.env(http=http),
            "PORT": "0",
            "GORKD_PUBLIC_URL": PUBLIC_URL,
            "GORKD_SLACK_WORKSPACE_PER_MIN": "1000",
            **changes,
        }
        house = SlackHouse(world, slack, env)
        await house.start()
        try:
            yield house
        finally:
            await house.process.killed()
