"""An answer as a Discord embed (S003-20, G-02). Pure, and the only place that knows Discord's limits.

Text from the web or a model is escaped character by character: it can ping nobody, format nothing
and hide no link. The only links are the job's page and sources under their true domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import discord
import regex

from adapters.chat.fitting import fit, true_link, units
from core import wording
from core.answer import Confidence, JobResult, ResearchAnswer
from core.job import JobStatus, ResearchJob
from core.page_links import PageLinks
from core.render import is_used, marked_section, one_line, printable
from core.snapshot import Snapshot
from core.source import Source

DESCRIPTION_LIMIT = 4096  # characters of an embed's description (Discord, embed limits)
URL_LIMIT = 512  # of a link button; an embed's own URL may have 2048
CONTENT_LIMIT = 2000
TOP_SOURCES = 3  # G-02; all of them are behind Show Sources
QUESTION_ROOM = 400  # of the description; a longer question is recognised by its beginning
LINE_ROOM = 200
TITLE_ROOM = 100
ADDRESS_ROOM = 300  # three sources and the rest of the description leave the answer at least 600
SHOW_SOURCES_ID = "show_sources:{job_id}"  # G-02; custom ids have at most 100 characters

COLOURS = {
    Confidence.HIGH: 0x2ECC71,
    Confidence.MEDIUM: 0xF1C40F,
    Confidence.LOW: 0xE67E22,
    Confidence.INSUFFICIENT: 0xE74C3C,
}  # G-02
COLOUR_RUNNING = 0x5865F2
COLOUR_FAILED = 0xE74C3C

_ACTIVE = frozenset("\\`*_~|<>#[]")  # what Discord's Markdown acts on; `@` and addresses are broken before
_ESCAPED_MARKER = regex.compile(
    r"\\\[(\d{1,3}(?:, ?\d{1,3})*)\\\](?!\()"
)  # `[1]` may stand as it is, but not as a link's label
_INVITE = regex.compile(r"(?i)(discord(?:app)?)\.(?=(?:gg|com|io|me|li)\b)")


@dataclass(frozen=True)
class DiscordMessage:
    """`page_url` becomes a link button, `sources_job` the button Show Sources of that job; "" leaves it out."""

    embed: discord.Embed
    page_url: str = ""
    sources_job: str = ""


@dataclass(frozen=True)
class DiscordVoice:
    links: PageLinks

    def progress(self, snapshot: Snapshot, elapsed_s: float) -> DiscordMessage:
        lines = [f"**{plain(snapshot.message, LINE_ROOM)}** …"]
        lines += [f"· {plain(line, LINE_ROOM)}" for line in snapshot.sources[-TOP_SOURCES:]]
        embed = discord.Embed(title="🔍 Researching", description="\n".join(lines), colour=COLOUR_RUNNING)
        found = f" · {wording.counted(len(snapshot.sources), 'source')}" if snapshot.sources else ""
        return DiscordMessage(embed.set_footer(text=f"{wording.duration(elapsed_s)}{found}"))

    def outcome(self, job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> DiscordMessage:
        page_url = self.links.link(job)
        answer = result.answer if result and job.status is JobStatus.COMPLETED else None
        title = wording.title(job, result)
        if result is None or answer is None:
            text = f"**Question**: {plain(job.query, QUESTION_ROOM)}\n\n{plain(wording.failure_sentence(job), 1000)}"
            return self._message(
                discord.Embed(title=f"⚠️ {title}", description=text, colour=COLOUR_FAILED), job, page_url, sources
            )
        embed = discord.Embed(
            title=f"📊 {title}" if answer.confidence is not Confidence.INSUFFICIENT else f"🔎 {title}",
            description=_description(job, answer, sources, page_url),
            colour=COLOURS[answer.confidence],
        )
        embed.set_footer(text=wording.footer(result, len(sources)))
        return self._message(embed, job, page_url, sources)

    def refusal(self, sentence: str) -> DiscordMessage:
        return DiscordMessage(
            discord.Embed(description=plain(sentence, 1000) or wording.SOMETHING_BROKE, colour=COLOUR_FAILED)
        )

    def _message(
        self, embed: discord.Embed, job: ResearchJob, page_url: str, sources: Sequence[Source]
    ) -> DiscordMessage:
        return DiscordMessage(
            embed,
            page_url=page_url if _is_linkable(page_url) else "",
            sources_job=job.id if sources else "",
        )


def sources_text(sources: Sequence[Source], answer: ResearchAnswer | None) -> str:
    """All sources with their relevance, for an ephemeral message of at most 2000 characters."""
    lines: list[str] = []
    for source in sources:
        used = "" if is_used(source, answer) else " · not cited"
        line = f"{_source_line(source)} · {round(100 * source.scores.relevance)} %{used}"
        if units("\n".join([*lines, line])) > CONTENT_LIMIT - 2:
            return "\n".join([*lines, "…"])
        lines.append(line)
    return "\n".join(lines) or "No sources were found."


def plain(text: str, limit: int, *, more: str = "…") -> str:
    """Untrusted text as Discord will show it literally, at most `limit` characters, on one line."""
    return fit(_defused(one_line(text)), limit, _escaped, more=more)


def _description(job: ResearchJob, answer: ResearchAnswer, sources: Sequence[Source], page_url: str) -> str:
    """S003-20's text. The answer gets the room that the other parts leave."""
    view = _view_link(page_url)
    before = f"**Question**: {plain(job.query, QUESTION_ROOM)}\n\n**Answer**: "
    shown = [source for source in sources if is_used(source, answer)][:TOP_SOURCES]
    after = [f"**Confidence**: {wording.confidence_headline(answer)}"]
    if answer.notice:
        after.insert(0, f"*{plain(answer.notice, LINE_ROOM)}*")
    if shown:
        after.append("\n".join(["**Sources**:", *map(_source_line, shown)]))
    if answer.limitations:
        after.append(f"**Limitations**: {plain('; '.join(answer.limitations), 2 * LINE_ROOM)}")
    if answer.conflicts:
        after.append(f"**Sources disagree on**: {plain('; '.join(one.subject for one in answer.conflicts), LINE_ROOM)}")
    tail = "\n\n".join(["", *after, *filter(None, [view])])
    room = DESCRIPTION_LIMIT - units(before) - units(tail)
    summary = regex.sub(r"\n{3,}", "\n\n", printable(marked_section(answer, "summary"))).strip() or wording.NO_ANSWER
    shown_answer = fit(_defused(summary), room, _escaped, more=f"… {view}".rstrip())
    return before + _ESCAPED_MARKER.sub(r"[\1]", shown_answer) + tail


def _source_line(source: Source) -> str:
    """`1. [nejm.org](https://…) - Lecanemab in Early Alzheimer's Disease`; the label is the address's own host."""
    title = plain(source.title or "untitled", TITLE_ROOM) + (f" ({wording.INSTRUCTS})" if source.instructs else "")
    host, address = true_link(source.url)
    if not host or len(address) > ADDRESS_ROOM or _INVITE.search(address):
        return f"{source.number}. {plain(source.metadata.domain or source.metadata.provider, TITLE_ROOM)} - {title}"
    return f"{source.number}. [{_escaped(host)}]({address}) - {title}"


def _view_link(page_url: str) -> str:
    return f"[{wording.VIEW_FULL_ANALYSIS}]({page_url})" if _is_linkable(page_url) else ""


def _is_linkable(page_url: str) -> bool:
    return page_url.startswith(("https://", "http://")) and len(page_url) <= URL_LIMIT and ")" not in page_url


def _defused(text: str) -> str:
    """Mentions, addresses and invites broken by a zero-width space, so that none is made a link or a ping."""
    return _INVITE.sub("\\1\u200b.", text.replace("@", "@\u200b").replace("://", ":\u200b//"))


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in _ACTIVE else char for char in text)
