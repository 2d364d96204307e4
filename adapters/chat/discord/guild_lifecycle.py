"""Servers that invite the bot, and servers that remove it: a word of welcome, and nothing left behind."""

from __future__ import annotations

import logging
import secrets

import aiohttp
import discord

from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import PLATFORM
from adapters.chat.discord.help import help_text
from core.errors import GorkdError
from core.presentation import wording

UNKNOWN_GUILD, MISSING_ACCESS = 10004, 50001  # what Discord says of a server that the bot is not in

_log = logging.getLogger(__name__)


async def welcome_guild(bot: ResearchClient, guild: discord.Guild) -> None:
    """How to ask, where the bot may write. A server that had removed the bot begins anew."""
    try:
        await bot.leaving.settle(_tenant(guild.id))
        await bot.leaving.arrived(_app(bot), _tenant(guild.id))
        channel = _place_to_greet(guild)
        if channel is None:
            return
        text, nonce = f"**{wording.WELCOME}**\n{help_text()}\n\n{wording.DISCORD_SETTINGS}", secrets.token_hex(8)
        if channel.permissions_for(guild.me).embed_links:
            await channel.send(embed=bot.voice.notice(text).embed, nonce=nonce)
        else:
            await channel.send(f"**{wording.WELCOME}**\n{wording.WHAT_IT_IS}", nonce=nonce)
    except GorkdError as error:
        _log.warning("what was kept before is not gone yet", extra={"guild": guild.id, "error": str(error)})
    except discord.HTTPException as exc:
        _log.warning("nobody was welcomed", extra={"guild": guild.id, "error": str(exc)})


async def leave_guild(bot: ResearchClient, guild: discord.Guild) -> None:
    """The bot was removed from a server: what runs is cancelled, and everything of it erased."""
    try:
        await bot.leaving.leave(_tenant(guild.id))
    except GorkdError as error:
        _log.error("a server's departure is not noted", extra={"guild": guild.id, "error": str(error)})


async def notice_departures(bot: ResearchClient) -> None:
    """Servers that removed the bot while it was away. What Discord cannot tell for certain is asked again next time."""
    try:
        present = {_tenant(guild.id) async for guild in bot.fetch_guilds(limit=None, with_counts=False)}
        for tenant in await bot.leaving.missing(_app(bot), present):
            if await _is_gone(bot, tenant):
                await bot.leaving.leave(tenant)
    except (GorkdError, discord.HTTPException, aiohttp.ClientError, OSError) as exc:
        _log.warning("not known whether a server has removed the bot", extra={"error": str(exc)})


async def _is_gone(bot: ResearchClient, tenant: str) -> bool:
    """Whether the bot is in that server no more. Raises what says nothing about it, as of an outage."""
    try:
        await bot.fetch_guild(int(tenant.removeprefix(f"{PLATFORM}:")), with_counts=False)
    except discord.HTTPException as exc:
        if exc.code in (UNKNOWN_GUILD, MISSING_ACCESS):
            return True
        raise
    return False


def _place_to_greet(guild: discord.Guild) -> discord.TextChannel | None:
    """Where Discord itself greets, else the first channel in which the bot may write."""
    channels = [guild.system_channel] if guild.system_channel else []
    for channel in [*channels, *guild.text_channels]:
        may = channel.permissions_for(guild.me)
        if may.view_channel and may.send_messages:
            return channel
    return None


def _tenant(guild_id: int) -> str:
    return f"{PLATFORM}:{guild_id}"


def _app(bot: ResearchClient) -> str:
    return f"{PLATFORM}:{bot.application_id}"
