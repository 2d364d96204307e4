"""What all parts of the Discord bot share: the client itself, its settings, and how a question gets its message.

Knows none of the parts: commands, messages and buttons import it, and bot.py puts them together.
"""

from __future__ import annotations

import copy
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import aiohttp
import discord
from discord import app_commands
from discord.http import HTTPClient, Route

from adapters.chat.connecting import ChatDeps
from adapters.chat.discord.acks import acknowledge
from adapters.chat.discord.delivery import PLATFORM, DiscordReply, MessageAddress
from adapters.chat.discord.files import read_files
from adapters.chat.discord.library_render import DiscordLibraryVoice
from adapters.chat.discord.payload import DiscordMessage
from adapters.chat.discord.render import DiscordVoice
from adapters.chat.discord.settings import DiscordSettings
from adapters.chat.discord.threads import Traffic, spread, take_away
from adapters.chat.discord.translate import Asked, Place
from adapters.chat.discord.unsubmitted_questions import UnsubmittedQuestions
from adapters.chat.discord.words import word
from adapters.chat.library import LiveTalks
from adapters.chat.live import LiveAnswers
from adapters.chat.reply import AddressDead, Pace
from adapters.chat.taking_away import TakingAway
from adapters.proxies import Proxies
from core.delivery import Address
from core.errors import GorkdError
from core.job import ResearchJob, ResearchRequest
from core.presentation import wording
from core.settings.tenant import TenantSettings

PACE = Pace()
MAX_REPLIES = 1000  # answers that go when their question is deleted; older ones stay, although nothing is kept of them

_log = logging.getLogger(__name__)


class ResearchClient(discord.AutoShardedClient):
    def __init__(self, deps: ChatDeps, settings: DiscordSettings) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # no bot of ours speaks
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)  # none of them is privileged
        super().__init__(intents=intents, allowed_mentions=discord.AllowedMentions.none(), max_messages=None)
        _guide(self.http, settings.proxies)
        self.settings, self.pace = settings, PACE
        self.researcher, self.leaving, self.rules = deps.researcher, deps.tenancy.leaving, deps.tenancy.settings
        self.voice = DiscordVoice(deps.links)
        self.live = LiveAnswers(deps.researcher, self.voice, platform=PLATFORM, pace=self.pace, turns=deps.turns)
        self.library = LiveTalks(
            deps.talks, DiscordLibraryVoice(deps.links), platform=PLATFORM, pace=self.pace, turns=deps.turns
        )
        self.unsubmitted = UnsubmittedQuestions(deps.open_messages, deps.researcher, self.voice, self.pace)
        self.traffic = Traffic()
        self.taking_away = TakingAway(deps.researcher, PLATFORM, partial(take_away, self))
        self.replies: OrderedDict[int, DiscordReply] = OrderedDict()  # by the message that is answered
        self.is_retiring = False
        self.tree = app_commands.CommandTree(self)

    async def placed(self, place: Place) -> Place:
        """With its server's settings as they are now. A store that is away refuses the question itself."""
        try:
            return replace(place, settings=await self._settings_of(place.scope.tenant))
        except GorkdError as error:
            _log.warning("settings not read", extra={"error": str(error)})
            return place

    async def _settings_of(self, tenant: str) -> TenantSettings:
        return (await self.rules.show(tenant)).settings

    async def ask(
        self,
        request: ResearchRequest,
        spot: MessageAddress,
        *,
        key: str,
        files: Sequence[discord.Attachment] = (),
    ) -> None:
        """`key` names the message or interaction: asked twice, it is still one question."""

        async def submit(address: Address) -> ResearchJob:
            async with self.unsubmitted.storing(key, request, spot):
                attachments = await read_files(self.researcher, files)
                return await self.researcher.submit(request, dedupe_key=key, attachments=attachments, address=address)

        await self.answer(submit, spot, known=await self.live.known(request.scope, key))

    async def answer(
        self, submit: Callable[[Address], Awaitable[ResearchJob]], spot: MessageAddress, *, known: bool = False
    ) -> DiscordReply:
        """Keep a message alive until the job that `submit` makes has ended; returns it as it was left.

        The job is stored with the message's address, so that whoever restarts in between goes on there.
        """
        reply = self.reply(spot)
        if self.is_retiring:
            await reply.edit(self.voice.refusal(word("asking.restarting")))
        else:
            await self.live.answer_job(partial(submit, spot.to_address()), reply, known=known)
        return reply

    def reply(self, spot: MessageAddress) -> DiscordReply:
        reply = DiscordReply(self, self.voice, spot, self._spread)
        if spot.question_id:
            self.replies[spot.question_id] = reply
            if len(self.replies) > MAX_REPLIES:
                self.replies.popitem(last=False)
        return reply

    async def whisper(
        self, interaction: Asked, make: Callable[[], Awaitable[DiscordMessage]], *, ephemeral: bool = True
    ) -> Sequence[Address]:
        """Acknowledge, then show what `make` gives, or why there is nothing; where that now stands."""
        spot = await acknowledge(interaction, ephemeral=ephemeral)
        if spot is None:
            return ()
        try:
            said = await make()
        except GorkdError as error:
            said = self.voice.refusal(error.user_message)
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("interaction failed")
            said = self.voice.refusal(wording.SOMETHING_BROKE)
        reply = self.reply(spot)
        try:
            await reply.edit(said)
        except (AddressDead, discord.HTTPException) as exc:
            _log.warning("nothing could be said", extra={"error": str(exc)})
        return reply.shown

    async def _spread(self, spot: MessageAddress, payload: DiscordMessage) -> Sequence[Address]:
        guild = getattr(self.get_channel(spot.channel_id), "guild", None)
        wanted = (await self._settings_of(f"discord:{guild.id}")).threads if guild else "auto"
        when = self.settings.threads if wanted == "auto" else wanted
        return await spread(self, spot, payload, self.traffic, when)


def _guide(http: HTTPClient, proxies: Proxies) -> None:
    """From now on the API, each gateway and the files of `http` are reached as the settings say.

    By itself discord.py knows one proxy for everything and no exceptions.
    """
    http.proxy = proxies.of(Route.BASE)

    def towards(url: str) -> HTTPClient:
        """The same client, for one call: others run at the same time."""
        guided = copy.copy(http)
        guided.proxy = proxies.of(url)
        return guided

    async def ws_connect(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        return await HTTPClient.ws_connect(towards(url), str(url), compress=compress)

    async def get_from_cdn(url: str) -> bytes:
        return await HTTPClient.get_from_cdn(towards(url), url)

    http.ws_connect = ws_connect  # type: ignore[method-assign]
    http.get_from_cdn = get_from_cdn  # type: ignore[method-assign]
