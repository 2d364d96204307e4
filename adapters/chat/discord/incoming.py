"""What people write to the bot, edit, take back or press: adapters/chat/desk.py says what it means, here it is done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import aiohttp
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
    Say,
    Show,
    ShowSources,
    Utterance,
    changed_key,
    hear_edit,
    heard_in,
    renew,
    thanks_for_vote,
    told_of,
)
from adapters.chat.desk import press as pressed
from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import DiscordReply, MessageAddress, acknowledge, may_post, nonce_of, open_form
from adapters.chat.discord.library import TalkTurn, hear_library, library_key
from adapters.chat.discord.payload import (
    SHARE_HERE,
    SHARED_SOURCES,
    DiscordButton,
    DiscordMessage,
    job_of,
    view_of,
    wish_form,
    word,
    wrong_form,
)
from adapters.chat.discord.translate import (
    Asked,
    DiscordPlace,
    is_open,
    may_all_write,
    place_of_interaction,
    place_of_message,
    question_of,
)
from adapters.chat.reply import AddressDead, best_effort
from adapters.chat.watching import WatchPlace
from core.model.errors import GorkdError, InvalidQuery, JobNotFound
from core.model.job import ResearchJob, ResearchRequest, Scope
from core.pipeline.conversation import JUST_AFTER, talk_of
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
    above = "" if job_id or not isinstance(channel, discord.Thread) else await _job_above(channel)
    if job_id or above:
        with best_effort(_log.info, "an answer that was replied to is gone"):
            job = await bot.researcher.job(job_id or above)
            return talk_of(job) if above else job.request.thread
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
        reply = bot.reply(spot)
        submit = partial(renew, deed, bot.researcher, utterance.asker, key=key, address=reply.address)
        await bot.answer(submit, reply, known=await bot.live.known(deed.job.scope, key))
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


# What the buttons under an answer do. Each looks up its job and asks whether this person may


async def press_button(bot: ResearchClient, interaction: Asked, press: str, job_id: str) -> None:
    """Every press is acknowledged, and ends in words or an answer."""
    if press in ("improve", "bad"):
        form = wish_form if press == "improve" else wrong_form
        await open_form(interaction, form(f"{press}:{job_id}"))
        if press == "bad":  # the vote counts although nobody says why
            with best_effort(_log.info, "vote not kept"):
                job = await _visible(bot, interaction, job_id)
                await bot.researcher.rate(job.id, str(interaction.user.id), good=False, scope=job.scope)
        return
    is_again = press in ("retry", "ask_again", "refresh", "start_deep")
    if is_again or (press == "changed" and await _is_theirs(bot, interaction, job_id)):
        await _new_answer(bot, interaction, job_id, press, in_place=press in ("retry", "changed"))
        return
    if press == "not_now":
        await _decline(bot, interaction, job_id)
        return

    async def make() -> DiscordMessage:
        if press == SHARED_SOURCES:  # who shared the answer shared its sources; only a shared message has it
            return await _told(bot, interaction, "show_sources", await bot.researcher.job(job_id))
        return await _told(bot, interaction, press, await _visible(bot, interaction, job_id))

    shown = await bot.whisper(interaction, make, ephemeral=press != SHARE_HERE)
    if press == SHARE_HERE:
        with best_effort(_log.warning, "shared copy not noted"):  # it goes with the answer
            await bot.researcher.note_shown(job_id, shown)


async def choose(bot: ResearchClient, interaction: Asked, press: str, job_id: str) -> None:
    """From a menu: a client goes on showing what was chosen, and sends it no second time before the menu is redrawn."""
    message, pressing = interaction.message, press_button(bot, interaction, press, job_id)
    if message is None:
        await pressing
    elif may_post(interaction) and not message.flags.ephemeral:
        await asyncio.gather(pressing, _redraw(message.edit, message))
    else:  # by the interaction's token, which is good once it is acknowledged
        await pressing
        await _redraw(partial(interaction.followup.edit_message, message.id), message)


async def _redraw(edit: Callable[..., Awaitable[object]], message: discord.Message) -> None:
    """Without it a choice works once in a row, which is worth no error."""
    view = discord.ui.View.from_message(message, timeout=None)
    view.stop()  # else discord.py keeps it for ever; the presses come as any other message's
    with best_effort(_log.info, "menu not redrawn", of=(discord.HTTPException, aiohttp.ClientError, OSError)):
        await edit(view=view)


async def submit_form(bot: ResearchClient, interaction: Asked, press: str, job_id: str, said: str) -> None:
    """A form that somebody has filled in."""
    if press == "bad":

        async def thank() -> DiscordMessage:
            job = await _visible(bot, interaction, job_id)
            await bot.researcher.rate(job.id, str(interaction.user.id), good=False, reason=said, scope=job.scope)
            is_admin = place_of_interaction(interaction).is_admin
            return bot.voice.watching(thanks_for_vote(job, is_admin=is_admin))

        await bot.whisper(interaction, thank)
        return

    await _new_answer(bot, interaction, job_id, "improve", wish=said)


async def _is_theirs(bot: ResearchClient, interaction: Asked, job_id: str) -> bool:
    try:
        return (await bot.researcher.job(job_id)).request.asker == str(interaction.user.id)
    except GorkdError:
        return False


async def _edited(bot: ResearchClient, interaction: Asked) -> str:
    """What the message says above the one with the button; "" where it is gone."""
    above = interaction.message.reference if interaction.message else None
    if above is None or above.message_id is None or bot.user is None:
        return ""
    try:
        message = await bot.get_partial_messageable(above.channel_id).fetch_message(above.message_id)
    except discord.HTTPException as exc:
        _log.info("an edited question is gone", extra={"reason": str(exc)})
        return ""
    return question_of(message.content, bot.user.id)


async def _new_answer(
    bot: ResearchClient, interaction: Asked, job_id: str, press: str, *, wish: str = "", in_place: bool = False
) -> None:
    """An answer to the press; `in_place` it takes the place of the message that was pressed."""
    is_hidden = bool(interaction.message and interaction.message.flags.ephemeral)
    spot = await acknowledge(interaction, ephemeral=is_hidden, in_place=in_place)
    if spot is None:
        return
    asker, reply = str(interaction.user.id), bot.reply(spot)
    reply.in_place = in_place

    async def begin() -> ResearchJob:
        job = await _visible(bot, interaction, job_id)
        # The offer becomes the answer to what the edited message says now.
        question = await _edited(bot, interaction) if press == "changed" else ""
        deed = Renew(job, "improve", wish) if press == "improve" else pressed(press, job, asker, question=question)
        if not isinstance(deed, Renew):
            raise InvalidQuery(deed.sentence if isinstance(deed, Say) else say(wording.ASK_WHAT), rule="changed")
        key = deed.key(f"discord:{interaction.id}")
        return await renew(deed, bot.researcher, asker, key=key, address=reply.address)

    await bot.answer(begin, reply)
    if not reply.has_shown and not in_place:  # somebody else's press has begun it, and its message lives elsewhere
        await reply.edit(bot.voice.notice(say(wording.ALREADY_BEGUN)))


async def _decline(bot: ResearchClient, interaction: Asked, job_id: str) -> None:
    """The offer goes, the answer stays."""
    spot = await acknowledge(interaction, in_place=True)
    if spot is None:
        return
    with best_effort(_log.info, "offer not taken back", of=(GorkdError, AddressDead, discord.HTTPException)):
        job = await _visible(bot, interaction, job_id)
        result, sources = await bot.researcher.result(job.id), await bot.researcher.sources(job.id)
        await bot.reply(spot).edit(replace(bot.voice.outcome(job, result, sources, may_offer=False), details=()))


async def _told(bot: ResearchClient, interaction: Asked, press: str, job: ResearchJob) -> DiscordMessage:
    """What a press is answered with; the deeds are done on the way. Raises `GorkdError`."""
    place = place_of_interaction(interaction)
    deed = pressed("share" if press == SHARE_HERE else press, job, str(interaction.user.id))  # the same rights
    at = bot.speaking(place, partial(watch_place, interaction, place))
    if deed is not None and (said := await told_of(deed, at)):
        return replace(said, details=())
    if press == "share":  # what only Discord asks, or only shows
        confirm = DiscordButton(say(wording.SHARE), f"{SHARE_HERE}:{job.id}", is_primary=True)
        return bot.voice.question(f"{say(wording.SHARE_TITLE)} {say(wording.SHARE_QUESTION)}", confirm)
    if press == SHARE_HERE:
        result = await bot.researcher.result(job.id)
        if result is None or result.answer is None:
            raise JobNotFound(job.id)
        return bot.voice.shared(job, result, await bot.researcher.sources(job.id), by=interaction.user.display_name)
    await bot.researcher.rate(job.id, str(interaction.user.id), good=True, scope=job.scope)
    return bot.voice.notice(say(wording.THANKS))


async def watch_place(interaction: Asked, place: DiscordPlace, watched: ResearchJob | None) -> WatchPlace:
    """Where a watch tells: below the message that was pressed, in its thread, or to the asker alone."""
    scope = watched.scope if watched else place.scope
    channel, above = interaction.channel_id or 0, interaction.message.id if interaction.message else 0
    if scope.is_one_persons and not place.is_direct:
        channel, above = (await interaction.user.create_dm()).id, 0
    if interaction.message and interaction.message.flags.ephemeral:
        above = 0
    spot = MessageAddress(channel, interaction.user.id, question_id=above, can_post=True)
    return spoken_place(spot, scope, place)


def spoken_place(spot: MessageAddress, scope: Scope, place: DiscordPlace, *, is_overheard: bool = False) -> WatchPlace:
    """What ends with its channel, and hangs there below a message or on none."""
    is_aside = scope.is_one_persons and not place.is_direct
    channel = str(spot.channel_id) if is_aside or place.is_direct else place.public_id
    in_channel = replace(spot, question_id=0, message_id=0, channel_id=int(channel))
    at, fresh = (replace(one.to_address(), place=channel) for one in (spot, in_channel))
    talk = f"discord:{spot.channel_id}"
    return WatchPlace(str(spot.asker_id), scope, at, fresh, place.public_id, talk, is_overheard=is_overheard)


async def _visible(bot: ResearchClient, interaction: Asked, job_id: str) -> ResearchJob:
    """Raises `JobNotFound` for a job that this person may not see here."""
    job = await bot.researcher.job(job_id)
    if not place_of_interaction(interaction).shows(job):
        raise JobNotFound(job_id)
    return job
