"""A source in the list below an answer: who says it, why it was chosen, and the passages that are cited of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from adapters.web.links import JobLinks, live_link
from core import wording
from core.answer import ResearchAnswer, Verdict
from core.evidence.citations import MARKS
from core.library.paper import PAPER_SCHEME
from core.render import cut, one_line
from core.source import Source, SourceKind
from core.urls import domain_of

_HINT_CHARS = 240  # of a passage, shown when one points at its citation
_HINTS_CHARS = 2_000  # of all hints of a page; more citations have shorter ones, and all are one click away
_QUOTES = 3  # of a source in the list; the others are marked in its text
_CLAIM_CHARS = 60  # of a sentence that stands in full above

_KINDS = {
    SourceKind.OFFICIAL: "official",
    SourceKind.STANDARDS: "standards body",
    SourceKind.PEER_REVIEWED: "peer-reviewed",
    SourceKind.PREPRINT: "preprint",
    SourceKind.REFERENCE: "reference work",
    SourceKind.ESTABLISHED_PRESS: "established press",
    SourceKind.LOCAL: "local file",
    SourceKind.UNKNOWN: "unknown publisher",
    SourceKind.FORUM: "forum or blog",
}


@dataclass(frozen=True)
class Passage:
    """A span of a source that the answer rests on. `id` is the claim's, or `conflict-0-1` for a side of a conflict.

    `start` and `end` are None for a citation without a passage.
    """

    id: str
    claim: str
    quote: str
    verdict: Verdict
    start: int | None
    end: int | None
    page: int | None
    reasons: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]

    @property
    def meaning(self) -> str:
        return wording.MARK_MEANINGS[self.verdict]

    @property
    def is_said_by_quote(self) -> bool:
        """Whether the claim says nothing that the quote does not, as in an answer made of quotes."""
        return one_line(self.claim).rstrip(".") in one_line(self.quote)


@dataclass(frozen=True)
class Figure:
    """A page of a paper: its picture, and the PDF opened there."""

    page: int
    picture: str
    pdf: str


@dataclass(frozen=True)
class QuoteView:
    """`claim` begins the sentence that it carries, "" where the quote says it; `others` counts the rest.

    `figure` is the page it stands on, None where there is none to show.
    """

    passage: Passage
    address: str
    claim: str
    others: int
    figure: Figure | None = None


@dataclass(frozen=True)
class ScoreView:
    """One of the four scores, 0…100, and in a few words why."""

    name: str
    value: int
    why: str


@dataclass(frozen=True)
class SourceView:
    """`address` is its text as read, here; `link` the live page, "" where the address may not be a link.

    `more` counts the passages that are cited besides `quotes`; `pdf` is the paper itself, "" where it is none.
    """

    number: int
    title: str
    address: str
    link: str
    domain: str
    remarks: str
    score: int
    scores: tuple[ScoreView, ...]
    quotes: tuple[QuoteView, ...]
    more: int
    pdf: str = ""


def source_view(
    source: Source, answer: ResearchAnswer | None, links: JobLinks, *, has_file: bool = False
) -> SourceView:
    """`has_file` says that it is a paper whose pages can be shown."""
    quotes = _quotes(source, answer, links, has_file=has_file)
    return SourceView(
        number=source.number,
        title=one_line(source.title) or place_of(source),
        address=links.source(source.number),
        link=live_link(source.url, "", None),
        domain=place_of(source),
        remarks=one_line(" · ".join(remarks_on(source))),
        score=_hundredths(source.scores.total),
        scores=_scores(source),
        quotes=quotes[:_QUOTES],
        more=len(quotes[_QUOTES:]),
        pdf=links.paper(source.number) if has_file else "",
    )


def _quotes(source: Source, answer: ResearchAnswer | None, links: JobLinks, *, has_file: bool) -> tuple[QuoteView, ...]:
    """Each cited passage once, in the answer's order; sides of a conflict stand in its own table."""
    cited: dict[tuple[str, Verdict], list[Passage]] = {}
    for passage in passages_of(source, answer):
        if passage.quote and "conflict" not in passage.id:
            cited.setdefault((passage.quote, passage.verdict), []).append(passage)
    return tuple(
        QuoteView(
            first := same[0],
            links.source(source.number, first.id),
            "" if first.is_said_by_quote else cut(one_line(first.claim), _CLAIM_CHARS),
            len(same) - 1,
            figure_of(source, first, links) if has_file else None,
        )
        for same in cited.values()
    )


def figure_of(source: Source, passage: Passage, links: JobLinks) -> Figure | None:
    """The page of a paper that the passage stands on."""
    if passage.page is None:
        return None
    number, page = source.number, passage.page
    return Figure(page, links.picture(number, passage.id), links.paper(number, page))


def passages_of(source: Source, answer: ResearchAnswer | None) -> list[Passage]:
    """What the answer cites of `source`, in the answer's order; sides of conflicts come last."""
    if answer is None:
        return []
    claims = {claim.text.rstrip("."): claim for claim in answer.claims}
    passages: list[Passage] = []
    for number, citation in enumerate(answer.citations):
        if citation.source_id != source.id:
            continue
        claim = claims.get(citation.claim.rstrip("."))
        evidence = [entry for entry in claim.evidence if entry.source_id == source.id] if claim else []
        reasons = tuple(reason for entry in evidence for reason in entry.reasons)
        place = (citation.start, citation.end, citation.page)
        claim_id = claim.id if claim else f"citation-{number}"
        passages.append(Passage(claim_id, citation.claim, citation.quote or "", citation.verdict, *place, reasons))
    for number, conflict in enumerate(answer.conflicts):
        for side, position in enumerate(conflict.positions):
            start = source.content.find(position.quote) if position.quote else -1
            if position.source_id == source.id and start >= 0:
                place = (start, start + len(position.quote), source.page_at(start))
                said = f"{conflict.subject}: {position.position}"
                passages.append(Passage(f"conflict-{number}-{side}", said, position.quote, Verdict.SUPPORTED, *place))
    return passages


def hint_of(source: Source, passage: Passage | None, *, citations: int) -> str:
    """`docs.example: “the passage”`, the shorter the more `citations` the page has."""
    quote = cut(one_line(passage.quote), min(_HINT_CHARS, _HINTS_CHARS // max(1, citations))) if passage else ""
    return f"{place_of(source)}: “{quote}”" if quote else place_of(source)


def remarks_on(source: Source) -> list[str]:
    """Who and when, in a few words each."""
    metadata = source.metadata
    remarks = [metadata.author or "", _KINDS[metadata.kind]]
    remarks.append(f"published {wording.day(metadata.published_at)}" if metadata.published_at else "")
    remarks += [f"read {wording.day(source.read_at)}", f"found by {metadata.provider}"]
    remarks.append(f"only an extract: {source.extract_of_page}" if source.extract_of_page else "")
    remarks.append(wording.INSTRUCTS if source.instructs else "")
    return [remark for remark in remarks if remark]


def place_of(source: Source) -> str:
    """The true domain; a paper's own id; of a file its name and heading, never the folder it lies in."""
    if source.url.startswith(PAPER_SCHEME):
        return one_line(source.url.removeprefix(PAPER_SCHEME))
    if not source.url.startswith("file://"):
        return one_line(source.metadata.domain or domain_of(source.url)) or "unknown place"
    address, _, fragment = source.url.partition("#")
    name, heading = PurePosixPath(unquote(address)).name, unquote(fragment)
    return one_line(f"{name} § {heading}" if heading else name)


def _scores(source: Source) -> tuple[ScoreView, ...]:
    """What decided its rank (core/ranking.py)."""
    scores, metadata = source.scores, source.metadata
    dated = f"published {wording.day(metadata.published_at)}" if metadata.published_at else "no date is given"
    return (
        ScoreView("Relevance", _hundredths(scores.relevance), "how much of the question its text is about"),
        ScoreView("Authority", _hundredths(scores.authority), _KINDS[metadata.kind]),
        ScoreView("Recency", _hundredths(scores.recency), dated),
        ScoreView("Quality", _hundredths(scores.quality), f"{wording.counted(metadata.word_count, 'word')} of text"),
    )


def _hundredths(score: float) -> int:
    return round(100 * min(max(score, 0.0), 1.0))
