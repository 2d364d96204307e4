"""A job as Discord shows it (S003-20, G-02): progress, outcome, refusal. Pure, and where Discord's limits are kept.

Everything is composed within a limit, so nothing is ever cut afterwards: the same parts make an embed of 4096
characters, and a text of 2000 where the bot may not embed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import discord

from adapters.chat.discord.findings import findings_text, prose_with_code
from adapters.chat.discord.markup import is_linkable, name_line, page_link, plain, prose, source_line
from adapters.chat.discord.payload import DiscordMessage, JobButton, LinkButton, Press, Row
from adapters.chat.discord.words import word
from adapters.chat.fitting import fit, units
from core import wording
from core.answer import Confidence, JobResult, ResearchAnswer
from core.answer_files import AnswerFile
from core.changes import AnswerChanges
from core.deep.viewing import Card
from core.evidence.limitations import short_conflicts
from core.findings.viewing import read_view
from core.job import JobStatus, ResearchJob
from core.page_links import PageLinks
from core.refusal import refusal_in
from core.render import is_used, marked_section, one_line
from core.snapshot import Snapshot
from core.source import Source

DESCRIPTION_LIMIT = 4096  # characters of an embed's description (Discord, embed limits)
CONTENT_LIMIT = 2000
THREAD_NAME_LIMIT = 100
TOP_SOURCES = 3  # G-02; all of them are behind Show Sources
QUESTION_ROOM = 300  # a longer question is recognised by its beginning
LINE_ROOM = 200
LEAST_ANSWER = 600  # the answer's room; what would leave it less is left out
LEAST_FOUND = 0.6  # of all the room, where lists and code are the answer

COLOURS = {
    Confidence.HIGH: 0x2ECC71,
    Confidence.MEDIUM: 0xF1C40F,
    Confidence.LOW: 0xE67E22,
    Confidence.INSUFFICIENT: 0xE74C3C,
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
        lines = [_asked(job), "", f"**{plain(snapshot.message, LINE_ROOM)}** …"]
        if snapshot.card:
            lines += _plan(snapshot.card)
        if len(snapshot.parts) > 1:
            lines += [f"· {plain(part, LINE_ROOM)}" for part in snapshot.parts]
        if snapshot.queries:
            lines.append(f"-# {wording.SEARCHING_FOR}: {plain(' · '.join(snapshot.queries), 2 * LINE_ROOM)}")
        if snapshot.earlier:
            lines.append(prose(" ".join(snapshot.sentences.values()), EARLIER_ROOM))
        lines += [f"· {plain(line, LINE_ROOM)}" for line in snapshot.sources[-TOP_SOURCES:]]
        found = f" · {wording.counted(len(snapshot.sources), 'source')}" if snapshot.sources else ""
        embed = discord.Embed(title=f"🔍 {word('progress.title')}", colour=COLOUR_RUNNING)
        buttons: Row = (JobButton(Press.CANCEL, job.id, wording.CANCEL),)
        if snapshot.card and snapshot.card.items:
            deeper = JobButton(Press.GO_DEEPER, job.id, wording.GO_DEEPER)
            buttons = (deeper, JobButton(Press.ANSWER_NOW, job.id, wording.ANSWER_NOW), *buttons)
        message = _message(embed, within(lines, RUNNING_LIMIT), f"{wording.duration(elapsed_s)}{found}", (buttons,))
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
        answer = result.answer if result and job.status is JobStatus.COMPLETED else None
        if result is None or answer is None:
            return self._failure(job, result, sources)
        is_answered = answer.confidence is not Confidence.INSUFFICIENT
        title = f"{'📊' if is_answered else '🔎'} {wording.title(job, result)}"
        embed = discord.Embed(title=title, colour=COLOURS[answer.confidence])
        offers_deep = may_offer and wording.offers_deep(job, result)
        parts = _Answer(job, result, answer, sources, self.links.link(job), offers_deep, first_asker, unattached)
        rows = self._rows(job, result, sources, offers_deep=offers_deep)
        message = _composed(embed, parts, wording.footer(result, len(sources)), rows)
        if not is_answered:
            return replace(message, job_id=job.id)
        name = fit(one_line(job.request.quoted or job.query), THREAD_NAME_LIMIT) or word("answer.details")
        return replace(message, job_id=job.id, thread_name=name, details=tuple(self._details(parts)))

    def shared(self, job: ResearchJob, result: JobResult, sources: Sequence[Source], *, by: str) -> DiscordMessage:
        """A private answer, shown to a channel on its asker's wish."""
        message = self.outcome(job, result, sources, may_offer=False)
        message.embed.set_author(name=fit(one_line(wording.SHARED_BY.format(who=by)), LINE_ROOM))
        show = JobButton(Press.SHARED_SOURCES, job.id, wording.SHOW_SOURCES)
        return replace(message, rows=((*self._link(job), *([show] if sources else [])),), details=())

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

    def moved(self, page_url: str = "") -> DiscordMessage:
        """The last edit of a message whose token dies: with the page's link where there will be no new message."""
        if not page_url:
            return self.notice(word("progress.moved"))
        return self.notice(word("progress.moved_to_page", link=page_link(page_url) or page_url))

    def _failure(self, job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> DiscordMessage:
        lines = [_asked(job), "", plain(wording.failure_sentence(job), 2 * LINE_ROOM)]
        if sources:
            lines += ["", f"**{wording.FOUND_SO_FAR}**:", *map(name_line, sources[:TOP_SOURCES])]
        again = JobButton(Press.ASK_AGAIN, job.id, wording.ASK_AGAIN)
        retry = JobButton(Press.RETRY, job.id, wording.RETRY, "primary") if wording.may_retry(job) else again
        show = [JobButton(Press.SOURCES, job.id, wording.SHOW_SOURCES)] if sources else []
        embed = discord.Embed(title=f"⚠️ {wording.title(job, result)}", colour=COLOUR_FAILED)
        footer = wording.duration(result.duration_s) if result else ""
        message = _message(embed, "\n".join(lines), footer, ((retry, *show, *self._link(job)),))
        return replace(message, job_id=job.id)

    def _rows(
        self, job: ResearchJob, result: JobResult, sources: Sequence[Source], *, offers_deep: bool
    ) -> tuple[Row, ...]:
        show = [JobButton(Press.SOURCES, job.id, wording.SHOW_SOURCES)] if sources else []
        share = [JobButton(Press.SHARE, job.id, wording.SHARE)] if job.request.is_private else []
        again = JobButton(Press.ASK_AGAIN, job.id, wording.ASK_AGAIN)
        improve = JobButton(Press.IMPROVE, job.id, wording.IMPROVE)
        good = JobButton(Press.GOOD, job.id, wording.GOOD)
        bad = JobButton(Press.BAD, job.id, wording.BAD)
        first: Row = (*self._link(job), *show, *share, again, improve)
        votes: Row = (*_renewing(job, result), good, bad)
        if not offers_deep:
            return first, votes
        start = JobButton(Press.START, job.id, wording.START, "primary")
        return first, votes, (start, JobButton(Press.NOT_NOW, job.id, wording.NOT_NOW))

    def _link(self, job: ResearchJob) -> tuple[LinkButton, ...]:
        url = self.links.link(job)
        return (LinkButton(wording.VIEW_FULL_ANALYSIS, url),) if is_linkable(url) else ()

    def _details(self, parts: _Answer) -> list[discord.Embed]:
        """What a thread under the answer holds: the detail, and all sources."""
        more = f"… {page_link(parts.page_url)}".rstrip()
        write = prose_with_code if read_view(parts.result) else prose
        detail = write(marked_section(parts.answer, "detail"), DESCRIPTION_LIMIT, more=more)
        listed = sources_text(parts.sources, parts.answer, limit=DESCRIPTION_LIMIT)
        shown = [(word("answer.details"), detail), (wording.SOURCES, listed if parts.sources else "")]
        colour = COLOURS[parts.answer.confidence]
        return [discord.Embed(title=title, description=text, colour=colour) for title, text in shown if text.strip()]


@dataclass(frozen=True)
class _Answer:
    """The parts of an answer's text."""

    job: ResearchJob
    result: JobResult
    answer: ResearchAnswer
    sources: Sequence[Source]
    page_url: str
    offers_deep: bool
    first_asker: str
    unattached: Sequence[AnswerFile]

    def within(self, limit: int) -> str:
        """S003-20's text. The answer gets the room that the other parts leave; the last of them yield to it."""
        found = read_view(self.result)
        has_found = found is not None and found.has_any
        name = "" if has_found else f"**{wording.ANSWER}**: "
        before = f"{_asked(self.job)}\n{self._understood()}{self._earlier()}\n{name}"
        view = page_link(self.page_url)
        tail = "\n\n".join(["", self._confidence(), *([view] if view else [])])
        for part in self._optional(names_sources=not has_found):
            wider = tail.removesuffix(view).rstrip("\n") + f"\n\n{part}" + (f"\n\n{view}" if view else "")
            if limit - units(before) - units(wider) >= (limit * LEAST_FOUND if has_found else LEAST_ANSWER):
                tail = wider
        room = limit - units(before) - units(tail)
        if found and has_found:
            return before + findings_text(found, self.answer, self.sources, room, more=view) + tail
        return before + prose(self._shown(), room, more=f"… {view}".rstrip()) + tail

    def _shown(self) -> str:
        """The summary; of a checked message also what sources say of each claim, which is what was asked for."""
        summary = marked_section(self.answer, "summary").strip() or wording.NO_ANSWER
        return f"{summary}\n\n{marked_section(self.answer, 'detail')}" if self.job.request.quoted else summary

    def _understood(self) -> str:
        if not self.result.understood or self.result.understood == self.job.query:
            return ""
        return f"-# {plain(wording.understood_as(self.result.understood), LINE_ROOM)}\n"

    def _confidence(self) -> str:
        line = f"**{wording.CONFIDENCE}**: {wording.confidence_headline(self.answer)}"
        reasons = plain(", ".join(self.answer.confidence_reasons), LINE_ROOM)
        notice = f"*{plain(self.answer.notice, LINE_ROOM)}*\n" if self.answer.notice else ""
        return notice + line + (f"\n-# {reasons}" if reasons else "")

    def _earlier(self) -> str:
        asker = f"<@{self.first_asker}>" if self.first_asker.isdigit() else ""
        said = wording.earlier_answer(self.job, self.result, asker=asker, write=lambda asked: plain(asked, LINE_ROOM))
        return f"*{said}*\n" if said else ""

    def _optional(self, *, names_sources: bool) -> list[str]:
        """Most wanted first; sources only where the answer's own text does not name them."""
        parts = [f"*{wording.OFFER_DEEP}*"] if self.offers_deep else []
        if self.unattached:
            parts.append(plain(wording.files_elsewhere([file.name for file in self.unattached]), 2 * LINE_ROOM))
        shown = [source for source in self.sources if is_used(source, self.answer)][:TOP_SOURCES]
        if shown and names_sources:
            parts.append("\n".join([f"**{wording.SOURCES}**:", *map(source_line, shown)]))
        if self.answer.conflicts:
            parts.append(f"**{wording.CONFLICTS}**: {plain(short_conflicts(self.answer), 2 * LINE_ROOM)}")
        if limitations := wording.limitations_line(wording.limitations_beside(self.answer)):
            parts.append(f"**{wording.LIMITATIONS}**: {plain(limitations, 2 * LINE_ROOM)}")
        if self.answer.confidence is Confidence.INSUFFICIENT:
            searched = plain(wording.searched_beside(self.result), LINE_ROOM)
            parts += [f"**{wording.SEARCHED}**: {searched}"] if searched else []
            parts.append(plain(refusal_in(self.job.intent.language).advice, LINE_ROOM))
        return parts


def sources_text(sources: Sequence[Source], answer: ResearchAnswer | None, *, limit: int = CONTENT_LIMIT) -> str:
    """All sources with their relevance, in at most `limit` characters; `…` stands for those that have no room."""
    lines: list[str] = []
    for source in sources:
        used = "" if is_used(source, answer) else f" · {wording.NOT_CITED}"
        line = f"{source_line(source)} · {wording.relevance(source)}{used}"
        if units("\n".join([*lines, line])) > limit - 2:
            return "\n".join([*lines, "…"])
        lines.append(line)
    return "\n".join(lines) or wording.NO_SOURCES


def _renewing(job: ResearchJob, result: JobResult) -> Row:
    """Below an answer that was given before, or that renews one (D12)."""
    changed = JobButton(Press.CHANGED, job.id, wording.WHAT_CHANGED)
    if wording.earlier_answer(job, result):
        return JobButton(Press.REFRESH, job.id, wording.REFRESH), changed
    return (changed,) if job.request.refreshes else ()


def _plan(card: Card) -> list[str]:
    """The checklist of a research in rounds, how far it is, and how to talk to it."""
    items = [plain(item.line, ITEM_ROOM) for item in card.items]
    return [plain(card.headline, LINE_ROOM), *items, *([f"-# {wording.HOW_TO_STEER}"] if items else [])]


def within(lines: Sequence[str], limit: int) -> str:
    """The lines from the first on, as many as there is room for; one that is too long is left out."""
    kept: list[str] = []
    for line in lines:
        if units("\n".join([*kept, line])) <= limit:
            kept.append(line)
    return "\n".join(kept)


def _asked(job: ResearchJob) -> str:
    """The question, or the message that is checked."""
    if job.request.quoted:
        return f"**{wording.MESSAGE}**\n> {plain(job.request.quoted, QUESTION_ROOM)}"
    return f"**{wording.QUESTION}**: {plain(job.query, QUESTION_ROOM)}"


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
