"""A source's text in passages of a few sentences, and a paper's in the longer chunks that a search weighs.

Passages are spans of the text as read: `text == content[start:end]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import regex

from core.llm.prices import estimate_tokens
from core.model.source import Source
from core.text.language import detect_language
from core.text.sentences import Sentence, kept_by_length, sentences_of, split_sentences
from core.text.terms import AskedTerms, terms

PASSAGE_CHARS = 700  # about 120 words: a paragraph, small enough that a bad one costs little of the prompt
_PARAGRAPH_END = regex.compile(r"\n\s*\n|\f")
_HEADING = regex.compile(r"#{1,6}\s+(.+?)\s*#*$|^([^\n]+)\n[=-]{3,}\s*$")
_MAX_HEADING_CHARS = 200
_CODE_FENCE = ("```", "~~~")


@dataclass(frozen=True)
class Passage:
    """Sentences of one paragraph, whole. `heading` is the nearest Markdown heading above ("" if none)."""

    start: int
    end: int
    text: str
    heading: str = ""
    sentences: tuple[Sentence, ...] = ()


@kept_by_length
def split_passages(content: str) -> tuple[Passage, ...]:
    """Paragraphs of `content` in order, long ones cut between sentences; headings and blank text give none.

    Code in fences is a passage of its own; a sentence that is no sentence (a table, a log) is cut at spaces.
    """
    found: list[Passage] = []
    pending: list[Sentence] = []
    heading = ""

    def flush() -> None:
        if pending:
            start, end = pending[0].start, pending[-1].end
            found.append(Passage(start, end, content[start:end], heading, tuple(pending)))
            pending.clear()

    for sentence in sentences_of(content):
        titled = _HEADING.match(sentence.text.strip()) if len(sentence.text) < _MAX_HEADING_CHARS else None
        if titled and not sentence.asserts:
            flush()
            heading = (titled[1] or titled[2]).strip()
            continue
        for piece in _cut(sentence):
            if pending and _begins_anew(content, pending, piece):
                flush()
            pending.append(piece)
    flush()
    return tuple(found)


@kept_by_length
def passage_terms(content: str) -> tuple[tuple[str, ...], ...]:
    """The terms of each of `split_passages(content)`, each once, without its heading's; three stages ask."""
    return tuple(tuple(set(terms(passage.text))) for passage in split_passages(content))


def _begins_anew(content: str, pending: Sequence[Sentence], sentence: Sentence) -> bool:
    before = pending[-1]
    return (
        sentence.end - pending[0].start > PASSAGE_CHARS
        or _PARAGRAPH_END.search(content, before.end, sentence.start) is not None
        or sentence.text.lstrip().startswith(_CODE_FENCE)
        or before.text.lstrip().startswith(_CODE_FENCE)
    )


def _cut(sentence: Sentence) -> list[Sentence]:
    """An endless sentence in pieces that assert nothing, cut at spaces; any other as it is."""
    pieces: list[Sentence] = []
    text, start = sentence.text, 0
    while len(text) - start > 2 * PASSAGE_CHARS:
        space = text.rfind(" ", start + 1, start + PASSAGE_CHARS)
        end = space + 1 if space > start else start + PASSAGE_CHARS
        pieces.append(Sentence(text[start:end], sentence.start + start, sentence.start + end, asserts=False))
        start = end
    if not pieces:
        return [sentence]
    return [*pieces, Sentence(text[start:], sentence.start + start, sentence.end, asserts=False)]


def select_passages(
    sources: Sequence[Source], question: str, *, max_tokens: int, count_tokens: Callable[[str], int]
) -> dict[str, list[Passage]]:
    """The passages of each source that best fit the question and together fit `max_tokens`, in reading order.

    Every source keeps at least its best passage while the budget lasts, better sources first; after
    that the best passages of all are taken, one by one. `count_tokens` gives at least one for four characters.
    """
    ranked = _rank(sources, question)
    chosen: dict[str, list[Passage]] = {source.id: [] for source in sources}
    left = max_tokens
    firsts = [
        next(entry for entry in ranked if entry[1] == source.id)
        for source in sources
        if split_passages(source.trusted_content)
    ]
    for _, source_id, passage in [*firsts, *ranked]:
        if len(passage.text) > 4 * left:
            continue
        cost = count_tokens(passage.text) + 2
        if cost <= left and passage not in chosen[source_id]:
            chosen[source_id].append(passage)
            left -= cost
    return {source_id: sorted(own, key=lambda passage: passage.start) for source_id, own in chosen.items() if own}


def _rank(sources: Sequence[Source], question: str) -> list[tuple[float, str, Passage]]:
    """All passages, best first: weighted coverage of the question times the standing of the source."""
    entries = [
        (source, passage, frozenset(terms(passage.heading)).union(held))
        for source in sources
        for passage, held in zip(
            split_passages(source.trusted_content), passage_terms(source.trusted_content), strict=True
        )
    ]
    asked = AskedTerms(question, [held for _, _, held in entries], detect_language(question))
    scored = [
        (
            asked.coverage(held) * (0.5 + 0.5 * source.scores.total)
            - passage.start / 1e8,  # among equals, what comes first introduces the rest
            source.id,
            passage,
        )
        for source, passage, held in entries
    ]
    return sorted(scored, key=lambda entry: -entry[0])


# Long documents in chunks that a search can weigh: 300 to 500 tokens, whole sentences, one section each.
#
# A chunk is a span of the text as read, so whatever is found in it can be cited by offset and page.

MIN_TOKENS, MAX_TOKENS, OVERLAP_TOKENS = 300, 500, 100  # S001-04
_BEGIN, _END = r"(?:^|(?<=\f))", r"(?=[\n\f]|\Z)"  # of a line: a page's end is one too
_MARKED_HEADING = re.compile(rf"{_BEGIN}#{{1,6}}[ \t]+([^\n\f]+?)[ \t]*#*{_END}", re.MULTILINE)
_INDENTED = r"(?:[ ]{4}|\t)[ \t]*+[^\s][^\n\f]*+"
_FORMULAS = "equation|align|alignat|flalign|gather|multline|eqnarray|displaymath|verbatim|lstlisting|algorithm"
_WHOLE = re.compile(  # code in fences or indented, of 60 lines at most; equations, of 5,000 characters at most
    rf"{_BEGIN}[ \t]*(?P<fence>`{{3,}}|~{{3,}})[^\n\f]*\n.*?(?:{_BEGIN}[ \t]*(?P=fence)[ \t]*{_END}|\Z)|"
    rf"(?<=\n\n){_INDENTED}(?:\n(?:[ \t]*+\n)*+{_INDENTED}){{0,59}}|"
    r"\$\$.{1,5000}?\$\$|"
    r"(?<!\\)\\\[(?:(?!(?<!\\)\\\[).){1,5000}?\\\]|"
    rf"\\begin\{{(?P<name>(?:{_FORMULAS})\*?)\}}(?:(?!\\begin\{{(?P=name)\}}).){{1,5000}}?\\end\{{(?P=name)\}}",
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
        found
        for found in _MARKED_HEADING.finditer(content)
        if not any(start <= found.start() < end for start, end in whole)
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
    return [piece for unit in found for piece in _cut_unit(content, unit)]


def _unit(content: str, start: int, end: int) -> _Unit:
    return _Unit(start, end, estimate_tokens(f"{content[start:end]}  "))  # with what parts it from the next


def _cut_unit(content: str, unit: _Unit) -> Iterator[_Unit]:
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
