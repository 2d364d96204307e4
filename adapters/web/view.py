"""What the page of a job shows, ready for the template: safe links, words instead of codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from markupsafe import Markup, escape

from adapters.web.access import JobLinks
from adapters.web.prose import Cite, Target, claim_tag, prose
from adapters.web.source_view import CitedPassage, hint_of, passages_of, place_of, source_view
from core.evidence.citations import Grammar, strip_markers
from core.evidence.confidence import HIGH_SCORE, MEDIUM_SCORE
from core.findings.judging import OTHER_LEVEL, level_name
from core.findings.results import TITLES, CodeBlock
from core.findings.viewing import FindingsView, FoundItem
from core.model.answer import Conflict, JobResult, ResearchAnswer
from core.model.errors import places_of, say_place
from core.model.job import LOCAL, JobStatus, Json, ResearchJob, rows
from core.model.source import Source
from core.modes import MODES, needs_files
from core.pipeline.tool_traces import TraceEntry
from core.pipeline.tracing import dollars, in_order, totals_line, totals_of, what_was_done, without_repeats
from core.presentation import wording
from core.presentation.card import AnswerCard, answer_card
from core.presentation.page_links import is_private
from core.presentation.render import cut, marked_section, marked_text, one_line, printable
from core.text.saying import ENGLISH, later, say, say_again, say_many, say_number, spoken
from core.works.showing import reference_rows

_WEAKEST = 12  # sentences of which it is shown how strongly they are carried
_DESCRIPTION_CHARS = 200  # of the answer, in a link's preview
SUM_WORDS = {  # the parts of a confidence (core/evidence/confidence.py, core/works/standing.py)
    "support": later("Support"),
    "answer": later("Answer"),
    "check": later("Check"),
    "cap": later("Cap"),
    "conflicts": later("Conflicts"),
    "confirmed": later("Confirmed"),
    "sources": later("Sources"),
    "retracted": later("Retracted"),
}


def job_view(
    job: ResearchJob,
    result: JobResult | None,
    sources: Sequence[Source],
    links: JobLinks,
    *,
    papers: frozenset[str] = frozenset(),
) -> SimpleNamespace:
    """`papers` are the ids of sources whose pages can be shown. `card` says what stands there, the rest adds what only
    a page has; `preview` is title and text for a link's preview: nothing of a private job's.
    """
    card = answer_card(job, result, sources)
    views = {source.id: source_view(source, card.answer, links, has_file=source.id in papers) for source in sources}
    return SimpleNamespace(
        links=links,
        job=job,
        card=card,
        question=one_line(job.query),
        language=job.intent.language,
        is_private=is_private(job),
        # Asked from here it would belong to this machine, not to a workspace, and have no files.
        can_be_retried=job.scope.tenant == LOCAL.tenant and job.status in (JobStatus.FAILED, JobStatus.CANCELLED),
        can_be_asked_again=job.scope == LOCAL and not needs_files(job.request.modes),
        can_be_followed=job.scope.tenant == LOCAL.tenant and card.answer is not None,
        # What must be known to read the answer right: which question it answers, and when it was given.
        notices=[one_line(line) for name in ("understood", "earlier") if (line := card.part(name).line)],
        result=result,
        read=len(sources),
        modes=", ".join(say(MODES[name].title) if name in MODES else name for name in job.request.modes),
        preview=_preview(job, card.answer),
        queries=[one_line(query) for query in result.queries] if result else [],
        providers=[*map(say_place, places_of(result.providers))] if result else [],
        answer=_answer_view(card, card.answer, links) if card.answer else None,
        cited=[views[source.id] for source in card.cited],
        uncited=[views[source.id] for source in card.uncited],
        evidence=evidence_searches(result),
        references=reference_rows(result),
    )


def _answer_view(card: AnswerCard, answer: ResearchAnswer, links: JobLinks) -> SimpleNamespace:
    by_number = {source.number: source for source in card.sources}
    passages = {source.number: {one.id: one for one in passages_of(source, answer)} for source in card.sources}

    def cite(number: int, claim_id: str) -> Target | None:
        if number not in by_number:
            return None
        passage = passages[number].get(claim_id)
        hint = hint_of(by_number[number], passage, citations=len(answer.citations))
        return Target(links.source(number, passage.id if passage else ""), hint)

    confidence = card.part("confidence")
    return SimpleNamespace(
        findings=findings_page(card.findings, answer, card.sources, cite, links)
        if card.findings and card.found
        else None,
        summary=prose(marked_section(answer, "summary", tag=claim_tag), cite),
        detail=prose(marked_section(answer, "detail", tag=claim_tag), cite),
        headline=confidence.text if card.outcome == "insufficient" else confidence.line,
        sum=_sum_view(answer),
        conflicts=_conflicts(answer, by_number, passages, links),
        removed=list(Counter(answer.removed).items()),
    )


def _sum_view(answer: ResearchAnswer) -> SimpleNamespace | None:
    """How the confidence was computed. `lost` is how far the score stays below the support, 0…1; `claims` are those
    that are carried least, weakest first, and `stronger` counts the others.
    """
    values = {part.name: part.value for part in answer.confidence_sum}
    if "score" not in values:
        return None
    lost = values.get("support", values["score"]) - values["score"]
    rated = [claim for claim in answer.claims if claim.strength is not None]
    weakest = sorted(rated, key=lambda claim: claim.strength or 0.0)[:_WEAKEST]
    return SimpleNamespace(
        parts=answer.confidence_sum, score=values["score"], lost=lost, bars=(MEDIUM_SCORE, HIGH_SCORE), claims=weakest,
        stronger=len(rated) - len(weakest),
    )  # fmt: skip


def _conflicts(
    answer: ResearchAnswer, by_number: dict[int, Source], passages: dict[int, dict[str, CitedPassage]], links: JobLinks
) -> list[tuple[Conflict, list[SimpleNamespace]]]:
    """Each with where its positions stand."""
    numbers = {source.id: number for number, source in by_number.items()}
    found = []
    for place, conflict in enumerate(answer.conflicts):
        sides = []
        for side, position in enumerate(conflict.positions):
            number, claim = numbers.get(position.source_id), f"conflict-{place}-{side}"
            address = links.source(number, claim if claim in passages[number] else "") if number is not None else ""
            source = place_of(by_number[number]) if number is not None else position.source_id
            sides.append(SimpleNamespace(said=position, number=number, address=address, source=source))
        found.append((conflict, sides))
    return found


def thousands(number: int) -> str:
    """`5,120`; in other languages with a no-break space, since a comma begins their decimals (ISO 80000-1)."""
    return f"{number:,}" if spoken() == ENGLISH else f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")


def _preview(job: ResearchJob, answer: ResearchAnswer | None) -> tuple[str, str]:
    if is_private(job):
        return say("A private answer"), say("Only for those who have its link.")
    if answer is None:
        return one_line(job.query), ""
    words = cut(one_line(strip_markers(answer.summary, Grammar.NUMBER)), _DESCRIPTION_CHARS)
    return one_line(job.query), f"{wording.confidence_headline(answer)} · {words}"


# Ideas, implementations, a report, and the evidence of a written section as a job's page shows them


_SHOWN_LINES = 40  # of a block in the list, so that ten of them are still a page; a longer one has a page of its own
_SHOWN_CHARS = 4_000


def findings_page(
    view: FindingsView, answer: ResearchAnswer, sources: Sequence[Source], cite: Cite, links: JobLinks
) -> SimpleNamespace:
    """What was found, with how an item and a text of it are shown."""
    by_id = {source.id: source for source in sources}
    return SimpleNamespace(
        view=view,
        titles=TITLES,
        item=lambda item: _item(item, answer, by_id, cite, links),
        prose=lambda *texts: _prose("\n\n".join(filter(None, texts)), answer, cite),
    )


def _item(
    item: FoundItem, answer: ResearchAnswer, sources: dict[str, Source], cite: Cite, links: JobLinks
) -> SimpleNamespace:
    """`standing` is "" for a place of which nothing is known; `address` leads to the source's text here."""
    source = sources.get(item.source_id)
    is_known = item.standing != level_name(OTHER_LEVEL, item.mode)
    return SimpleNamespace(
        text=_prose(item.text, answer, cite),
        place=place_of(source) if source else "",
        address=links.source(source.number) if source else "",
        standing=say_again(item.standing) if is_known else "",
        remarks=[remark for remark in item.remarks if remark.kind != "language"],
        code=_code(item, links.code(item.number)) if item.code else None,
    )


def code_view(view: FindingsView, number: str) -> SimpleNamespace | None:
    """All lines of an implementation's code, None where there is none."""
    found = (item for item in view.found("implementation") if item.code and str(item.number) == number)
    return next(map(_code, found), None)


def _code(item: FoundItem, whole: str = "") -> SimpleNamespace:
    """`html` is cut where `whole` says where all of its `lines` are; `install` is what installs the dependencies, ""
    where they are none or not Python's.
    """
    block = CodeBlock(item.language, printable(item.code))
    lines = block.text.splitlines(keepends=True)
    text = "".join(lines[:_SHOWN_LINES])[:_SHOWN_CHARS] if whole else block.text
    has_packages = item.dependencies not in ("", "none")
    install = f"pip install {item.dependencies.replace(',', '')}" if has_packages and item.language == "python" else ""
    return SimpleNamespace(
        language=block.language,
        html=escape(text),
        dependencies=one_line(item.dependencies),
        install=install,
        lines=len(lines),
        whole=whole if text != block.text else "",
    )


def _prose(text: str, answer: ResearchAnswer, cite: Cite) -> Markup:
    return prose(marked_text(text, answer.claims, tag=claim_tag), cite)


def evidence_searches(result: JobResult | None) -> list[list[Mapping[str, Json]]]:
    """Each search's rows, best first, in the order in which they were made; none for a job that wrote no section."""
    searches: dict[tuple[str, str], list[Mapping[str, Json]]] = {}
    for row in rows(result.details.get("evidence")) if result else ():
        searches.setdefault((str(row.get("section")), str(row.get("query"))), []).append(row)
    return list(searches.values())


# What the job did, step by step


SHOWN_PROMPT_CHARS = 20_000  # of one prompt or answer; the rest is for `gorkd trace`
MAX_ROWS = 300
_MIN_WIDTH = 0.6  # of 100: a step of a millisecond is still seen


def timeline_view(job: ResearchJob, entries: Sequence[TraceEntry], *, with_prompts: bool) -> SimpleNamespace:
    """In the order in which things began. Without `with_prompts` no exchange is in it."""
    rows = without_repeats(in_order(entries))
    start = job.created_at
    whole = max([(entry.at - start).total_seconds() for entry in entries], default=0.0) or 1.0
    return SimpleNamespace(
        rows=[_step(job, entry, times, whole, with_prompts=with_prompts) for entry, times in rows[:MAX_ROWS]],
        totals=totals_line(totals_of(entries)),
        has_prompts=with_prompts,
        left_out=max(0, len(rows) - MAX_ROWS),
    )


def _step(job: ResearchJob, entry: TraceEntry, times: int, whole: float, *, with_prompts: bool) -> SimpleNamespace:
    """`left` and `width` are the bar's, of 100; `exchange` holds what was sent and said, by heading."""
    began = max((entry.at - job.created_at).total_seconds() - entry.seconds, 0.0)
    left = min(100 * began / whole, 100 - _MIN_WIDTH)
    tokens = f"{thousands(entry.prompt_tokens)} + {thousands(entry.completion_tokens)}"
    if entry.is_estimated:
        tokens = say("{tokens} (estimated)", tokens=tokens)
    outcome = "" if entry.outcome == "done" else entry.outcome
    said = entry.exchange
    texts = ((say("Instructions"), said.system), (say("Prompt"), said.user), (say("Answer"), said.answer))
    repeated = " " + say_many("({number} time)", "({number} times)", times) if times > 1 else ""
    return SimpleNamespace(
        kind=entry.kind,
        began=f"{say_number(began, 2)} s",
        took=f"{say_number(entry.seconds, 2)} s" if entry.kind != "mark" else "",
        name=one_line(entry.name if entry.kind in ("stage", "mark", "page") else f"{entry.kind} {entry.name}"),
        what=one_line(what_was_done(entry)),
        tokens=tokens if entry.kind == "model" else "",
        cost=dollars(entry.cost_usd) if entry.cost_usd is not None else "",
        outcome=one_line(f"{outcome}{repeated}"),
        left=round(left, 2),
        width=round(min(max(100 * entry.seconds / whole, _MIN_WIDTH), 100 - left), 2),
        exchange=tuple(
            (name, cut(printable(text), SHOWN_PROMPT_CHARS)) for name, text in texts if with_prompts and text
        ),
    )
