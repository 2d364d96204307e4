"""What the buttons under an answer do. Each looks up its job and asks whether this person may."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import aiohttp
import discord

from adapters.chat.desk import Renew, Say, renew, thanks_for_vote, told_of
from adapters.chat.desk import press as pressed
from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.delivery import MessageAddress, acknowledge, may_post, open_form
from adapters.chat.discord.payload import (
    SHARE_HERE,
    SHARED_SOURCES,
    DiscordButton,
    DiscordMessage,
    wish_form,
    wrong_form,
)
from adapters.chat.discord.translate import Asked, DiscordPlace, place_of_interaction, question_of
from adapters.chat.reply import AddressDead, best_effort
from adapters.chat.watching import WatchPlace
from core.model.errors import GorkdError, InvalidQuery, JobNotFound
from core.model.job import ResearchJob, Scope
from core.presentation import wording
from core.text.saying import say

_log = logging.getLogger(__name__)


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
            return bot.voice.watching(thanks_for_vote(bot.proving, job, is_admin=is_admin))

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

    async def where(_: ResearchJob | None) -> WatchPlace:
        return await watch_place(interaction, place, job.scope)

    if deed is not None and (said := await told_of(deed, bot.speaking(place, where))):
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


async def watch_place(interaction: Asked, place: DiscordPlace, scope: Scope) -> WatchPlace:
    """Where a watch tells: below the message that was pressed, in its thread, or to the asker alone."""
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
