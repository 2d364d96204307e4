"""Long documents in chunks that a search can weigh: 300 to 500 tokens, whole sentences, one section each.

A chunk is a span of the text as read, so whatever is found in it can be cited by offset and page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.llm.prices import estimate_tokens
from core.text.sentences import split_sentences

MIN_TOKENS, MAX_TOKENS, OVERLAP_TOKENS = 300, 500, 100  # S001-04
_BEGIN, _END = r"(?:^|(?<=\f))", r"(?=[\n\f]|\Z)"  # of a line: a page's end is one too
_HEADING = re.compile(rf"{_BEGIN}#{{1,6}}[ \t]+([^\n\f]+?)[ \t]*#*{_END}", re.MULTILINE)
_WHOLE = re.compile(
    rf"{_BEGIN}(```|~~~)[^\n\f]*\n.*?(?:{_BEGIN}\1[ \t]*{_END}|\Z)|"
    rf"{_BEGIN}\$\$[ \t]*\n.*?(?:{_BEGIN}\$\$[ \t]*{_END}|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MAX_ABSTRACT_CHARS = 5_000  # journals allow 250 to 400 words; twice that is none
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5}|[A-Z])[.)]?\s+")


class SectionType(StrEnum):
    """The usual sections of a paper (S001-03). A chunk tells its own; no search filters by it (S001-09)."""

    ABSTRACT = "abstract"
    INTRODUCTION = "introduction"
    METHODS = "methods"
    RESULTS = "results"
    DISCUSSION = "discussion"
    CONCLUSION = "conclusion"
    REFERENCES = "references"
    OTHER = "other"


_SECTION_WORDS = (
    (SectionType.ABSTRACT, ("abstract", "summary")),
    (SectionType.INTRODUCTION, ("introduction", "background", "motivation")),
    (SectionType.METHODS, ("method", "methods", "methodology", "materials", "experimental setup", "approach")),
    (SectionType.RESULTS, ("result", "results", "experiments", "evaluation", "findings")),
    (SectionType.DISCUSSION, ("discussion", "limitations")),
    (SectionType.CONCLUSION, ("conclusion", "conclusions", "concluding")),
    (SectionType.REFERENCES, ("references", "bibliography", "acknowledgments", "acknowledgements", "acknowledgment")),
)


@dataclass(frozen=True)
class Chunk:
    """`text == content[start:end]`, half-open; `page` counts from 1 and is where the chunk begins, None without pages.

    `heading` is the nearest above it, "" if none; `index` counts from 0 through the document.
    """

    index: int
    text: str
    start: int
    end: int
    page: int | None
    section: SectionType
    heading: str


@dataclass(frozen=True)
class _Unit:
    """What is never cut: a sentence, a block of code, an equation."""

    start: int
    end: int
    tokens: int


@dataclass(frozen=True)
class _Section:
    heading: str
    kind: SectionType
    start: int
    end: int


def chunk_text(content: str) -> list[Chunk]:
    """`content` is Markdown, its pages parted by form feeds. Every word but those of headings is in a chunk.

    A chunk is longer than 500 tokens only where one equation, code block or word is, and shorter than 300 only where
    its section is. Neighbours of a section share about 100 tokens.
    """
    spans = [
        (section, start, end)
        for section in _sections(content)
        for start, end in _spans(_units(content, section.start, section.end))
    ]
    has_pages = "\f" in content
    return [
        Chunk(
            index,
            content[start:end],
            start,
            end,
            content.count("\f", 0, start) + 1 if has_pages else None,
            section.kind,
            section.heading,
        )
        for index, (section, start, end) in enumerate(spans)
    ]


def section_of(heading: str) -> SectionType | None:
    """The usual section that a heading names; None for a heading of its own making."""
    words = _NUMBERING.sub("", heading).strip(" .:").casefold()
    for kind, names in _SECTION_WORDS:
        if any(words == name or words.startswith(f"{name} ") or words.endswith(f" {name}") for name in names):
            return kind
    return None


def _sections(content: str) -> Iterator[_Section]:
    """From heading to heading; one of its own making belongs to the section above it."""
    whole = [(found.start(), found.end()) for found in _WHOLE.finditer(content)]
    headings = [
        found for found in _HEADING.finditer(content) if not any(start <= found.start() < end for start, end in whole)
    ]
    heading, kind, begin = "", SectionType.OTHER, 0
    for found in headings:
        yield from _parted(content, _Section(heading, kind, begin, found.start()))
        heading, begin = found[1], found.end()
        kind = section_of(heading) or kind
    yield from _parted(content, _Section(heading, kind, begin, len(content)))


def _parted(content: str, section: _Section) -> Iterator[_Section]:
    """The section; of an "abstract" that runs on for pages, since nothing else has a heading, its first paragraph."""
    if section.kind is SectionType.ABSTRACT and section.end - section.start > _MAX_ABSTRACT_CHARS:
        text = content[section.start : section.end]
        paragraph = re.match(r"\s*\S.*?(?=\n\s*\n|\f|\Z)", text, re.DOTALL)
        end = section.start + (paragraph.end() if paragraph else 0)
        yield replace(section, end=end)
        section = _Section("", SectionType.OTHER, end, section.end)
    yield section


def _units(content: str, start: int, end: int) -> list[_Unit]:
    units: list[_Unit] = []
    at = start
    for whole in _WHOLE.finditer(content, start, end):
        units += _sentences(content, at, whole.start())
        units.append(_unit(content, whole.start(), whole.end()))
        at = whole.end()
    return units + _sentences(content, at, end)


def _sentences(content: str, start: int, end: int) -> list[_Unit]:
    found = [_unit(content, start + one.start, start + one.end) for one in split_sentences(content[start:end])]
    return [piece for unit in found for piece in _cut(content, unit)]


def _unit(content: str, start: int, end: int) -> _Unit:
    return _Unit(start, end, estimate_tokens(f"{content[start:end]}  "))  # with what parts it from the next


def _cut(content: str, unit: _Unit) -> Iterator[_Unit]:
    """What is no sentence but a long list or log, cut at blanks into parts that fit."""
    if unit.tokens <= MAX_TOKENS:
        yield unit
        return
    begin, last = unit.start, unit.start
    for blank in re.finditer(r"\s+|\Z", content[unit.start : unit.end]):
        at = unit.start + blank.start()
        if last > begin and estimate_tokens(content[begin:at]) > MAX_TOKENS:
            yield _unit(content, begin, last)
            begin = last + len(content[last:at]) - len(content[last:at].lstrip())
        last = at
    yield _unit(content, begin, unit.end)


def _spans(units: Sequence[_Unit]) -> Iterator[tuple[int, int]]:
    """Runs of units; the last one reaches back as far as it needs to be long enough."""
    first, earliest = 0, 0
    while first < len(units):
        last, tokens = first, units[first].tokens
        while last + 1 < len(units) and tokens + units[last + 1].tokens <= MAX_TOKENS:
            last += 1
            tokens += units[last].tokens
        is_end = last + 1 == len(units)
        begin = max(_back(units, first, MIN_TOKENS - tokens, MAX_TOKENS - tokens), earliest) if is_end else first
        yield units[begin].start, units[last].end
        if is_end:
            return
        earliest = first + 1
        room = min(OVERLAP_TOKENS, MAX_TOKENS - units[last + 1].tokens)  # what is shared leaves room for something new
        first = max(_back(units, last + 1, room, room), earliest)


def _back(units: Sequence[_Unit], at: int, wanted: int, most: int) -> int:
    """How far back from `at` to begin, for `wanted` tokens more and no more than `most`."""
    gained = 0
    while at > 0 and gained < wanted and gained + units[at - 1].tokens <= most:
        at -= 1
        gained += units[at].tokens
    return at
