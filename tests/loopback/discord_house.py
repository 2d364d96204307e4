"""gorkd's own processes in a loopback Discord and a loopback web: a bot and a worker, as an operator runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.presentation import wording
from tests.adapters.durable.outside import PAGES, USUAL
from tests.adapters.durable.processes import Process
from tests.loopback.deep_responders import DEEP
from tests.loopback.discord_data import Interaction, Message
from tests.loopback.discord_world import TOKEN, DiscordWorld, discord_world
from tests.loopback.openai_responders import Fault, by_schema
from tests.loopback.world import SitePage, World

RESPONDERS = {**USUAL, **DEEP}
LAUNCHER = "tests.loopback.launcher"
SETTINGS = {
    "GORKD_PUBLIC_URL": "https://gorkd.test",
    "GORKD_SECRET": "loopback-secret-of-32-characters!",
    "GORKD_DISCORD_USER_PER_MIN": "1000",
    "GORKD_DISCORD_GUILD_PER_MIN": "1000",
}


@dataclass
class House:
    """`bot` and `worker` are the processes now running; `start_…` replaces one that has ended."""

    discord: DiscordWorld
    world: World
    env: Mapping[str, str]
    bot: Process = field(init=False)
    worker: Process = field(init=False)

    async def start_worker(self) -> None:
        self.worker = await Process.start("worker", self.env)

    async def start_bot(self) -> None:
        """Returns when the bot has got its guilds."""
        before = len(self.discord.gateway.sessions)
        self.bot = await Process.start("discord", self.env, module=LAUNCHER, wait=False)
        await self.discord.until(lambda: len(self.discord.gateway.sessions) > before, within_s=30)

    async def restart_bot(self) -> None:
        """Kill it without warning, and start another."""
        await self.bot.killed()
        await self.start_bot()

    async def final(self, asked: Interaction | Message, *, within_s: float = 30.0) -> Message:
        """The one message that answers `asked`, when it has come to its end."""

        def answers() -> list[Message]:
            return [one for one in self.discord.replies_to(asked) if is_final(one)]

        try:
            await self.discord.until(answers, within_s=within_s)
        except TimeoutError:
            shown = [one.text for one in self.discord.replies_to(asked)]
            raise AssertionError(f"no answer but {shown}; the bot said {self.bot.lines[-8:]}") from None
        assert len(answers()) == 1, [one.text for one in answers()]
        return answers()[0]

    async def running(self, asked: Interaction | Message) -> Message:
        """The message that answers `asked`, when it can be cancelled."""

        def cancellable() -> list[Message]:
            return [one for one in self.discord.replies_to(asked) if "Cancel" in one.buttons]

        await self.discord.until(cancellable)
        return cancellable()[0]

    def at_rest(self) -> None:
        """Make the outside friendly and quick again."""
        self.world.search.faults.clear()
        self.world.model.respond = by_schema(RESPONDERS)
        self.world.model.first_token_s = 0.0

    def hang_at(self, schema: str) -> None:
        """The model never answers calls for `schema`, until `at_rest`; what hangs already goes on hanging."""
        self.world.model.respond = by_schema({**RESPONDERS, schema: lambda call: Fault(hang_first=True)})


def is_final(message: Message) -> bool:
    """Whether it is no longer a placeholder or a progress report."""
    title = str(message.embed.get("title") or message.text)
    passing = ("Researching", "📚 Library", "being restarted; your answer will", wording.ON_IT)
    return not message.is_thinking and bool(message.text) and not any(words in title for words in passing)


@asynccontextmanager
async def discord_house(
    data: Path,
    *,
    service: str = "tavily",
    embedder: bool = False,
    env: Mapping[str, str] | None = None,
    pages: Mapping[str, SitePage] = PAGES,
    **how: Any,
) -> AsyncIterator[House]:
    """A bot and a worker that are ready and search with `service`; `how` sets attributes of the Discord.

    Ends by judging what Discord refused.
    """
    async with discord_world(**how) as discord, World.of(pages) as world:
        settings = {
            **world.search.env("arxiv"),
            **world.env(data, service, model=True, embedder=embedder),
            **SETTINGS,
            "DISCORD_TOKEN": TOKEN,
            "LOOPBACK_DISCORD": discord.url,
            "LOOPBACK_TOKEN_S": str(discord.token_s),
            **(env or {}),
        }
        house = House(discord, world, settings)
        try:
            await asyncio.gather(house.start_worker(), house.start_bot())
            yield house
        finally:
            for process in (getattr(house, "bot", None), getattr(house, "worker", None)):
                if process is not None:
                    await process.killed()
