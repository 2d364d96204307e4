"""The conversation with a team's papers in Discord: commands, words, buttons, files, and how it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import discord
from discord import app_commands

from adapters.chat.discord.client import ResearchClient, incoming
from adapters.chat.discord.delivery import MessageAddress, acknowledge, open_form
from adapters.chat.discord.markup import is_linkable, plain, rich
from adapters.chat.discord.payload import (
    CUSTOM_ID_LIMIT,
    DiscordButton,
    DiscordMessage,
    Row,
    wish_form,
    word,
)
from adapters.chat.discord.render import COLOUR_FAILED, COLOUR_RUNNING
from adapters.chat.discord.translate import Asked, DiscordPlace, place_of_interaction
from adapters.chat.fitting import last_lines
from adapters.chat.watching import Upload
from core.library.session import LibraryCard, SaidToLibrary, Speaker, library_card
from core.library.states import ALSO_OF_ANSWERS, COMMANDS, Addition
from core.model.errors import GorkdError, StoreError
from core.model.job import LOCAL, ResearchJob
from core.presentation import wording
from core.presentation.page_links import PageLinks
from core.presentation.render import one_line
from core.text.saying import say

MAX_CHOICES = 25
CHOICE_LENGTH = 100
COLOUR = 0x3498DB
TEXT_ROOM = 3_700  # of an embed's 4,096; the next steps have 300
PLAIN_ROOM = 1_600  # of a message's 2,000, where the bot may not embed
PAGE_ROOM = 600  # of a page's text above its picture
TITLE_ROOM = 250
LINE_ROOM = 1_000
ASKED_ROOM = 200
PICTURE = "page.png"


@dataclass(frozen=True)
class TalkTurn:
    """Somebody has said something, which `key` names, at a place; it is answered at `spot`."""

    place: DiscordPlace
    spot: MessageAddress
    key: str

    @property
    def speaker(self) -> Speaker:
        """Whoever may manage the server may change its library; in a direct message it is one's own."""
        place = self.place
        return Speaker(
            place.scope, place.talk, str(place.user_id),
            is_admin=place.is_admin, key=f"discord:{self.key}", channel=place.public_id,
        )  # fmt: skip


def library_command(bot: ResearchClient) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="library", description=word("library.command"))
    @app_commands.guild_install()
    @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=False)
    @app_commands.describe(
        command=word("library.option_command"),
        argument=word("library.option_argument"),
        file=word("library.option_file"),
    )
    async def command(
        interaction: Asked,
        command: app_commands.Range[str, 1, 50],
        argument: app_commands.Range[str, 0, 1000] = "",
        file: discord.Attachment | None = None,
    ) -> None:
        spot = await acknowledge(interaction)
        if spot is None:
            return
        turn = TalkTurn(await bot.placed(place_of_interaction(interaction)), spot, str(interaction.id))
        addition = Addition((argument,) if argument else ()) if command == "add" else None
        await _take(bot, turn, addition or f"{command} {argument}".strip(), files=[file] if file else [])

    async def complete_argument(interaction: Asked, current: str) -> list[app_commands.Choice[str]]:
        return await _papers_like(bot, interaction, current)

    command.autocomplete("command")(_complete_command)
    command.autocomplete("argument")(complete_argument)
    return command


async def hear_library(
    bot: ResearchClient, message: discord.Message, said: str, turn: TalkTurn, answered: ResearchJob | None
) -> bool:
    """Whether the library has answered a message, which replies to `answered`. Raises `StoreError`."""
    has_files = bool(message.attachments)
    heard = await bot.library.talks.hear(turn.place.scope, turn.place.talk, said, has_files=has_files)
    is_other = answered is not None and "library" not in answered.request.modes
    if isinstance(heard, Addition):
        await _take(bot, turn, heard, files=message.attachments)
    elif heard is not None and not (is_other and not heard.is_certain and heard.command in ALSO_OF_ANSWERS):
        await _take(bot, turn, heard.text)
    else:
        return False
    return True


async def press_library(bot: ResearchClient, interaction: Asked, words: str, tag: str) -> None:
    """A button, or the form that one has opened. With a `tag` it counts only while what it stands under is shown."""
    if words == "improve":
        await open_form(interaction, wish_form(f"library:{tag}:{words}"))
        return
    spot = await acknowledge(interaction)
    if spot is None:
        return
    turn = TalkTurn(await bot.placed(place_of_interaction(interaction)), spot, str(interaction.id))
    await _take(bot, turn, words, about=tag)


async def _take(
    bot: ResearchClient,
    turn: TalkTurn,
    said: str | Addition,
    *,
    files: Sequence[discord.Attachment] = (),
    about: str = "",
) -> None:
    reply = bot.reply(turn.spot)

    async def reached() -> None:
        await bot.library.talks.conversations.get(turn.place.scope, turn.place.talk)

    if bot.is_retiring:
        await reply.edit(bot.voice.refusal(word("asking.restarting")))
        return
    try:
        await bot.outages.outlast(reached, partial(bot.tell_outage, reply))
    except StoreError as error:
        await reply.edit(bot.voice.refusal(error.user_message))
        return
    if isinstance(said, Addition):
        answering = bot.library.add(turn.speaker, said, [incoming(file) for file in files], reply)
    else:
        answering = bot.library.say(turn.speaker, said, reply, about=about)
    await asyncio.shield(answering)


def library_key(message_id: int) -> str:
    """What the research of a message's words is stored under."""
    return Speaker(LOCAL, "", key=f"discord:{message_id}").dedupe_key


async def _complete_command(_: Asked, current: str) -> list[app_commands.Choice[str]]:
    wanted = current.casefold().strip()
    described = {"add": word("library.add")} | {name: say(rule.does) for name, rule in COMMANDS.items()}
    return [
        app_commands.Choice(name=f"{name}: {does}"[:CHOICE_LENGTH], value=name)
        for name, does in described.items()
        if wanted in name
    ][:MAX_CHOICES]


async def _papers_like(bot: ResearchClient, interaction: Asked, current: str) -> list[app_commands.Choice[str]]:
    """Papers by id or title, where the command takes one."""
    rule = COMMANDS.get(getattr(interaction.namespace, "command", ""))
    if rule is None or not rule.takes_paper:
        return []
    wanted = current.casefold().strip()
    try:
        papers = await bot.library.talks.papers((await bot.placed(place_of_interaction(interaction))).scope)
    except GorkdError:
        return []
    shown = [(paper.id, f"{paper.id} {one_line(paper.title)}"[:CHOICE_LENGTH]) for paper in papers]
    fitting = [app_commands.Choice(name=name, value=id_) for id_, name in shown if wanted in name.casefold()]
    return fitting[:MAX_CHOICES]


# What it says, as messages. Pure


@dataclass(frozen=True)
class DiscordLibraryVoice:
    """A `LibraryVoice`; `links` gives the address of a paper and of an answer's page."""

    links: PageLinks

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> DiscordMessage:
        told = last_lines([plain(line, ASKED_ROOM) for line in lines if line.strip()], PLAIN_ROOM)
        text = "\n".join([f"**{plain(asked, ASKED_ROOM)}**", "", *(told or ["…"])])
        title = f"📚 {word('library.working')}"
        embed = discord.Embed(title=title, description=text, colour=COLOUR_RUNNING)
        rows = ((DiscordButton(say(wording.CANCEL), f"cancel:{job_id}"),),) if job_id else ()
        return DiscordMessage(embed, f"**{title}**\n{text}", rows)

    def said(self, speaker: Speaker, said: SaidToLibrary) -> DiscordMessage:
        card = library_card(said, speaker.scope, self.links)
        title = plain(card.title, TITLE_ROOM)
        embed = discord.Embed(title=title or None, colour=COLOUR_FAILED if card.text.startswith("❌") else COLOUR)
        small_print = "\n\n" if card.next_steps else ""
        small_print += "\n".join(f"-# {rich(line, LINE_ROOM)}" for line in card.next_steps)
        embed.description = rich(card.text, PAGE_ROOM if card.picture else TEXT_ROOM) + small_print
        files = [Upload(PICTURE, card.picture)] if card.picture else []
        if card.picture:
            embed.set_image(url=f"attachment://{PICTURE}")
        if card.file is not None:
            files.append(Upload(card.file[0], card.file[1].encode()))
        head = f"**{title}**\n" if title else ""
        text = f"{head}{rich(card.text, PLAIN_ROOM)}{small_print}"
        return DiscordMessage(embed, text, _rows(card), files=tuple(files))

    def refusal(self, sentence: str) -> DiscordMessage:
        said = rich(sentence, LINE_ROOM) or say(wording.SOMETHING_BROKE)
        return DiscordMessage(discord.Embed(description=said, colour=COLOUR_FAILED), said)


def _rows(card: LibraryCard) -> tuple[Row, ...]:
    """The papers in rows of five, then what belongs to all that is shown; without ids that Discord could not carry."""
    papers, steps = (
        [DiscordButton(one.label, f"library:{one.about}:{one.says}", one.says == "yes") for one in some]
        for some in (card.of_list, card.steps)
    )
    pdf = [DiscordButton("PDF", url=card.pdf_url)] if is_linkable(card.pdf_url) else []
    page = [DiscordButton(say(wording.VIEW_FULL_ANALYSIS), url=card.page_url)] if is_linkable(card.page_url) else []
    rows = (papers[:5], papers[5:], [*pdf, *steps, *page])
    fitting = [tuple(one for one in row if len(one.custom_id) <= CUSTOM_ID_LIMIT) for row in rows]
    return tuple(row for row in fitting if row)
