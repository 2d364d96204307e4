"""A job as a card: which parts it has, in which words and order, and which buttons stand under it.

Built once and printed everywhere: Discord fits it into an embed, Slack makes blocks of it, the page, the terminal and
a document print it. Values alone: nothing is escaped, marked up or cut here, and text may be anybody's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import regex
from pydantic import TypeAdapter

from core.deep.viewing import ChecklistCard as ResearchPlanCard
from core.deep.viewing import covered_items
from core.evidence.confidence import short_conflicts
from core.findings.results import TITLES
from core.findings.viewing import FindingsView, FoundItem, OtherAnswer, read_view
from core.model.answer import AnswerFile, Confidence, Evidence, JobResult, ResearchAnswer, Verdict
from core.model.job import JobStatus, Json, ResearchJob, rows
from core.model.source import Source
from core.presentation import wording
from core.presentation.follow_ups import advice_in
from core.presentation.render import (
    BETWEEN_CELLS,
    MARKER,
    cut,
    is_used,
    marked_section,
    marked_text,
    one_line,
    printable,
)
from core.presentation.snapshot import Snapshot
from core.text.saying import say, say_many
from core.watch.desk import UNWATCHED

Outcome = Literal["answered", "insufficient", "ended"]
ICONS: Mapping[Outcome, str] = {"answered": "📊", "insufficient": "🔎", "ended": "⚠️"}
STAGES = (JobStatus.PLANNING, JobStatus.SEARCHING, JobStatus.FETCHING, JobStatus.SYNTHESIZING)
TITLE_CHARS = 40  # of a report's section where it is only named
SHOWN_PLACES = 3  # of the sources of a running job, the latest
MOST_LISTED, LEAST_LISTED = 6, 3  # sources below an answer (D26)


@dataclass(frozen=True)
class CardPart:
    """One part: `name` tells it from the others, `label` heads it, "" where it needs no heading."""

    name: str
    text: str
    label: str = ""

    @property
    def line(self) -> str:
        return f"{self.label}: {self.text}" if self.label and self.text else self.text


@dataclass(frozen=True)
class CardButton:
    """`name` says what it does and is its id on every platform; with a `url` it is a link instead."""

    name: str
    url: str = ""
    is_primary: bool = False

    @property
    def label(self) -> str:
        return say(wording.BUTTONS[self.name])


@dataclass(frozen=True)
class FoundEntry:
    """A line of what was found, `text` with its marks; `item` and `source` are of an `item` alone.

    A heading begins a mode; `other` is the short answer of a mode of another kind, which `title` names; `note` is
    small print. Something else `begins` than what stands before it.
    """

    kind: Literal["heading", "item", "text", "note", "other"]
    text: str
    title: str = ""
    begins: bool = False
    item: FoundItem | None = None
    source: Source | None = None


@dataclass(frozen=True)
class AnswerCard:
    """How a job ended. `parts` are in their order; `label` of the part `earlier` wants who asked first behind it.

    `found` stands in place of the answer's text where there is any.
    """

    outcome: Outcome
    title: str
    level: Confidence | None
    asked: CardPart
    parts: tuple[CardPart, ...]
    sources: tuple[Source, ...]
    footer: str
    buttons: tuple[CardButton, ...]
    renewing: tuple[CardButton, ...] = ()
    votes: tuple[CardButton, ...] = ()
    offers: tuple[CardButton, ...] = ()
    answer: ResearchAnswer | None = None
    findings: FindingsView | None = None
    found: tuple[FoundEntry, ...] = ()
    checks: tuple[CheckedClaim, ...] = ()
    cited: tuple[Source, ...] = ()
    uncited: tuple[Source, ...] = ()
    limitations: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        return f"{ICONS[self.outcome]} {self.title}"

    def part(self, name: str) -> CardPart:
        """An empty one where the card has none."""
        return next((part for part in self.parts if part.name == name), CardPart(name, ""))


@dataclass(frozen=True)
class ListedSources:
    """What stands below an answer (D26): what it cites, what was read too, and how many `more` it cites."""

    cited: tuple[Source, ...]
    also_read: tuple[Source, ...]
    more: int


@dataclass(frozen=True)
class ProgressCard:
    """How far a running job is. `facts` are for small print; `plan` is the checklist of a research in rounds."""

    asked: CardPart
    message: str
    earlier: str
    running: tuple[str, ...]
    queries: tuple[str, ...]
    places: tuple[str, ...]
    plan: ResearchPlanCard | None
    facts: tuple[str, ...]
    buttons: tuple[CardButton, ...]


def answer_card(
    job: ResearchJob,
    result: JobResult | None,
    sources: Sequence[Source],
    *,
    page_url: str = "",
    may_share: bool = False,
    may_offer: bool = True,
    unattached: Sequence[AnswerFile] = (),
    explains: bool = False,
) -> AnswerCard:
    """`may_offer` is False once deep research was declined here (D9); of `unattached` files it says where they are."""
    answer = result.answer if result and job.status is JobStatus.COMPLETED else None
    show = [CardButton("show_sources")] if sources else []
    view, again = CardButton("view_full_analysis", page_url), CardButton("ask_again")
    if result is None or answer is None:
        retry = CardButton("retry", is_primary=True) if wording.may_retry(job) else again
        return AnswerCard(
            outcome="ended",
            title=wording.title(job, result),
            level=None,
            asked=asked_part(job),
            parts=(CardPart("failure", wording.failure_sentence(job)),),
            sources=tuple(sources),
            footer=wording.duration(result.duration_s) if result else "",
            buttons=(retry, *show, view),
            uncited=tuple(sources),
        )
    offers_deep = may_offer and wording.offers_deep(job, result)
    share = [CardButton("share")] if may_share else []
    export = [CardButton("export")] if answer.citations else []
    findings = read_view(result)
    has_found = findings is not None and findings.has_any
    return AnswerCard(
        outcome="insufficient" if answer.confidence is Confidence.INSUFFICIENT else "answered",
        title=wording.title(job, result),
        level=answer.confidence,
        asked=asked_part(job),
        parts=_parts(job, result, answer, offers_deep=offers_deep, unattached=unattached, explains=explains),
        sources=tuple(sources),
        footer=wording.footer(result, len(sources)),
        buttons=(view, *show, *share, again, CardButton("improve"), *_watching(job, answer), *export),
        renewing=_renewing(job, result),
        votes=(CardButton("good"), CardButton("bad")),
        offers=(CardButton("start_deep", is_primary=True), CardButton("not_now")) if offers_deep else (),
        answer=answer,
        findings=findings,
        found=_found(findings, answer, {source.id: source for source in sources}) if findings and has_found else (),
        checks=tuple(read_checks(result)),
        cited=tuple(source for source in sources if is_used(source, answer)),
        uncited=tuple(source for source in sources if not is_used(source, answer)),
        limitations=wording.limitations_beside(answer),
    )


def is_searching(snapshot: Snapshot) -> bool:
    """Whether what is said to it is still heard: not once its answer is being written."""
    return len(snapshot.parts) > 1 or snapshot.stage != JobStatus.SYNTHESIZING


def progress_card(job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> ProgressCard:
    steer = [CardButton("go_deeper"), CardButton("answer_now")] if snapshot.card and is_searching(snapshot) else []
    found = [wording.sources_counted(len(snapshot.sources))] if snapshot.sources else []
    return ProgressCard(
        asked=asked_part(job),
        message=wording.stage_said(snapshot.message),
        earlier=" ".join(snapshot.sentences.values()) if snapshot.earlier else "",
        running=snapshot.parts if len(snapshot.parts) > 1 else (),
        queries=snapshot.queries,
        places=snapshot.sources[-SHOWN_PLACES:],
        plan=snapshot.card,
        facts=(wording.duration(elapsed_s), *found),
        buttons=(*steer, CardButton("cancel")),
    )


def listed_sources(card: AnswerCard, shown: str) -> ListedSources:
    """Those that the text `shown` and the conflicts cite, by number; the best read fill them up."""
    numbers = {int(number) for found in MARKER.findall(shown) for number in found.split(",")}
    conflicts = card.answer.conflicts if card.answer else ()
    disputed = {side.source_id for conflict in conflicts for side in conflict.positions}
    cited = [source for source in card.sources if source.number in numbers or source.id in disputed]
    others = [source for source in (*card.cited, *card.uncited) if source not in cited]
    room = max(0, LEAST_LISTED - len(cited))
    return ListedSources(tuple(cited[:MOST_LISTED]), tuple(others[:room]), max(0, len(cited) - MOST_LISTED))


def stage_states(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    """Each stage's name, its words, and whether it is `done`, `active` or `waiting`."""
    names = [stage.value for stage in STAGES]
    at = names.index(snapshot.stage) if snapshot.stage in names else -1
    states = ["done" if number < at else "active" if number == at else "waiting" for number in range(len(names))]
    return [
        (name, say(wording.STATUS_MESSAGES[stage]), state)
        for name, stage, state in zip(names, STAGES, states, strict=True)
    ]


def said_so_far(snapshot: Snapshot, section: str) -> list[tuple[str, str]]:
    """Id and text of each sentence of the section, with its mark behind each bracket; in one row they are the Markdown
    that will stand there, headings and line breaks before a sentence being part of it.
    """
    said: list[tuple[str, str]] = []
    for sentence_id, text in snapshot.sentences.items():
        if sentence_id.startswith(section):
            mark, own = snapshot.marks.get(sentence_id, ""), snapshot.own_marks.get(sentence_id, {})
            marked = _with_marks(text.strip(), mark, own)
            before = snapshot.leads.get(sentence_id, " ")
            said.append((sentence_id, f"{before if said else before.lstrip()}{marked}"))
    return said


def _with_marks(text: str, mark: str, own: Mapping[str, str]) -> str:
    """The mark behind each bracket, or the number's `own`."""

    def marked(found: regex.Match[str]) -> str:
        return f"{found[0]}{own.get(found[1], mark)}"

    return MARKER.sub(marked, text)


_CELLS = regex.compile(BETWEEN_CELLS)
_SIGNS = regex.compile(r"(?m)^#{1,6} +|\*\*|`|^\|[ :|-]*$\n?|^\| *| *\|$")


def without_signs(text: str) -> str:
    """Markdown as plain lines, where nothing draws it: no headings' and tables' signs."""
    return _CELLS.sub("·", _SIGNS.sub("", text))


def asked_part(job: ResearchJob) -> CardPart:
    """The question, or the message that is checked."""
    if job.request.quoted:
        return CardPart("message", job.request.quoted, say(wording.MESSAGE))
    return CardPart("question", job.query, say(wording.QUESTION))


def first_quotes(answer: ResearchAnswer | None) -> dict[str, str]:
    """What is shown of a source, by its id: the first quote that is cited, else what it says in a conflict.

    Where cells of a table meet stands a dot, as on the page and at the terminal.
    """
    if answer is None:
        return {}
    sides = {side.source_id: side.quote for conflict in answer.conflicts for side in conflict.positions if side.quote}
    quotes = sides | {one.source_id: one.quote for one in reversed(answer.citations) if one.quote}
    return {key: _CELLS.sub("·", quote.strip("| \n")) for key, quote in quotes.items()}


def _parts(
    job: ResearchJob,
    result: JobResult,
    answer: ResearchAnswer,
    *,
    offers_deep: bool,
    unattached: Sequence[AnswerFile],
    explains: bool,
) -> tuple[CardPart, ...]:
    is_insufficient = answer.confidence is Confidence.INSUFFICIENT
    elsewhere = wording.files_elsewhere([file.name for file in unattached]) if unattached else ""
    items, understood = covered_items(result), one_line(result.understood)
    limitations = wording.limitations_line(wording.limitations_beside(answer, has_plan=bool(items)))
    parts = [
        CardPart("understood", wording.understood_as(understood) if understood not in ("", job.query) else ""),
        CardPart("earlier", *wording.earlier_question(job, result)),
        CardPart("answer", marked_section(answer, "summary").strip() or say(wording.NO_ANSWER), say(wording.ANSWER)),
        CardPart("detail", marked_section(answer, "detail")),
        CardPart("notice", answer.notice),
        CardPart("marks", say(wording.MARKS_EXPLAINED) if explains and answer.citations else ""),
        CardPart("confidence", wording.confidence_headline(answer), say(wording.CONFIDENCE)),
        CardPart("reasons", _deciding_reason(answer)),
        CardPart("plan", "\n".join(item.text for item in items), say(wording.CHECKLIST)),
        CardPart("conflicts", short_conflicts(answer) if answer.conflicts else "", say(wording.CONFLICTS)),
        CardPart("limitations", limitations, say(wording.LIMITATIONS)),
        CardPart("files", elsewhere),
        CardPart("searched", wording.searched_beside(result) if is_insufficient else "", say(wording.SEARCHED)),
        CardPart("advice", advice_in(wording.language_of(job)) if is_insufficient else ""),
        CardPart("offer", wording.offer_deep(answer) if offers_deep else ""),
    ]
    return tuple(part for part in parts if part.text)


def _deciding_reason(answer: ResearchAnswer) -> str:
    """With what the sources disagree on, unless the reason says who says what; "" where the notice has said it."""
    reason = wording.deciding_reason(answer, "")
    if reason and f"({reason})" in answer.notice:
        return ""
    is_told = not answer.conflicts or MARKER.search(reason)
    return reason if is_told else wording.deciding_reason(answer, short_conflicts(answer))


def _renewing(job: ResearchJob, result: JobResult) -> tuple[CardButton, ...]:
    """Below an answer that was given before, or that renews one (D12)."""
    changed = CardButton("what_changed")
    if wording.earlier_answer(job, result):
        return CardButton("refresh"), changed
    return (changed,) if job.request.refreshes else ()


def _watching(job: ResearchJob, answer: ResearchAnswer) -> tuple[CardButton, ...]:
    """What rests on pages can be watched; of a run it can be ended."""
    if job.request.watch:
        return (CardButton("stop_watching"),)
    is_watchable = bool(answer.citations) and not job.request.quoted and not UNWATCHED & set(job.request.modes)
    return (CardButton("watch"),) if is_watchable else ()


def _found(view: FindingsView, answer: ResearchAnswer, sources: Mapping[str, Source]) -> tuple[FoundEntry, ...]:
    """Mode by mode in the order asked for, between what modes of other kinds answered before and after."""
    entries = [_other(other, answer) for other in view.before]
    for mode in view.findings.modes:
        found = view.found(mode)
        report = dict(view.sections) if mode == "freeform" else {}
        entries += [FoundEntry("heading", say(TITLES[mode]), begins=True)] if found or report else []
        entries += [
            FoundEntry("item", marked_text(item.text, answer.claims), item=item, source=sources.get(item.source_id))
            for item in found
        ]
        abstract = printable(marked_text(report.get("Abstract", ""), answer.claims)).strip()
        others = " · ".join(cut(one_line(title), TITLE_CHARS) for title in report if title not in ("", "Abstract"))
        entries += [FoundEntry("text", abstract)] if abstract else []
        entries += [FoundEntry("note", say("On the page: {names}", names=others))] if others else []
    entries += [replace(_other(other, answer), begins=True) for other in view.after]
    if view.unverified:
        said = say_many(
            "Not verified, not shown: {number} result", "Not verified, not shown: {number} results",
            len(view.unverified),
        )  # fmt: skip
        entries.append(FoundEntry("note", said, begins=True))
    return tuple(entries)


def _other(other: OtherAnswer, answer: ResearchAnswer) -> FoundEntry:
    return FoundEntry("other", printable(marked_text(other.summary, answer.claims)).strip(), title=other.title)


# Claims of a message that were checked: what the sources say for and against each, and how a result carries it


class Stand(StrEnum):
    """What the sources that were read say of a claim, taken together."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    DIFFERS = "differs"
    MIXED = "mixed"
    UNCONFIRMED = "unconfirmed"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True)
class CheckedClaim:
    """`claim` is a sentence of the message. Evidence `PARTIAL` says a part of it; against it stand whole sentences.

    Where only rules compared it is `UNCHECKED`: what is for it says nearly the same, what is against it differs.
    """

    claim: str
    supporting: tuple[Evidence, ...] = ()
    contradicting: tuple[Evidence, ...] = ()

    def without(self, gone: Collection[str]) -> CheckedClaim:
        """With no evidence of these sources, by their ids."""
        supporting = tuple(entry for entry in self.supporting if entry.source_id not in gone)
        contradicting = tuple(entry for entry in self.contradicting if entry.source_id not in gone)
        return CheckedClaim(self.claim, supporting, contradicting)

    @property
    def stand(self) -> Stand:
        """Mixed also when nothing says more than a part of the claim."""
        is_whole = any(evidence.verdict is Verdict.SUPPORTED for evidence in self.supporting)
        if self.contradicting and is_whole:
            return Stand.MIXED
        if self.contradicting:
            is_judged = any(evidence.verdict is Verdict.SUPPORTED for evidence in self.contradicting)
            return Stand.CONTRADICTED if is_judged else Stand.DIFFERS
        if not self.supporting:
            return Stand.NO_EVIDENCE
        if is_whole:
            return Stand.SUPPORTED
        is_judged = any(evidence.verdict is not Verdict.UNCHECKED for evidence in self.supporting)
        return Stand.MIXED if is_judged else Stand.UNCONFIRMED


_EVIDENCE: TypeAdapter[tuple[Evidence, ...]] = TypeAdapter(tuple[Evidence, ...])


def checks_json(checks: Sequence[CheckedClaim]) -> dict[str, Json]:
    """The view of a result (`JobResult.details`) that `read_checks` reads."""
    told: list[Json] = [
        {
            "claim": check.claim,
            "verdict": check.stand.value,
            "supporting": _EVIDENCE.dump_python(check.supporting, mode="json"),
            "contradicting": _EVIDENCE.dump_python(check.contradicting, mode="json"),
        }
        for check in checks
    ]
    return {"checks": told}


def read_checks(result: JobResult) -> list[CheckedClaim]:
    """The checked claims that a result carries, in the message's order; none when it is no check."""
    return [
        CheckedClaim(
            str(row.get("claim", "")),
            _EVIDENCE.validate_python(row.get("supporting", ())),
            _EVIDENCE.validate_python(row.get("contradicting", ())),
        )
        for row in rows(result.details.get("checks"))
    ]
