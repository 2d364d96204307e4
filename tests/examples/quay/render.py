"""What Quay shows of a job: the card as plain text within the length of one message. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.chat.desk import Offer
from adapters.chat.watching import WatchSaid
from core.model.answer import AnswerFile, JobResult, ResearchAnswer
from core.model.job import ResearchJob
from core.model.source import Source
from core.presentation import wording
from core.presentation.card import CardButton, CardPart, answer_card, listed_sources, progress_card, said_so_far
from core.presentation.help import HOW_TO_ASK, Typed, help_entries
from core.presentation.page_links import PageLinks
from core.presentation.render import cut, is_used, one_line, printable
from core.presentation.snapshot import Snapshot
from core.text.saying import say_day
from core.watch.watch import WatchNotice
from core.watch.words import notice_buttons, plain_lines
from tests.examples.quay.message import Button, QuayMessage

LIMIT, BUTTONS = 3000, 6  # characters and buttons of one message
LINE, PART = 200, 400
# Quay has no forms, and room for six buttons: `improve: …`, `watch this daily` and `export` are words.
NOT_HERE = frozenset({"improve", "share", "bad", "what_changed", "watch", "export"})
TYPED = Typed("@gorkd", "⋯", "reply in the thread", "in the question", "history", "settings")


@dataclass(frozen=True)
class QuayVoice:
    links: PageLinks

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> QuayMessage:
        card = progress_card(job, snapshot, elapsed_s)
        said = "".join(text for _, text in said_so_far(snapshot, "summary"))
        plan = [item.line for item in card.plan.items] if card.plan else []
        lines = [
            card.asked.line, card.message, card.earlier or said, *plan, *card.running, *card.places,
            " · ".join(card.facts),
        ]  # fmt: skip
        return _message(job, lines, card.buttons if card.plan else card.buttons[-1:])

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
    ) -> QuayMessage:
        card = answer_card(
            job, result, sources, page_url=self.links.link(job), may_offer=may_offer, unattached=unattached,
            explains=explains,
        )  # fmt: skip
        found = [f"{entry.title} {entry.text}".strip() for entry in card.found]
        answer = "\n".join(found) or card.part("answer").line
        listed = listed_sources(card, answer)
        beside = [part for part in card.parts if part.name not in ("answer", "detail")]
        lines = [
            card.heading, card.asked.line, answer, *(_part(part, first_asker) for part in beside),
            *map(_source, (*listed.cited, *listed.also_read)), card.footer,
        ]  # fmt: skip
        buttons = (*card.offers, *card.renewing, *card.buttons, *card.votes)
        return _message(job, lines, [one for one in buttons if one.name not in NOT_HERE][:BUTTONS], long=2)

    def told(self, job: ResearchJob, notice: WatchNotice) -> QuayMessage:
        return _message(job, plain_lines(notice), [CardButton(name) for name in notice_buttons(notice)])

    def watching(self, said: WatchSaid) -> QuayMessage:
        return _message(said.job, said.lines, said.buttons) if said.job else self.refusal(said.text)

    def refusal(self, sentence: str) -> QuayMessage:
        return QuayMessage(cut(printable(sentence), LIMIT))

    def notice(self, text: str) -> QuayMessage:
        return self.refusal(text)

    def help(self) -> QuayMessage:
        return QuayMessage("\n".join([HOW_TO_ASK, *(f"{what}: {how}" for what, how in help_entries(TYPED))]))

    def history(self, jobs: Sequence[ResearchJob]) -> QuayMessage:
        lines = [f"{say_day(job.created_at)} {cut(one_line(job.query), LINE)} {self.links.link(job)}" for job in jobs]
        return QuayMessage(cut("\n".join([wording.YOUR_QUESTIONS, *(lines or [wording.NO_HISTORY])]), LIMIT))

    def sources(self, sources: Sequence[Source], answer: ResearchAnswer | None) -> QuayMessage:
        uncited = {source.id: "" if is_used(source, answer) else f" · {wording.NOT_CITED}" for source in sources}
        lines = [f"{_source(source)} · {wording.relevance(source)}{uncited[source.id]}" for source in sources]
        return QuayMessage(cut("\n".join(lines), LIMIT) or wording.NO_SOURCES)


def offer_message(offer: Offer) -> QuayMessage:
    button = Button("changed", wording.RESEARCH_IT, f"{offer.job.id} {offer.question}")
    return QuayMessage(wording.QUESTION_CHANGED, (button,))


def _message(job: ResearchJob, lines: Sequence[str], buttons: Sequence[CardButton], *, long: int = -1) -> QuayMessage:
    """Line number `long` has the room that the others leave."""
    short = [cut(printable(line).strip(), PART) if at != long else "" for at, line in enumerate(lines)]
    room = LIMIT - sum(len(line) + 1 for line in short)
    whole = [cut(printable(line).strip(), room) if at == long else short[at] for at, line in enumerate(lines)]
    shown = cut("\n".join(line for line in whole if line), LIMIT)
    return QuayMessage(shown, tuple(Button(one.name, one.label, job.id, one.url) for one in buttons))


def _part(part: CardPart, first_asker: str) -> str:
    return f"{part.line} ({first_asker})" if part.name == "earlier" and first_asker else part.line


def _source(source: Source) -> str:
    return f"[{source.number}] {cut(one_line(source.title), LINE)} {source.url}"
