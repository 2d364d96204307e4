"""The text of a source as it was read, at the passage that an answer rests on: a window, cut into paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from adapters.web.links import JobLinks, live_link
from adapters.web.source_view import Passage, passages_of, place_of, remarks_on
from core.answer import ResearchAnswer
from core.render import one_line
from core.source import Source

WINDOW_CHARS = 12_000  # of a text on one page; its HTML stays below the size of an answer's page
LEAD_CHARS = 2_500  # shown before the passage, to see what it is about
_EDGE_CHARS = 400  # how far a window's edge is moved to end at a line

_INDENT = "    "
_OWN_LINE = re.compile(rf"{_INDENT}|\s*(?:[-*+•#|>]|\d{{1,3}}[.)]\s|```)")  # lists, tables, headings, code


@dataclass(frozen=True)
class Piece:
    """A stretch of text that is one thing: `role` is "", `asked`, `cited` or `instructs`; `is_first` of the asked."""

    text: str
    role: str = ""
    is_first: bool = False


@dataclass(frozen=True)
class Paragraph:
    """`page` is the number of the page that begins with it, None for all others."""

    pieces: tuple[Piece, ...]
    page: int | None = None
    is_code: bool = False


@dataclass(frozen=True)
class ReadingView:
    """`asked` is the passage that was asked for, None for the text as such; `before` and `after` are addresses of
    the rest of the text, "" where there is none.
    """

    number: int
    title: str
    domain: str
    remarks: tuple[str, ...]
    live: str
    has_fragment: bool
    asked: Passage | None
    others: tuple[tuple[Passage, str], ...]
    paragraphs: tuple[Paragraph, ...]
    before: str
    after: str
    characters: int


def reading_view(
    source: Source, answer: ResearchAnswer | None, links: JobLinks, *, passage_id: str = "", start: int | None = None
) -> ReadingView:
    """From `start` on, or around the passage asked for, or from the beginning."""
    passages = passages_of(source, answer)
    asked = next((passage for passage in passages if passage.id == passage_id), None)
    first, last = _window(source.content, asked, start)
    spans = [(*span, "instructs") for span in source.instructs]
    spans += [
        (one.start, one.end, _role(one, asked)) for one in passages if one.start is not None and one.end is not None
    ]
    return ReadingView(
        number=source.number,
        title=one_line(source.title) or place_of(source),
        domain=place_of(source),
        remarks=tuple(one_line(remark) for remark in remarks_on(source)),
        live=live_link(source.url, asked.quote if asked else "", asked.page if asked else None),
        has_fragment=bool(asked and asked.quote),
        asked=asked,
        others=tuple(
            (passage, links.source(source.number, passage.id))
            for passage in passages
            if passage.start is not None and passage is not asked
        ),
        paragraphs=_paragraphs(source, first, last, spans),
        before=links.source(source.number, start=max(0, first - WINDOW_CHARS)) if first else "",
        after=links.source(source.number, start=last) if last < len(source.content) else "",
        characters=len(source.content),
    )


def _role(passage: Passage, asked: Passage | None) -> str:
    return "asked" if asked and (passage.start, passage.end) == (asked.start, asked.end) else "cited"


def _window(text: str, asked: Passage | None, start: int | None) -> tuple[int, int]:
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


def _paragraphs(source: Source, first: int, last: int, spans: Sequence[tuple[int, int, str]]) -> tuple[Paragraph, ...]:
    paragraphs: list[Paragraph] = []
    is_new = True  # whether the asked passage has not begun
    page = source.page_at(first)
    for start, end in _blocks(source.content, first, last):
        pieces = tuple(_pieces(source.content, start, end, spans))
        if is_new and any(piece.role == "asked" for piece in pieces):
            pieces, is_new = _with_first(pieces), False
        begun = source.page_at(start)
        is_code = source.content.startswith(_INDENT, start)
        paragraphs.append(Paragraph(pieces, begun if begun != page or not paragraphs else None, is_code=is_code))
        page = begun
    return tuple(paragraphs)


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


def _pieces(text: str, first: int, last: int, spans: Sequence[tuple[int, int, str]]) -> list[Piece]:
    """The line cut wherever a span begins or ends; of overlapping roles the most telling one."""
    touching = [span for span in spans if span[0] < last and span[1] > first]
    edges = sorted({first, last, *(min(max(edge, first), last) for span in touching for edge in span[:2])})
    pieces: list[Piece] = []
    for start, end in pairwise(edges):
        roles = {role for begins, ends, role in touching if begins <= start and ends >= end}
        role = next((one for one in ("asked", "instructs", "cited") if one in roles), "")
        pieces.append(Piece(text[start:end].replace("\f", ""), role))
    return pieces


def _with_first(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    at = next(number for number, piece in enumerate(pieces) if piece.role == "asked")
    return (*pieces[:at], Piece(pieces[at].text, "asked", is_first=True), *pieces[at + 1 :])
