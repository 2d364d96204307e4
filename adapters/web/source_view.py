"""A source: who says it, why it was chosen, the passages that are cited of it, and its text as it was read.

The text is shown at the passage that an answer rests on: a window, cut into paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Literal
from urllib.parse import unquote

from adapters.web.access import JobLinks, live_link
from core.evidence.citations import MARKS
from core.library.paper import PAPER_SCHEME
from core.model.answer import ResearchAnswer, Verdict
from core.model.errors import say_place
from core.model.source import Source, SourceKind
from core.presentation import wording
from core.presentation.render import cut, one_line
from core.text.language import language_of
from core.text.saying import say, say_again, say_day, say_published
from core.text.urls import domain_of

_HINT_CHARS = 240  # of a passage, shown when one points at its citation
_HINTS_CHARS = 2_000  # of all hints of a page; more citations have shorter ones, and all are one click away
_QUOTES = 3  # of a source in the list; the others are marked in its text
_LANGUAGE_CHARS = 1_000  # of a text, which tell its language
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
WINDOW_CHARS = 12_000  # of a text on one page; its HTML stays below the size of an answer's page
LEAD_CHARS = 2_500  # shown before the passage, to see what it is about
_EDGE_CHARS = 400  # how far a window's edge is moved to end at a line
_INDENT = "    "
_HEADING, _PIPE, _RULE = re.compile(r"(#{1,6})\s+(?=\S)"), re.compile(r"(?<!\\)\|"), re.compile(r"\|[\s|:-]*")
# Lists, tables, headings, code, and rows of a table without heads
_OWN_LINE = re.compile(rf"{_INDENT}|\s*(?:[-*+•#|>]|\d{{1,3}}[.)]\s|```)|\S.{{0,200}}? \| \S")


@dataclass(frozen=True)
class CitedPassage:
    """A span of a source; `id` is the claim's or a conflict side's, `start` and `end` None without a passage."""

    id: str
    claim: str
    quote: str
    verdict: Verdict
    start: int | None
    end: int | None
    page: int | None
    reasons: tuple[str, ...] = ()
    section: str = ""

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]

    @property
    def meaning(self) -> str:
        return say(wording.MARK_MEANINGS[self.verdict])


def source_view(
    source: Source, answer: ResearchAnswer | None, links: JobLinks, *, has_file: bool = False
) -> SimpleNamespace:
    """`has_file` says that it is a paper whose pages can be shown. `address` is its text as read, here; `link` the live
    page, "" where the address may not be a link; `more` counts the passages that are cited besides `quotes`.
    """
    quotes = _quotes(source, answer, links, has_file=has_file)
    return SimpleNamespace(
        number=source.number,
        title=one_line(source.title) or place_of(source),
        address=links.source(source.number),
        link=live_link(source.url, "", None),
        domain=place_of(source),
        remarks=one_line(" · ".join(remarks_on(source))),
        score=_hundredths(source.scores.total),
        scores={name: _hundredths(value) for name, value in vars(source.scores).items()},
        source=source,
        kind=_KINDS[source.metadata.kind],
        quotes=quotes[:_QUOTES],
        more=len(quotes[_QUOTES:]),
        language=language_of(source.content[:_LANGUAGE_CHARS]),
        pdf=links.paper(source.number) if has_file else "",
    )


def _quotes(source: Source, answer: ResearchAnswer | None, links: JobLinks, *, has_file: bool) -> list[SimpleNamespace]:
    """Each cited passage once, in the answer's order; sides of a conflict stand in its own table.

    `claim` begins the sentence that it carries, "" where the quote says it; `others` counts the rest.
    """
    cited: dict[tuple[str, Verdict], list[CitedPassage]] = {}
    for passage in passages_of(source, answer):
        if passage.quote and "conflict" not in passage.id:
            cited.setdefault((passage.quote, passage.verdict), []).append(passage)
    return [
        SimpleNamespace(
            passage=(first := same[0]),
            address=links.source(source.number, first.id),
            claim=""
            if one_line(first.claim).rstrip(".") in one_line(first.quote)
            else cut(one_line(first.claim), _CLAIM_CHARS),
            others=len(same) - 1,
            figure=figure_of(source, first, links) if has_file else None,
        )
        for same in cited.values()
    ]


def figure_of(source: Source, passage: CitedPassage, links: JobLinks) -> SimpleNamespace | None:
    """The page of a paper that the passage stands on: its picture, and the PDF opened there."""
    number, page = source.number, passage.page
    if page is None:
        return None
    return SimpleNamespace(page=page, picture=links.picture(number, passage.id), pdf=links.paper(number, page))


def passages_of(source: Source, answer: ResearchAnswer | None) -> list[CitedPassage]:
    """What the answer cites of `source`, in the answer's order; sides of conflicts come last."""
    if answer is None:
        return []
    claims = {claim.text.rstrip("."): claim for claim in answer.claims}
    passages: list[CitedPassage] = []
    for number, citation in enumerate(answer.citations):
        if citation.source_id != source.id:
            continue
        claim = claims.get(citation.claim.rstrip("."))
        evidence = [entry for entry in claim.evidence if entry.source_id == source.id] if claim else []
        reasons = tuple(say_again(reason) for entry in evidence for reason in entry.reasons)
        place = (citation.start, citation.end, citation.page)
        section = source.section_at(citation.start) if citation.start is not None else ""
        claim_id = claim.id if claim else f"citation-{number}"
        passages.append(
            CitedPassage(claim_id, citation.claim, citation.quote or "", citation.verdict, *place, reasons, section)
        )
    for number, conflict in enumerate(answer.conflicts):
        for side, position in enumerate(conflict.positions):
            start = source.content.find(position.quote) if position.quote else -1
            if position.source_id == source.id and start >= 0:
                place = (start, start + len(position.quote), source.page_at(start))
                said = f"{conflict.subject}: {position.position}"
                passages.append(
                    CitedPassage(f"conflict-{number}-{side}", said, position.quote, Verdict.SUPPORTED, *place)
                )
    return passages


def hint_of(source: Source, passage: CitedPassage | None, *, citations: int) -> str:
    """`docs.example: “the passage”`, the shorter the more `citations` the page has."""
    quote = cut(one_line(passage.quote), min(_HINT_CHARS, _HINTS_CHARS // max(1, citations))) if passage else ""
    return f"{place_of(source)}: “{quote}”" if quote else place_of(source)


def remarks_on(source: Source) -> list[str]:
    """Who and when, in a few words each."""
    metadata = source.metadata
    remarks = [metadata.author or "", say(_KINDS[metadata.kind])]
    remarks.append(say("published {day}", day=say_published(metadata.published_at)) if metadata.published_at else "")
    remarks.append(say("read {day}", day=say_day(source.read_at)))
    remarks.append(say("found in {place}", place=say_place(metadata.provider)))
    return [remark for remark in (*remarks, *wording.caveats(source)) if remark]


def place_of(source: Source) -> str:
    """The true domain; a paper's own id; of a file its name and heading, never the folder it lies in."""
    if source.url.startswith(PAPER_SCHEME):
        return one_line(source.url.removeprefix(PAPER_SCHEME))
    if not source.url.startswith("file://"):
        return one_line(source.metadata.domain or domain_of(source.url)) or say("unknown place")
    address, _, fragment = source.url.partition("#")
    name, heading = PurePosixPath(unquote(address)).name, unquote(fragment)
    return one_line(f"{name} § {heading}" if heading else name)


def _hundredths(score: float) -> int:
    return round(100 * min(max(score, 0.0), 1.0))


ParagraphKind = Literal["", "code", "heading", "row"]


@dataclass(frozen=True)
class TextPiece:
    """A stretch of text that is one thing: `role` is "", `asked`, `cited` or `instructs`; `is_first` of the asked.

    What `is_markup` is Markdown's sign for what the paragraph is drawn as.
    """

    text: str
    role: str = ""
    is_first: bool = False
    is_markup: bool = False


@dataclass(frozen=True)
class Paragraph:
    """`page` is the number of the page that begins with it, None for all others."""

    pieces: tuple[TextPiece, ...]
    page: int | None = None
    kind: ParagraphKind = ""

    @property
    def cells(self) -> list[list[TextPiece]]:
        """Of a row; none of the line below a table's head."""
        cells: list[list[TextPiece]] = [[]]
        for piece in self.pieces:
            if piece.is_markup:
                cells.append([])
            else:
                cells[-1].append(piece)
        if all(piece.is_markup or not piece.text.strip() for piece in self.pieces):
            return []
        is_closed = not "".join(piece.text for piece in cells[-1]).strip()
        return cells[1 : -1 if is_closed else None]


def reading_view(
    source: Source, answer: ResearchAnswer | None, links: JobLinks, *, passage_id: str = "", start: int | None = None
) -> SimpleNamespace:
    """From `start` on, or around the passage asked for, or from the beginning.

    `asked` is that passage, None for the text as such; `before` and `after` are addresses of the rest of the text, ""
    where there is none.
    """
    passages = passages_of(source, answer)
    asked = next((passage for passage in passages if passage.id == passage_id), None)
    first, last = _window(source.content, asked, start)
    spans = [(*span, "instructs") for span in source.instructs]
    at = (asked.start, asked.end) if asked else None
    spans += [
        (one.start, one.end, "asked" if (one.start, one.end) == at else "cited")
        for one in passages
        if one.start is not None and one.end is not None
    ]
    return SimpleNamespace(
        number=source.number,
        title=one_line(source.title) or place_of(source),
        language=language_of(source.content[:_LANGUAGE_CHARS]),
        domain=place_of(source),
        remarks=[*map(one_line, remarks_on(source))],
        live=live_link(source.url, asked.quote if asked else "", asked.page if asked else None),
        has_fragment=bool(asked and asked.quote),
        asked=asked,
        others=[
            (passage, links.source(source.number, passage.id))
            for passage in passages
            if passage.start is not None and passage is not asked
        ],
        blocks=_with_tables(_paragraphs(source, first, last, spans)),
        before=links.source(source.number, start=max(0, first - WINDOW_CHARS)) if first else "",
        after=links.source(source.number, start=last) if last < len(source.content) else "",
        characters=len(source.content),
    )


def _with_tables(paragraphs: Sequence[Paragraph]) -> list[list[Paragraph]]:
    """Each paragraph by itself, and the rows of a table together as far as a page goes."""
    blocks: list[list[Paragraph]] = []
    for paragraph in paragraphs:
        if paragraph.kind == "row" and paragraph.page is None and blocks and blocks[-1][0].kind == "row":
            blocks[-1].append(paragraph)
        else:
            blocks.append([paragraph])
    return blocks


def _window(text: str, asked: CitedPassage | None, start: int | None) -> tuple[int, int]:
    """Where to begin and end: the passage whole, at ends of lines where any are near."""
    if start is not None:
        first = max(0, min(start, len(text) - 1))
    elif asked and asked.start is not None:
        first = max(0, asked.start - LEAD_CHARS)
        first = 0 if first < _EDGE_CHARS else text.find("\n", first, min(first + _EDGE_CHARS, asked.start)) + 1 or first
    else:
        first = 0
    last = min(len(text), max(first + WINDOW_CHARS, (asked.end or 0) if asked and start is None else 0))
    if last < len(text):
        last = text.rfind("\n", max(first, last - _EDGE_CHARS), last) + 1 or last
    return first, last


def _paragraphs(source: Source, first: int, last: int, spans: Sequence[tuple[int, int, str]]) -> list[Paragraph]:
    paragraphs: list[Paragraph] = []
    is_new = True  # whether the asked passage has not begun
    page = source.page_at(first)
    for start, end in _blocks(source.content, first, last):
        kind, signs = _kind(source.content, start, end)
        pieces = tuple(_pieces(source.content, start, end, spans, signs))
        if is_new and any(piece.role == "asked" for piece in pieces):
            pieces, is_new = _with_first(pieces), False
        begun = source.page_at(start)
        paragraphs.append(Paragraph(pieces, begun if begun != page or not paragraphs else None, kind))
        page = begun
    return paragraphs


def _blocks(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Where paragraphs begin and end: parted by blank lines and pages, and before whatever needs a line of its own."""
    start = at = first
    for line in text[first:last].splitlines(keepends=True):
        is_blank, is_own = not line.strip(), bool(_OWN_LINE.match(line))
        if (is_blank or is_own) and text[start:at].strip():
            yield start, at
        if is_blank or is_own:
            start = at
        at += len(line)
        if "\f" in line or line.startswith(("#", "|")):
            if text[start:at].strip():
                yield start, at
            start = at
    if text[start:at].strip():
        yield start, at


def _kind(text: str, first: int, last: int) -> tuple[ParagraphKind, list[tuple[int, int]]]:
    """What a block is drawn as, and the signs in it that say so."""
    if heading := _HEADING.match(text, first, last):
        return "heading", [heading.span()]
    if not text.startswith("|", first) or not text[first:last].rstrip().endswith("|"):  # "|x| < 3" is no row
        return ("code" if text.startswith(_INDENT, first) else ""), []
    is_rule = _RULE.fullmatch(text, first, last)
    return "row", [is_rule.span()] if is_rule else [pipe.span() for pipe in _PIPE.finditer(text, first, last)]


def _pieces(
    text: str, first: int, last: int, spans: Sequence[tuple[int, int, str]], signs: Sequence[tuple[int, int]]
) -> list[TextPiece]:
    """The line cut wherever a span or a sign begins or ends; of overlapping roles the most telling one."""
    touching = [span for span in spans if span[0] < last and span[1] > first]
    cuts = [*(span[:2] for span in touching), *signs]
    edges = sorted({first, last, *(min(max(edge, first), last) for span in cuts for edge in span)})
    pieces: list[TextPiece] = []
    for start, end in pairwise(edges):
        roles = {role for begins, ends, role in touching if begins <= start and ends >= end}
        role = next((one for one in ("asked", "instructs", "cited") if one in roles), "")
        is_sign = any(begins <= start and ends >= end for begins, ends in signs)
        pieces.append(TextPiece(text[start:end].replace("\f", ""), role, is_markup=is_sign))
    return pieces


def _with_first(pieces: Sequence[TextPiece]) -> tuple[TextPiece, ...]:
    asked = [number for number, piece in enumerate(pieces) if piece.role == "asked"]
    at = next((number for number in asked if not pieces[number].is_markup), asked[0])
    return (*pieces[:at], replace(pieces[at], is_first=True), *pieces[at + 1 :])
