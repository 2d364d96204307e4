"""What all parts of the Discord bot share: the client itself, and how a question gets its message and its thread.

Knows none of the parts: messages and buttons import it, and bot.py puts them together.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import aiohttp
import discord
from discord import app_commands
from discord.http import HTTPClient, Ratelimit, Route

from adapters.chat.connecting import ChatDeps, Outages
from adapters.chat.desk import Speaking, TakingAway
from adapters.chat.discord.delivery import (
    GONE,
    MISSING_PERMISSIONS,
    PLATFORM,
    DiscordReply,
    MessageAddress,
    acknowledge,
    nonce_of,
    webhook_of,
)
from adapters.chat.discord.payload import DiscordMessage, word
from adapters.chat.discord.render import DiscordVoice
from adapters.chat.discord.settings import DiscordSettings, Threads
from adapters.chat.discord.translate import Asked, DiscordPlace, place_of_interaction
from adapters.chat.library import LiveTalks
from adapters.chat.live import LiveAnswers, tried
from adapters.chat.reply import AddressDead, EditPace, Tongues, best_effort
from adapters.chat.watching import Elsewhere, WatchPlace, nowhere_else
from adapters.proxies import Proxies
from core.library.states import Incoming
from core.library.wording import RESTARTED
from core.model.delivery import Address, Messages
from core.model.errors import GorkdError
from core.model.job import (
    MAX_ATTACHMENT_BYTES,
    MAX_ATTACHMENTS,
    Attachment,
    AttachmentUnreadable,
    Json,
    ResearchJob,
    ResearchRequest,
    Scope,
)
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.presentation.render import one_line
from core.text.saying import say, speak

PACE = EditPace()
MAX_REPLIES = 1000  # answers that go when their question is deleted; older ones stay, although nothing is kept of them

_log = logging.getLogger(__name__)


class _Tree(app_commands.CommandTree[Any]):
    def __init__(self, bot: ResearchClient) -> None:
        super().__init__(bot)
        self._bot = bot

    async def interaction_check(self, interaction: Asked, /) -> bool:
        """Before each command, in its task."""
        await self._bot.speak_to(interaction)
        return True


class ResearchClient(discord.AutoShardedClient):
    library: LiveTalks[DiscordMessage]  # of bot.py, since what draws it knows the client

    def __init__(self, deps: ChatDeps, settings: DiscordSettings) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # no bot of ours speaks
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)  # none of them is privileged
        super().__init__(intents=intents, allowed_mentions=discord.AllowedMentions.none(), max_messages=None)
        _guide(self.http, settings.proxies)
        self.settings, self.pace = settings, PACE
        self.researcher, self.leaving, self.rules = deps.researcher, deps.tenancy.leaving, deps.tenancy.settings
        self.voice, self.proving = DiscordVoice(deps.links), deps.proving
        self.live = LiveAnswers(deps.researcher, self.voice, platform=PLATFORM, pace=self.pace, turns=deps.turns)
        self.unsubmitted = UnsubmittedQuestions(deps.messages, deps.researcher, self.voice, self.pace)
        self.traffic, self.outages = Traffic(), Outages()
        self.taking_away = TakingAway(deps.researcher, PLATFORM, partial(take_away, self))
        self.replies: OrderedDict[int, DiscordReply] = OrderedDict()  # by the message that is answered
        self.is_retiring = False
        self.under_way: set[asyncio.Task[object]] = set()  # what somebody pressed or commanded
        self.tongues = Tongues(self.rules)
        self.tree = _Tree(self)

    async def placed(self, place: DiscordPlace) -> DiscordPlace:
        """With its server's settings as they are now. A store that is away refuses the question itself."""
        with best_effort(_log.warning, "settings not read"):
            return replace(place, settings=await self.tongues.settings_of(place.scope.tenant))
        return place

    async def speak_to(self, interaction: Asked) -> None:
        """To whoever presses or commands, for the rest of the task, which is to end before the session is closed."""
        if task := asyncio.current_task():
            self.under_way.add(task)
            task.add_done_callback(self.under_way.discard)
        tenant = place_of_interaction(interaction).scope.tenant
        await self.tongues.learn_workspace(tenant)
        speak(*self.tongues.of(tenant, locale=str(interaction.locale)))

    async def ask(
        self, request: ResearchRequest, spot: MessageAddress, *, key: str, files: Sequence[discord.Attachment] = ()
    ) -> None:
        """`key` names the message or interaction: asked twice, it is still one question."""
        reply = self.reply(spot)
        if files and not spot.token and not self.is_retiring:  # fetching takes longer than anybody looks at nothing
            await tried(reply, self.voice.notice(say(wording.ON_IT)), key, self.pace)

        async def submit() -> ResearchJob:
            async with self.unsubmitted.storing(key, request, reply.address):
                attachments = await read_files(self.researcher, files)
                return await self.researcher.submit(
                    request, dedupe_key=key, attachments=attachments, address=reply.address
                )

        await self.answer(submit, reply, known=await self.live.known(request.scope, key))

    async def answer(
        self, submit: Callable[[], Awaitable[ResearchJob]], reply: DiscordReply, *, known: bool = False
    ) -> None:
        """Keep a message alive until the job that `submit` makes has ended; what is refused is told its asker alone.

        The job is to be stored with the message's address, so that whoever restarts in between goes on there.
        """

        async def submitted() -> ResearchJob:
            if reply.is_dismissed:
                raise GorkdError("the question was taken back")
            return await submit()

        async def refusable() -> ResearchJob:
            try:
                return await self.outages.outlast(submitted, partial(self.tell_outage, reply))
            except GorkdError:
                reply.is_refused = True
                raise

        if self.is_retiring:
            reply.is_refused = True
            await reply.edit(self.voice.refusal(word("asking.restarting")))
        else:
            job = await self.live.accept(refusable, reply, known=known)
            if job is not None:
                await asyncio.shield(self.live.follow(job, reply))

    async def tell_outage(self, reply: DiscordReply) -> None:
        await tried(reply, self.voice.notice(say(wording.RECORDS_AWAY)), "outage", self.pace)

    def speaking(
        self,
        place: DiscordPlace,
        where: Callable[[ResearchJob | None], Awaitable[WatchPlace]],
        elsewhere: Elsewhere = nowhere_else,
    ) -> Speaking[DiscordMessage]:
        async def is_admin() -> bool:
            return place.is_admin

        return Speaking(
            self.researcher, self.voice, str(place.user_id), place.scope.tenant, where, self.proving,
            elsewhere, self.taking_away, is_admin, may_offer=False,
        )  # fmt: skip

    def reply(self, spot: MessageAddress) -> DiscordReply:
        reply = DiscordReply(self, self.voice, spot, self._spread)
        if spot.question_id:
            self.replies[spot.question_id] = reply
            if len(self.replies) > MAX_REPLIES:
                self.replies.popitem(last=False)
        return reply

    async def whisper(
        self,
        interaction: Asked,
        make: DiscordMessage | Callable[[], Awaitable[DiscordMessage]],
        *,
        ephemeral: bool = True,
    ) -> Sequence[Address]:
        """Acknowledge, then show what `make` is or gives, or why there is nothing; where that now stands."""
        spot = await acknowledge(interaction, ephemeral=ephemeral)
        if spot is None:
            return ()
        try:
            said = make if isinstance(make, DiscordMessage) else await make()
        except GorkdError as error:
            said = self.voice.refusal(error.user_message)
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("interaction failed")
            said = self.voice.refusal(say(wording.SOMETHING_BROKE))
        reply = self.reply(spot)
        with best_effort(_log.warning, "nothing could be said", of=(AddressDead, discord.HTTPException)):
            await reply.edit(said)
        return reply.shown

    async def _spread(self, spot: MessageAddress, payload: DiscordMessage) -> Sequence[Address]:
        guild = getattr(self.get_channel(spot.channel_id), "guild", None)
        wanted = (await self.tongues.settings_of(f"discord:{guild.id}")).threads if guild else "auto"
        when = self.settings.threads if wanted == "auto" else wanted
        return await spread(self, spot, payload, self.traffic, when)


def _guide(http: HTTPClient, proxies: Proxies) -> None:
    """From now on the API, each gateway and the files of `http` are reached as the settings say.

    By itself discord.py 2.7.1 knows one proxy for everything and no exceptions, and loses turns for good.
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

    def get_ratelimit(key: str) -> Ratelimit:
        """Of who was cancelled just after an answer the turn is lost, and all others would wait for it for ever."""
        limit = HTTPClient.get_ratelimit(http, key)
        if limit.expires is None and not limit.outgoing:
            limit.remaining = limit.limit
        return limit

    http.get_ratelimit = get_ratelimit  # type: ignore[method-assign]
    http.ws_connect = ws_connect  # type: ignore[method-assign]
    http.get_from_cdn = get_from_cdn  # type: ignore[method-assign]


# Files that come with a question, fetched from Discord and read


FETCH_S = 20.0  # for one file
PAPER_FETCH_S = 60.0  # a paper may be ten times as large


async def read_files(researcher: Researcher, files: Sequence[discord.Attachment]) -> list[Attachment]:
    """One more than are allowed at most: the question then says so. Raises `AttachmentUnreadable`."""
    return [await _read(researcher, file) for file in files[: MAX_ATTACHMENTS + 1]]


def incoming(file: discord.Attachment) -> Incoming:
    """A paper that somebody hands over; it is fetched when it is read, and may be larger than an attachment."""

    async def load() -> bytes:
        return await _fetch(file, one_line(file.filename)[:200], within_s=PAPER_FETCH_S)

    return Incoming(file.filename, file.size, load)


async def _read(researcher: Researcher, file: discord.Attachment) -> Attachment:
    name = one_line(file.filename)[:200]
    if file.size > MAX_ATTACHMENT_BYTES:
        said = word("asking.file_too_large", name=name, megabytes=MAX_ATTACHMENT_BYTES // 1_000_000)
        raise AttachmentUnreadable(f"{name}: {file.size} bytes", user_message=said)
    content = await _fetch(file, name, within_s=FETCH_S)
    return await researcher.read_attachment(name, file.content_type or "", content)


async def _fetch(file: discord.Attachment, name: str, *, within_s: float) -> bytes:
    """Raises `AttachmentUnreadable`."""
    try:
        async with asyncio.timeout(within_s):
            return await file.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as exc:
        said = word("asking.file_unreachable", name=name)
        raise AttachmentUnreadable(f"{name}: {exc}", user_message=said) from exc


# Questions whose message stands before their job does, as while their files are fetched


UNSUBMITTED = f"{PLATFORM}:begun"  # as a platform of its own: other messages without a job are the library's

Reopen = Callable[[Address], Awaitable[DiscordReply | None]]


class UnsubmittedQuestions:
    def __init__(self, messages: Messages, researcher: Researcher, voice: DiscordVoice, pace: EditPace) -> None:
        self._messages, self._researcher, self._voice, self._pace = messages, researcher, voice, pace
        self._under_way: set[str] = set()

    @asynccontextmanager
    async def storing(self, key: str, request: ResearchRequest, at: Address) -> AsyncIterator[None]:
        """Within the block a job is made, which is stored under `key`. What is interrupted stays noted.

        Raises `StoreError` where it cannot be noted: the job could not be stored either.
        """
        self._under_way.add(key)
        try:
            scope = request.scope
            said = {"asked": request.query, "tenant": scope.tenant, "visibility": scope.visibility}
            note = replace(at, platform=UNSUBMITTED, data={**at.data, **said})
            await self._messages.begin(key, scope, request.asker, note)
            try:
                yield
            except Exception:
                await _logged(self._messages.end(key))
                raise
            await _logged(self._messages.end(key))
        finally:
            self._under_way.discard(key)

    async def end_left(self, reopen: Reopen) -> int:
        """Have asked again what an earlier process left to `reopen`; how many. Raises `StoreError`."""
        ended = 0
        for key, note in await self._messages.begun(UNSUBMITTED):
            if key in self._under_way:
                continue
            data = dict(note.data)
            question, tenant, visibility = (str(data.pop(name)) for name in ("asked", "tenant", "visibility"))
            scope, address = Scope(tenant, visibility), replace(note, platform=PLATFORM, data=data)
            is_stored = await self._researcher.asked(key, scope=scope) is not None  # its message lives as any other
            reply = None if is_stored else await reopen(address)
            said = self._voice.refusal(say(RESTARTED, said=one_line(question)))
            if reply is not None and not await tried(reply, said, key, self._pace):
                continue
            await self._messages.end(key)
            ended += reply is not None
        return ended


async def _logged(work: Awaitable[None]) -> None:
    """A question is not lost for its note."""
    with best_effort(_log.warning, "a begun question is not noted"):
        await work


# When a channel is busy, and the thread under an answer that then takes its details and sources (G-02)


BUSY_MESSAGES = 10  # in the last minute; with more of them a channel is busy (G-02)
WINDOW_S = 60.0
MAX_CHANNELS = 10_000  # remembered; the one that was silent longest is dropped first
ARCHIVE_MINUTES: Literal[1440] = 1440
THREAD_EXISTS = 160004
OUT_OF_REACH = GONE | {MISSING_PERMISSIONS}


class Traffic:
    """How many messages came to each channel in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[int, deque[float]] = OrderedDict()

    def note(self, channel_id: int) -> None:
        moments = self._seen.setdefault(channel_id, deque(maxlen=BUSY_MESSAGES + 1))
        moments.append(self._clock())
        self._seen.move_to_end(channel_id)
        if len(self._seen) > MAX_CHANNELS:
            self._seen.popitem(last=False)

    def is_busy(self, channel_id: int) -> bool:
        moments = self._seen.get(channel_id, deque())
        return len(moments) > BUSY_MESSAGES and self._clock() - moments[0] <= WINDOW_S


async def spread(
    client: discord.Client, spot: MessageAddress, payload: DiscordMessage, traffic: Traffic, when: Threads
) -> Sequence[Address]:
    """Put the answer's details into a thread under it, where they are wanted and threads are possible.

    Gives where they stand now. Twice is once. Whatever Discord says against it, the answer stands in the channel.
    """
    is_wanted = when == "always" or (when == "busy" and traffic.is_busy(spot.channel_id))
    channel = client.get_channel(spot.channel_id)
    if not (is_wanted and payload.details and spot.can_post and spot.message_id):
        return ()
    if not isinstance(channel, discord.TextChannel):
        return ()  # direct messages have no threads, and threads have none below them
    sent: list[Json] = []
    with best_effort(_log.warning, "no thread under the answer", of=discord.HTTPException, channel=spot.channel_id):
        thread = await _thread(client, channel, spot.message_id, payload.thread_name)
        for number, embed in enumerate(payload.details):
            sent.append((await thread.send(embed=embed, nonce=nonce_of(f"{number}", payload.job_id))).id)
    return [Address(PLATFORM, {"thread_id": spot.message_id, "message_ids": sent})]


async def take_away(client: discord.Client, address: Address) -> None:
    """What shows a job that was forgotten: a message, or the thread under one, which keeps what people said in it.

    What can be reached no more counts as gone. Raises `discord.HTTPException`.
    """
    data: Mapping[str, Any] = address.data
    if thread_id := int(data.get("thread_id") or 0):
        # Its name is the question. Who has made a thread may rename it, and only an open one takes changes.
        await _unless_gone(client.http.edit_channel(thread_id, name=say(wording.FORGOTTEN_THREAD), archived=False))
        for message_id in data["message_ids"]:
            await _unless_gone(client.http.delete_message(thread_id, message_id))
        return
    channel_id, message_id, token = data.get("channel_id"), data.get("message_id"), str(data.get("token") or "")
    if not channel_id or not message_id:
        return
    if token and not data.get("can_post"):
        await _unless_gone(webhook_of(client, token).delete_message(message_id))
    else:
        await _unless_gone(client.http.delete_message(channel_id, message_id))


async def _unless_gone(change: Awaitable[Any]) -> None:
    try:
        await change
    except discord.HTTPException as exc:
        if exc.code not in OUT_OF_REACH:
            raise


async def _thread(
    client: discord.Client, channel: discord.TextChannel, message_id: int, name: str
) -> discord.PartialMessageable:
    """The thread under a message; its id is the message's own."""
    try:
        message = channel.get_partial_message(message_id)
        await message.create_thread(name=name, auto_archive_duration=ARCHIVE_MINUTES)
    except discord.HTTPException as exc:
        if exc.code != THREAD_EXISTS:
            raise
    return client.get_partial_messageable(message_id)
