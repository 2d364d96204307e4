"""A job as Discord shows it (S003-20, G-02): progress, outcome, refusal. Pure, and where Discord's limits are kept.

Everything is composed within a limit, so nothing is ever cut afterwards: the same parts make an embed of 4096
characters, and a text of 2000 where the bot may not embed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import discord
import regex

from adapters.chat.desk import Offer
from adapters.chat.discord.markup import (
    LEAST_ROOM,
    Cite,
    code_block,
    is_linkable,
    name_line,
    page_link,
    plain,
    prose,
    rich,
    source_line,
    source_link,
    tables_in,
    within,
)
from adapters.chat.discord.payload import (
    SHARED_SOURCES,
    DiscordButton,
    DiscordMessage,
    MoreMenu,
    Row,
    word,
)
from adapters.chat.fitting import about, bare, excerpt, fit, rest_of, shares, true_link, units
from adapters.chat.reply import in_its_language
from adapters.chat.watching import WatchSaid
from core.evidence.structure import first_sentence
from core.findings.viewing import FENCE, FindingsView, FoundItem
from core.model.answer import AnswerFile, Confidence, JobResult, ResearchAnswer
from core.model.job import ResearchJob
from core.model.source import Source
from core.presentation import wording
from core.presentation.card import (
    AnswerCard,
    CardButton,
    CardPart,
    FoundEntry,
    answer_card,
    listed_sources,
    progress_card,
    said_so_far,
)
from core.presentation.help import HOW_TO_ASK, Typed, help_entries, mode_entries
from core.presentation.page_links import PageLinks
from core.presentation.render import MARKER, is_used, one_line
from core.presentation.snapshot import Snapshot
from core.text.saying import later, say, say_day, say_many
from core.watch.watch import WatchNotice
from core.watch.words import DIGEST_HELP, ToldChange, digest_parts, heading, notice_buttons, sentence, told_change

DESCRIPTION_LIMIT = 4096  # characters of an embed's description (Discord, embed limits)
CONTENT_LIMIT = 2000
THREAD_NAME_LIMIT = 100
FOUND_SOURCES = 3  # of those that a question had found when it ended without an answer
QUESTION_ROOM = 300  # a longer question is recognised by its beginning
LINE_ROOM = 200
ANSWERED_ROOM = 600  # of a line that a press is answered with
LEAST_ANSWER = 600  # the answer's room; what would leave it less is left out
LEAST_FOUND = 0.6  # of all the room, where lists and code are the answer
PART_ROOM = 2 * LINE_ROOM
BUTTONS = 5  # of a row; the others are in a menu
LINKED_ROOM = 3 * LINE_ROOM  # of a line with its links, which nobody sees
_ROOMS = {"searched": LINE_ROOM, "advice": LINE_ROOM}  # of parts that are shorter than others
# What stands below the answer, in its order; of what has no room, the last wanted goes first.
_BELOW = ("marks", "plan", "sources", "limitations", "searched", "advice", "files", "offer")
_WANTED_LAST = ("plan", "files", "offer", "sources")
_FIRST_THIRD = ("start_deep", "share", "refresh", "improve")  # which button is worth a place in the row

EARLIER_ROOM = 1000  # of an earlier answer while it is being confirmed
RUNNING_LIMIT = 1800  # of a progress report: with title and footer it fits a plain message
END_ROOM = 60  # letters of a claim's end, by which it is known again in the text
ITEM_ROOM = 120  # of an item of a research plan
FOUND_ROOM = 420  # of what a finding says
ABOUT_ROOM = 240
ABSTRACT_ROOM = 1600
OTHER_ROOM = 1200  # of what a mode of another kind answered
LEAST_CODE = 60  # less shows nothing of it
NOTE_ROOM = 60  # of the line that tells where the rest of the code is
NOTES_ROOM = 1000  # of what is only named
ANY = 1_000_000

COLOURS = {
    Confidence.HIGH: 0x2ECC71,
    Confidence.MEDIUM: 0xF1C40F,
    Confidence.LOW: 0xE67E22,
    Confidence.INSUFFICIENT: 0xE74C3C,
    None: 0xE74C3C,
}  # G-02
COLOUR_RUNNING = 0x5865F2
COLOUR_FAILED = 0xE74C3C
HISTORY_ROOM = 100  # characters of each question in a list of ten


@dataclass(frozen=True)
class DiscordVoice:
    """`links` gives the address of a job's page."""

    links: PageLinks

    @in_its_language
    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> DiscordMessage:
        """Until there is a sentence, what is done; from then on the sentences as each is checked."""
        card = progress_card(job, snapshot, elapsed_s)
        items = card.plan.items if card.plan else ()
        plan = [plain(card.plan.headline, LINE_ROOM)] if card.plan else []
        plan += [plain(item.line, ITEM_ROOM) for item in items]
        said = "" if snapshot.earlier else "".join(text for _, text in said_so_far(snapshot, "summary"))
        head, step = f"{_asked(card.asked)}\n\n", plain(card.message.rstrip(" .…"), LINE_ROOM)
        steps = [f"-# {step} …" if said else f"**{step}** …"]
        if said:
            room = RUNNING_LIMIT - units("\n".join([head, *plan, *steps, say(wording.ANSWER)])) - LEAST_ROOM
            head += f"**{say(wording.ANSWER)}**: {rich(said, room)}\n\n"
        if card.earlier:
            steps.append(rich(card.earlier, EARLIER_ROOM))
        lines = [*steps, *plan, *([f"-# {say(wording.HOW_TO_STEER)}"] if items and card.buttons[1:] else [])]
        if not said:
            lines += [f"· {plain(part, LINE_ROOM)}" for part in card.running]
            if card.queries:
                lines.append(f"-# {say(wording.SEARCHING_FOR)}: {plain(' · '.join(card.queries), 2 * LINE_ROOM)}")
            lines += [f"· {plain(line, LINE_ROOM)}" for line in card.places]
        embed = discord.Embed(title=f"🔍 {word('progress.title')}", colour=COLOUR_RUNNING)
        row = _row(job, card.buttons if items else card.buttons[-1:])
        text = head + within(lines, RUNNING_LIMIT - units(head))
        message = _message(embed, text.strip(), " · ".join(card.facts), (row,))
        return replace(message, page_url=self.links.link(job))

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
    ) -> DiscordMessage:
        """`may_offer` is False once deep research was declined below this answer (D9)."""
        page_url, may_share = self.links.link(job), job.request.is_private
        card = answer_card(
            job, result, sources,
            page_url=page_url, may_share=may_share, may_offer=may_offer, unattached=unattached, explains=explains,
        )  # fmt: skip
        embed = discord.Embed(title=card.heading, colour=COLOURS[card.level])
        if card.outcome == "ended":
            return replace(_ended(embed, card, job), job_id=job.id)
        parts = _FittedAnswer(card, page_url, first_asker, _passages(self.links, job, card))
        frame = units(f"**{embed.title}**\n\n-# {card.footer}")
        short = parts.within(CONTENT_LIMIT - frame)
        message = _message(embed, parts.within(DESCRIPTION_LIMIT), card.footer, _rows(job, card), short=short)
        message = replace(message, job_id=job.id)
        if card.outcome == "insufficient":
            return message
        return replace(message, thread_name=_thread_name(card), details=parts.details())

    @in_its_language
    def shared(self, job: ResearchJob, result: JobResult, sources: Sequence[Source], *, by: str) -> DiscordMessage:
        """A private answer, shown to a channel on its asker's wish."""
        message = self.outcome(job, result, sources, may_offer=False)
        message.embed.set_author(name=fit(one_line(say(wording.SHARED_BY, who=by)), LINE_ROOM))
        show = DiscordButton(say(wording.SHOW_SOURCES), f"{SHARED_SOURCES}:{job.id}")
        link = _row(job, [CardButton("view_full_analysis", self.links.link(job))])
        return replace(message, rows=((*link, *([show] if sources else [])),), details=())

    @in_its_language
    def told(self, job: ResearchJob, notice: WatchNotice) -> DiscordMessage:
        """A change with the passages behind it, or a sign of life; the new answer is behind a button."""
        lines = [f"_{plain(said, LINE_ROOM)}_"] if (said := sentence(notice)) else []
        lines += [line for change in notice.changes for line in (*_changed(told_change(change)), "")]
        for part in digest_parts(notice):
            page, title = self.links.link(replace(job, id=part.job_id)), plain(heading(part), QUESTION_ROOM)
            lines += [f"**[{title}]({page})**" if is_linkable(page) else f"**{title}**"]
            lines += [line for change in part.changes for line in _changed(told_change(change))]
            lines.append("")
        lines += [say(DIGEST_HELP)] if notice.parts else []
        title = fit(f"🔔 {one_line(heading(notice))}", 256)  # as long as titles may be (Discord, embed limits)
        embed = discord.Embed(title=title, colour=COLOUR_RUNNING)
        view = [] if notice.parts else _row(job, [CardButton("view_full_analysis", self.links.link(job))])
        buttons = _row(job, [CardButton(name) for name in notice_buttons(notice)])
        rows = ((*view, *buttons),) if view or buttons else ()
        message = _message(embed, within(lines, RUNNING_LIMIT).strip(), "", rows)
        return replace(message, job_id=job.id)

    def watching(self, said: WatchSaid) -> DiscordMessage:
        """With the file; where nothing may be attached, what stands there says where it is."""
        title = [f"**{plain(said.title, LINE_ROOM)}**"] if said.title else []
        shown = self.notice(within([*title, *(rich(line, ANSWERED_ROOM) for line in said.lines)], RUNNING_LIMIT))
        rows = (_row(said.job, said.buttons),) if said.job and said.buttons else ()
        return replace(shown, rows=rows, files=(said.file,) if said.file else ())

    def refusal(self, sentence: str) -> DiscordMessage:
        said = plain(sentence, 1000) or say(wording.SOMETHING_BROKE)
        return DiscordMessage(discord.Embed(description=said, colour=COLOUR_FAILED), said)

    def notice(self, text: str) -> DiscordMessage:
        """Words of our own, with their markup."""
        return DiscordMessage(discord.Embed(description=text, colour=COLOUR_RUNNING), text)

    def help(self) -> DiscordMessage:
        return self.notice(help_text())

    def sources(self, sources: Sequence[Source], answer: ResearchAnswer | None) -> DiscordMessage:
        return self.notice(sources_text(sources, answer))

    def history(self, jobs: Sequence[ResearchJob]) -> DiscordMessage:
        lines = [f"**{say(wording.YOUR_QUESTIONS)}**"]
        for job in jobs:
            url = self.links.link(job)
            question = plain(job.request.quoted or job.query, HISTORY_ROOM)
            state = say(wording.STATUS_MESSAGES[job.status])
            link = f" · [{say(wording.VIEW_FULL_ANALYSIS)}]({url})" if is_linkable(url) else ""
            lines.append(f"· {say_day(job.created_at)} · {question} · {state}{link}")
        lines += [] if jobs else [say(wording.NO_HISTORY)]
        return replace(self.notice(within(lines, DESCRIPTION_LIMIT)), text=within(lines, CONTENT_LIMIT))

    def question(self, text: str, *buttons: DiscordButton) -> DiscordMessage:
        """A question of our own, with the buttons that answer it."""
        return replace(self.notice(text), rows=(buttons,))

    def changed(self, offer: Offer) -> DiscordMessage:
        """Under an edited question, which it answers: what was edited is read there when the button is pressed."""
        button = DiscordButton(say(wording.RESEARCH_IT), f"changed:{offer.job.id}", is_primary=True)
        return self.question(say(wording.QUESTION_CHANGED), button)

    def moved(self, page_url: str = "") -> DiscordMessage:
        """The last edit of a message whose token dies: with the page's link where there will be no new message."""
        if not page_url:
            return self.notice(word("progress.moved"))
        return self.notice(word("progress.moved_to_page", link=page_link(page_url) or page_url))


def _changed(change: ToldChange) -> list[str]:
    """What a change says, then the passages behind it."""
    lines = [f"**{label}**: {plain(text, QUESTION_ROOM)}" for label, text in change.lines]
    for quote, url in change.quotes:
        host, address = true_link(url)
        place = f"[{plain(host, LINE_ROOM)}]({address})" if is_linkable(address) else ""
        lines.append("> " + " – ".join(filter(None, (plain(quote, QUESTION_ROOM), place))))
    return lines


@dataclass(frozen=True)
class _FittedAnswer:
    """An answer's text, which is fitted."""

    card: AnswerCard
    page_url: str
    first_asker: str
    cite: Cite

    def within(self, limit: int) -> str:
        """S003-20's text. The answer gets the room that the other parts leave; the last wanted yield to it."""
        card = self.card
        before = self._head()
        view = page_link(self.page_url)
        said, least = self._shown(), (limit * LEAST_FOUND if card.found else LEAST_ANSWER)
        parts = self._below(said)
        for name in sorted(parts, key=lambda name: _WANTED_LAST.index(name) if name in _WANTED_LAST else -1):
            if limit - units(before) - units(self._tail(parts, view)) >= least:
                break
            del parts[name]
        room = limit - units(before) - units(self._tail(parts, view)) - 1
        if card.findings and card.found:
            text = findings_text(card.findings, card.found, room, more=view)
        else:
            text = self._linked(said, room, more=f"… {view}".rstrip())
        cited = self._sources(f"{text}\n{parts.get('plan', '')}") if "sources" in parts else ""
        if cited and units(cited) <= units(parts["sources"]):  # of an answer that was cut those that are still cited
            parts["sources"] = cited
        gap = "\n" if text.startswith(FENCE) else ""  # code begins a line of its own
        return before + gap + text + self._tail(parts, view)

    def details(self) -> tuple[discord.Embed, ...]:
        """What a thread under the answer holds: the detail, and all sources."""
        more = f"… {page_link(self.page_url)}".rstrip()
        detail = self._linked(self.card.part("detail").text, DESCRIPTION_LIMIT, more=more)
        listed = _listed(self.card.sources, self.card.cited, DESCRIPTION_LIMIT) if self.card.sources else ""
        shown = [(word("answer.details"), detail), (say(wording.SOURCES), listed)]
        colour = COLOURS[self.card.level]
        return tuple(
            discord.Embed(title=title, description=text, colour=colour) for title, text in shown if text.strip()
        )

    def _linked(self, text: str, room: int, *, more: str) -> str:
        """With its numbers as links where all of it then has room."""
        linked = rich(text, ANY, cite=self.cite)
        return linked if units(linked) <= room else rich(text, room, more=more)

    def _shown(self) -> str:
        """The summary with the tables below it; of a checked message also what sources say of each claim, which is
        what was asked for.
        """
        summary, detail = self.card.part("answer").text, self.card.part("detail").text
        below = [detail] if self.card.asked.name == "message" else tables_in(detail)
        return "\n\n".join([summary, *filter(None, below)])

    def _head(self) -> str:
        """What was asked, how it was understood, and whose answer it was before."""
        card = self.card
        understood, earlier = plain(card.part("understood").text, LINE_ROOM), card.part("earlier")
        whom = f" <@{self.first_asker}>" if self.first_asker.isdigit() else ""
        lines = [_asked(card.asked), *([f"-# {understood}"] if understood else [])]
        lines += [f"*{earlier.label}{whom}: {plain(earlier.text, LINE_ROOM)}*"] if earlier.text else []
        return "\n".join([*lines, "", "" if card.found else f"**{say(wording.ANSWER)}**: "])

    def _tail(self, parts: Mapping[str, str], view: str) -> str:
        below = [parts[name] for name in _BELOW if name in parts]
        return "\n\n".join(["", self._confidence(), *below, *([view] if view else [])])

    def _confidence(self) -> str:
        """With the reason that decided, where it is not as sure as it may be."""
        notice = plain(self.card.part("notice").text, LINE_ROOM)
        line = f"**{say(wording.CONFIDENCE)}**: {self.card.part('confidence').text}"
        reason = self.card.part("reasons").text if self.card.level in (Confidence.MEDIUM, Confidence.LOW) else ""
        line += f" · {self._short(reason, PART_ROOM)}" if reason else ""
        return (f"*{notice}*\n" if notice else "") + line

    def _below(self, said: str) -> dict[str, str]:
        """By name; sources only where the answer's own text does not name them."""
        shown = {part.name: self._line(part) for part in self.card.parts if part.name in _BELOW}
        cites = self.card.cited and not self.card.found
        return shown | ({"sources": self._sources(f"{said}\n{shown.get('plan', '')}")} if cites else {})

    def _line(self, part: CardPart) -> str:
        if part.name == "offer":
            return f"*{plain(part.text, PART_ROOM)}*"
        if part.name == "marks":
            return f"-# {part.text}"
        if part.name == "plan":
            lines = [self._short(line, PART_ROOM) for line in part.text.split("\n")]
            return "\n".join([f"**{part.label}**:", *lines])
        said = self._short(part.text, _ROOMS.get(part.name, PART_ROOM))
        return f"**{part.label}**: {said}" if part.label else said

    def _short(self, text: str, room: int) -> str:
        """One line, its numbers as links unless it is cut or they take too much of the message."""
        linked = rich(one_line(text), ANY, cite=self.cite)
        bare = rich(one_line(text), room)
        return linked if units(linked) <= LINKED_ROOM and bare == rich(one_line(text), ANY) else bare

    def _sources(self, shown: str) -> str:
        listed = listed_sources(self.card, shown)
        below, read = say("(cited in the details)"), say("(also read)")
        lines = [
            *map(source_line, listed.cited),
            *(f"{source_line(one)} {below if one in self.card.cited else read}" for one in listed.also_read),
        ]
        numbers = [source.number for source in (*listed.cited, *listed.also_read)]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            lines = [line.replace(". ", "\\. ", 1) for line in lines]  # Discord counts on from a list's first number
        more = [f"-# {say('and {number} more', number=listed.more)}"] if listed.more else []
        return "\n".join([f"**{say(wording.SOURCES)}**:", *lines, *more])


TYPED = Typed(
    ask="/research",
    menu="Apps",
    reply=later("reply to an answer and mention me"),
    options=later("in the command"),
    history="/research-history",
    settings="/research-settings",
)


def help_text() -> str:
    how = "\n".join(f"**{what}** {words}" for what, words in help_entries(TYPED))
    modes = "\n".join(f"· `{name}`: {plain(words, 100)}" for name, words in mode_entries())
    return f"**{say(HOW_TO_ASK)}**\n{how}\n**{say('Modes')}**\n{modes}"


def sources_text(sources: Sequence[Source], answer: ResearchAnswer | None) -> str:
    """All sources with their relevance, in a message's room; `…` stands for those that have none."""
    return _listed(sources, [source for source in sources if is_used(source, answer)], CONTENT_LIMIT)


def _listed(sources: Sequence[Source], cited: Sequence[Source], limit: int) -> str:
    lines: list[str] = []
    for source in sources:
        used = "" if source in cited else f" · {say(wording.NOT_CITED)}"
        line = f"{source_line(source)}{wording.relevance(source)}{used}"
        if units("\n".join([*lines, line])) > limit - 2:
            return "\n".join([*lines, "…"])
        lines.append(line)
    return "\n".join(lines) or say(wording.NO_SOURCES)


def _passages(links: PageLinks, job: ResearchJob, card: AnswerCard) -> Cite:
    """Where each number leads: to what the claim that it stands behind cites of that source, on the page.

    Where no claim ends in the words before it, as in a reason, to what the answer first cites of it.
    """
    cited: dict[str, list[tuple[str, str]]] = {str(source.number): [] for source in card.sources}
    for claim in card.answer.claims if card.answer else ():
        for evidence in claim.evidence:
            cited.get(evidence.source_id.removeprefix("src_"), []).append((_end(claim.text), claim.id))
    for place, conflict in enumerate(card.answer.conflicts if card.answer else ()):
        for side, position in enumerate(conflict.positions):
            cited.get(position.source_id.removeprefix("src_"), []).append(("", f"conflict-{place}-{side}"))

    def cite(number: str, words: str) -> str:
        if number not in cited:
            return ""
        behind = (claim for end, claim in cited[number] if end and _end(words).endswith(end))
        first = cited[number][0][1] if cited[number] else ""
        return links.passage(job, int(number), next(behind, first))

    return cite


def _end(words: str) -> str:
    """The last letters and figures of `words`, whatever is bold among them, without other markers."""
    return "".join(regex.findall(r"\w", MARKER.sub("", words)))[-END_ROOM:]


def _thread_name(card: AnswerCard) -> str:
    """The answer's first sentence, without its numbers."""
    answer = card.answer.summary if card.answer else ""
    said = bare(MARKER.sub("", first_sentence(answer)))
    return fit(said.replace(" .", "."), THREAD_NAME_LIMIT) or word("answer.details")


def _ended(embed: discord.Embed, card: AnswerCard, job: ResearchJob) -> DiscordMessage:
    """Failed or cancelled: why, what had been found, and what can be done (D14)."""
    lines = [_asked(card.asked), "", plain(card.part("failure").text, 2 * LINE_ROOM)]
    if card.sources:
        lines += ["", f"**{say(wording.FOUND_SO_FAR)}**:", *map(name_line, card.sources[:FOUND_SOURCES])]
    return _message(embed, "\n".join(lines), card.footer, (_row(job, card.buttons),))


def _rows(job: ResearchJob, card: AnswerCard) -> tuple[Row, ...]:
    """One row of what is pressed most, and the rest in a menu below it."""
    offered = [*card.buttons, *card.renewing, *card.votes, *card.offers]
    third = next((one for name in _FIRST_THIRD for one in offered if one.name == name), None)
    shown = [
        one for one in offered if one.name in ("view_full_analysis", "show_sources", "good", "bad") or one is third
    ]
    shown.sort(key=lambda one: one in card.votes)
    rest = [one for one in offered if one not in shown]
    menu = MoreMenu(job.id, tuple((one.name, one.label) for one in rest))
    return (_row(job, shown[:BUTTONS]), *([(menu,)] if rest else []))


def _row(job: ResearchJob, buttons: Sequence[CardButton]) -> Row:
    """A link only where its address can be one."""
    return tuple(
        DiscordButton(button.label, "" if button.url else f"{button.name}:{job.id}", button.is_primary, button.url)
        for button in buttons
        if not (button.url or button.name == "view_full_analysis") or is_linkable(button.url)
    )


def _asked(asked: CardPart) -> str:
    said = plain(asked.text, QUESTION_ROOM)
    return f"**{asked.label}**\n> {said}" if asked.name == "message" else f"**{asked.label}**: {said}"


def _message(embed: discord.Embed, text: str, footer: str, rows: tuple[Row, ...], *, short: str = "") -> DiscordMessage:
    """`short` says the same in a plain message's room, where `text` has more than 1800 characters."""
    embed.description = text
    if footer:
        embed.set_footer(text=footer)
    small_print = f"\n-# {footer}" if footer else ""
    return DiscordMessage(embed, f"**{embed.title}**\n{short or text}{small_print}", rows)


# Ideas, implementations and reports: lists with their sources, and code in blocks that are always closed


def findings_text(view: FindingsView, entries: Sequence[FoundEntry], limit: int, *, more: str = "") -> str:
    """All that was found within `limit`: first what each item says, then code in the room that is left."""
    written = [_found(entry, is_first=not place) for place, entry in enumerate(entries)]
    kept: list[tuple[str, FoundItem | None]] = []
    used = units(f"\n-# … {_more_results(99)} {more}")
    for text, entry in zip(written, entries, strict=True):
        if used + units(text) + 1 > limit:
            break
        kept.append((text, entry.item))
        used += units(text) + 1
    coded = [item for _, item in kept if item and item.code]
    needs = [units(code_block(excerpt(item.code, ANY).text, item.language)) + NOTE_ROOM for item in coded]
    room_of = dict(zip((item.number for item in coded), shares(needs, limit - used), strict=True))
    lines: list[str] = []
    for text, item in kept:
        block = _block_of(item, view, room_of[item.number]) if item and item.code else ""
        lines += [text, block] if block else [text]
    left = sum(entry.item is not None for entry in entries[len(kept) :])
    if left:
        lines.append(f"-# … {_more_results(left)} {more}".rstrip())
    return "\n".join(lines)


def _more_results(number: int) -> str:
    return say_many("{number} more result", "{number} more results", number)


def _found(entry: FoundEntry, *, is_first: bool) -> str:
    """`**1.** What it says [1]✓`, and below it the place, what sort of place it is, and what checking found."""
    gap = "\n" if entry.begins and not is_first else ""
    match entry.kind:
        case "heading":
            return f"{gap}**{entry.text}**"
        case "other":
            return f"{gap}**{plain(entry.title, 80)}**\n{rich(entry.text, OTHER_ROOM)}"
        case "text":
            return rich(entry.text, ABSTRACT_ROOM)
        case "note":
            return f"{gap}-# {plain(entry.text, NOTES_ROOM)}"
    place = source_link(entry.source) if entry.source else ""
    said = prose(entry.text, FOUND_ROOM).replace("\n", " ")
    said = said or (say("Code of {title}", title=plain(entry.source.title, 80)) if entry.source else "…")
    item = entry.item
    known = plain(about(item), ABOUT_ROOM) if item else ""
    return f"**{item.number if item else ''}.** {said}\n-# {' · '.join(filter(None, [place, known]))}"


def _block_of(item: FoundItem, view: FindingsView, room: int) -> str:
    """The code in its fence, with where the rest of it is; "" where there is no room worth it."""
    whole = code_block(excerpt(item.code, ANY).text, item.language)
    note = rest_of(item, 0, view)
    if units(f"{whole}\n-# {note}") < room:
        return f"{whole}\n-# {note}" if note else whole
    broken = code_block(item.code, "").count("\u200b")
    left = room - units(code_block("", item.language)) - broken - NOTE_ROOM
    if left < LEAST_CODE:
        return ""
    shown = excerpt(item.code, left)
    return f"{code_block(shown.text, item.language)}\n-# … {rest_of(item, shown.left_out, view)}"
