"""Short words to one person: everything an interaction may need to be told besides an answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import discord

from adapters.chat.discord.acks import acknowledge
from adapters.chat.discord.payload import DiscordMessage
from adapters.chat.discord.translate import Asked
from adapters.chat.reply import AddressDead
from core import wording
from core.delivery import Address
from core.errors import GorkdError

if TYPE_CHECKING:
    from adapters.chat.discord.bot import ResearchBot

_log = logging.getLogger(__name__)


async def whisper(
    bot: ResearchBot, interaction: Asked, make: Callable[[], Awaitable[DiscordMessage]], *, ephemeral: bool = True
) -> Sequence[Address]:
    """Acknowledge, then show what `make` gives, or why there is nothing. Always ends in an edit; gives where it is."""
    spot = await acknowledge(interaction, ephemeral=ephemeral)
    if spot is None:
        return ()
    try:
        said = await make()
    except GorkdError as error:
        said = bot.voice.refusal(error.user_message)
    except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
        _log.exception("interaction failed")
        said = bot.voice.refusal(wording.SOMETHING_BROKE)
    reply = bot.reply(spot)
    try:
        await reply.edit(said)
    except (AddressDead, discord.HTTPException) as exc:
        _log.warning("nothing could be said", extra={"error": str(exc)})
    return reply.shown
