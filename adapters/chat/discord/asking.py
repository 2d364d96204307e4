"""Questions by a command: acknowledged, given the place where they were asked, and asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import discord

from adapters.chat.discord.acks import acknowledge
from adapters.chat.discord.messages import conversation_of
from adapters.chat.discord.translate import Asked, place_of_interaction
from core.job import ResearchRequest

if TYPE_CHECKING:
    from adapters.chat.discord.bot import ResearchBot


async def ask_here(
    bot: ResearchBot,
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
    spot = await acknowledge(interaction, ephemeral=private)
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
