"""A job as Discord shows it (S003-20, G-02): progress, outcome, refusal. Pure, and where Discord's limits are kept.

Everything is composed within a limit, so nothing is ever cut afterwards: the same parts make an embed of 4096
characters, and a text of 2000 where the bot may not embed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import discord

from adapters.chat.desk import Offer
from adapters.chat.discord.findings import findings_text, prose_with_code
from adapters.chat.discord.markup import is_linkable, name_line, page_link, plain, prose, source_line
from adapters.chat.discord.payload import DiscordMessage, JobButton, LinkButton, Press, Row, word
from adapters.chat.fitting import fit, units
from core.model.answer import AnswerFile, Confidence, JobResult, ResearchAnswer
from core.model.job import ResearchJob
from core.model.source import Source
from core.pipeline.changes import AnswerChanges
from core.pipeline.snapshot import Snapshot
from core.presentation import wording
from core.presentation.card import AnswerCard, CardButton, CardPart, answer_card, progress_card
from core.presentation.page_links import PageLinks
from core.presentation.render import is_used, one_line

DESCRIPTION_LIMIT = 4096  # characters of an embed's description (Discord, embed limits)
CONTENT_LIMIT = 2000
THREAD_NAME_LIMIT = 100
TOP_SOURCES = 3  # G-02; all of them are behind Show Sources
QUESTION_ROOM = 300  # a longer question is recognised by its beginning
LINE_ROOM = 200
LEAST_ANSWER = 600  # the answer's room; what would leave it less is left out
LEAST_FOUND = 0.6  # of all the room, where lists and code are the answer
PART_ROOM = 2 * LINE_ROOM
_ROOMS = {"searched": LINE_ROOM, "advice": LINE_ROOM}  # of parts that are shorter than others
# Parts with a place of their own; of what comes below, the first is left out last.
_ABOVE = ("understood", "earlier", "answer", "detail", "notice", "confidence", "reasons")
_WANTED_FIRST = ("offer", "files", "sources")

COLOURS = {
    Confidence.HIGH: 0x2ECC71,
    Confidence.MEDIUM: 0xF1C40F,
    Confidence.LOW: 0xE67E22,
    Confidence.INSUFFICIENT: 0xE74C3C,
    None: 0xE74C3C,
}  # G-02
EARLIER_ROOM = 1000  # of an earlier answer while it is being confirmed
RUNNING_LIMIT = 1800  # of a progress report: with title and footer it fits a plain message
ITEM_ROOM = 120  # of an item of a research plan
COLOUR_RUNNING = 0x5865F2
COLOUR_FAILED = 0xE74C3C


@dataclass(frozen=True)
class DiscordVoice:
    """`links` gives the address of a job's page."""

    links: PageLinks

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> DiscordMessage:
        card = progress_card(job, snapshot, elapsed_s)
        lines = [_asked(card.asked), "", f"**{plain(card.message, LINE_ROOM)}** …"]
        items = card.plan.items if card.plan else ()
        if card.plan:
            lines += [plain(card.plan.headline, LINE_ROOM), *(plain(item.line, ITEM_ROOM) for item in items)]
            lines += [f"-# {wording.HOW_TO_STEER}"] if items else []
        lines += [f"· {plain(part, LINE_ROOM)}" for part in card.running]
        if card.queries:
            lines.append(f"-# {wording.SEARCHING_FOR}: {plain(' · '.join(card.queries), 2 * LINE_ROOM)}")
        if snapshot.earlier:
            lines.append(prose(card.earlier, EARLIER_ROOM))
        lines += [f"· {plain(line, LINE_ROOM)}" for line in card.places]
        embed = discord.Embed(title=f"🔍 {word('progress.title')}", colour=COLOUR_RUNNING)
        row = _row(job, card.buttons if items else card.buttons[-1:])
        message = _message(embed, within(lines, RUNNING_LIMIT), " · ".join(card.facts), (row,))
        return replace(message, page_url=self.links.link(job))

    def outcome(
        self,
        job: ResearchJob,
        result: JobResult | None,
        sources: Sequence[Source],
        *,
        may_offer: bool = True,
        first_asker: str = "",
        unattached: Sequence[AnswerFile] = (),
    ) -> DiscordMessage:
        """`may_offer` is False once deep research was declined below this answer (D9)."""
        page_url, may_share = self.links.link(job), job.request.is_private
        card = answer_card(
            job, result, sources,
            page_url=page_url, may_share=may_share, may_offer=may_offer, unattached=unattached,
        )  # fmt: skip
        embed = discord.Embed(title=card.heading, colour=COLOURS[card.level])
        if card.outcome == "ended":
            return replace(_ended(embed, card, job), job_id=job.id)
        parts = _Answer(card, page_url, first_asker)
        rows = [_row(job, buttons) for buttons in (card.buttons, (*card.renewing, *card.votes), card.offers) if buttons]
        message = replace(_composed(embed, parts, card.footer, tuple(rows)), job_id=job.id)
        if card.outcome == "insufficient":
            return message
        name = fit(one_line(card.asked.text), THREAD_NAME_LIMIT) or word("answer.details")
        return replace(message, thread_name=name, details=tuple(parts.details()))

    def shared(self, job: ResearchJob, result: JobResult, sources: Sequence[Source], *, by: str) -> DiscordMessage:
        """A private answer, shown to a channel on its asker's wish."""
        message = self.outcome(job, result, sources, may_offer=False)
        message.embed.set_author(name=fit(one_line(wording.SHARED_BY.format(who=by)), LINE_ROOM))
        show = JobButton(Press.SHARED_SOURCES, job.id, wording.SHOW_SOURCES)
        link = _row(job, [CardButton("view_full_analysis", self.links.link(job))])
        return replace(message, rows=((*link, *([show] if sources else [])),), details=())

    def refusal(self, sentence: str) -> DiscordMessage:
        said = plain(sentence, 1000) or wording.SOMETHING_BROKE
        return DiscordMessage(discord.Embed(description=said, colour=COLOUR_FAILED), said)

    def notice(self, text: str) -> DiscordMessage:
        """Words of our own, with their markup."""
        return DiscordMessage(discord.Embed(description=text, colour=COLOUR_RUNNING), text)

    def changes(self, changes: AnswerChanges | None) -> DiscordMessage:
        """What a renewed answer says otherwise, as many lines as there is room for."""
        if changes is None:
            return self.notice(wording.NOTHING_TO_COMPARE)
        lines = [f"• {plain(line, ITEM_ROOM * 5)}" for line in wording.changes_lines(changes)]
        return self.notice(within([f"**{wording.WHAT_CHANGED}**", *lines], RUNNING_LIMIT))

    def question(self, text: str, *buttons: JobButton) -> DiscordMessage:
        """A question of our own, with the buttons that answer it."""
        return replace(self.notice(text), rows=(buttons,))

    def changed(self, offer: Offer) -> DiscordMessage:
        """Under an edited question, which it answers: what was edited is read there when the button is pressed."""
        button = JobButton(Press.QUESTION_CHANGED, offer.job.id, wording.RESEARCH_IT, "primary")
        return self.question(wording.QUESTION_CHANGED, button)

    def moved(self, page_url: str = "") -> DiscordMessage:
        """The last edit of a message whose token dies: with the page's link where there will be no new message."""
        if not page_url:
            return self.notice(word("progress.moved"))
        return self.notice(word("progress.moved_to_page", link=page_link(page_url) or page_url))


@dataclass(frozen=True)
class _Answer:
    """An answer's text, which is fitted."""

    card: AnswerCard
    page_url: str
    first_asker: str

    def within(self, limit: int) -> str:
        """S003-20's text. The answer gets the room that the other parts leave; the last of them yield to it."""
        card = self.card
        name = "" if card.found else f"**{wording.ANSWER}**: "
        before = f"{_asked(card.asked)}\n{self._understood()}{self._earlier()}\n{name}"
        view = page_link(self.page_url)
        tail = "\n\n".join(["", self._confidence(), *([view] if view else [])])
        for part in self._optional():
            wider = tail.removesuffix(view).rstrip("\n") + f"\n\n{part}" + (f"\n\n{view}" if view else "")
            if limit - units(before) - units(wider) >= (limit * LEAST_FOUND if card.found else LEAST_ANSWER):
                tail = wider
        room = limit - units(before) - units(tail)
        if card.findings and card.found:
            return before + findings_text(card.findings, card.found, room, more=view) + tail
        return before + prose(self._shown(), room, more=f"… {view}".rstrip()) + tail

    def details(self) -> list[discord.Embed]:
        """What a thread under the answer holds: the detail, and all sources."""
        write = prose_with_code if self.card.findings else prose
        detail = write(self.card.part("detail").text, DESCRIPTION_LIMIT, more=f"… {page_link(self.page_url)}".rstrip())
        listed = _listed(self.card.sources, self.card.cited, DESCRIPTION_LIMIT) if self.card.sources else ""
        shown = [(word("answer.details"), detail), (wording.SOURCES, listed)]
        colour = COLOURS[self.card.level]
        return [discord.Embed(title=title, description=text, colour=colour) for title, text in shown if text.strip()]

    def _shown(self) -> str:
        """The summary; of a checked message also what sources say of each claim, which is what was asked for."""
        summary = self.card.part("answer").text
        return f"{summary}\n\n{self.card.part('detail').text}" if self.card.asked.name == "message" else summary

    def _understood(self) -> str:
        said = self.card.part("understood").text
        return f"-# {plain(said, LINE_ROOM)}\n" if said else ""

    def _earlier(self) -> str:
        earlier = self.card.part("earlier")
        whom = f" <@{self.first_asker}>" if self.first_asker.isdigit() else ""
        return f"*{earlier.label}{whom}: {plain(earlier.text, LINE_ROOM)}*\n" if earlier.text else ""

    def _confidence(self) -> str:
        notice, reasons = (plain(self.card.part(name).text, LINE_ROOM) for name in ("notice", "reasons"))
        line = f"**{wording.CONFIDENCE}**: {self.card.part('confidence').text}"
        return (f"*{notice}*\n" if notice else "") + line + (f"\n-# {reasons}" if reasons else "")

    def _optional(self) -> list[str]:
        """Most wanted first; sources only where the answer's own text does not name them."""
        shown = {part.name: _line(part) for part in self.card.parts if part.name not in _ABOVE}
        if self.card.cited and not self.card.found:
            lines = map(source_line, self.card.cited[:TOP_SOURCES])
            shown["sources"] = "\n".join([f"**{wording.SOURCES}**:", *lines])
        return [shown.pop(name) for name in _WANTED_FIRST if name in shown] + list(shown.values())


def sources_text(sources: Sequence[Source], answer: ResearchAnswer | None, *, limit: int = CONTENT_LIMIT) -> str:
    """All sources with their relevance, in at most `limit` characters; `…` stands for those that have no room."""
    return _listed(sources, [source for source in sources if is_used(source, answer)], limit)


def _listed(sources: Sequence[Source], cited: Sequence[Source], limit: int) -> str:
    lines: list[str] = []
    for source in sources:
        used = "" if source in cited else f" · {wording.NOT_CITED}"
        line = f"{source_line(source)} · {wording.relevance(source)}{used}"
        if units("\n".join([*lines, line])) > limit - 2:
            return "\n".join([*lines, "…"])
        lines.append(line)
    return "\n".join(lines) or wording.NO_SOURCES


def _ended(embed: discord.Embed, card: AnswerCard, job: ResearchJob) -> DiscordMessage:
    """Failed or cancelled: why, what had been found, and what can be done (D14)."""
    lines = [_asked(card.asked), "", plain(card.part("failure").text, 2 * LINE_ROOM)]
    if card.sources:
        lines += ["", f"**{wording.FOUND_SO_FAR}**:", *map(name_line, card.sources[:TOP_SOURCES])]
    return _message(embed, "\n".join(lines), card.footer, (_row(job, card.buttons),))


def _row(job: ResearchJob, buttons: Sequence[CardButton]) -> Row:
    """A link only where its address can be one."""
    return tuple(
        LinkButton(button.label, button.url)
        if button.url
        else JobButton(Press(button.name), job.id, button.label, "primary" if button.is_primary else "secondary")
        for button in buttons
        if button.name != "view_full_analysis" or is_linkable(button.url)
    )


def _line(part: CardPart) -> str:
    if part.name == "offer":
        return f"*{part.text}*"
    said = plain(part.text, _ROOMS.get(part.name, PART_ROOM))
    return f"**{part.label}**: {said}" if part.label else said


def within(lines: Sequence[str], limit: int) -> str:
    """The lines from the first on, as many as there is room for; one that is too long is left out."""
    kept: list[str] = []
    for line in lines:
        if units("\n".join([*kept, line])) <= limit:
            kept.append(line)
    return "\n".join(kept)


def _asked(asked: CardPart) -> str:
    said = plain(asked.text, QUESTION_ROOM)
    return f"**{asked.label}**\n> {said}" if asked.name == "message" else f"**{asked.label}**: {said}"


def _composed(embed: discord.Embed, parts: _Answer, footer: str, rows: tuple[Row, ...]) -> DiscordMessage:
    frame = units(f"**{embed.title}**\n\n-# {footer}")
    embed.description = parts.within(DESCRIPTION_LIMIT)
    embed.set_footer(text=footer)
    return DiscordMessage(embed, f"**{embed.title}**\n{parts.within(CONTENT_LIMIT - frame)}\n-# {footer}", rows)


def _message(embed: discord.Embed, text: str, footer: str, rows: tuple[Row, ...]) -> DiscordMessage:
    """`text` has at most 1800 characters."""
    embed.description = text
    if footer:
        embed.set_footer(text=footer)
    return DiscordMessage(embed, f"**{embed.title}**\n{text}" + (f"\n-# {footer}" if footer else ""), rows)
