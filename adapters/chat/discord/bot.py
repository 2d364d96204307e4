"""The Discord bot: a client that hands what people do to research, and keeps one message alive per question; and its
commands.

Answers are core's business, limits render.py's, scopes translate.py's, editing delivery.py's.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import aiohttp
import discord
from discord import app_commands
from discord.http import Route

from adapters.chat.connecting import ChatDeps, PlatformAway, keep_resuming, keep_trying
from adapters.chat.desk import Show, Watching, hear_command, told_of
from adapters.chat.discord.administering import (
    OF_SETTINGS,
    press_settings,
    settings_command,
    settings_of,
    submit_settings,
)
from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import PLATFORM, DiscordReply, MessageAddress, acknowledge
from adapters.chat.discord.incoming import (
    choose,
    conversation_of,
    elsewhere,
    forget_messages,
    hear,
    hear_edited,
    press_button,
    submit_form,
    watch_place,
)
from adapters.chat.discord.library import DiscordLibraryVoice, library_command, press_library
from adapters.chat.discord.payload import (
    OF_JOB,
    OF_LIBRARY,
    OF_MENU,
    PRESSES,
    CommandWords,
    DiscordMessage,
    word,
    written,
)
from adapters.chat.discord.render import help_text
from adapters.chat.discord.settings import DiscordSettings
from adapters.chat.discord.translate import Asked, DiscordPlace, place_of_interaction, text_of
from adapters.chat.library import LiveTalks
from adapters.chat.reply import best_effort, ended_with_block
from adapters.chat.watching import last_answer
from core.model.delivery import Address
from core.model.errors import GorkdError, SetupError
from core.model.job import Depth, ResearchRequest
from core.modes import DEFAULT_MODE, choices_for, option_words, read_modes
from core.modes.mode import CONTEXT, DEPTH, FRESH, MODE, PRIVATE, ROUNDS, TOP_K
from core.presentation import wording
from core.section.sections import CHOICES, NO_BRIEF, words_for
from core.text.saying import say
from core.watch.words import command_wish

GRACE_S = 30.0  # a stopping bot lets living messages end for this long (G-02)
LAST_WORDS_S = 5.0  # then what was pressed or commanded meanwhile is refused
LOGIN_S = 60.0  # discord.py itself waits for ever
REFUSED = "Discord refused DISCORD_TOKEN; copy it again from the developer portal."
AUTHENTICATION_FAILED = 4004  # the gateway closes with it when a token was reset (Discord, gateway close event codes)
# What a Discord that is away raises, and last what discord.py makes of a body that is not Discord's.
AWAY = (aiohttp.ClientError, discord.DiscordException, OSError, LookupError, TypeError, ValueError, AttributeError)

_log = logging.getLogger(__name__)


async def run_discord(deps: ChatDeps, settings: DiscordSettings) -> None:
    """Runs until cancelled, then lets living messages end. Raises `SetupError` when Discord refuses the token."""
    async with ResearchBot(deps, settings) as bot:
        running = asyncio.create_task(bot.run_forever(), name="discord")
        try:
            async with ended_with_block(bot.keep_resuming()), ended_with_block(bot.keep_taking_away()):
                await asyncio.shield(running)
        finally:
            await bot.retire()
            await bot.close()
            running.cancel()  # it may wait for a Discord that is away, and would try again for ever
            await asyncio.gather(running, return_exceptions=True)


class ResearchBot(ResearchClient):
    def __init__(self, deps: ChatDeps, settings: DiscordSettings) -> None:
        super().__init__(deps, settings)
        drawn = DiscordLibraryVoice(deps.links)
        self.library = LiveTalks(deps.talks, drawn, platform=PLATFORM, pace=self.pace, turns=deps.turns)
        self._arriving: asyncio.Task[None] | None = None
        add_commands(self)

    async def run_forever(self) -> None:
        """Raises `SetupError`. Discord being away is waited out."""
        await keep_trying("Discord", self._connect)

    async def _connect(self) -> None:
        """Log in and stay. Raises `SetupError` for what Discord refuses for good, else `PlatformAway`."""
        try:
            async with asyncio.timeout(LOGIN_S):
                await self.login(self.settings.token)
            await self.connect()
        except discord.LoginFailure as exc:
            raise SetupError(REFUSED) from exc
        except discord.ConnectionClosed as exc:
            if exc.code == AUTHENTICATION_FAILED:
                raise SetupError(REFUSED) from exc
            raise PlatformAway(f"the gateway closed with {exc.code}") from exc
        except AWAY as exc:
            raise PlatformAway(f"{type(exc).__name__}: {exc}") from exc
        finally:
            self._stop_arriving()
            await self.http.close()  # `login` makes another session
            self.http.connector = discord.utils.MISSING

    async def keep_resuming(self) -> None:
        """Discord says once that the bot is ready; what an outage of the records leaves later is taken up here."""
        await self.wait_until_ready()
        await keep_resuming(self._resume)

    async def keep_taking_away(self) -> None:
        """What was forgotten while the bot was off too."""
        await self.wait_until_ready()
        await self.taking_away.run()

    async def setup_hook(self) -> None:
        # As Discord sent them: `fetch_commands` of discord.py 2.7.1 loses where a command may be used.
        commands = Route("GET", "/applications/{application_id}/commands", application_id=self.application_id or 0)
        registered = await self.http.request(commands, params={"with_localizations": "true"})
        await self.tree.set_translator(words := CommandWords())
        if not await is_registered(self.tree, words, registered):
            await self.tree.sync()  # one global request, only on change
            _log.info("commands registered")

    async def retire(self) -> None:
        """Take no more questions, and give those being answered their time."""
        self.is_retiring = True
        self.outages.end()
        self._stop_arriving()
        await asyncio.gather(self.live.settle(GRACE_S), self.library.settle(GRACE_S))
        await asyncio.gather(self.live.aclose(), self.library.aclose())
        if self.under_way:  # acknowledged, so that "thinking" would stand there for ever
            await asyncio.wait(self.under_way, timeout=LAST_WORDS_S)

    def _stop_arriving(self) -> None:
        """What began with being ready needs a session that is about to be closed."""
        if self._arriving is not None:
            self._arriving.cancel()

    # What Discord tells

    async def on_ready(self) -> None:
        if self.is_retiring:
            return
        self._arriving = asyncio.current_task()
        resumed = await self._resume() + await self.unsubmitted.end_left(self._reopen)
        _log.info("discord is ready", extra={"guilds": len(self.guilds), "resumed": resumed})
        await notice_departures(self)

    async def on_message(self, message: discord.Message) -> None:
        self.traffic.note(message.channel.id)
        await hear(self, message)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        await hear_edited(self, event)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await welcome_guild(self, guild)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was removed from a server: what runs is cancelled, and everything of it erased."""
        with best_effort(_log.error, "a server's departure is not noted", guild=guild.id):
            await self.outages.outlast(partial(self.leaving.leave, _tenant(guild.id)))

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """Nothing can be told there any more."""
        with best_effort(_log.error, "the watches of a channel go on", channel=channel.id):
            closed = partial(self.researcher.watching.place_closed, _tenant(channel.guild.id), str(channel.id))
            await self.outages.outlast(closed)

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        await forget_messages(self, event, [event.message_id])

    async def on_raw_bulk_message_delete(self, event: discord.RawBulkMessageDeleteEvent) -> None:
        await forget_messages(self, event, sorted(event.message_ids))

    async def on_interaction(self, interaction: Asked) -> None:
        """Buttons and forms are read from what Discord sends, and outlive a restart; commands find their own way."""
        if interaction.type not in (discord.InteractionType.component, discord.InteractionType.modal_submit):
            return
        await self.speak_to(interaction)
        sent = cast("dict[str, Any]", interaction.data or {})
        custom_id, rows = str(sent.get("custom_id") or ""), sent.get("components") or []
        if interaction.type is discord.InteractionType.component:
            await self._pressed(interaction, custom_id, str((sent.get("values") or [""])[0]))
        elif found := re.fullmatch(OF_JOB, custom_id):
            await submit_form(self, interaction, found["press"], found["job_id"], written(rows))
        elif found := re.fullmatch(OF_LIBRARY, custom_id):
            await press_library(self, interaction, f"{found['words']} {written(rows)}", found["tag"])
        elif given := settings_of(custom_id, rows):
            await submit_settings(self, interaction, *given)

    async def _pressed(self, interaction: Asked, custom_id: str, chosen: str) -> None:
        """A button, or what was `chosen` in a menu."""
        if found := re.fullmatch(OF_JOB, custom_id):
            await press_button(self, interaction, found["press"], found["job_id"])
        elif (found := re.fullmatch(OF_MENU, custom_id)) and chosen in PRESSES:
            await choose(self, interaction, chosen, found["job_id"])
        elif found := re.fullmatch(OF_LIBRARY, custom_id):
            await press_library(self, interaction, found["words"], found["tag"])
        elif found := re.fullmatch(OF_SETTINGS, custom_id):
            await press_settings(self, interaction, found["group"])

    async def _resume(self) -> int:
        return await self.live.resume(self._reopen) + await self.library.resume(self._reopen)

    async def _reopen(self, address: Address) -> DiscordReply | None:
        try:
            at = MessageAddress.of(address).lasting
            if at.key.startswith(("watch:", "digest:")) and not await is_member(self, at):
                left = str(at.asker_id)  # a digest may tell what others in the channel watch, too
                if not await self.researcher.watching.place_gone(address, asker=left):
                    return None
            is_below = bool(at.key and at.message_id and not at.question_id)  # what is shown, by its own address
            return self.reply(replace(at, question_id=at.message_id, message_id=0) if is_below else at)
        except TypeError:
            _log.warning("address of another version")
            return None


# Servers that invite the bot, and servers that remove it: a word of welcome, and nothing left behind


UNKNOWN_MEMBER = 10007  # what Discord says of who is not in a server
UNKNOWN_GUILD, MISSING_ACCESS = 10004, 50001  # what Discord says of a server that the bot is not in


async def welcome_guild(bot: ResearchClient, guild: discord.Guild) -> None:
    """How to ask, where the bot may write. A server that had removed the bot begins anew."""
    try:
        await bot.leaving.settle(_tenant(guild.id))
        await bot.leaving.arrived(_app(bot), _tenant(guild.id))
        channel = _place_to_greet(guild)
        if channel is None:
            return
        title, nonce = f"**{say(wording.WELCOME)}**", secrets.token_hex(8)
        if channel.permissions_for(guild.me).embed_links:
            text = f"{title}\n{help_text()}\n\n{say(wording.DISCORD_SETTINGS)}"
            await channel.send(embed=bot.voice.notice(text).embed, nonce=nonce)
        else:
            await channel.send(f"{title}\n{say(wording.WHAT_IT_IS)}", nonce=nonce)
    except GorkdError as error:
        _log.warning("what was kept before is not gone yet", extra={"guild": guild.id, "error": str(error)})
    except discord.HTTPException as exc:
        _log.warning("nobody was welcomed", extra={"guild": guild.id, "error": str(exc)})


async def is_member(bot: ResearchClient, at: MessageAddress) -> bool:
    """Whether who watches is in the server still. Discord tells of departures only with an intent that we do not ask
    for, so it is looked up before something is told; what is not known counts as yes.
    """
    channel = bot.get_channel(at.channel_id)
    guild = getattr(channel, "guild", None)
    if guild is None:
        return True
    try:
        await guild.fetch_member(at.asker_id)
    except discord.NotFound as exc:
        return exc.code != UNKNOWN_MEMBER
    except (discord.HTTPException, aiohttp.ClientError, OSError) as exc:
        _log.warning("not known whether somebody has left", extra={"error": str(exc)})
    return True


async def notice_departures(bot: ResearchClient) -> None:
    """Servers that removed the bot while it was away. What Discord cannot tell for certain is asked again next time."""
    with best_effort(
        _log.warning,
        "not known whether a server has removed the bot",
        of=(GorkdError, discord.HTTPException, aiohttp.ClientError, OSError),
    ):
        present = {_tenant(guild.id) async for guild in bot.fetch_guilds(limit=None, with_counts=False)}
        for tenant in await bot.leaving.missing(_app(bot), present):
            if await _is_gone(bot, tenant):
                await bot.leaving.leave(tenant)


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


# The commands: `/research`, "Research This" on a message, help, one's own history, and those of other parts


MAX_CHOICES = 25  # of an option that completes itself
CHOICE_LENGTH = 100
COMPARED = ("name", "description", "name_localizations", "description_localizations", "contexts", "integration_types")
COMPARED_OPTION = (
    "name", "description", "description_localizations", "required", "autocomplete", "min_value", "max_value",
    "max_length",
)  # fmt: skip

_installs = app_commands.allowed_installs(guilds=True, users=True)
_contexts = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
_SECTIONS = [app_commands.Choice(name=title[:CHOICE_LENGTH], value=name) for name, title in CHOICES.items()]


def add_commands(bot: ResearchClient) -> None:
    for make in (_research, _research_this, _section, _watch, library_command, settings_command):
        bot.tree.add_command(make(bot))
    bot.tree.add_command(_shows(bot, "research-help", word("commands.help"), Show("help")))
    bot.tree.add_command(_shows(bot, "research-history", word("commands.history"), Show("history")))

    @bot.tree.error
    async def failed(interaction: Asked, error: app_commands.AppCommandError) -> None:
        _log.error("command failed", exc_info=error)
        await bot.whisper(interaction, bot.voice.refusal(say(wording.SOMETHING_BROKE)))


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
        if shows := hear_command(query, has_files=file is not None):
            await bot.whisper(interaction, partial(_told, bot, interaction, shows, place_of_interaction(interaction)))
            return
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
    @app_commands.context_menu(name=say(wording.RESEARCH_THIS))
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


def _shows(bot: ResearchClient, name: str, does: str, deed: Show) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name=name, description=does)
    @_installs
    @_contexts
    async def command(interaction: Asked) -> None:
        await bot.whisper(interaction, partial(_told, bot, interaction, deed, place_of_interaction(interaction)))

    return command


async def _told(bot: ResearchClient, interaction: Asked, deed: Show | Watching, place: DiscordPlace) -> DiscordMessage:
    where = partial(watch_place, interaction, place)
    return await told_of(deed, bot.speaking(place, where, partial(elsewhere, bot, place))) or bot.voice.help()


def _watch(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="research-watch", description=word("commands.watch"))
    @_installs
    @_contexts
    @app_commands.describe(what=word("commands.watch_what"))
    async def research_watch(interaction: Asked, what: app_commands.Range[str, 0, 1000] = "") -> None:
        async def make() -> DiscordMessage:
            place = await bot.placed(place_of_interaction(interaction))
            job = await last_answer(bot.researcher, str(place.user_id), place.scope.tenant, place.shows)
            return await _told(bot, interaction, Watching(command_wish(what), job), place)

        await bot.whisper(interaction, make)

    return research_watch


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
    here = place_of_interaction(interaction)
    if private is None:  # what is not known to be everybody's is its asker's
        seen = await bot.tongues.settings_soon(here.scope.tenant)
        private = seen is None or seen.visibility == "private"
    spot = await acknowledge(interaction, ephemeral=private or bool(refusal))
    if spot is None:
        return
    if refusal:
        await bot.reply(spot).edit(bot.voice.refusal(refusal))
        return
    place = await bot.placed(here)
    asked = replace(
        request,
        scope=place.own_scope if private else place.scope,
        is_private=private,
        asker=str(place.user_id),
        thread=await conversation_of(bot, interaction.channel, interaction.id),
        channel=place.public_id,
    )
    await bot.ask(asked, spot, key=f"discord:{interaction.id}", files=files)


async def is_registered(
    tree: app_commands.CommandTree[Any], words: CommandWords, registered: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether Discord knows our commands as they are now, so that they need not be sent again."""
    kinds = (discord.AppCommandType.chat_input, discord.AppCommandType.message)
    commands = [command for kind in kinds for command in tree.get_commands(type=kind)]
    ours = sorted([_signature(await command.get_translated_payload(tree, words)) for command in commands])
    return ours == sorted(_signature(command) for command in registered)


def _signature(command: Mapping[str, Any]) -> str:
    """What of a command people notice; absent and false are the same."""
    options = [
        {**{key: option.get(key) for key in COMPARED_OPTION if option.get(key)}, "type": option["type"],
         "choices": [choice["value"] for choice in option.get("choices") or []]}
        for option in command.get("options") or []
    ]  # fmt: skip
    kept = {key: command.get(key) for key in COMPARED if command.get(key)}
    return repr((command["type"], sorted(kept.items(), key=str), options))
