"""`/section`: a section of a paper, written from this place's papers for a context that comes as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import discord
from discord import app_commands

from adapters.chat.discord.asking import ask_here
from adapters.chat.discord.translate import Asked
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
        is_in_thread = isinstance(interaction.channel, discord.Thread | discord.DMChannel)
        refusal = "" if context or is_in_thread else NO_BRIEF
        request = ResearchRequest(words_for(section), modes=("section",))
        files = [file for file in (context, experiment) if file is not None]
        await ask_here(bot, interaction, request, private=private, files=files, refusal=refusal)

    return section_of_paper
