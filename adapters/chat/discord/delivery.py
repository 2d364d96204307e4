"""The message that lives, in Discord: an interaction's response or a channel's message, edited until the end.

A response can be edited for 15 minutes only. From minute 13 on a new message in the channel takes its place or,
where the bot may not write there, the page's link does. Such a response begins with its acknowledgement, below.
"""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

import aiohttp
import discord

from adapters.chat.discord.markup import prose
from adapters.chat.discord.payload import DiscordMessage, view_of
from adapters.chat.discord.render import DiscordVoice
from adapters.chat.discord.translate import Asked
from adapters.chat.reply import AddressDead, FilesRefused, best_effort
from core.model.answer import AnswerFile
from core.model.delivery import Address
from core.presentation import wording
from core.text.saying import say

PLATFORM = "discord"
TOKEN_LIFE_S = 15 * 60.0  # of an interaction's token (Discord, "Receiving and Responding")
SWITCH_SHARE = 13 / 15  # of that life, after which the message moves

# Channel, message, webhook, access, token; too many follow-ups, or edits of a message that is older than an hour; a
# locked thread.
GONE = {10003, 10008, 10015, 50001, 50027, 40094, 30046, 160005}
UNKNOWN_MESSAGE = 10008
MISSING_PERMISSIONS = 50013
TOO_LARGE, ENTITY_TOO_LARGE = 413, 40005  # as an HTTP status, and as Discord's own code
MAX_FILES_BYTES = 10_000_000  # of one message; what a server without boosts takes is 10 MiB
ARCHIVED = 50083  # a thread in which no message can be changed before somebody who may write there opens it
NO_HISTORY = 160002  # who may not read a channel's history may not reply there, only write

MAX_SAID = 1800  # characters beside a mention; Discord takes 2,000
ALREADY_ACKED = 40060  # an earlier try took effect, although its reply was lost
TOO_LATE = 10062
STANDS = "acknowledged"

_log = logging.getLogger(__name__)
_ORIGINAL = cast(int, "@original")  # discord.py puts it into the path as it is


@dataclass(frozen=True)
class MessageAddress:
    """Where a message is, or is to be. Ids are 0 and texts "" where there is none; times are POSIX seconds.

    `token` is of the interaction whose response it is. `question_id` is the message it answers. `can_post` says
    that the bot may write to the channel and everybody there may read the answer. `key` names what is posted there
    when that is no answer to the question.
    """

    channel_id: int
    asker_id: int
    message_id: int = 0
    question_id: int = 0
    token: str = ""
    token_until: float = 0.0
    can_post: bool = False
    can_embed: bool = True
    can_reply: bool = True
    key: str = ""

    @property
    def has_token(self) -> bool:
        return bool(self.token) and time.time() < self.token_until

    @property
    def must_move(self) -> bool:
        """Whether the token is too near its end to rely on."""
        return time.time() >= self.token_until - TOKEN_LIFE_S * (1 - SWITCH_SHARE)

    @property
    def lasting(self) -> MessageAddress:
        """The same message without its token, once that is of no use and the bot may change it all the same."""
        is_loose = self.must_move and self.can_post and self.message_id
        return replace(self, token="", token_until=0.0) if is_loose else self

    def to_address(self) -> Address:
        is_bound = bool(self.token) and not self.can_post
        expires_at = datetime.fromtimestamp(self.token_until, UTC) if is_bound else None
        return Address(PLATFORM, asdict(self), expires_at)

    @classmethod
    def of(cls, address: Address) -> MessageAddress:
        """Raises `TypeError` for an address of another version."""
        return cls(**cast(dict[str, Any], dict(address.data)))


@dataclass
class DiscordReply:
    """`on_final` is called after the answer stands in its message, for what belongs under it.

    Once it `is_refused`, what a response of which nothing was shown yet says is for the asker's eyes alone; `in_place`
    it is to take the place of the message that was pressed, which then stays.
    """

    client: discord.Client
    voice: DiscordVoice
    spot: MessageAddress
    on_final: Callable[[MessageAddress, DiscordMessage], Awaitable[Sequence[Address]]]
    in_place: bool = False
    is_refused: bool = False
    is_dismissed: bool = False
    has_said_where: bool = False
    has_shown: bool = False
    tried: str = ""  # the nonce of a post whose outcome may be unknown
    files: tuple[AnswerFile, ...] = ()
    below: Sequence[Address] = ()  # what hangs under the answer

    @property
    def address(self) -> Address:
        return self.spot.to_address()

    @property
    def shown(self) -> Sequence[Address]:
        """The message, and the thread under it. A response that is no message of the channel's goes with its token."""
        spot = self.spot
        is_bound = bool(spot.token) and not spot.can_post
        kept = replace(spot, token=spot.token if is_bound else "", token_until=spot.token_until if is_bound else 0.0)
        return [*([kept.to_address()] if spot.message_id else []), *self.below]

    async def take(self, files: Sequence[AnswerFile], /) -> None:
        """They go with the last edit itself, which replaces what an earlier try has attached."""
        if sum(len(file.content) for file in files) > MAX_FILES_BYTES:
            raise FilesRefused(f"more than {MAX_FILES_BYTES:,} bytes")
        if files and not self._may_attach():
            raise FilesRefused(f"may not attach files in {self.spot.channel_id}")
        self.files = tuple(files)

    @property
    def is_streaming(self) -> bool:
        """Discord has no streams."""
        return False

    async def edit(self, payload: DiscordMessage, /) -> None:
        if self.is_dismissed or (self.spot.token and self.spot.must_move):
            raise AddressDead(f"message in {self.spot.channel_id}")
        if self.spot.token and self.is_refused and not self.has_shown:
            await self._whisper(payload)
        elif self.spot.token:
            await self._try(self._edit_response, payload)
        elif self.spot.message_id:
            await self._try(self._edit_message, payload)
        else:
            await self._post(
                payload, nonce=nonce_of("w", self.spot.key) if self.spot.key else f"q{self.spot.question_id}"
            )
        self.has_shown = True
        await self._end(payload)

    async def repost(self, payload: DiscordMessage, job_id: str, /) -> None:
        if self.is_dismissed:
            raise AddressDead("somebody removed it")
        if not self.spot.can_post:
            # Where there can be no new message: the answer while the token lives, before it the page's link, once.
            if not self.spot.has_token:
                raise AddressDead("the token has expired, and no message can be sent")
            if payload.job_id:
                await self._try(self._edit_response, payload)
            elif not self.has_said_where:
                await self._try(self._edit_response, self.voice.moved(payload.page_url))
                self.has_said_where = True
            return
        old = self.spot
        self.spot = replace(old, token="", message_id=0)
        await self._post(payload, nonce=nonce_of("a", job_id))
        if old.token:  # a clock may say that it is over before its time
            with best_effort(_log.warning, "old message left as it was", of=discord.HTTPException):
                await webhook_of(self.client, old.token).edit_message(_ORIGINAL, **self._body(self.voice.moved()))
        await self._end(payload)

    async def ping(self, asker: str, key: str, said: str = "", /) -> None:
        mention = f"<@{self.spot.asker_id}> {prose(said, MAX_SAID) or say(wording.READY)}"
        allowed = discord.AllowedMentions(everyone=False, roles=False, users=[discord.Object(self.spot.asker_id)])
        if self.spot.can_post:
            reference = self._reference(self.spot.message_id)
            nonce = nonce_of("c" if said else "p", key)
            await self._channel().send(mention, allowed_mentions=allowed, nonce=nonce, **reference)
        elif self.spot.has_token:
            await webhook_of(self.client, self.spot.token).send(mention, allowed_mentions=allowed, ephemeral=True)

    async def remove(self) -> None:
        """Take the message away. Raises `discord.HTTPException`."""
        self.is_dismissed = True
        if self.spot.message_id:
            with suppress(discord.NotFound):
                await self._channel().get_partial_message(self.spot.message_id).delete()

    async def _whisper(self, payload: DiscordMessage) -> None:
        """A response stays as public as it was begun, so another one takes its place."""
        webhook = webhook_of(self.client, self.spot.token)
        if not self.in_place:
            with suppress(discord.NotFound):  # an earlier try has taken it away
                await webhook.delete_message(_ORIGINAL)
        said: dict[str, Any] = {"embed": payload.embed} if self.spot.can_embed else {"content": payload.text}
        await webhook.send(**said, ephemeral=True, allowed_mentions=discord.AllowedMentions.none())

    async def _end(self, payload: DiscordMessage) -> None:
        if payload.job_id:
            self.below = await self.on_final(self.spot, payload) or self.below

    async def _post(self, payload: DiscordMessage, *, nonce: str) -> None:
        """Safe to repeat: Discord gives back the message that a nonce has made, but as it was made."""
        is_repeated, self.tried = nonce == self.tried, nonce
        self.spot = await self._try(self._send, payload, nonce) or self.spot
        if is_repeated:
            await self._try(self._edit_message, payload)

    async def _send(self, payload: DiscordMessage, nonce: str) -> MessageAddress:
        body = self._body(payload) | self._reference(self.spot.question_id)
        sent: discord.Message = await self._channel().send(**body, files=self._files(payload), nonce=nonce)
        return replace(self.spot, message_id=sent.id)

    async def _edit_message(self, payload: DiscordMessage) -> None:
        """An archived thread is opened for an answer, not for every step towards it."""
        message = self._channel().get_partial_message(self.spot.message_id)
        try:
            await message.edit(**self._body(payload), **self._attached(payload))
        except discord.HTTPException as exc:
            if exc.code != ARCHIVED or not payload.job_id:
                raise
            await self.client.http.edit_channel(self.spot.channel_id, archived=False)
            await message.edit(**self._body(payload), **self._attached(payload))

    async def _edit_response(self, payload: DiscordMessage) -> None:
        webhook = webhook_of(self.client, self.spot.token)
        shown = await webhook.edit_message(_ORIGINAL, **self._body(payload), **self._attached(payload))
        self.spot = replace(self.spot, message_id=shown.id)

    async def _try(self, send: Callable[..., Awaitable[Any]], payload: DiscordMessage, *rest: str) -> Any:
        """`send`, if need be without embed. Raises `AddressDead` for no way, `FilesRefused` for none with files."""
        try:
            return await send(payload, *rest)
        except discord.HTTPException as exc:
            is_too_large = exc.status == TOO_LARGE or exc.code == ENTITY_TOO_LARGE
            if payload.files and (is_too_large or exc.code == MISSING_PERMISSIONS):
                return await self._try(send, payload.without_files, *rest)
            if exc.code == MISSING_PERMISSIONS and self.spot.can_embed:
                self.spot = replace(self.spot, can_embed=False)
                return await self._try(send, payload, *rest)
            if exc.code == NO_HISTORY and self.spot.can_reply:
                self.spot = replace(self.spot, can_reply=False)
                return await self._try(send, payload, *rest)
            if self.files and payload.job_id and (is_too_large or exc.code == MISSING_PERMISSIONS):
                raise FilesRefused(str(exc)) from exc
            # Its only reader has dismissed it, or somebody has removed it twice; once, it comes again.
            is_again = not self.spot.can_post or self.tried.startswith("a")
            self.is_dismissed = self.is_dismissed or (exc.code == UNKNOWN_MESSAGE and is_again)
            if exc.code in GONE or exc.code == MISSING_PERMISSIONS:
                raise AddressDead(str(exc)) from exc
            raise

    def _body(self, payload: DiscordMessage) -> dict[str, Any]:
        body = {"view": view_of(payload), "allowed_mentions": discord.AllowedMentions.none()}
        if self.spot.can_embed:
            return {"content": None, "embed": payload.embed, **body}
        return {"content": payload.text, "embed": None, **body}

    def _files(self, payload: DiscordMessage) -> list[discord.File]:
        """Its own and those of an answer; read anew by each try, since sending uses them up."""
        own = [(file.name, file.content) for file in payload.files]
        files = [(file.name, file.content) for file in self.files] if payload.job_id else []
        return [discord.File(io.BytesIO(content), name) for name, content in (*own, *files)]

    def _attached(self, payload: DiscordMessage) -> dict[str, Any]:
        """For an edit, which leaves what is attached as it is unless it names something else."""
        return {"attachments": files} if (files := self._files(payload)) else {}

    def _may_attach(self) -> bool:
        """True where it is not known: Discord then says so itself."""
        channel = self.client.get_channel(self.spot.channel_id)
        if self.spot.token or not isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            return True
        return channel.permissions_for(channel.guild.me).attach_files

    def _channel(self) -> discord.PartialMessageable:
        return self.client.get_partial_messageable(self.spot.channel_id)

    def _reference(self, message_id: int) -> dict[str, Any]:
        if not message_id or not self.spot.can_reply:
            return {}
        place = self.spot.channel_id
        reference = discord.MessageReference(message_id=message_id, channel_id=place, fail_if_not_exists=False)
        return {"reference": reference, "mention_author": False}


def webhook_of(client: discord.Client, token: str) -> discord.Webhook:
    webhook = discord.Webhook.partial(client.application_id or 0, token, client=client)
    webhook.proxy = client.http.proxy  # which discord.py 2.7.1 forgets
    webhook.type = discord.WebhookType.application  # else discord.py sends nothing to one person alone
    return webhook


def nonce_of(kind: str, job_id: str) -> str:
    """At most 25 characters: who sends it again is given the message that is there."""
    return f"{kind}{job_id.removeprefix('job_')[:24]}"


# The first answer to an interaction, which Discord wants within 3 seconds, and where the rest can then be said


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
                at = _spot(interaction, ephemeral=False, in_place=False)
                loose = replace(at, question_id=interaction.id, token="", token_until=0.0)
                return loose if may_post(interaction) and not ephemeral else None
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
    # Where the bot is no member it may embed as everybody may.
    can_embed = not interaction.is_guild_integration() or interaction.app_permissions.embed_links
    return MessageAddress(
        interaction.channel_id or 0, interaction.user.id, token=interaction.token,
        token_until=time.time() + TOKEN_LIFE_S, can_post=may_post(interaction) and not is_hidden, can_embed=can_embed,
    )  # fmt: skip


def may_post(interaction: Asked) -> bool:
    """Whether the bot may send messages of its own where the interaction is."""
    if interaction.context.dm_channel:
        return True
    if not interaction.is_guild_integration():
        return False
    allowed = interaction.app_permissions
    is_thread = isinstance(interaction.channel, discord.Thread)
    return allowed.view_channel and (allowed.send_messages_in_threads if is_thread else allowed.send_messages)
