"""`/section`: a section of a paper, written from this place's papers for a context that comes as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import discord
from discord import app_commands

from adapters.chat.discord.acks import acknowledge
from adapters.chat.discord.messages import conversation_of
from adapters.chat.discord.translate import Asked, place_of_interaction
from adapters.chat.discord.words import word
from core.job import ResearchRequest
from core.modes.options import PRIVATE
from core.section.asking import CHOICES, NO_BRIEF, words_for

if TYPE_CHECKING:
    from adapters.chat.discord.bot import ResearchBot

CHOICE_LENGTH = 100
_CHOICES = [app_commands.Choice(name=title[:CHOICE_LENGTH], value=name) for name, title in CHOICES.items()]


def section_command(bot: ResearchBot) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="section", description=word("commands.section"))
    @app_commands.allowed_installs(guilds=True, users=True)
    @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    @app_commands.describe(
        section=word("commands.section_section"),
        context=word("commands.section_context"),
        experiment=word("commands.section_experiment"),
        private=PRIVATE.description,
    )
    @app_commands.choices(section=_CHOICES)
    async def section_of_paper(
        interaction: Asked,
        section: str,
        context: discord.Attachment | None = None,
        experiment: discord.Attachment | None = None,
        private: bool | None = None,
    ) -> None:
        place = await bot.placed(place_of_interaction(interaction))
        private = place.settings.visibility == "private" if private is None else private
        spot = await acknowledge(interaction, ephemeral=private)
        if spot is None:
            return
        is_in_thread = isinstance(interaction.channel, discord.Thread | discord.DMChannel)
        if context is None and not is_in_thread:
            await bot.reply(spot).edit(bot.voice.refusal(NO_BRIEF))
            return
        request = ResearchRequest(
            words_for(section),
            place.own_scope if private else place.scope,
            modes=("section",),
            is_private=private,
            asker=str(place.user_id),
            thread=await conversation_of(bot, interaction.channel, interaction.id),
            channel=place.public_id,
        )
        files = [file for file in (context, experiment) if file is not None]
        await bot.ask(request, spot, key=f"discord:{interaction.id}", files=files)

    return section_of_paper
