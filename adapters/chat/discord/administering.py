"""`/research-settings`: whoever may manage the server sees its settings, and changes them in a form for each group."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import discord
from discord import app_commands

from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import open_form
from adapters.chat.discord.markup import plain
from adapters.chat.discord.payload import DiscordButton, DiscordMessage, word
from adapters.chat.discord.translate import Asked, place_of_interaction
from core.model.errors import GorkdError
from core.presentation import wording
from core.tenancy.settings import (
    FIELDS,
    GROUPS,
    Ceilings,
    Field,
    Group,
    SettingsRefused,
    TenantSettings,
    read_settings,
    said_word,
    unset_words,
    write_setting,
)
from core.tenancy.settings_desk import KeptSettings, SettingChange, SettingsChanged
from core.text.saying import say, say_day

LOG = "log"
LOG_LENGTH = 15
MAX_CHOSEN = 25  # of one menu (docs.discord.com, select menus)
LABEL_ROOM, HINT_ROOM, TEXT_ROOM = 45, 100, 4000  # of a form's field
VALUE_ROOM = 300  # of one value where they are listed
FIELD_ROOM = 1024  # of an embed's field
COLOUR = 0x1D3C4F
OF_SETTINGS = rf"settings:(?P<group>{'|'.join([*GROUPS, LOG])})"
_FORM = rf"settings:(?:{'|'.join(GROUPS)}):(?P<version>[0-9]{{1,9}})"
_CHANNELS = [discord.ChannelType.text, discord.ChannelType.news, discord.ChannelType.forum, discord.ChannelType.voice]


def settings_form(group: Group, kept: KeptSettings, ceilings: Ceilings) -> discord.ui.Modal:
    """The settings of one group, as they were at a version; read from the interaction itself, as other forms are."""
    form = discord.ui.Modal(title=say(GROUPS[group]), custom_id=f"settings:{group}:{kept.version}", timeout=15 * 60.0)
    for field in FIELDS.values():
        if field.group == group and (made := _component(field, kept.settings, ceilings)):
            label, hint = said_word(field.title)[:LABEL_ROOM], said_word(field.hint)[:HINT_ROOM]
            form.add_item(discord.ui.Label(text=label, description=hint, component=made))
    return form


def settings_command(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="research-settings", description=word("commands.settings"))
    @app_commands.guild_install()
    @app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
    @app_commands.default_permissions(manage_guild=True)
    async def research_settings(interaction: Asked) -> None:
        await _for_managers(bot, interaction, partial(_panel, bot))

    return research_settings


async def _for_managers(
    bot: ResearchClient, interaction: Asked, make: Callable[[str], Awaitable[DiscordMessage]]
) -> None:
    """What `make` gives for the tenant, to whoever may manage the server."""
    place = place_of_interaction(interaction)
    refusal = bot.voice.refusal(say(wording.SETTINGS_ADMINS_ONLY))
    await bot.whisper(interaction, partial(make, place.scope.tenant) if place.is_manager else refusal)


async def press_settings(bot: ResearchClient, interaction: Asked, group: str) -> None:
    """A button below the settings: a form, or the log."""
    if group == LOG or not place_of_interaction(interaction).is_manager:
        await _for_managers(bot, interaction, partial(_log_of, bot))
        return
    tenant = place_of_interaction(interaction).scope.tenant
    try:
        form = settings_form(cast("Group", group), await bot.rules.show(tenant), bot.rules.ceilings(tenant))
    except GorkdError as error:
        await bot.whisper(interaction, bot.voice.refusal(error.user_message))
        return
    await open_form(interaction, form)


def settings_of(custom_id: str, rows: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, str]] | None:
    """Of a submitted form the version it was filled in from, and what it says by setting; None for any other."""
    found = re.fullmatch(_FORM, custom_id)
    if found is None:
        return None
    fields = (row.get("component") or {} for row in rows)
    given = {  # as `read_setting` takes it
        str(field["custom_id"]): " ".join(field["values"]) if "values" in field else str(field.get("value") or "")
        for field in fields
        if field.get("custom_id") in FIELDS
    }
    return int(found["version"]), given


async def submit_settings(bot: ResearchClient, interaction: Asked, version: int, given: dict[str, str]) -> None:
    """Save what a form says, and show the settings as they are then, with what was wrong."""

    async def make(tenant: str) -> DiscordMessage:
        try:
            settings = read_settings(given, (await bot.rules.show(tenant)).settings)
            changes = await bot.rules.save(tenant, settings, version=version, who=str(interaction.user.id))
            bot.tongues.note_workspace(tenant, settings)
            notice = say(wording.SETTINGS_SAVED) if changes else say(wording.SETTINGS_UNCHANGED)
        except SettingsRefused as refused:
            wrong = "\n".join(
                f"· **{said_word(FIELDS[key].title)}**: {plain(said, 200)}" for key, said in refused.refusals.items()
            )
            notice = f"{word('settings.not_saved')}\n{wrong}"
        except SettingsChanged as changed:
            notice = changed.user_message
        return await _panel(bot, tenant, notice=notice)

    await _for_managers(bot, interaction, make)


async def _panel(bot: ResearchClient, tenant: str, *, notice: str = "") -> DiscordMessage:
    kept, changes = await bot.rules.show(tenant), await bot.rules.log(tenant, limit=1)
    embed = discord.Embed(title=say(wording.SETTINGS), description=notice or word("settings.text"), colour=COLOUR)
    for group, title in GROUPS.items():
        embed.add_field(name=say(title), value=_listed(group, kept.settings), inline=False)
    if changes:
        embed.set_footer(text=f"{word('settings.last_changed')} {say_day(changes[0].at)}")
    buttons = [DiscordButton(say(title), f"settings:{group}") for group, title in GROUPS.items()]
    log = DiscordButton(word("settings.log"), f"settings:{LOG}")
    said = "\n".join([notice, *(f"{field.name}\n{field.value}" for field in embed.fields)]).strip()
    return DiscordMessage(embed, said[:2000], rows=(tuple(buttons), (log,)))


async def _log_of(bot: ResearchClient, tenant: str) -> DiscordMessage:
    changes = await bot.rules.log(tenant, limit=LOG_LENGTH)
    lines = [_told(change) for change in changes if change.key in FIELDS]
    said = "\n".join(lines) or say(wording.NO_CHANGES_YET)
    return bot.voice.notice(f"**{say(wording.SETTINGS_LOG)}**\n{said}"[:2000])


def _component(field: Field, settings: TenantSettings, ceilings: Ceilings) -> discord.ui.Item[Any] | None:
    """None for what there is nothing to choose of, or more than a menu can hold."""
    value = getattr(settings, field.key)
    if field.key == "channels":
        return _channel_menu(value) if len(value) <= MAX_CHOSEN else None
    if field.choices:
        chosen = write_setting(field.key, settings)
        return _menu(field.key, field.choices, [chosen], most=1, least=1)
    if field.key == "providers":
        offered = [(name, name) for name in dict.fromkeys([*ceilings.providers, *value])][:MAX_CHOSEN]
        return _menu(field.key, offered, value, most=len(offered), least=0) if offered else None
    is_list = isinstance(value, tuple)
    written = "\n".join(value) if is_list else (write_setting(field.key, settings) if value is not None else "")
    return discord.ui.TextInput(
        custom_id=field.key,
        style=discord.TextStyle.paragraph if is_list else discord.TextStyle.short,
        placeholder=unset_words(field, ceilings) or field.example,
        default=written or None,
        max_length=TEXT_ROOM if is_list else 20,
        required=False,
    )


def _channel_menu(chosen: Sequence[str]) -> discord.ui.ChannelSelect[Any]:
    return discord.ui.ChannelSelect(
        custom_id="channels",
        channel_types=_CHANNELS,
        placeholder=said_word("everywhere").capitalize(),
        min_values=0,
        max_values=MAX_CHOSEN,
        required=False,
        default_values=[
            discord.SelectDefaultValue(id=int(channel), type=discord.SelectDefaultValueType.channel)
            for channel in chosen
            if channel.isdecimal()
        ],
    )


def _menu(
    key: str, choices: Sequence[tuple[str, str]], chosen: Sequence[str], *, most: int, least: int
) -> discord.ui.Select[Any]:
    options = [
        discord.SelectOption(label=said_word(text)[:100], value=name, default=name in chosen) for name, text in choices
    ]
    return discord.ui.Select(
        custom_id=key,
        options=options,
        min_values=least,
        max_values=most,
        required=bool(least),
        placeholder=said_word("all").capitalize(),
    )


def _listed(group: Group, settings: TenantSettings) -> str:
    fields = [field for field in FIELDS.values() if field.group == group]
    lines = [f"**{said_word(field.title)}**: {_value(field, write_setting(field.key, settings))}" for field in fields]
    return "\n".join(lines)[:FIELD_ROOM]


def _told(change: SettingChange) -> str:
    field, who = FIELDS[change.key], f"<@{change.who}>" if change.who.isdecimal() else wording.changed_by(change.who)
    before, after = _value(field, change.before), _value(field, change.after)
    return f"· {say_day(change.at)}, {who}: **{said_word(field.title)}** {before} → {after}"


def _value(field: Field, text: str) -> str:
    if field.key == "channels" and text != field.unset:
        return ", ".join(f"<#{channel}>" for channel in text.split(", ") if channel.isdecimal())
    return plain(said_word(dict(field.choices).get(text, text)), VALUE_ROOM)
