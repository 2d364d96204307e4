"""An answer as Slack blocks, its sources as a second, threaded message (S003-21, G-03). Pure.

The only place that knows Slack's limits. Text from the web or a model is escaped, so that it forms
no mention and no link; every text object is `verbatim`, so that Slack makes none out of it either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from adapters.chat.fitting import fit, true_link
from core import wording
from core.answer import Citation, Confidence, JobResult, ResearchAnswer
from core.events import Json
from core.job import JobStatus, ResearchJob
from core.page_links import PageLinks
from core.render import is_used, marked_section, one_line, printable
from core.snapshot import Snapshot
from core.source import Source

Block = dict[str, Json]

SECTION_LIMIT = 3000  # characters of a section's or context's text (docs.slack.dev, blocks)
HEADER_LIMIT = 150
URL_LIMIT = 3000  # of a button
BLOCKS_LIMIT = 50  # of a message
TEXT_LIMIT = 4000  # of the fallback; Slack recommends no more
SHOWN_SOURCES = 20  # two of them fill a screen; the page has them all
QUESTION_ROOM = 500
LINE_ROOM = 300
QUOTE_ROOM = 400

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True)
class SlackMessage:
    """`text` is what notifications and screen readers get; Slack drops blocks that come without it."""

    text: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class SlackVoice:
    links: PageLinks

    def progress(self, snapshot: Snapshot, elapsed_s: float) -> SlackMessage:
        found = f" · {wording.counted(len(snapshot.sources), 'source')}" if snapshot.sources else ""
        blocks = [_section(f"🔍 *{plain(snapshot.message, LINE_ROOM)}* …")]
        lines = [f"• {plain(line, LINE_ROOM)}" for line in snapshot.sources[-3:]]
        blocks.append(_context("\n".join([*lines, f"{wording.duration(elapsed_s)}{found}"])))
        return SlackMessage(f"{plain(snapshot.message, LINE_ROOM)} …", tuple(blocks))

    def outcome(self, job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> SlackMessage:
        answer = result.answer if result and job.status is JobStatus.COMPLETED else None
        title = wording.title(job, result)
        question = _section(f"*Question*: {plain(job.query, QUESTION_ROOM)}")
        buttons = _buttons(self.links.link(job))
        if result is None or answer is None:
            sentence = plain(wording.failure_sentence(job), SECTION_LIMIT) or wording.SOMETHING_BROKE
            return SlackMessage(f"{title}: {sentence}", (_header(f"⚠️ {title}"), question, _section(sentence), *buttons))
        icon = "🔎" if answer.confidence is Confidence.INSUFFICIENT else "📊"
        blocks = [_header(f"{icon} {title}"), question, _section(_answer_text(answer)), *_remarks(answer)]
        blocks += [{"type": "divider"}, *buttons, _context(plain(wording.footer(result, len(sources)), LINE_ROOM))]
        return SlackMessage(fit(f"{title}: {_prose(answer)}", TEXT_LIMIT, escaped), tuple(blocks))

    def refusal(self, sentence: str) -> SlackMessage:
        text = plain(sentence, SECTION_LIMIT) or wording.SOMETHING_BROKE
        return SlackMessage(text, (_section(text),))


def sources_message(sources: Sequence[Source], answer: ResearchAnswer | None) -> SlackMessage | None:
    """The threaded reply: each cited source with true domain, date, relevance and quote; None without any."""
    cited = [source for source in sources if is_used(source, answer)]
    if not cited or answer is None:
        return None
    blocks: list[Block] = [_section("*Sources*")]
    blocks += [_section(_source_text(source, answer.citations)) for source in cited[:SHOWN_SOURCES]]
    if len(cited) > SHOWN_SOURCES:
        blocks.append(_context(f"and {len(cited) - SHOWN_SOURCES} more on the page"))
    names = ", ".join(one_line(source.metadata.domain or source.title) for source in cited)
    return SlackMessage(fit(f"Sources: {names}", TEXT_LIMIT, escaped), tuple(blocks))


def plain(text: str, limit: int) -> str:
    """Untrusted text as Slack will show it literally, at most `limit` characters, on one line."""
    return fit(one_line(text), limit, escaped)


def escaped(text: str) -> str:
    """What Slack asks of all text that is not its own markup (docs.slack.dev, formatting)."""
    return "".join(_ENTITIES.get(char, char) for char in text)


def _prose(answer: ResearchAnswer) -> str:
    text = regex.sub(r"\n{3,}", "\n\n", printable(marked_section(answer, "summary"))).strip()
    return text or wording.NO_ANSWER


def _answer_text(answer: ResearchAnswer) -> str:
    notice = f"\n_{plain(answer.notice, LINE_ROOM)}_" if answer.notice else ""
    return f"*Answer*: {fit(_prose(answer), SECTION_LIMIT - 2 * LINE_ROOM, escaped)}{notice}"


def _remarks(answer: ResearchAnswer) -> list[Block]:
    """Confidence with its reasons, what the sources disagree on, what is missing."""
    lines = [f"*Confidence*: {plain(wording.confidence_headline(answer), LINE_ROOM)}"]
    if answer.confidence_reasons:
        lines.append(plain(", ".join(answer.confidence_reasons), LINE_ROOM))
    blocks = [_section("\n".join(lines))]
    if answer.conflicts:
        subjects = "; ".join(conflict.subject for conflict in answer.conflicts)
        blocks.append(_context(f"*Sources disagree on*: {plain(subjects, 2 * LINE_ROOM)}"))
    if answer.limitations:
        blocks.append(_context(f"*Limitations*: {plain('; '.join(answer.limitations), 4 * LINE_ROOM)}"))
    return blocks


def _source_text(source: Source, citations: Sequence[Citation]) -> str:
    """`*1.* <https://…|nejm.org> - Title`, then date and relevance, then the first quote."""
    host, address = true_link(source.url)
    is_linkable = bool(host) and len(address) <= LINE_ROOM * 2
    place = plain(source.metadata.domain or source.metadata.provider, LINE_ROOM)
    name = f"<{escaped(address)}|{host}>" if is_linkable else place
    remarks = [f"relevance {round(100 * source.scores.relevance)} %"]
    if source.metadata.published_at:
        remarks.insert(0, wording.day(source.metadata.published_at))
    if source.instructs:
        remarks.append(wording.INSTRUCTS)
    lines = [f"*{source.number}.* {name} - {plain(source.title or 'untitled', LINE_ROOM)}", " · ".join(remarks)]
    quote = next((one.quote for one in citations if one.source_id == source.id and one.quote), None)
    if quote:
        lines.append(f"> {plain(quote, QUOTE_ROOM)}")
    return "\n".join(lines)


def _header(text: str) -> Block:
    return {"type": "header", "text": {"type": "plain_text", "text": text[:HEADER_LIMIT], "emoji": True}}


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [_mrkdwn(text)]}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _buttons(page_url: str) -> list[Block]:
    if not page_url.startswith(("https://", "http://")) or len(page_url) > URL_LIMIT:
        return []
    label: Block = {"type": "plain_text", "text": wording.VIEW_FULL_ANALYSIS}
    button: Block = {"type": "button", "action_id": "view_full_analysis", "text": label, "url": page_url}
    return [{"type": "actions", "elements": [button]}]
