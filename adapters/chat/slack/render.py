"""An answer as Slack blocks, its sources as a second, threaded message (S003-21, G-03). Pure.

What Slack accepts is the business of blocks.py; here stands what is said and in which order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from adapters.chat.fitting import fit, units
from adapters.chat.slack.blocks import (
    SECTION_LIMIT,
    Block,
    SlackMessage,
    actions,
    button,
    confirmation,
    context,
    divider,
    escaped,
    header,
    link_button,
    message,
    plain,
    prose,
    section,
    sentence_message,
    thumbs,
)
from adapters.chat.slack.checks import check_blocks
from adapters.chat.slack.findings import finding_blocks
from adapters.chat.slack.places import place_of
from adapters.chat.slack.plan import passed_sentences, read_plan, sentence_text
from core import wording
from core.answer import Confidence, JobResult, ResearchAnswer
from core.answer_files import AnswerFile
from core.changes import AnswerChanges
from core.checks import read_checks
from core.deep.viewing import Card
from core.evidence.citations import MARKS
from core.evidence.limitations import short_conflicts
from core.findings.viewing import read_view
from core.job import JobStatus, ResearchJob
from core.page_links import PageLinks
from core.refusal import refusal_in
from core.render import is_used, marked_section, one_line, printable
from core.snapshot import Snapshot
from core.source import Source

SHOWN_SOURCES = 20  # two of them fill a screen; the page has them all
SHOWN_CITATIONS = 8
QUESTION_ROOM = 500
LINE_ROOM = 300
QUOTE_ROOM = 400

SHOW_SOURCES, SHARE, ASK_AGAIN, RETRY, CANCEL = "show_sources", "share", "ask_again", "retry", "cancel"
START, NOT_NOW, DEEPER, ANSWER_NOW = "start_deep", "not_now", "go_deeper", "answer_now"
REFRESH, CHANGED = "refresh", "what_changed"
RATE, VIEW, IMPROVE = "rate", "view_full_analysis", "improve"


@dataclass(frozen=True)
class SlackVoice:
    links: PageLinks

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> SlackMessage:
        said = plain(snapshot.message, LINE_ROOM) or "…"
        blocks = [section(f"{'🔍 ' if said[0].isalnum() else ''}*{said}* …")]
        if snapshot.earlier:
            blocks.append(section(plain(" ".join(snapshot.sentences.values()), SECTION_LIMIT) or "…"))
        elif passed := passed_sentences(snapshot):
            blocks.append(section(sentence_text(" ".join(text for _, text in passed))))
        if len(snapshot.parts) > 1:
            blocks.append(context("\n".join(f"• {plain(part, LINE_ROOM)}" for part in snapshot.parts)))
        if snapshot.queries:
            blocks.append(context(plain(" · ".join(f"“{query}”" for query in snapshot.queries), 2 * LINE_ROOM)))
        if snapshot.sources:
            blocks.append(context("\n".join(f"• {plain(line, LINE_ROOM)}" for line in snapshot.sources[-3:])))
        if snapshot.card:
            blocks += _plan(snapshot.card)
        facts = [wording.duration(elapsed_s)]
        if snapshot.sources:
            facts.append(wording.counted(len(snapshot.sources), "source"))
        blocks.append(context(" · ".join(facts)))
        cancel = button(CANCEL, wording.CANCEL, job.id)
        steer = [button(DEEPER, wording.GO_DEEPER, job.id), button(ANSWER_NOW, wording.ANSWER_NOW, job.id)]
        steer = steer if snapshot.card else []
        plan = read_plan(snapshot, elapsed_s, [*actions([cancel]), *actions(steer)])
        blocks += actions([*steer, cancel])
        return replace(message(f"{one_line(snapshot.message)} …", blocks), plan=plan)

    def outcome(
        self,
        job: ResearchJob,
        result: JobResult | None,
        sources: Sequence[Source],
        *,
        may_offer: bool = True,
        first_asker: str = "",
        unattached: Sequence[AnswerFile] = (),
    ) -> SlackMessage:
        """`may_offer` is False once deep research was declined below this answer (D9)."""
        answer = result.answer if result and job.status is JobStatus.COMPLETED else None
        if result is None or answer is None:
            return self._ending(job, sources)
        title = wording.title(job, result)
        is_insufficient = answer.confidence is Confidence.INSUFFICIENT
        blocks = [header(f"{'🔎' if is_insufficient else '📊'} {title}"), _question(job, result)]
        found = read_view(result)
        blocks += [
            *_earlier(job, result, first_asker),
            *(finding_blocks(found, answer, sources) if found and found.has_any else [section(_answer_text(answer))]),
            *check_blocks(read_checks(result), sources),
            *_remarks(answer),
        ]
        if unattached:
            names = [file.name for file in unattached]
            blocks.append(context(plain(wording.files_elsewhere(names), 2 * LINE_ROOM)))
        blocks += _searched(job, result) if is_insufficient else _cited(answer, sources)
        blocks += [
            divider(),
            *actions(self._answer_buttons(job, result, has_sources=bool(sources))),
            thumbs(RATE, job.id),
        ]
        blocks.append(context(plain(wording.footer(result, len(sources)), LINE_ROOM)))
        if may_offer and wording.offers_deep(job, result):
            start = button(START, wording.START, job.id, style="primary")
            blocks += [section(wording.OFFER_DEEP), *actions([start, button(NOT_NOW, wording.NOT_NOW, job.id)])]
        threaded = sources_message(sources, answer)
        return replace(message(f"{title}: {_prose(answer)}", blocks), threaded=threaded, is_answer=True)

    def refusal(self, sentence: str) -> SlackMessage:
        text = plain(sentence, SECTION_LIMIT) or wording.SOMETHING_BROKE
        return replace(message(one_line(sentence), [section(text)]), is_aside=True)

    def shared(self, job: ResearchJob, result: JobResult, sources: Sequence[Source], sharer: str) -> SlackMessage:
        """The answer for all of the channel, without buttons that are its asker's business."""
        whole = self.outcome(job, result, sources, may_offer=False)
        kept = [block for block in whole.blocks if block["type"] not in ("actions", "context_actions")]
        kept += actions(link_button(VIEW, wording.VIEW_FULL_ANALYSIS, self.links.link(job)))
        return SlackMessage(whole.text, (*kept[:-1], context(wording.SHARED_BY.format(who=f"<@{sharer}>")), kept[-1]))

    def _ending(self, job: ResearchJob, sources: Sequence[Source]) -> SlackMessage:
        """Failed or cancelled: why, what had been found, and what can be done (D14)."""
        title, sentence = wording.title(job, None), wording.failure_sentence(job)
        blocks = [header(f"⚠️ {title}"), _question(job, None)]
        blocks.append(section(plain(sentence, SECTION_LIMIT) or wording.SOMETHING_BROKE))
        if sources:
            found = ", ".join(dict.fromkeys(one_line(one.metadata.domain or one.title) for one in sources))
            blocks.append(context(f"*{wording.FOUND_SO_FAR}*: {plain(found, 2 * LINE_ROOM) or '…'}"))
        again = button(RETRY, wording.RETRY, job.id, style="primary")
        buttons = [again if wording.may_retry(job) else button(ASK_AGAIN, wording.ASK_AGAIN, job.id)]
        buttons += link_button(VIEW, wording.VIEW_FULL_ANALYSIS, self.links.link(job))
        return message(f"{title}: {one_line(sentence)}", [*blocks, *actions(buttons)])

    def _answer_buttons(self, job: ResearchJob, result: JobResult, *, has_sources: bool) -> list[Block]:
        buttons = link_button(VIEW, wording.VIEW_FULL_ANALYSIS, self.links.link(job))
        if has_sources:
            buttons.append(button(SHOW_SOURCES, wording.SHOW_SOURCES, job.id))
        if not job.scope.visibility.startswith("user:"):
            ask = confirmation(wording.SHARE_TITLE, wording.SHARE_QUESTION, yes=wording.SHARE)
            buttons.append(button(SHARE, wording.SHARE, job.id, confirm=ask))
        again, improve = button(ASK_AGAIN, wording.ASK_AGAIN, job.id), button(IMPROVE, wording.IMPROVE, job.id)
        return [*buttons, again, improve, *_renewing(job, result)]


def sources_message(sources: Sequence[Source], answer: ResearchAnswer | None) -> SlackMessage | None:
    """The threaded reply: each cited source with true domain, date, relevance and quote; None without any."""
    cited = [source for source in sources if is_used(source, answer)]
    if not cited or answer is None:
        return None
    names = ", ".join(one_line(source.metadata.domain or source.title) for source in cited)
    return message(f"{wording.SOURCES}: {names}", [section(f"*{wording.SOURCES}*"), *_source_blocks(cited, answer)])


def changes_message(changes: AnswerChanges | None) -> SlackMessage:
    """What a renewed answer says otherwise."""
    if changes is None:
        return sentence_message(wording.NOTHING_TO_COMPARE)
    lines = [f"• {plain(line, 2 * LINE_ROOM)}" for line in wording.changes_lines(changes)]
    return message(wording.WHAT_CHANGED, [section(f"*{wording.WHAT_CHANGED}*"), *(section(line) for line in lines)])


def ready_message(asker: str) -> SlackMessage:
    """Calls the asker: an edit of the answer's own message notifies nobody."""
    said = f"<@{asker}> {wording.READY}"
    return SlackMessage(said, (section(said),))


def all_sources_message(sources: Sequence[Source], answer: ResearchAnswer | None) -> SlackMessage:
    """For whoever clicked "Show Sources": every source that was read, best first, cited or not."""
    if not sources:
        return sentence_message(wording.NO_SOURCES)
    blocks = [section(f"*{wording.counted(len(sources), 'source')}*, the cited ones with a quote")]
    blocks += _source_blocks(sources, answer)
    return message(f"{wording.counted(len(sources), 'source')} were read", blocks)


def history_message(jobs: Sequence[ResearchJob], links: PageLinks) -> SlackMessage:
    """One's own questions, newest first, each a link to its page."""
    if not jobs:
        return replace(message(wording.NO_HISTORY, [section(wording.NO_HISTORY)]), is_aside=True)
    lines = [
        f"• {wording.day(job.created_at)}: <{escaped(links.link(job))}|{_label(job.query)}>"
        for job in jobs[:SHOWN_SOURCES]
    ]
    said = message(wording.YOUR_QUESTIONS, [section(f"*{wording.YOUR_QUESTIONS}*"), *(section(line) for line in lines)])
    return replace(said, is_aside=True)


def _label(text: str) -> str:
    """Of a link: no bar and no angle, which would end it early."""
    return plain(text.replace("|", "/"), LINE_ROOM) or "…"


def _renewing(job: ResearchJob, result: JobResult) -> list[Block]:
    """Below an answer that was given before, or that renews one (D12)."""
    changed = button(CHANGED, wording.WHAT_CHANGED, job.id)
    if wording.earlier_answer(job, result):
        return [button(REFRESH, wording.REFRESH, job.id), changed]
    return [changed] if job.request.refreshes else []


def _earlier(job: ResearchJob, result: JobResult, first_asker: str) -> list[Block]:
    """When it was answered, for which question, and for whom where that may be told."""
    asker = f"<@{first_asker}>" if first_asker.isalnum() else ""
    said = wording.earlier_answer(job, result, asker=asker, write=lambda asked: plain(asked, LINE_ROOM))
    return [context(f"_{said}_")] if said else []


def _plan(card: Card) -> list[Block]:
    """The checklist with its marks, and how to change it."""
    items = "\n".join(plain(item.line, LINE_ROOM) for item in card.items)
    head = f"*{plain(card.headline, LINE_ROOM)}*"
    how = [context(plain(wording.HOW_TO_STEER, LINE_ROOM))] if items else []
    return [section(f"{head}\n{items}".strip()), *how]


def _source_blocks(sources: Sequence[Source], answer: ResearchAnswer | None) -> list[Block]:
    quotes = _quotes(answer) if answer else {}
    blocks = [section(_source_text(source, quotes)) for source in sources[:SHOWN_SOURCES]]
    if len(sources) > SHOWN_SOURCES:
        blocks.append(context(f"and {len(sources) - SHOWN_SOURCES} more on the page"))
    return blocks


def _question(job: ResearchJob, result: JobResult | None) -> Block:
    """What was asked, or the message that was to be checked; and what a follow-up was taken to ask."""
    name, asked = (wording.MESSAGE, job.request.quoted) if job.request.quoted else (wording.QUESTION, job.query)
    understood = one_line(result.understood) if result else ""
    meant = f"\n_{plain(wording.understood_as(understood), QUESTION_ROOM)}_" if understood else ""
    return section(f"*{name}*: {plain(asked, QUESTION_ROOM) or '…'}{meant}")


def _prose(answer: ResearchAnswer) -> str:
    """The short answer as Slack writes it: its own bold instead of Markdown's, no heading signs."""
    text = regex.sub(r"\n{3,}", "\n\n", printable(marked_section(answer, "summary"))).strip()
    return prose(text).strip() or wording.NO_ANSWER


def _answer_text(answer: ResearchAnswer) -> str:
    notice = f"\n_{plain(answer.notice, LINE_ROOM)}_" if one_line(answer.notice) else ""
    return f"*{wording.ANSWER}*: {fit(_prose(answer), SECTION_LIMIT - 2 * LINE_ROOM, escaped)}{notice}"


def _remarks(answer: ResearchAnswer) -> list[Block]:
    """Confidence with its reasons, what the sources disagree on, what is missing."""
    lines = [f"*{wording.CONFIDENCE}*: {plain(wording.confidence_headline(answer), LINE_ROOM)}"]
    if answer.confidence_reasons:
        lines.append(plain(", ".join(answer.confidence_reasons), LINE_ROOM))
    blocks = [section("\n".join(lines))]
    if answer.conflicts:
        blocks.append(context(f"*{wording.CONFLICTS}*: {plain(short_conflicts(answer), 2 * LINE_ROOM)}"))
    if limitations := wording.limitations_line(wording.limitations_beside(answer)):
        blocks.append(context(f"*{wording.LIMITATIONS}*: {plain(limitations, 4 * LINE_ROOM)}"))
    return blocks


def _cited(answer: ResearchAnswer, sources: Sequence[Source]) -> list[Block]:
    """`[1]✓ <https://…|nejm.org> · [2]◐ …`: each cited source once, with the weakest of its verdicts.

    Those of the sentences that are shown count first, so that the line agrees with them.
    """
    verdicts: dict[str, str] = {}
    shown_claims = [claim for claim in answer.claims if claim.id.startswith("summary-")]
    of_summary = [(entry.source_id, entry.verdict) for claim in shown_claims for entry in claim.evidence]
    of_detail = [(citation.source_id, citation.verdict) for citation in answer.citations]
    for source_id, verdict in [*of_summary, *(one for one in of_detail if one[0] not in dict(of_summary))]:
        verdicts[source_id] = max(verdicts.get(source_id, ""), MARKS[verdict], key=_WEAKNESS.index)
    cited = [source for source in sources if source.id in verdicts]
    shown: list[str] = []
    for source in cited[:SHOWN_CITATIONS]:
        entry = f"[{source.number}]{verdicts[source.id]} {place_of(source)}"
        if units(" · ".join([*shown, entry])) < SECTION_LIMIT - LINE_ROOM:
            shown.append(entry)
    if len(cited) > len(shown):
        shown.append(f"and {len(cited) - len(shown)} more")
    return [context(f"*Citations*: {' · '.join(shown)}")] if shown else []


_WEAKNESS = ["", "✓", "↪", "◐", "?", "✗"]


def _searched(job: ResearchJob, result: JobResult) -> list[Block]:
    """What was done about a question that nothing answers, and what may help."""
    searched = plain(wording.searched_beside(result), 3 * LINE_ROOM)
    shown = [context(f"*{wording.SEARCHED}*: {searched}")] if searched else []
    return [*shown, context(plain(refusal_in(job.intent.language).advice, 3 * LINE_ROOM))]


def _quotes(answer: ResearchAnswer) -> dict[str, str]:
    """What is shown of a source, by its id: the first quote that is cited, else what it says in a conflict."""
    sides = {side.source_id: side.quote for conflict in answer.conflicts for side in conflict.positions if side.quote}
    return sides | {one.source_id: one.quote for one in reversed(answer.citations) if one.quote}


def _source_text(source: Source, quotes: Mapping[str, str]) -> str:
    """`*1.* <https://…|nejm.org> - Title`, then date and relevance, then its quote."""
    remarks = [wording.relevance(source)]
    if source.metadata.published_at:
        remarks.insert(0, wording.day(source.metadata.published_at))
    if source.instructs:
        remarks.append(wording.INSTRUCTS)
    title = plain(source.title or wording.UNTITLED, LINE_ROOM)
    lines = [f"*{source.number}.* {place_of(source)} - {title}", " · ".join(remarks)]
    if source.id in quotes:
        lines.append(f"> {plain(quotes[source.id], QUOTE_ROOM)}")
    return "\n".join(lines)
