"""From Discord's objects to a question, and to the scope it was asked in and may be seen from."""

from __future__ import annotations

import re
from dataclasses import dataclass

import discord

from core.model.job import ResearchJob, Scope, Tenant, personal
from core.tenancy.settings import DEFAULTS, TenantSettings

Asked = discord.Interaction[discord.Client]


@dataclass(frozen=True)
class DiscordPlace:
    """Where somebody asks or presses.

    `audience_id` is the channel whose members can read it: of a public thread its parent. `guild_id` is 0
    outside guilds and where the bot is no member. `is_open` says that the channel is known to be readable
    by everyone in the guild; `is_manager` that this person may change what belongs to all of it.
    """

    user_id: int
    channel_id: int
    guild_id: int = 0
    audience_id: int = 0
    is_direct: bool = False
    is_thread: bool = False
    is_open: bool = False
    is_manager: bool = False
    settings: TenantSettings = DEFAULTS

    @property
    def is_admin(self) -> bool:
        """Whether this person looks after what belongs to all here; in direct messages that is their own."""
        return self.is_direct or self.is_manager

    @property
    def public_id(self) -> str:
        """The channel, of a thread its parent; "" for direct messages."""
        return "" if self.is_direct else str(self.audience_id or self.channel_id)

    @property
    def talk(self) -> str:
        """Which conversation with the library this is: a thread's own, else each person's in the channel."""
        own = "" if self.is_direct or self.is_thread else f":{self.user_id}"
        return f"discord:{self.channel_id}{own}"

    @property
    def scope(self) -> Scope:
        """Unknown means the channel; a direct message is the user's own."""
        if self.is_direct:
            return Scope(self._tenant, personal(str(self.user_id)))
        is_shared = bool(self.guild_id) and self.is_open and self.settings.visibility == "workspace"
        return Scope(self._tenant, "workspace" if is_shared else f"channel:{self.audience_id or self.channel_id}")

    @property
    def own_scope(self) -> Scope:
        """Of what only this person is to see."""
        return Scope(self._tenant, personal(str(self.user_id)))

    def shows(self, job: ResearchJob) -> bool:
        """Whether this person may see the job here: asked in this channel, in the open, or by this person alone."""
        if job.scope in (self.scope, self.own_scope):
            return True
        if job.scope.visibility == f"channel:{self.audience_id or self.channel_id}":
            return True  # its message stands here; the tenant is another's when that person installed the bot
        return bool(self.guild_id) and job.scope == Scope(self._tenant, "workspace")

    @property
    def _tenant(self) -> str:
        return str(Tenant("discord", str(self.guild_id or self.user_id), is_person=not self.guild_id))


def place_of_message(message: discord.Message) -> DiscordPlace:
    return DiscordPlace(
        user_id=message.author.id,
        channel_id=message.channel.id,
        guild_id=message.guild.id if message.guild else 0,
        audience_id=audience_of(message.channel),
        is_direct=isinstance(message.channel, discord.DMChannel),
        is_thread=isinstance(message.channel, discord.Thread),
        is_open=is_open(message.channel),
        is_manager=isinstance(message.author, discord.Member) and message.author.guild_permissions.manage_guild,
    )


def place_of_interaction(interaction: Asked) -> DiscordPlace:
    """A user install in a guild whose member the bot is not counts as that user's own, channel by channel."""
    is_member = interaction.is_guild_integration()
    return DiscordPlace(
        user_id=interaction.user.id,
        channel_id=interaction.channel_id or 0,
        guild_id=(interaction.guild_id or 0) if is_member else 0,
        audience_id=audience_of(interaction.channel),
        is_direct=bool(interaction.context.dm_channel),
        is_thread=isinstance(interaction.channel, discord.Thread),
        is_open=is_member and is_open(interaction.channel),
        is_manager=is_member and interaction.permissions.manage_guild,
    )


def audience_of(channel: object) -> int:
    """The id of the channel whose members can read this one; 0 when it is its own."""
    return channel.parent_id if isinstance(channel, discord.Thread) and not channel.is_private() else 0


def is_open(channel: object) -> bool:
    """Whether everyone in the guild can read it; False when that is not known."""
    if isinstance(channel, discord.Thread):
        return not channel.is_private() and is_open(channel.parent)
    if not isinstance(channel, discord.abc.GuildChannel):
        return False
    everyone = channel.guild.get_role(channel.guild.id)
    return everyone is not None and channel.permissions_for(everyone).view_channel


def may_all_write(channel: discord.TextChannel) -> bool:
    """False too when that is not known."""
    everyone = channel.guild.get_role(channel.guild.id)
    return everyone is not None and channel.permissions_for(everyone).send_messages


def question_of(content: str, bot_id: int) -> str:
    """What was said to the bot, without mentioning it."""
    return re.sub(rf"<@!?{bot_id}>", " ", content).strip()


def text_of(message: discord.Message) -> str:
    """What a message says, its embeds included."""
    parts = [message.content]
    for embed in message.embeds:
        parts += [embed.title or "", embed.description or ""]
    return "\n".join(part for part in parts if part.strip())
