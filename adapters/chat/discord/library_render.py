"""What the paper library says, as Discord messages: a reply, its progress, and the buttons that go on from it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from adapters.chat.library import ALONE, library_steps
from core.library import wording
from core.library.session import SaidToLibrary, Speaker
from core.model.job import Scope
from core.presentation import wording as common
from core.presentation.page_links import PageLinks, PaperPlace
from core.text.saying import say

COLOUR = 0x3498DB
TEXT_ROOM = 3_700  # of an embed's 4,096; the next steps have 300
PLAIN_ROOM = 1_600  # of a message's 2,000, where the bot may not embed
PAGE_ROOM = 600  # of a page's text above its picture
TITLE_ROOM = 250
LINE_ROOM = 1_000
ASKED_ROOM = 200
PAPER_BUTTONS = 10  # two rows; the others are named by number
PICTURE = "page.png"
PARAGRAPH = "\n\n"


@dataclass(frozen=True)
class DiscordLibraryVoice:
    """A `LibraryVoice`; `links` gives the address of a paper and of an answer's page."""

    links: PageLinks

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> DiscordMessage:
        told = last_lines([plain(line, ASKED_ROOM) for line in lines if line.strip()], PLAIN_ROOM)
        text = "\n".join([f"**{plain(asked, ASKED_ROOM)}**", "", *(told or ["…"])])
        title = f"📚 {word('library.working')}"
        embed = discord.Embed(title=title, description=text, colour=COLOUR_RUNNING)
        rows = ((JobButton(Press.CANCEL, job_id, common.CANCEL),),) if job_id else ()
        return DiscordMessage(embed, f"**{title}**\n{text}", rows)

    def said(self, speaker: Speaker, said: SaidToLibrary) -> DiscordMessage:
        text, files = _text(said), _files(said)
        failed = text.startswith("❌")
        title = plain(said.reply.title, TITLE_ROOM)
        embed = discord.Embed(title=title or None, colour=COLOUR_FAILED if failed else COLOUR)
        embed.description = rich(text, PAGE_ROOM if said.picture else TEXT_ROOM)
        if said.picture:
            embed.set_image(url=f"attachment://{PICTURE}")
        steps = _next_steps() if said.reply.title == say(wording.PANEL_TITLE) else ""
        embed.description += steps
        head = f"**{title}**\n" if title else ""
        rows = self._rows(speaker, said)
        return DiscordMessage(embed, f"{head}{rich(text, PLAIN_ROOM)}{steps}", rows, files=files)

    def refusal(self, sentence: str) -> DiscordMessage:
        said = rich(sentence, LINE_ROOM) or common.SOMETHING_BROKE
        return DiscordMessage(discord.Embed(description=said, colour=COLOUR_FAILED), said)

    def _rows(self, speaker: Speaker, said: SaidToLibrary) -> tuple[Row, ...]:
        """The papers, then what belongs to one and to what is shown; a single thing to open stands with these."""
        steps = [
            LibraryButton(step.says, step.label, step.about, style="primary" if step.says == "yes" else "secondary")
            for step in library_steps(said, most_papers=PAPER_BUTTONS)
        ]
        is_alone = said.reply.title in ALONE and said.reply.page is None and not said.added
        if said.after.offered or said.reply.file is not None or is_alone:
            return _kept([steps])
        papers, doing = [step for step in steps if not step.tag], [step for step in steps if step.tag]
        if said.after.selected_paper and said.reply.page is None and not said.added:
            papers, doing = [], steps
        return _kept([papers[:5], papers[5:], [*self._pdf(speaker.scope, said), *doing, *self._page(said)]])

    def _pdf(self, scope: Scope, said: SaidToLibrary) -> list[LinkButton]:
        if said.reply.page is None:
            return []
        paper, page = said.reply.page
        url = self.links.paper(PaperPlace(scope, paper.id), page=page or 1)
        return [LinkButton("PDF", url)] if paper.pages and is_linkable(url) else []

    def _page(self, said: SaidToLibrary) -> list[LinkButton]:
        """Where the whole answer is with its sources."""
        url = self.links.link(said.job) if said.job else ""
        return [LinkButton(say(common.VIEW_FULL_ANALYSIS), url)] if is_linkable(url) else []


def _text(said: SaidToLibrary) -> str:
    """The reply; above a picture the sentence that it marks, in place of how the page begins."""
    if said.reply.file:
        return f"{said.reply.text}\n{wording.saved(said.reply.file[0])}"
    if said.picture and said.quote:
        return f"{said.reply.text.partition(PARAGRAPH)[0]}\n\n“{said.quote}”"
    return said.reply.text


def _next_steps() -> str:
    """S000-38, in small print."""
    return "\n\n" + "\n".join(f"-# {rich(say(line), LINE_ROOM)}" for line in wording.NEXT_STEPS)


def _files(said: SaidToLibrary) -> tuple[DiscordUpload, ...]:
    files = [DiscordUpload(PICTURE, said.picture)] if said.picture else []
    if said.reply.file is not None:
        name, content = said.reply.file
        files.append(DiscordUpload(name, content.encode()))
    return tuple(files)


def _kept(rows: Iterable[Sequence[LibraryButton | LinkButton]]) -> tuple[Row, ...]:
    """Without what Discord could not carry: ids over 100 characters, and empty rows."""
    fitting = [[one for one in row if isinstance(one, LinkButton) or one.fits] for row in rows]
    return tuple(tuple(row) for row in fitting if row)
