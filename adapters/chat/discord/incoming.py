"""What people write to the bot: mentions, direct messages, replies, and messages they take back."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import discord

from adapters.chat.desk import (
    REACTIONS,
    Ask,
    Deed,
    Offer,
    Prove,
    Reaction,
    Renew,
    SaidIn,
    Show,
    ShowSources,
    Utterance,
    changed_key,
    hear_edit,
    heard_in,
    renew,
    told_of,
)
from adapters.chat.discord.buttons import spoken_place
from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import DiscordReply, MessageAddress, nonce_of
from adapters.chat.discord.library import TalkTurn, hear_library, library_key
from adapters.chat.discord.payload import job_of, view_of, word
from adapters.chat.discord.translate import DiscordPlace, is_open, may_all_write, place_of_message, question_of
from adapters.chat.reply import best_effort
from adapters.chat.watching import WatchPlace
from core.model.delivery import Address
from core.model.errors import GorkdError, JobNotFound
from core.model.job import ResearchJob, ResearchRequest, Scope
from core.pipeline.conversation import JUST_AFTER
from core.presentation import wording
from core.text.saying import say, speak

Deleted = discord.RawMessageDeleteEvent | discord.RawBulkMessageDeleteEvent

_log = logging.getLogger(__name__)


async def hear(bot: ResearchClient, message: discord.Message) -> None:
    """Answer a message that is meant for the bot; whatever happens, it ends in words."""
    if (
        message.author.bot
        or message.is_system()
        or bot.user is None
        or (message.guild and bot.user not in message.mentions)
    ):
        return
    spot = await _spot(message)
    if spot is None:
        return
    said, name, told = question_of(message.content, bot.user.id), bot.user.name, list[DiscordReply]()

    async def respond() -> None:
        place = await bot.placed(place_of_message(message))
        speak(*bot.tongues.of(place.scope.tenant, said=said))
        if message.reference and not message.content:
            await bot.reply(spot).edit(bot.voice.refusal(word("asking.mention_me", name=name)))
        elif not (told and told[0].is_dismissed):  # the question was taken back
            await _respond(bot, message, place, told[0].spot if told else spot, said)

    async def tell() -> None:
        told.append(bot.reply(spot))
        await bot.tell_outage(told[0])

    try:
        await bot.outages.outlast(respond, tell)
    except GorkdError as error:
        await (told[0] if told else bot.reply(spot)).edit(bot.voice.refusal(error.user_message))
    except discord.HTTPException as exc:
        _log.warning("message could not be answered", extra={"error": str(exc)})
    except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
        _log.exception("message failed")
        await bot.reply(spot).edit(bot.voice.refusal(say(wording.SOMETHING_BROKE)))


async def forget_messages(bot: ResearchClient, event: Deleted, message_ids: Sequence[int]) -> None:
    """Who deletes a question wants it forgotten, with its answer; also who deletes many at once."""
    try:
        scopes = await _scopes(bot, event)
    except discord.HTTPException as exc:
        _log.warning("deleted messages not forgotten", extra={"error": str(exc)})
        return
    for message_id in message_ids:
        with best_effort(_log.warning, "deleted message not forgotten", of=(GorkdError, discord.HTTPException)):
            if (reply := bot.replies.pop(message_id, None)) is not None:
                reply.is_dismissed = True  # what still waits to be asked is not
            keys = (f"discord:{message_id}", library_key(message_id))
            await bot.outages.outlast(partial(bot.taking_away.take_back, keys, scopes))
            if reply is not None:
                await reply.remove()


async def conversation_of(bot: ResearchClient, channel: object, asked_id: int, job_id: str = "") -> str:
    """Which conversation a question belongs to: that of the answer it replies to, or that its thread hangs under.

    A direct message is one conversation, and so is a thread; in a channel every question begins its own.
    """
    if not job_id and isinstance(channel, discord.Thread):
        job_id = await _job_above(channel)
    if job_id:
        with best_effort(_log.info, "an answer that was replied to is gone"):
            return (await bot.researcher.job(job_id)).request.thread
    if isinstance(channel, discord.Thread | discord.DMChannel):
        return f"discord:{channel.id}"
    return f"discord:{getattr(channel, 'id', 0)}:{asked_id}"


async def _respond(
    bot: ResearchClient, message: discord.Message, place: DiscordPlace, spot: MessageAddress, said: str
) -> None:
    above = message.reference.resolved if message.reference else None
    answered = job_of(above) if isinstance(above, discord.Message) and above.author == bot.user else ""
    known = await _known(bot, answered)
    if await hear_library(bot, message, said, TalkTurn(place, spot, str(message.id)), known):
        return
    thread = await conversation_of(bot, message.channel, message.id, answered)
    utterance = Utterance(said, str(place.user_id), has_files=bool(message.attachments))
    under = ((known,) if known and place.shows(known) else ()) if answered else None
    where = SaidIn(thread, (place.scope,), under, may_steer=not place.is_direct)
    deed = await heard_in(where, utterance, bot.researcher)
    key = f"discord:{message.id}"
    if isinstance(deed, Ask):
        request = ResearchRequest(
            said or say(wording.WHAT_DOES_IT_SAY), place.scope,
            asker=utterance.asker, thread=thread, channel=place.public_id,
            heard_before=known.created_at + JUST_AFTER if known and known.request.thread == thread else None,
        )  # fmt: skip
        await bot.ask(request, spot, key=key, files=message.attachments)
    elif isinstance(deed, Renew):
        submit = partial(renew, deed, bot.researcher, utterance.asker, key=key)

        async def begin(address: Address) -> ResearchJob:
            return await submit(address=address)

        await bot.answer(begin, spot, known=await bot.live.known(deed.job.scope, key))
    else:
        await _do(bot, deed, place, spot, partial(_react, message))


async def _react(message: discord.Message, sign: Reaction) -> bool:
    """Whether the sign stands at the message; Discord may not let us."""
    try:
        await message.add_reaction(REACTIONS[sign][0])
    except discord.HTTPException as exc:
        _log.info("no reaction", extra={"reason": str(exc)})
        return False
    return True


async def hear_edited(bot: ResearchClient, event: discord.RawMessageUpdateEvent) -> None:
    """A question that reads otherwise than it was researched is offered again. Previews are told of as edits too."""
    message = event.message
    if message.author.bot or bot.user is None or not message.content:
        return
    with best_effort(_log.warning, "an edited question is not offered", of=(GorkdError, discord.HTTPException)):
        place = await bot.placed(place_of_message(message))
        job = await bot.researcher.asked_last(f"discord:{message.id}", scope=place.scope)
        deed = hear_edit(question_of(message.content, bot.user.id), job)
        if isinstance(deed, Offer):
            await _offer(bot, message, deed)


async def _offer(bot: ResearchClient, message: discord.Message, deed: Offer) -> None:
    """Once for each wording, and gone with the question. Raises `GorkdError`, `discord.HTTPException`."""
    spot = await _spot(message)
    if spot is None:
        return
    shown = bot.voice.changed(deed)
    said = {"embed": shown.embed} if spot.can_embed else {"content": shown.text}
    nonce = nonce_of("e", changed_key(deed.job, deed.question).rpartition(":")[2])
    sent = await message.reply(**said, view=view_of(shown), mention_author=False, nonce=nonce)  # type: ignore[arg-type]  # either
    at = MessageAddress(message.channel.id, message.author.id, sent.id, can_post=True)
    await bot.researcher.note_shown(deed.job.id, [at.to_address()])


async def _do(
    bot: ResearchClient,
    deed: Deed,
    place: DiscordPlace,
    spot: MessageAddress,
    sign: Callable[[Reaction], Awaitable[bool]],
) -> None:
    """What is done at once, and what is said of it. Raises `GorkdError`."""
    at = replace(spot, token="", token_until=0.0)
    here = spoken_place(at, place.scope, place, is_overheard=not place.is_direct)

    async def where(_: ResearchJob | None) -> WatchPlace:
        return here

    if deed == Show("history") and not place.is_direct:  # one's own questions are nobody else's business
        deed = Show("help")

    speaking = bot.speaking(place, where, partial(elsewhere, bot, place))
    said = await told_of(deed, replace(speaking, sign=sign))
    if said is None:
        return
    shown = bot.reply(spot)
    await shown.edit(said)
    if isinstance(deed, ShowSources | Prove):
        await bot.researcher.note_shown(deed.job.id, shown.shown)


async def elsewhere(bot: ResearchClient, place: DiscordPlace, channel: str) -> WatchPlace | None:
    """Another channel of the server that everybody may read: what is asked there is nobody's secret. Where not
    everybody may write, we write for nobody but who manages the server.
    """
    found = bot.get_channel(int(channel)) if channel.isdecimal() else None
    if not isinstance(found, discord.TextChannel) or found.guild.id != place.guild_id or not is_open(found):
        return None
    if not (place.is_manager or may_all_write(found)):
        return None
    there = await bot.placed(DiscordPlace(place.user_id, found.id, place.guild_id, is_open=True))
    at = MessageAddress(found.id, place.user_id, can_post=True)
    return spoken_place(at, there.scope, there)


async def _known(bot: ResearchClient, job_id: str) -> ResearchJob | None:
    try:
        return await bot.researcher.job(job_id) if job_id else None
    except JobNotFound:
        return None


async def _job_above(thread: discord.Thread) -> str:
    """The job of the answer that a thread hangs under; its id is that message's."""
    if thread.parent is None or not isinstance(thread.parent, discord.TextChannel):
        return ""
    try:
        return job_of(await thread.parent.fetch_message(thread.id))
    except discord.HTTPException:  # the message was deleted, or may not be read
        return ""


async def _spot(message: discord.Message) -> MessageAddress | None:
    """Where to answer; None where the bot may not write, which is told to the author in private."""
    spot = MessageAddress(message.channel.id, message.author.id, question_id=message.id, can_post=True)
    if message.guild is None or not isinstance(message.channel, discord.abc.GuildChannel | discord.Thread):
        return spot
    if message.guild.me is None:  # not told yet; trying is better than saying nothing
        return spot
    allowed = message.channel.permissions_for(message.guild.me)
    is_thread = isinstance(message.channel, discord.Thread)
    if allowed.send_messages_in_threads if is_thread else allowed.send_messages:
        return replace(spot, can_embed=allowed.embed_links)
    with best_effort(_log.warning, "may not write in a channel, nor to the author", of=discord.HTTPException):
        await message.author.send(word("asking.may_not_write", channel=message.channel.name))
    return None


async def _scopes(bot: ResearchClient, event: Deleted) -> list[Scope]:
    """The scopes a message in that place may have been asked in; whether a channel is open may have changed since."""
    channel = bot.get_channel(event.channel_id)
    if event.guild_id:
        parent = channel.parent_id if isinstance(channel, discord.Thread) and not channel.is_private() else 0
        places = [DiscordPlace(0, event.channel_id, event.guild_id, parent, is_open=opened) for opened in (True, False)]
        return [place.scope for place in places]
    direct = channel or await bot.fetch_channel(event.channel_id)
    if not isinstance(direct, discord.DMChannel) or direct.recipient is None:
        return []
    return [DiscordPlace(direct.recipient.id, direct.id, is_direct=True).scope]
