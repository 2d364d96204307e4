"""The commands: `/research`, "Research This" on a message, help, one's own history, and those of other parts."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import discord
from discord import app_commands

from adapters.chat.discord.administering import settings_command
from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import acknowledge
from adapters.chat.discord.library import library_command
from adapters.chat.discord.messages import conversation_of, help_text, history_message
from adapters.chat.discord.payload import DiscordMessage, word
from adapters.chat.discord.translate import Asked, place_of_interaction, text_of
from core.model.job import Depth, ResearchRequest
from core.modes import DEFAULT_MODE, choices_for, option_words, read_modes
from core.modes.options import CONTEXT, DEPTH, FRESH, MODE, PRIVATE, ROUNDS, TOP_K
from core.presentation import wording
from core.section.asking import CHOICES, NO_BRIEF, words_for

MAX_CHOICES = 25  # of an option that completes itself
CHOICE_LENGTH = 100
COMPARED = ("name", "description", "contexts", "integration_types")
COMPARED_OPTION = ("name", "description", "required", "autocomplete", "min_value", "max_value", "max_length")

_log = logging.getLogger(__name__)
_installs = app_commands.allowed_installs(guilds=True, users=True)
_contexts = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
_SECTIONS = [app_commands.Choice(name=title[:CHOICE_LENGTH], value=name) for name, title in CHOICES.items()]


def add_commands(bot: ResearchClient) -> None:
    makers = (_research, _research_this, _section, _help, _history, library_command, settings_command)
    for make in makers:
        bot.tree.add_command(make(bot))

    @bot.tree.error
    async def failed(interaction: Asked, error: app_commands.AppCommandError) -> None:
        _log.error("command failed", exc_info=error)

        async def apology() -> DiscordMessage:
            return bot.voice.refusal(wording.SOMETHING_BROKE)

        await bot.whisper(interaction, apology)


def _research(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="research", description=word("commands.research"))
    @_installs
    @_contexts
    @app_commands.describe(
        query=word("commands.research_query"),
        mode=MODE.description,
        depth=option_words(DEPTH),
        top_k=option_words(TOP_K),
        max_iterations=option_words(ROUNDS),
        context=CONTEXT.description,
        private=PRIVATE.description,
        fresh=FRESH.description,
        file=word("commands.research_file"),
    )
    async def research(  # noqa: PLR0917  # discord.py reads the options from the signature
        interaction: Asked,
        query: str,
        mode: str = DEFAULT_MODE,
        depth: Depth = DEPTH.default,
        top_k: app_commands.Range[int, TOP_K.least, TOP_K.most] = TOP_K.default,
        max_iterations: app_commands.Range[int, ROUNDS.least, ROUNDS.most] = ROUNDS.default,
        context: app_commands.Range[str, 0, 2000] = "",
        private: bool | None = None,
        fresh: bool = False,
        file: discord.Attachment | None = None,
    ) -> None:
        request = ResearchRequest(
            query,
            modes=read_modes(mode),
            depth=depth,
            top_k=top_k,
            max_iterations=max_iterations,
            context=context,
            is_fresh=fresh,
        )
        await ask_here(bot, interaction, request, private=private, files=[file] if file else [])

    research.autocomplete("mode")(_complete_mode)
    return research


async def _complete_mode(_: Asked, current: str) -> list[app_commands.Choice[str]]:
    """Every mode that somebody asks in, and several at once; checking a message begins at the message."""
    found = choices_for(current)[:MAX_CHOICES]
    return [app_commands.Choice(name=shown[:CHOICE_LENGTH], value=",".join(names)) for shown, names in found]


def _research_this(bot: ResearchClient) -> app_commands.ContextMenu:
    @app_commands.context_menu(name=wording.RESEARCH_THIS)
    @_installs
    @_contexts
    async def research_this(interaction: Asked, message: discord.Message) -> None:
        quoted = text_of(message)
        refusal = "" if quoted else word("asking.nothing_to_check")
        await ask_here(bot, interaction, ResearchRequest("", modes=("check",), quoted=quoted), refusal=refusal)

    return research_this


def _section(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="section", description=word("commands.section"))
    @_installs
    @_contexts
    @app_commands.describe(
        section=word("commands.section_section"),
        context=word("commands.section_context"),
        experiment=word("commands.section_experiment"),
        private=PRIVATE.description,
    )
    @app_commands.choices(section=_SECTIONS)
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


def _help(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="research-help", description=word("commands.help"))
    @_installs
    @_contexts
    async def research_help(interaction: Asked) -> None:
        async def make() -> DiscordMessage:
            return bot.voice.notice(help_text())

        await bot.whisper(interaction, make)

    return research_help


def _history(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="research-history", description=word("commands.history"))
    @_installs
    @_contexts
    async def research_history(interaction: Asked) -> None:
        await bot.whisper(interaction, partial(history_message, bot, place_of_interaction(interaction)))

    return research_history


async def ask_here(
    bot: ResearchClient,
    interaction: Asked,
    request: ResearchRequest,
    *,
    private: bool | None = False,
    files: Sequence[discord.Attachment] = (),
    refusal: str = "",
) -> None:
    """Answer `request` where a command was used, which says whose it is and who may see it.

    `private` None is what the server has set. A `refusal` is said instead of an answer.
    """
    place = await bot.placed(place_of_interaction(interaction))
    private = place.settings.visibility == "private" if private is None else private
    spot = await acknowledge(interaction, ephemeral=private or bool(refusal))
    if spot is None:
        return
    if refusal:
        await bot.reply(spot).edit(bot.voice.refusal(refusal))
        return
    asked = replace(
        request,
        scope=place.own_scope if private else place.scope,
        is_private=private,
        asker=str(place.user_id),
        thread=await conversation_of(bot, interaction.channel, interaction.id),
        channel=place.public_id,
    )
    await bot.ask(asked, spot, key=f"discord:{interaction.id}", files=files)


def is_registered(tree: app_commands.CommandTree[Any], registered: Sequence[Mapping[str, Any]]) -> bool:
    """Whether Discord knows our commands as they are now, so that they need not be sent again."""
    ours = sorted(_signature(command.to_dict(tree)) for command in _all(tree))
    return ours == sorted(_signature(command) for command in registered)


def _all(tree: app_commands.CommandTree[Any]) -> list[Any]:
    return [*tree.get_commands(type=discord.AppCommandType.chat_input),
            *tree.get_commands(type=discord.AppCommandType.message)]  # fmt: skip


def _signature(command: Mapping[str, Any]) -> str:
    """What of a command people notice; absent and false are the same."""
    options = [
        {**{key: option.get(key) for key in COMPARED_OPTION if option.get(key)}, "type": option["type"],
         "choices": [choice["value"] for choice in option.get("choices") or []]}
        for option in command.get("options") or []
    ]  # fmt: skip
    kept = {key: command.get(key) for key in COMPARED if command.get(key)}
    return repr((command["type"], sorted(kept.items(), key=str), options))
