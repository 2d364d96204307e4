"""What the paper library says, as Discord messages: a reply, its progress, and the buttons that go on from it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import discord

from adapters.chat.discord.markup import is_linkable, plain, rich
from adapters.chat.discord.payload import (
    DiscordMessage,
    DiscordUpload,
    JobButton,
    LibraryButton,
    LinkButton,
    Press,
    Row,
    word,
)
from adapters.chat.discord.render import COLOUR_FAILED, COLOUR_RUNNING
from adapters.chat.fitting import last_lines
from core.library.card import LibraryCard, library_card
from core.library.session import SaidToLibrary, Speaker
from core.presentation import wording
from core.presentation.page_links import PageLinks
from core.text.saying import say

COLOUR = 0x3498DB
TEXT_ROOM = 3_700  # of an embed's 4,096; the next steps have 300
PLAIN_ROOM = 1_600  # of a message's 2,000, where the bot may not embed
PAGE_ROOM = 600  # of a page's text above its picture
TITLE_ROOM = 250
LINE_ROOM = 1_000
ASKED_ROOM = 200
PICTURE = "page.png"


@dataclass(frozen=True)
class DiscordLibraryVoice:
    """A `LibraryVoice`; `links` gives the address of a paper and of an answer's page."""

    links: PageLinks

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> DiscordMessage:
        told = last_lines([plain(line, ASKED_ROOM) for line in lines if line.strip()], PLAIN_ROOM)
        text = "\n".join([f"**{plain(asked, ASKED_ROOM)}**", "", *(told or ["…"])])
        title = f"📚 {word('library.working')}"
        embed = discord.Embed(title=title, description=text, colour=COLOUR_RUNNING)
        rows = ((JobButton(Press.CANCEL, job_id, say(wording.CANCEL)),),) if job_id else ()
        return DiscordMessage(embed, f"**{title}**\n{text}", rows)

    def said(self, speaker: Speaker, said: SaidToLibrary) -> DiscordMessage:
        card = library_card(said, speaker.scope, self.links)
        title = plain(card.title, TITLE_ROOM)
        embed = discord.Embed(title=title or None, colour=COLOUR_FAILED if card.text.startswith("❌") else COLOUR)
        small_print = "\n\n" if card.next_steps else ""
        small_print += "\n".join(f"-# {rich(line, LINE_ROOM)}" for line in card.next_steps)
        embed.description = rich(card.text, PAGE_ROOM if card.picture else TEXT_ROOM) + small_print
        files = [DiscordUpload(PICTURE, card.picture)] if card.picture else []
        if card.picture:
            embed.set_image(url=f"attachment://{PICTURE}")
        if card.file is not None:
            files.append(DiscordUpload(card.file[0], card.file[1].encode()))
        head = f"**{title}**\n" if title else ""
        text = f"{head}{rich(card.text, PLAIN_ROOM)}{small_print}"
        return DiscordMessage(embed, text, _rows(card), files=tuple(files))

    def refusal(self, sentence: str) -> DiscordMessage:
        said = rich(sentence, LINE_ROOM) or say(wording.SOMETHING_BROKE)
        return DiscordMessage(discord.Embed(description=said, colour=COLOUR_FAILED), said)


def _rows(card: LibraryCard) -> tuple[Row, ...]:
    """The papers in rows of five, then what belongs to all that is shown; without ids that Discord could not carry."""
    papers, steps = (
        [
            LibraryButton(one.says, one.label, one.about, style="primary" if one.says == "yes" else "secondary")
            for one in some
        ]
        for some in (card.of_list, card.steps)
    )
    pdf = [LinkButton("PDF", card.pdf_url)] if is_linkable(card.pdf_url) else []
    page = [LinkButton(say(wording.VIEW_FULL_ANALYSIS), card.page_url)] if is_linkable(card.page_url) else []
    rows: list[list[LibraryButton | LinkButton]] = [[*papers[:5]], [*papers[5:]], [*pdf, *steps, *page]]
    fitting = [[one for one in row if isinstance(one, LinkButton) or one.fits] for row in rows]
    return tuple(tuple(row) for row in fitting if row)
