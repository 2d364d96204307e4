"""The first answer to an interaction, which Discord wants within 3 seconds, and where the rest can then be said."""

from __future__ import annotations

import logging
import time

import aiohttp
import discord

from adapters.chat.discord import delivery
from adapters.chat.discord.delivery import MessageAddress
from adapters.chat.discord.translate import Asked

ALREADY_ACKED = 40060  # an earlier try took effect, although its reply was lost
TOO_LATE = 10062
STANDS = "acknowledged"

_log = logging.getLogger(__name__)


async def acknowledge(interaction: Asked, *, ephemeral: bool = False, in_place: bool = False) -> MessageAddress | None:
    """Say that it was heard. `ephemeral` shows the answer to one person; `in_place` edits the pressed message.

    None when Discord takes no answer any more and nothing else can be written to.
    """
    for _ in range(0 if interaction.extras.get(STANDS) else 2):  # a reply that was lost is asked for once more
        try:
            if in_place:
                await interaction.response.defer()
            else:
                await interaction.response.defer(ephemeral=ephemeral, thinking=True)
        except (aiohttp.ClientError, OSError) as exc:
            _log.warning("acknowledgement lost", extra={"error": str(exc)})
            continue
        except discord.InteractionResponded:
            _log.info("acknowledged before")
        except discord.HTTPException as exc:
            if exc.code == TOO_LATE:
                return _without_token(interaction, ephemeral=ephemeral)
            if exc.code == ALREADY_ACKED:
                interaction.extras[STANDS] = True  # which discord.py does not know
            elif exc.status < 500:
                raise
        break
    return _spot(interaction, ephemeral=ephemeral, in_place=in_place)


async def open_form(interaction: Asked, form: discord.ui.Modal) -> None:
    """A form must be the first answer; one whose reply was lost stands open all the same."""
    try:
        await interaction.response.send_modal(form)
    except (aiohttp.ClientError, OSError) as exc:
        _log.warning("form perhaps not opened", extra={"error": str(exc)})
    except discord.HTTPException as exc:
        if exc.code != ALREADY_ACKED:
            _log.warning("form not opened", extra={"error": str(exc)})


def _spot(interaction: Asked, *, ephemeral: bool, in_place: bool) -> MessageAddress:
    message = interaction.message if in_place else None
    is_hidden = ephemeral or bool(message and message.flags.ephemeral)
    return MessageAddress(
        channel_id=interaction.channel_id or 0,
        asker_id=interaction.user.id,
        token=interaction.token,
        token_until=time.time() + delivery.TOKEN_LIFE_S,
        can_post=may_post(interaction) and not is_hidden,
        can_embed=may_embed(interaction),
    )


def _without_token(interaction: Asked, *, ephemeral: bool) -> MessageAddress | None:
    if ephemeral or not may_post(interaction):
        return None
    return MessageAddress(
        channel_id=interaction.channel_id or 0,
        asker_id=interaction.user.id,
        question_id=interaction.id,
        can_post=True,
        can_embed=may_embed(interaction),
    )


def may_post(interaction: Asked) -> bool:
    """Whether the bot may send messages of its own where the interaction is."""
    if interaction.context.dm_channel:
        return True
    if not interaction.is_guild_integration():
        return False
    allowed = interaction.app_permissions
    is_thread = isinstance(interaction.channel, discord.Thread)
    return allowed.view_channel and (allowed.send_messages_in_threads if is_thread else allowed.send_messages)


def may_embed(interaction: Asked) -> bool:
    """Where the bot is no member it may what everybody may."""
    return not interaction.is_guild_integration() or interaction.app_permissions.embed_links
