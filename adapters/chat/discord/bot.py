"""The Discord bot: hands commands and mentions to research, and edits one message per question.

Answers are core's business, limits render.py's, scopes translate.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import discord
from discord import app_commands

from adapters.chat.discord.buttons import ShowSources, view_of
from adapters.chat.discord.render import DiscordMessage, DiscordVoice, sources_text
from adapters.chat.discord.translate import Place, place_of_interaction, place_of_message, question_of
from adapters.chat.live import answer_live
from core import wording
from core.errors import GorkdError, JobNotFound, SetupError
from core.job import ResearchRequest
from core.page_links import PageLinks
from core.snapshot import Snapshot

if TYPE_CHECKING:
    from core.researcher import Researcher


@dataclass(frozen=True)
class DiscordSettings:
    token: str = field(repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> DiscordSettings:
        """Reads `DISCORD_TOKEN`. Raises `SetupError`."""
        if not env.get("DISCORD_TOKEN"):
            raise SetupError("DISCORD_TOKEN is not set; a bot's token stands in the Discord developer portal.")
        return cls(env["DISCORD_TOKEN"])


async def run_discord(researcher: Researcher, settings: DiscordSettings, *, links: PageLinks) -> None:
    """Runs until cancelled. Raises `SetupError` when Discord refuses the token."""
    async with ResearchBot(researcher, links) as bot:
        try:
            await bot.start(settings.token)
        except discord.LoginFailure as exc:
            raise SetupError("Discord refused DISCORD_TOKEN; copy it again from the developer portal.") from exc


class Editable(Protocol):
    """A sent message, or the answer to an interaction."""

    async def edit(self, *, embed: discord.Embed, view: discord.ui.View | None) -> object: ...


@dataclass(frozen=True)
class DiscordReply:
    message: Editable

    async def edit(self, payload: DiscordMessage, /) -> None:
        await self.message.edit(embed=payload.embed, view=view_of(payload))


@dataclass(frozen=True)
class InteractionMessage:
    """The one answer of a deferred interaction, as something to edit."""

    interaction: discord.Interaction[discord.Client]

    async def edit(self, *, embed: discord.Embed, view: discord.ui.View | None) -> object:
        return await self.interaction.edit_original_response(embed=embed, view=view)


class ResearchBot(discord.Client):
    def __init__(self, researcher: Researcher, links: PageLinks) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)  # none of them is privileged
        super().__init__(intents=intents, allowed_mentions=discord.AllowedMentions.none())
        self.researcher = researcher
        self.voice = DiscordVoice(links)
        self.tree = app_commands.CommandTree(self)
        self.tree.add_command(_research_command(self))

    async def setup_hook(self) -> None:
        self.add_dynamic_items(ShowSources)
        mine = self.tree.get_commands(type=discord.AppCommandType.chat_input)
        known = {command.name: command.description for command in await self.tree.fetch_commands()}
        if known != {command.name: command.description for command in mine}:
            await self.tree.sync()  # one global request, only on change

    async def on_message(self, message: discord.Message) -> None:
        """A mention, or a direct message, is a question."""
        if message.author.bot or self.user is None or (message.guild and self.user not in message.mentions):
            return
        question = question_of(message.content, self.user.id)
        if not question:
            await message.reply(wording.ASK_WHAT, mention_author=False)
            return
        placeholder = await message.reply(embed=self.voice.progress(Snapshot(), 0.0).embed, mention_author=False)
        await self.answer(DiscordReply(placeholder), question, place_of_message(message), message.id)

    async def answer(self, reply: DiscordReply, question: str, place: Place, key: int) -> None:
        """`key` is the id of the message or interaction: asked twice, it is still one question."""
        request = ResearchRequest(question, place.scope, asker=str(place.user_id))
        await answer_live(reply, self.voice, self.researcher, request, dedupe_key=f"discord:{key}")

    async def sources(self, job_id: str, place: Place) -> str:
        """What Show Sources shows; a job of another scope is not there."""
        try:
            job = await self.researcher.job(job_id)
            if job.scope != place.scope:
                raise JobNotFound(job_id)
            result = await self.researcher.result(job_id)
            return sources_text(await self.researcher.sources(job_id), result.answer if result else None)
        except GorkdError as error:
            return error.user_message


def _research_command(bot: ResearchBot) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="research", description="Research a question and answer it with sources")
    @app_commands.allowed_installs(guilds=True, users=True)
    @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    @app_commands.describe(query="Your question")
    async def research(interaction: discord.Interaction[discord.Client], query: str) -> None:
        await interaction.response.defer(thinking=True)
        reply = DiscordReply(InteractionMessage(interaction))
        await bot.answer(reply, query, place_of_interaction(interaction), interaction.id)

    return research
