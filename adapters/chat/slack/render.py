"""An answer as Slack blocks, its sources as a second, threaded message (S003-21, G-03). Pure.

What Slack accepts is the business of blocks.py; here stands what is said and in which order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import regex

from adapters.chat.desk import Offer
from adapters.chat.fitting import about, bare, excerpt, fit, pieces_of, rest_of, true_link, unbolded, units
from adapters.chat.reply import in_its_language
from adapters.chat.slack.blocks import (
    ADDRESS_ROOM,
    MARKDOWN_LIMIT,
    NO_PROSE,
    SECTION_LIMIT,
    TYPED,
    Block,
    SlackMessage,
    actions,
    button,
    context,
    done_plan,
    escaped,
    header,
    help_blocks,
    is_linkable,
    link_button,
    markdown,
    markdown_block,
    message,
    option,
    overflow,
    place_of,
    plain,
    preformatted,
    read_plan,
    section,
    sentence_message,
    table,
    thumbs,
)
from adapters.chat.watching import WatchSaid
from core.evidence.structure import cells, first_sentence
from core.findings.viewing import MAX_CODE_CHARS, FindingsView, FoundItem, fits_in_chat
from core.model.answer import AnswerFile, Evidence, JobResult, ResearchAnswer
from core.model.job import ResearchJob
from core.model.source import Source
from core.presentation import wording
from core.presentation.card import (
    AnswerCard,
    CardButton,
    CheckedClaim,
    FoundEntry,
    Stand,
    answer_card,
    first_quotes,
    progress_card,
)
from core.presentation.follow_ups import follow_ups
from core.presentation.help import HOW_TO_ASK, help_entries
from core.presentation.page_links import PageLinks
from core.presentation.render import is_used, marked_section, one_line, printable
from core.presentation.snapshot import Snapshot
from core.text.saying import say, say_day, say_many, say_published
from core.text.urls import domain_of
from core.watch.watch import WatchNotice
from core.watch.words import (
    DIGEST_HELP,
    ToldChange,
    digest_parts,
    heading,
    notice_buttons,
    plain_lines,
    sentence,
    told_change,
)

SHOWN_SOURCES = 20  # two of them fill a screen; the page has them all
QUESTION_ROOM = 500
LINE_ROOM = 300
QUOTE_ROOM = 400
SESSION_ROOM = 100  # of the 200 that Slack takes for a session's title; their list shows less
ANSWER_ROOM = 5_000  # characters without the addresses of passages; a message takes 12,000 with them
CHECKLIST_ROOM = 3_500  # of these, with the addresses
ITEM_ROOM = 600
ABOUT_ROOM = 400
SHOWN_ITEMS = 10  # of a mode: three blocks each, and a message has fifty
LONG_CODE = 400  # of code that comes as a file, its beginning
CLAIM_ROOM = 500
SHOWN_CLAIMS = 12
QUOTES_A_SIDE = 1  # the page has them all
ICONS = {
    Stand.SUPPORTED: "✅",
    Stand.CONTRADICTED: "❌",
    Stand.DIFFERS: "≠",
    Stand.MIXED: "⚖️",
    Stand.UNCONFIRMED: "◐",
    Stand.NO_EVIDENCE: "❔",
}

# What only Slack's own code must tell from the others; every button's name stands in core/presentation/wording.py.
SHOW_SOURCES, SHARE, CANCEL, START_DEEP, IMPROVE = "show_sources", "share", "cancel", "start_deep", "improve"
RATE, VIEW, MORE, FOLLOW_UP = "rate", "view_full_analysis", "more", "follow_up"
MENU_HOLDS = 5  # options of an overflow menu (docs.slack.dev, Block Kit)
SHOWN_BLOCKS = 45  # of what is told of a watch; Slack takes 50
IN_THE_MENU = ("ask_again", IMPROVE, "watch", SHARE, "what_changed", "export", VIEW)

_TAG = "\ue000"  # around a claim's id behind its citation, until that is a link
_CITED = regex.compile(rf"\[(\d+(?:, ?\d+)*)\]([✓◐↪?✗]?)(?:{_TAG}([a-z]+-\d+){_TAG})?")
_BOLD = regex.compile(r"\*\*(.+?)\*\*")
_TORN = regex.compile(rf"{_TAG}[a-z]*-?\d*{_TAG}?")
_TABLE = regex.compile(r"(?:^\|.*\n)\|[ :|-]+\|?[^\S\n]*(?:\n\|.*)+", regex.MULTILINE)


@dataclass(frozen=True)
class SlackVoice:
    links: PageLinks

    @in_its_language
    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> SlackMessage:
        """What is done as a plan, and the sentences that passed; in a stream, else by updates."""
        card = progress_card(job, snapshot, elapsed_s)
        *steer, cancel = _buttons(job.id, card.buttons)
        plan = read_plan(snapshot, elapsed_s, [*actions([cancel]), *actions(steer)])
        said = f"{one_line(card.message)} …"
        if plan is not None:
            return replace(message(said, plan.blocks), plan=plan)
        shown = [section(f"*{plain(card.message, LINE_ROOM) or '…'}* …")]
        shown += [section(plain(card.earlier, SECTION_LIMIT))] if card.earlier.strip() else []
        return message(said, [*shown, context(" · ".join(card.facts)), *actions([*steer, cancel])])

    @in_its_language
    def outcome(
        self,
        job: ResearchJob,
        result: JobResult | None,
        sources: Sequence[Source],
        *,
        may_offer: bool = True,
        first_asker: str = "",
        unattached: Sequence[AnswerFile] = (),
        explains: bool = False,
    ) -> SlackMessage:
        """`may_offer` is False where nobody asks for more (D9)."""
        card = answer_card(
            job, result, sources, page_url=self.links.link(job), may_offer=may_offer, unattached=unattached,
            may_share=not job.scope.visibility.startswith("user:"), explains=explains,
        )  # fmt: skip
        if result is None or result.answer is None or card.outcome == "ended":
            return _ended(job, card)
        said = _Said(self.links, job, card, result.answer)
        is_plain = card.outcome == "insufficient"
        blocks = [*done_plan(result, sources), *([header(card.heading)] if is_plain else []), _question(card)]
        blocks += _earlier(card, first_asker)
        blocks += finding_blocks(card) if card.found else said.blocks()
        blocks += check_blocks(card.checks, sources)
        blocks += said.checklist()
        blocks.append(section(said.confidence()))
        blocks += [
            context(_labelled(card, name))
            for name in ("marks", "files", "searched", "advice", "offer")
            if card.part(name).text
        ]
        blocks += [*actions(_row(job, card)), thumbs(RATE, job.id)]
        asked = follow_ups(job, result) if may_offer else ()
        blocks += actions([button(f"{FOLLOW_UP}_{at}", text, f"{text}:{job.id}") for at, text in enumerate(asked, 1)])
        blocks.append(context("\n".join(filter(None, [_labelled(card, "limitations"), plain(card.footer, LINE_ROOM)]))))
        spoken = unbolded(_untagged(card.part("answer").text))
        whole = replace(message(f"{card.title}: {spoken}", blocks), threaded=sources_message(sources, result.answer))
        return replace(whole, is_answer=True, title="" if is_plain else said.title())

    @in_its_language
    def told(self, job: ResearchJob, notice: WatchNotice) -> SlackMessage:
        """A change with the passages behind it, or a sign of life; the new answer is behind a button."""
        blocks = [header(f"🔔 {heading(notice)}")]
        if said := sentence(notice):
            blocks.append(section(plain(said, SECTION_LIMIT)))
        blocks += [block for change in notice.changes for block in _changed(told_change(change))]
        for part in digest_parts(notice):
            page, title = self.links.link(replace(job, id=part.job_id)), plain(heading(part), 2 * LINE_ROOM)
            blocks.append(section(f"*<{escaped(page)}|{title}>*" if is_linkable(page) else f"*{title}*"))
            blocks += [block for change in part.changes for block in _changed(told_change(change))]
        view = [] if notice.parts else [CardButton(VIEW, self.links.link(job))]
        row = _buttons(job.id, [*view, *map(CardButton, notice_buttons(notice))])
        last = actions(row) or [context(say(DIGEST_HELP))]
        return message(" ".join(plain_lines(notice)), [*blocks[:SHOWN_BLOCKS], *last])

    def refusal(self, sentence: str) -> SlackMessage:
        text = plain(sentence, SECTION_LIMIT) or say(wording.SOMETHING_BROKE)
        return replace(message(one_line(sentence), [section(text)]), is_aside=True)

    def notice(self, text: str) -> SlackMessage:
        return self.refusal(text)

    def help(self) -> SlackMessage:
        spoken = " ".join(f"{what} {words}" for what, words in help_entries(TYPED))
        blocks = [section(f"*{say(HOW_TO_ASK)}*"), *help_blocks()]
        return replace(message(f"{say(HOW_TO_ASK)}. {spoken}", blocks), is_aside=True)

    def history(self, jobs: Sequence[ResearchJob]) -> SlackMessage:
        """One's own questions, newest first, each a link to its page."""
        if not jobs:
            return self.refusal(say(wording.NO_HISTORY))
        lines = [
            f"• {say_day(job.created_at)}: <{escaped(self.links.link(job))}|{_label(job.query)}>"
            for job in jobs[:SHOWN_SOURCES]
        ]
        title = say(wording.YOUR_QUESTIONS)
        return replace(message(title, [section(f"*{title}*"), *map(section, lines)]), is_aside=True)

    def sources(self, sources: Sequence[Source], answer: ResearchAnswer | None) -> SlackMessage:
        """For whoever clicked "Sources": every source that was read, best first, and how much it matters."""
        if not sources:
            return sentence_message(say(wording.NO_SOURCES))
        standing = {source.id: "" if is_used(source, answer) else f" · {say(wording.NOT_CITED)}" for source in sources}
        lines = [
            f"{_source_line(source)}{wording.relevance(source)}{standing[source.id]}"
            for source in sources[:SHOWN_SOURCES]
        ]
        counted = wording.sources_read(len(sources), bold="*")
        return message(wording.sources_read(len(sources)), [section(counted), *map(section, lines), *_more(sources)])

    def watching(self, said: WatchSaid) -> SlackMessage:
        """What is said of a wish to watch, with its buttons."""
        row = actions(_buttons(said.job.id if said.job else "", said.buttons))
        title = [section(f"*{plain(said.title, LINE_ROOM)}*")] if said.title else []
        files = (replace(said.file, description=said.text),) if said.file else ()
        lines = fit("\n".join(map(one_line, said.lines)), SECTION_LIMIT, escaped)
        blocks = [*title, section(lines), *row]
        return replace(message(said.text, blocks), files=files)

    def changed(self, offer: Offer) -> SlackMessage:
        """The button carries the question: what was edited cannot be looked up in time."""
        ask = button("changed", say(wording.RESEARCH_IT), f"{offer.question}:{offer.job.id}", style="primary")
        said = say(wording.QUESTION_CHANGED)
        return replace(message(said, [section(said), *actions([ask])]), is_aside=True)

    @in_its_language
    def shared(self, job: ResearchJob, result: JobResult, sources: Sequence[Source], sharer: str) -> SlackMessage:
        """The answer for all of the channel, without buttons that are its asker's business."""
        whole = self.outcome(job, result, sources, may_offer=False)
        kept = [block for block in whole.blocks if block["type"] not in ("actions", "context_actions")]
        kept += actions(link_button(VIEW, say(wording.VIEW_FULL_ANALYSIS), self.links.link(job)))
        shared = context(say(wording.SHARED_BY, who=f"<@{sharer}>"))
        return SlackMessage(whole.text, (*kept[:-1], shared, kept[-1]))


@dataclass(frozen=True)
class _Said:
    """What an answer says, each number a link to the passage that it cites."""

    links: PageLinks
    job: ResearchJob
    card: AnswerCard
    answer: ResearchAnswer

    def blocks(self) -> list[Block]:
        """The short answer, its first sentence in bold; the first table of it, else of the detail, as a table."""
        text = _whole(self.answer, "summary")
        blocks = list(self._pieces(_bold(text)))
        in_detail = None if _TABLE.search(text) else _TABLE.search(_whole(self.answer, "detail"))
        blocks += [table(_rows(in_detail[0]))] if in_detail else []
        notice = plain(self.card.part("notice").text, LINE_ROOM)
        return [*(blocks or [markdown_block(say(wording.NO_ANSWER))]), *([context(f"_{notice}_")] if notice else [])]

    def title(self) -> str:
        """What the thread may be called: the answer's first sentence in plain words."""
        found = _BOLD.match(_bold(_whole(self.answer, "summary")))
        return fit(one_line(regex.sub(rf"\s*{_CITED.pattern}", "", found[1])), SESSION_ROOM) if found else ""

    def checklist(self) -> list[Block]:
        """Each item with what became of it, and what the answer says of it (S002)."""
        lines = self.card.part("plan").text.splitlines()
        text = "\n".join(f"- {markdown(line.replace(_TAG, ''), 2 * LINE_ROOM)}" for line in lines)
        return [markdown_block(self._linked(text, CHECKLIST_ROOM))] if lines else []

    def confidence(self) -> str:
        """`*Confidence*: Low: Sources disagree on …`: how sure, and the reason that decided, on one line."""
        headline = self.card.part("confidence").text
        why = plain(self.card.part("reasons").text, 3 * LINE_ROOM)
        level = headline.partition(" (")[0] if why else headline
        sides = {
            position.source_id: f"conflict-{place}-{side}"
            for place, conflict in reversed(list(enumerate(self.answer.conflicts)))
            for side, position in enumerate(conflict.positions)
        }
        left = SECTION_LIMIT - 2 * LINE_ROOM - units(why)

        def link(found: regex.Match[str]) -> str:
            nonlocal left
            number = found[1]
            address = self.links.passage(self.job, int(number), sides.get(f"src_{number}", ""))
            linked = f"<{escaped(address)}|{found[0]}>"
            left -= units(linked)
            return linked if left > 0 and self._knows(number) and is_linkable(address) else found[0]

        said = regex.sub(r"\[(\d+)\]", link, why)
        return f"*{say(wording.CONFIDENCE)}*: {plain(level, LINE_ROOM)}" + (f": {said}" if said else "")

    def _pieces(self, text: str) -> Iterator[Block]:
        """Prose as Markdown, code literally, the first table as a table and any other as it is written."""
        room, has_table = MARKDOWN_LIMIT - ANSWER_ROOM - CHECKLIST_ROOM, False
        left = ANSWER_ROOM
        for piece, kind in _parts(text):
            if kind == "table" and not has_table:
                has_table = True
                yield table(_rows(piece))
            elif kind != "prose":
                yield preformatted(_untagged(piece).strip())
            elif left > LINE_ROOM and (said := self._linked(markdown(piece.strip(), left), room + left)).strip():
                left, room = left - units(escaped(piece)), room - max(0, units(said) - units(escaped(piece)))
                yield markdown_block(said)

    def _linked(self, text: str, limit: int) -> str:
        """`[1]✓` as a link to what the claim cites there, while the whole has at most `limit` characters."""
        left = limit - units(text)

        def link(found: regex.Match[str]) -> str:
            nonlocal left
            numbers = [number.strip() for number in found[1].split(",")]
            shown = "".join(self._number(number, found[3] or "") for number in numbers)
            left -= len(shown) - len(found[1])
            return f"{shown if left > 0 else f'[{found[1]}]'}{found[2]}"

        return _TORN.sub("", _CITED.sub(link, text))

    def _number(self, number: str, claim_id: str) -> str:
        is_cited = any(
            claim.id == claim_id and any(entry.source_id == f"src_{number}" for entry in claim.evidence)
            for claim in self.answer.claims
        )
        address = self.links.passage(self.job, int(number), claim_id if is_cited else "") if self._knows(number) else ""
        return f"[[{number}]]({address})" if is_linkable(address) else f"[{number}]"

    def _knows(self, number: str) -> bool:
        return any(str(source.number) == number for source in self.card.sources)


def sources_message(sources: Sequence[Source], answer: ResearchAnswer | None) -> SlackMessage | None:
    """The threaded reply (S003-21): each cited source with its number, title, date and quote; None without any."""
    cited = [source for source in sources if is_used(source, answer)]
    if not cited or answer is None:
        return None
    quotes = first_quotes(answer)
    names = ", ".join(one_line(source.metadata.domain or source.title) for source in cited)
    blocks = [section(_source_line(source, quotes.get(source.id, ""))) for source in cited[:SHOWN_SOURCES]]
    return message(f"{say(wording.SOURCES)}: {names}", [context(f"*{say(wording.SOURCES)}*"), *blocks, *_more(cited)])


def _changed(change: ToldChange) -> list[Block]:
    """What a change says, then the passages behind it."""
    lines = [f"*{label}*: {plain(text, 2 * LINE_ROOM)}" for label, text in change.lines]
    quotes = [f"“{plain(quote, 2 * LINE_ROOM)}” – {_address(url)}" if quote else _address(url)
              for quote, url in change.quotes]  # fmt: skip
    return [section("\n".join(lines) or "…"), *(context(quote) for quote in quotes)]


def _address(url: str) -> str:
    host, address = true_link(url)
    return f"<{escaped(address)}|{_label(host)}>" if is_linkable(address) else plain(domain_of(url), LINE_ROOM)


def ready_message(asker: str, told: str = "") -> SlackMessage:
    """Calls the asker: an edit of the answer's own message notifies nobody."""
    said = f"<@{asker}> {escaped(told) or say(wording.READY)}"
    return SlackMessage(said, (section(said),))


def _label(text: str) -> str:
    """Of a link: no bar and no angle, which would end it early."""
    return plain(text.replace("|", "/"), LINE_ROOM) or "…"


def _buttons(job_id: str, buttons: Sequence[CardButton]) -> list[Block]:
    """A link only where its address can be one."""
    made: list[Block] = []
    for one in buttons:
        if one.url or one.name == VIEW:
            made += link_button(one.name, one.label, one.url)
        else:
            made.append(button(one.name, one.label, job_id, style="primary" if one.is_primary else ""))
    return made


def _row(job: ResearchJob, card: AnswerCard) -> list[Block]:
    """One row: the sources, what goes on from here, and a menu of the rest."""
    made = {one.name: one for one in (*card.buttons, *card.renewing)}
    row = [button(SHOW_SOURCES, say(wording.SOURCES), job.id)] if SHOW_SOURCES in made else []
    if card.answer is not None and card.answer.metadata.model and job.request.modes == ("quick",):
        label = say(wording.START if card.offers else wording.GO_DEEPER)
        row.append(button(START_DEEP, label, job.id, style="primary" if card.offers else ""))
    row += _buttons(job.id, [one for one in made.values() if one.name not in (SHOW_SOURCES, *IN_THE_MENU)])
    rest = [made[name] for name in IN_THE_MENU if name in made and (name != VIEW or is_linkable(made[name].url))]
    for spare in ("export", "watch"):  # their words do the same
        rest = [one for one in rest if len(rest) <= MENU_HOLDS or one.name != spare]
    return [*row, *overflow(MORE, [option(one.label, f"{one.name}:{job.id}", one.url) for one in rest])]


def _ended(job: ResearchJob, card: AnswerCard) -> SlackMessage:
    """Failed or cancelled: why, what had been found, and what can be done (D14)."""
    why = card.part("failure").text
    blocks = [header(card.heading), _question(card), section(plain(why, SECTION_LIMIT) or say(wording.SOMETHING_BROKE))]
    if card.sources:
        found = ", ".join(dict.fromkeys(one_line(one.metadata.domain or one.title) for one in card.sources))
        blocks.append(context(f"*{say(wording.FOUND_SO_FAR)}*: {plain(found, 2 * LINE_ROOM) or '…'}"))
    buttons = _buttons(job.id, [one for one in card.buttons if one.name != SHOW_SOURCES])
    return message(f"{card.title}: {one_line(why)}", [*blocks, *actions(buttons)])


def _question(card: AnswerCard) -> Block:
    """What was asked, or the message that was to be checked; and what a follow-up was taken to ask."""
    understood = card.part("understood").text
    meant = f" · _{plain(understood, QUESTION_ROOM)}_" if understood else ""
    return context(f"*{card.asked.label}*: {plain(card.asked.text, QUESTION_ROOM) or '…'}{meant}")


def _earlier(card: AnswerCard, first_asker: str) -> list[Block]:
    part = card.part("earlier")
    whom = f" <@{first_asker}>" if first_asker.isalnum() else ""
    return [context(f"_{part.label}{whom}: {plain(part.text, LINE_ROOM)}_")] if part.text else []


def _labelled(card: AnswerCard, name: str) -> str:
    part = card.part(name)
    said = plain(part.text, 4 * LINE_ROOM)
    return f"*{part.label}*: {said}" if part.label and said else said


def _source_line(source: Source, quote: str = "") -> str:
    """`*[1]* <https://…|Title> · nejm.org · 1 May 2024`, and below it the quote: the host stands beside the title."""
    host, address = true_link(source.url)
    title = plain(source.title.replace("|", "/"), LINE_ROOM) or say(wording.UNTITLED)
    named = f"<{escaped(address)}|{title}>" if host and len(address) <= ADDRESS_ROOM else title
    remarks = [
        f"*[{source.number}]* {named}",
        host or plain(source.metadata.domain or source.metadata.provider, LINE_ROOM),
    ]
    remarks += [say_published(source.metadata.published_at)] if source.metadata.published_at else []
    remarks += [say(wording.INSTRUCTS)] if source.instructs else []
    return " · ".join(filter(None, remarks)) + (f"\n> {plain(quote, QUOTE_ROOM)}" if quote else "")


def _more(sources: Sequence[Source]) -> list[Block]:
    more = len(sources) - SHOWN_SOURCES
    return [context(say("and {number} more on the page", number=more))] if more > 0 else []


def _whole(answer: ResearchAnswer, part: Literal["summary", "detail"]) -> str:
    """With each claim's id behind the marks of its citations."""
    answer = replace(answer, summary=answer.summary.replace(_TAG, ""), detail=answer.detail.replace(_TAG, ""))
    text = marked_section(answer, part, tag=lambda claim: f"{_TAG}{claim.id}{_TAG}")
    return regex.sub(r"\n{3,}", "\n\n", printable(text)).strip()


def _untagged(text: str) -> str:
    return _TORN.sub("", printable(text))


def _bold(text: str) -> str:
    """The first sentence, which is the answer, in bold, with the citations behind it."""
    if NO_PROSE.match(text) or not text:
        return text
    plain_text = _CITED.sub("", text.partition("\n\n")[0][:ANSWER_ROOM])
    left, end = len(first_sentence(plain_text)), 0
    for cited in [*_CITED.finditer(text), None]:
        start = cited.start() if cited else len(text)
        if start - end > left:
            break
        left, end = left - (start - end), cited.end() if cited else start
    end = min(end + left, len(text)) if left else end
    first = unbolded(text[:end]).strip()
    return f"**{first}**{text[end:]}" if first and "\n" not in first else text


def _parts(text: str) -> Iterator[tuple[str, Literal["prose", "code", "table"]]]:
    for piece, _, is_code in pieces_of(text):
        if is_code:
            yield piece, "code"
            continue
        end = 0
        for found in _TABLE.finditer(piece):
            yield piece[end : found.start()], "prose"
            yield found[0], "table"
            end = found.end()
        yield piece[end:], "prose"


def _rows(text: str) -> list[list[str]]:
    """The cells of a table in Markdown without its rule."""
    head, _, *lines = _untagged(text).strip().split("\n")
    return [[bare(cell) for cell in cells(line)] for line in (head, *lines)]


def finding_blocks(card: AnswerCard) -> list[Block]:
    """Everything that was found, mode by mode in the order asked for; at most 40 blocks."""
    blocks: list[Block] = []
    of_mode = Counter(entry.item.mode for entry in card.found if entry.item)
    room, shown = SHOWN_ITEMS // max(1, len(of_mode)), Counter[str]()
    for entry in card.found:
        mode = entry.item.mode if entry.item else ""
        shown[mode] += 1
        if not mode or shown[mode] <= room:
            blocks += _entry(entry, card.findings)
        elif shown[mode] == room + 1:
            blocks.append(context(say_many(wording.RESULT_MORE, wording.RESULTS_MORE, of_mode[mode] - room)))
    return blocks


def _entry(entry: FoundEntry, view: FindingsView | None) -> list[Block]:
    match entry.kind:
        case "heading":
            return [section(f"*{plain(entry.text, SECTION_LIMIT)}*")]
        case "other":
            text = fit(entry.text or "…", SECTION_LIMIT, escaped)
            return [section(f"*{plain(entry.title, 80)}*"), section(text)]
        case "text":
            return [section(fit(entry.text, SECTION_LIMIT, escaped))]
        case "note":
            return [context(plain(entry.text, SECTION_LIMIT))]
    return _item(entry, entry.item, view) if entry.item and view else []


def _item(entry: FoundEntry, item: FoundItem, view: FindingsView) -> list[Block]:
    """`*1.* What it says [1]✓`, its code, and the place with what checking found."""
    source = entry.source
    said = plain(entry.text, ITEM_ROOM) or (say("Code of {title}", title=plain(source.title, 100)) if source else "…")
    blocks = [section(f"*{item.number}.* {said}")]
    rest = ""
    if item.code:
        code = excerpt(item.code, MAX_CODE_CHARS if fits_in_chat(item.code) else LONG_CODE)
        blocks.append(preformatted(code.text))
        rest = rest_of(item, code.left_out, view)
    said_of_it = [plain(rest, ABOUT_ROOM), place_of(source) if source else "", plain(about(item), ABOUT_ROOM)]
    blocks.append(context(" · ".join(filter(None, said_of_it)) or "…"))
    return blocks


def check_blocks(checks: Sequence[CheckedClaim], sources: Sequence[Source]) -> list[Block]:
    by_id = {source.id: source for source in sources}
    blocks = [section(_claim_text(check, by_id)) for check in checks[:SHOWN_CLAIMS]]
    if len(checks) > SHOWN_CLAIMS:
        blocks.append(context(say_many(wording.CLAIM_MORE, wording.CLAIMS_MORE, len(checks) - SHOWN_CLAIMS)))
    return blocks


def _claim_text(check: CheckedClaim, sources: dict[str, Source]) -> str:
    """`✅ *Supported*: “…”`, then for each side the first quote with its source; within a section's limit."""
    head = f"{ICONS[check.stand]} *{say(wording.STANDS[check.stand.value])}*: “{plain(check.claim, CLAIM_ROOM)}”"
    lines = [_quote_lines(entry, sources, is_for=True) for entry in check.supporting[:QUOTES_A_SIDE]]
    lines += [_quote_lines(entry, sources, is_for=False) for entry in check.contradicting[:QUOTES_A_SIDE]]
    whole = "\n".join([head, *lines])
    return whole if len(whole) < SECTION_LIMIT else head


def _quote_lines(entry: Evidence, sources: dict[str, Source], *, is_for: bool) -> str:
    said = wording.evidence_line(entry.quote, entry.verdict, is_for=is_for)
    source = sources.get(entry.source_id)
    where = f" [{source.number}] {place_of(source)}" if source else ""
    return f"> {plain(said, QUOTE_ROOM)}{where}"
