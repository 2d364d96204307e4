"""An answer as Slack blocks, its sources as a second, threaded message (S003-21, G-03). Pure.

What Slack accepts is the business of blocks.py; here stands what is said and in which order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from adapters.chat.desk import Offer
from adapters.chat.fitting import fit, units
from adapters.chat.slack.blocks import (
    SECTION_LIMIT,
    Block,
    actions,
    button,
    confirmation,
    context,
    divider,
    escaped,
    header,
    link_button,
    place_of,
    plain,
    prose,
    section,
    thumbs,
)
from adapters.chat.slack.findings import check_blocks, finding_blocks
from adapters.chat.slack.message import SlackMessage, message, sentence_message
from adapters.chat.slack.plan import passed_sentences, read_plan, sentence_text
from core.model.answer import AnswerFile, JobResult, ResearchAnswer
from core.model.job import ResearchJob
from core.model.source import Source
from core.pipeline.changes import AnswerChanges
from core.pipeline.snapshot import Snapshot
from core.presentation import wording
from core.presentation.card import AnswerCard, CardButton, CardPart, answer_card, first_quotes, progress_card
from core.presentation.page_links import PageLinks
from core.presentation.render import is_used, one_line, printable

SHOWN_SOURCES = 20  # two of them fill a screen; the page has them all
SHOWN_CITATIONS = 8
QUESTION_ROOM = 500
LINE_ROOM = 300
QUOTE_ROOM = 400
PART_ROOM = 3 * LINE_ROOM
_ROOMS = {"conflicts": 2 * LINE_ROOM, "limitations": 4 * LINE_ROOM, "files": 2 * LINE_ROOM}  # of parts unlike others
_ELSEWHERE = ("understood", "answer", "detail", "notice", "reasons", "offer")  # beside another part, or below all

# What only Slack's own code must tell from the others; every button's name stands in core/presentation/wording.py.
SHOW_SOURCES, SHARE, CANCEL, NOT_NOW, IMPROVE = "show_sources", "share", "cancel", "not_now", "improve"
CHANGED, RATE, VIEW = "what_changed", "rate", "view_full_analysis"


@dataclass(frozen=True)
class SlackVoice:
    links: PageLinks

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> SlackMessage:
        card = progress_card(job, snapshot, elapsed_s)
        said = plain(card.message, LINE_ROOM) or "…"
        blocks = [section(f"{'🔍 ' if said[0].isalnum() else ''}*{said}* …")]
        if snapshot.earlier:
            blocks.append(section(plain(card.earlier, SECTION_LIMIT) or "…"))
        elif passed := passed_sentences(snapshot):
            blocks.append(section(sentence_text(" ".join(text for _, text in passed))))
        if card.running:
            blocks.append(context(_dotted(card.running)))
        if card.queries:
            blocks.append(context(plain(" · ".join(f"“{query}”" for query in card.queries), 2 * LINE_ROOM)))
        if card.places:
            blocks.append(context(_dotted(card.places)))
        if card.plan:
            items = "\n".join(plain(item.line, LINE_ROOM) for item in card.plan.items)
            blocks.append(section(f"*{plain(card.plan.headline, LINE_ROOM)}*\n{items}".strip()))
            blocks += [context(plain(wording.HOW_TO_STEER, LINE_ROOM))] if items else []
        blocks.append(context(" · ".join(card.facts)))
        *steer, cancel = _buttons(job, card.buttons)
        plan = read_plan(snapshot, elapsed_s, [*actions([cancel]), *actions(steer)])
        blocks += actions([*steer, cancel])
        return replace(message(f"{one_line(card.message)} …", blocks), plan=plan)

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
        card = answer_card(
            job, result, sources, page_url=self.links.link(job), may_offer=may_offer, unattached=unattached,
            may_share=not job.scope.visibility.startswith("user:"),
        )  # fmt: skip
        if result is None or result.answer is None or card.outcome == "ended":
            return _ended(job, card)
        blocks = [header(card.heading), _question(card)]
        for part in card.parts:
            if part.name == "answer":
                blocks += finding_blocks(card) if card.found else [section(_answer_text(card))]
                blocks += check_blocks(card.checks, sources)
            elif part.name not in _ELSEWHERE:
                blocks.append(_part(part, card, first_asker))
        blocks += [] if card.outcome == "insufficient" else _cited(card)
        blocks += [divider(), *actions(_buttons(job, (*card.buttons, *card.renewing))), thumbs(RATE, job.id)]
        blocks.append(context(plain(card.footer, LINE_ROOM)))
        if card.offers:
            blocks += [section(card.part("offer").text), *actions(_buttons(job, card.offers))]
        threaded = sources_message(sources, result.answer)
        return replace(message(f"{card.title}: {_prose(card)}", blocks), threaded=threaded, is_answer=True)

    def refusal(self, sentence: str) -> SlackMessage:
        text = plain(sentence, SECTION_LIMIT) or wording.SOMETHING_BROKE
        return replace(message(one_line(sentence), [section(text)]), is_aside=True)

    def shared(self, job: ResearchJob, result: JobResult, sources: Sequence[Source], sharer: str) -> SlackMessage:
        """The answer for all of the channel, without buttons that are its asker's business."""
        whole = self.outcome(job, result, sources, may_offer=False)
        kept = [block for block in whole.blocks if block["type"] not in ("actions", "context_actions")]
        kept += actions(link_button(VIEW, wording.VIEW_FULL_ANALYSIS, self.links.link(job)))
        return SlackMessage(whole.text, (*kept[:-1], context(wording.SHARED_BY.format(who=f"<@{sharer}>")), kept[-1]))


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


def changed_message(offer: Offer) -> SlackMessage:
    """The button carries the question: what was edited cannot be looked up in time."""
    ask = button("changed", wording.RESEARCH_IT, f"{offer.question}:{offer.job.id}", style="primary")
    said = wording.QUESTION_CHANGED
    return replace(message(said, [section(said), *actions([ask])]), is_aside=True)


def ready_message(asker: str) -> SlackMessage:
    """Calls the asker: an edit of the answer's own message notifies nobody."""
    said = f"<@{asker}> {wording.READY}"
    return SlackMessage(said, (section(said),))


def all_sources_message(sources: Sequence[Source], answer: ResearchAnswer | None) -> SlackMessage:
    """For whoever clicked "Show Sources": every source that was read, best first, cited or not."""
    if not sources:
        return sentence_message(wording.NO_SOURCES)
    blocks = [section(f"*{wording.sources_counted(len(sources))}*, the cited ones with a quote")]
    blocks += _source_blocks(sources, answer)
    return message(f"{wording.sources_counted(len(sources))} were read", blocks)


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


def _buttons(job: ResearchJob, buttons: Sequence[CardButton]) -> list[Block]:
    """A link only where its address can be one; Slack asks before it reports a Share."""
    made: list[Block] = []
    for one in buttons:
        if one.name == VIEW:
            made += link_button(VIEW, one.label, one.url)
            continue
        ask = confirmation(wording.SHARE_TITLE, wording.SHARE_QUESTION, yes=one.label) if one.name == SHARE else None
        made.append(button(one.name, one.label, job.id, style="primary" if one.is_primary else "", confirm=ask))
    return made


def _ended(job: ResearchJob, card: AnswerCard) -> SlackMessage:
    """Failed or cancelled: why, what had been found, and what can be done (D14)."""
    why = card.part("failure").text
    blocks = [header(card.heading), _question(card), section(plain(why, SECTION_LIMIT) or wording.SOMETHING_BROKE)]
    if card.sources:
        found = ", ".join(dict.fromkeys(one_line(one.metadata.domain or one.title) for one in card.sources))
        blocks.append(context(f"*{wording.FOUND_SO_FAR}*: {plain(found, 2 * LINE_ROOM) or '…'}"))
    buttons = _buttons(job, [one for one in card.buttons if one.name != SHOW_SOURCES])
    return message(f"{card.title}: {one_line(why)}", [*blocks, *actions(buttons)])


def _part(part: CardPart, card: AnswerCard, first_asker: str) -> Block:
    """Confidence with its reasons stands out; all else is small print."""
    said = plain(part.text, _ROOMS.get(part.name, PART_ROOM))
    if part.name == "earlier":
        whom = f" <@{first_asker}>" if first_asker.isalnum() else ""
        return context(f"_{part.label}{whom}: {plain(part.text, LINE_ROOM)}_")
    if part.name == "confidence":
        reasons = card.part("reasons").text
        return section(f"*{part.label}*: {said}" + (f"\n{plain(reasons, LINE_ROOM)}" if reasons else ""))
    return context(f"*{part.label}*: {said}" if part.label else said)


def _dotted(lines: Sequence[str]) -> str:
    return "\n".join(f"• {plain(line, LINE_ROOM)}" for line in lines)


def _source_blocks(sources: Sequence[Source], answer: ResearchAnswer | None) -> list[Block]:
    quotes = first_quotes(answer)
    blocks = [section(_source_text(source, quotes)) for source in sources[:SHOWN_SOURCES]]
    if len(sources) > SHOWN_SOURCES:
        blocks.append(context(f"and {len(sources) - SHOWN_SOURCES} more on the page"))
    return blocks


def _question(card: AnswerCard) -> Block:
    """What was asked, or the message that was to be checked; and what a follow-up was taken to ask."""
    understood = card.part("understood").text
    meant = f"\n_{plain(understood, QUESTION_ROOM)}_" if understood else ""
    return section(f"*{card.asked.label}*: {plain(card.asked.text, QUESTION_ROOM) or '…'}{meant}")


def _prose(card: AnswerCard) -> str:
    """The short answer as Slack writes it: its own bold instead of Markdown's, no heading signs."""
    text = regex.sub(r"\n{3,}", "\n\n", printable(card.part("answer").text)).strip()
    return prose(text).strip() or wording.NO_ANSWER


def _answer_text(card: AnswerCard) -> str:
    notice = plain(card.part("notice").text, LINE_ROOM)
    said = fit(_prose(card), SECTION_LIMIT - 2 * LINE_ROOM, escaped)
    return f"*{wording.ANSWER}*: {said}" + (f"\n_{notice}_" if notice else "")


def _cited(card: AnswerCard) -> list[Block]:
    """`[1]✓ <https://…|nejm.org> · [2]◐ …`: each cited source once, with its verdict's mark."""
    cited = [source for source in card.sources if source.id in card.cited_marks]
    shown: list[str] = []
    for source in cited[:SHOWN_CITATIONS]:
        entry = f"[{source.number}]{card.cited_marks[source.id]} {place_of(source)}"
        if units(" · ".join([*shown, entry])) < SECTION_LIMIT - LINE_ROOM:
            shown.append(entry)
    if len(cited) > len(shown):
        shown.append(f"and {len(cited) - len(shown)} more")
    return [context(f"*Citations*: {' · '.join(shown)}")] if shown else []


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
