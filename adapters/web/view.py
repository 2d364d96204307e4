"""What the page of a job shows, ready for the template: safe links, words instead of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from markupsafe import Markup

from adapters.web.prose import prose, safe_link
from core import wording
from core.answer import Citation, Confidence, JobResult, ResearchAnswer
from core.citations import MARKS
from core.job import TERMINAL_STATUSES, JobStatus, ResearchJob
from core.render import is_used, marked_section, one_line
from core.snapshot import Snapshot
from core.source import Source

STAGES = (JobStatus.PLANNING, JobStatus.SEARCHING, JobStatus.FETCHING, JobStatus.SYNTHESIZING)


@dataclass(frozen=True)
class QuoteView:
    """`claim` is "" when it says nothing that the quote does not, as in an answer made of quotes."""

    claim: str
    quote: str
    mark: str
    meaning: str
    page: int | None


@dataclass(frozen=True)
class SourceView:
    """`link` is "" where the address may not be a link; `relevance` is a percentage."""

    number: int
    title: str
    link: str
    domain: str
    remarks: str
    relevance: int
    quotes: tuple[QuoteView, ...]


@dataclass(frozen=True)
class PositionView:
    position: str
    source: str
    number: int | None
    date: str
    quote: str


@dataclass(frozen=True)
class ConflictView:
    subject: str
    positions: tuple[PositionView, ...]


@dataclass(frozen=True)
class AnswerView:
    summary: Markup
    detail: Markup
    level: str
    headline: str
    reasons: tuple[str, ...]
    conflicts: tuple[ConflictView, ...]
    raw: ResearchAnswer


@dataclass(frozen=True)
class JobView:
    job_id: str
    question: str
    title: str
    is_running: bool
    failure: str
    footer: str
    asked: str
    queries: tuple[str, ...]
    providers: tuple[str, ...]
    answer: AnswerView | None
    cited: tuple[SourceView, ...]
    uncited: tuple[SourceView, ...]


def stage_states(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Each stage's words and whether it is `done`, `active` or `waiting`."""
    names = [stage.value for stage in STAGES]
    at = names.index(snapshot.stage) if snapshot.stage in names else -1
    states = ["done" if number < at else "active" if number == at else "waiting" for number in range(len(names))]
    return [(wording.STATUS_MESSAGES[stage], state) for stage, state in zip(STAGES, states, strict=True)]


def job_view(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> JobView:
    answer = result.answer if result else None
    views = {source.id: _source_view(source, answer) for source in sources}
    is_running = job.status not in TERMINAL_STATUSES
    return JobView(
        job_id=job.id,
        question=one_line(job.query),
        title=wording.title(job, result),
        is_running=is_running,
        failure="" if is_running or answer else wording.failure_sentence(job),
        footer=wording.footer(result, len(sources)) if result else "",
        asked=wording.day(job.created_at),
        queries=tuple(one_line(query) for query in result.queries) if result else (),
        providers=result.providers if result else (),
        answer=_answer_view(answer, sources) if answer else None,
        cited=tuple(views[source.id] for source in sources if is_used(source, answer)),
        uncited=tuple(views[source.id] for source in sources if not is_used(source, answer)),
    )


def _answer_view(answer: ResearchAnswer, sources: Sequence[Source]) -> AnswerView:
    numbers = {source.number for source in sources}
    by_id = {source.id: source for source in sources}
    is_insufficient = answer.confidence is Confidence.INSUFFICIENT
    return AnswerView(
        summary=prose(marked_section(answer, "summary"), numbers),
        detail=prose(marked_section(answer, "detail"), numbers),
        level=answer.confidence.value,
        headline=f"{'' if is_insufficient else 'Confidence: '}{wording.confidence_headline(answer)}",
        reasons=answer.confidence_reasons,
        conflicts=tuple(
            ConflictView(
                one_line(conflict.subject),
                tuple(
                    PositionView(
                        one_line(side.position),
                        _place(by_id[side.source_id]) if side.source_id in by_id else side.source_id,
                        by_id[side.source_id].number if side.source_id in by_id else None,
                        one_line(side.date),
                        one_line(side.quote),
                    )
                    for side in conflict.positions
                ),
            )
            for conflict in answer.conflicts
        ),
        raw=answer,
    )


def _source_view(source: Source, answer: ResearchAnswer | None) -> SourceView:
    remarks = [f"read {wording.day(source.read_at)}", source.metadata.provider]
    if source.metadata.published_at:
        remarks.insert(0, wording.day(source.metadata.published_at))
    if source.metadata.author:
        remarks.insert(0, source.metadata.author)
    if source.extract_of_page:
        remarks.append(f"only an extract: {source.extract_of_page}")
    if source.instructs:
        remarks.append(wording.INSTRUCTS)
    citations = answer.citations if answer else ()
    return SourceView(
        number=source.number,
        title=one_line(source.title) or _place(source),
        link=safe_link(source.url),
        domain=_place(source),
        remarks=one_line(" · ".join(remarks)),
        relevance=round(100 * min(max(source.scores.relevance, 0.0), 1.0)),
        quotes=tuple(_quote_view(one) for one in citations if one.source_id == source.id and one.quote),
    )


def _quote_view(citation: Citation) -> QuoteView:
    claim, quote = one_line(citation.claim), one_line(citation.quote or "")
    return QuoteView(
        "" if claim in quote else claim,
        quote,
        MARKS[citation.verdict],
        wording.MARK_MEANINGS[citation.verdict],
        citation.page,
    )


def _place(source: Source) -> str:
    """The true domain; of a file its name and heading, never the folder it lies in."""
    if not source.url.startswith("file://"):
        return one_line(source.metadata.domain) or "unknown place"
    address, _, fragment = source.url.partition("#")
    name, heading = PurePosixPath(unquote(address)).name, unquote(fragment)
    return one_line(f"{name} § {heading}" if heading else name)
