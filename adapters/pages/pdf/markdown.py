"""Lines of a PDF in reading order, without what stands on every page, and as Markdown: headings, paragraphs with
mended hyphens, code and displayed equations whole. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from adapters.pages.pdf.lines import Cell, Line, ReadPage
from core.text.language import rarity
from core.text.terms import terms

LARGER = 1.08  # times the body's type; what is larger and short is a heading
_MAX_HEADING_CHARS = 120
_MAX_TITLE_LINES = 6
_EDGE_LINES = 3  # that begin at one place make it an edge
_INDENT = 5.0  # points; half of what a first line is usually indented by
_SOFT_HYPHEN = "\ufffe"  # pdfium's mark for a hyphen at a line's end (fpdf_text.h)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+)[-‐]$")
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5}|[A-Z])\.?\s+[A-Z]")
_SECTION = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+|[IVX]{1,5}\.\s+)?(?:abstract|introduction|background|related work|"
    r"(?:materials? and )?methods?(?: and materials?)?|methodology|experiments?|experimental setup|"
    r"results?(?: and discussion)?|discussion|conclusions?(?: and future work)?|limitations|acknowledge?ments?|"
    r"author contributions|supporting information|references|bibliography|appendix(?: [a-z])?)",
    re.IGNORECASE,
)
_MATH = re.compile(r"[=≤≥≈∝∑∏∫∂∇√±×∈∉⊂∀∃→⇒↦⟨⟩∞]|\\[a-z]+")
_EQUATION_NUMBER = re.compile(r"\(\d{1,3}[a-z]?\)$")
_ABSTRACT = re.compile(r"(abstract|summary)\s*[.:—–-]\s*(?=\S)", re.IGNORECASE)
_ENDS_SENTENCE = re.compile(r"[.!?:;]['\"”’)\]]*$")


@dataclass(frozen=True)
class PaperMarkdown:
    """`pages` are Markdown, one a page; `labels` the numbers printed on them, "" where none is; `authors` those named
    under the title.
    """

    title: str
    pages: tuple[str, ...]
    labels: tuple[str, ...]
    authors: tuple[str, ...] = ()


def to_markdown(pages: Sequence[PageLines]) -> PaperMarkdown:
    """The document as Markdown; its title is what stands largest at the top of the first page with text."""
    body = _body_size(pages)
    words = Counter(word.lower() for page in pages for line in page.lines for word in _WORD.findall(line.text))
    first = next((at for at, page in enumerate(pages) if page.lines), 0)
    title = _title_lines(pages[first].lines, body) if pages else []
    texts: list[str] = []
    for at, page in enumerate(pages):
        lines = [line for line in page.lines if not any(line is part for part in title)]
        blocks = [text for block in _blocks(lines, body) for text in _written(block, words)]
        if at == first and title:
            blocks = [f"# {_joined([line.text for line in title], words)}", *_authors_plain(blocks)]
        texts.append("\n\n".join(blocks))
    return PaperMarkdown(
        _joined([line.text for line in title], words),
        tuple(texts),
        tuple(page.label for page in pages),
        tuple(authors_under(title, pages[first].lines)) if title else (),
    )


def _authors_plain(blocks: Sequence[str]) -> list[str]:
    """Names under a title are set larger than the text and are no heading; sections have names of their own."""
    under_title = next((at for at, text in enumerate(blocks) if not text.startswith("## ")), 0)
    names = [text.removeprefix("## ") for text in blocks[:under_title]]
    return [f"## {text}" if _SECTION.fullmatch(text) or _NUMBERED.match(text) else text for text in names] + list(
        blocks[under_title:]
    )


def _body_size(pages: Sequence[PageLines]) -> float:
    """The size of type that most characters are set in."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _title_lines(lines: Sequence[Line], body: float) -> list[Line]:
    top = list(lines[: max(len(lines) // 2, _MAX_TITLE_LINES)])
    largest = max((line.size for line in top), default=0.0)
    if largest < body * 1.2:
        return _bold_title(top)
    start = next(at for at, line in enumerate(top) if line.size == largest)
    title: list[Line] = []
    for line in top[start : start + _MAX_TITLE_LINES]:
        if line.size < largest * 0.97:
            break
        title.append(line)
    return title


def _bold_title(top: Sequence[Line]) -> list[Line]:
    """Where the type of a title is no larger than the text: the bold lines that the page begins with."""
    title = list(takewhile(lambda line: line.is_bold and line.size == top[0].size, top))[:_MAX_TITLE_LINES]
    is_title = title and len(title) < len(top) and len(title[0].text.split()) > 1
    return title if is_title and not _SECTION.fullmatch(title[0].text) else []


@dataclass(frozen=True)
class _PageBlock:
    kind: str  # "heading", "code", "equation", "table" or "text"
    lines: tuple[Line, ...]


def _blocks(lines: Sequence[Line], body: float) -> Iterator[_PageBlock]:
    leading, edges = _leading(lines), _edges(lines)
    kind, current = "", list[Line]()
    for line in lines:
        this = _kind(line, body)
        if this == "equation" and not _is_set_in(line, edges):
            this = "text"
        if current and (this != kind or _is_apart(current, line, leading, this)):
            yield _PageBlock(kind, tuple(current))
            current = []
        kind = this
        current.append(line)
    if current:
        yield _PageBlock(kind, tuple(current))


def _kind(line: Line, body: float) -> str:
    if line.is_row:
        return "table"
    if line.is_mono:
        return "code"
    is_short = len(line.text) <= _MAX_HEADING_CHARS and not line.text.endswith((",", ";"))
    if is_short and any(char.isalpha() for char in line.text):
        if _SECTION.fullmatch(line.text.rstrip(" .:")) and not line.text.endswith(","):
            return "heading"
        if line.size >= body * LARGER or (
            line.is_bold and (_NUMBERED.match(line.text) or not _ENDS_SENTENCE.search(line.text))
        ):
            return "heading"
    return "equation" if _is_equation(line.text) else "text"


def _is_equation(text: str) -> bool:
    """Whether a line is mostly signs and single letters around a relation."""
    if not _MATH.search(text):
        return False
    tokens = _EQUATION_NUMBER.sub("", text).split()
    words = sum(len(token) > 3 and token.isalpha() for token in tokens)
    return words <= 0.15 * len(tokens) and (len(tokens) > 2 or bool(_EQUATION_NUMBER.search(text)))


def _edges(lines: Sequence[Line]) -> list[float]:
    """Where lines usually begin: the left edges of columns."""
    counts = Counter(round(line.left / 2) * 2 for line in lines)
    return [float(left) for left, count in counts.items() if count >= _EDGE_LINES]


def _is_set_in(line: Line, edges: Sequence[float]) -> bool:
    """Whether it stands apart from its column's edge, as a displayed equation does."""
    return bool(edges) and min(abs(line.left - edge) for edge in edges) > 2 * _INDENT


def _leading(lines: Sequence[Line]) -> float:
    """The usual distance from line to line, in points."""
    gaps = sorted(
        round(upper.bottom - lower.bottom, 1)
        for upper, lower in pairwise(lines)
        if 0.5 * upper.size < upper.bottom - lower.bottom < 3 * upper.size
    )
    return gaps[len(gaps) // 2] if gaps else 12.0


def _is_apart(current: Sequence[Line], line: Line, leading: float, kind: str) -> bool:
    """Whether a line begins another block than the lines before it."""
    last = current[-1]
    gap = last.bottom - line.bottom
    if kind in ("code", "equation", "table"):
        return gap > 2.5 * leading
    if kind == "heading":
        return gap > 1.6 * last.size or last.size != line.size
    if gap < 0:  # the next column: the sentence goes on unless it had ended
        is_short = last.right < max(entry.right for entry in current) - 4 * _INDENT
        return bool(_ENDS_SENTENCE.search(last.text)) and line.text[:1].isupper() and is_short
    is_indented = line.left - min(entry.left for entry in current) > _INDENT and line.left - last.left > _INDENT
    if len(current) == 1 and last.left - line.left > _INDENT:  # the line before was the indented first one
        is_indented = False
    return gap > 1.25 * leading or (is_indented and bool(_ENDS_SENTENCE.search(last.text)))


def _written(block: _PageBlock, words: Counter[str]) -> list[str]:
    """The block as Markdown; an abstract that begins in its heading's line gets the heading to itself."""
    texts = [line.text for line in block.lines]
    if block.kind == "code":
        left = min(line.left for line in block.lines)
        width = max(block.lines[0].size * 0.6, 1.0)
        rows = [" " * round((line.left - left) / width) + line.text for line in block.lines]
        return ["```\n" + "\n".join(rows).replace(_SOFT_HYPHEN, "-") + "\n```"]
    if block.kind == "equation":
        return ["$$\n" + "\n".join(texts).replace(_SOFT_HYPHEN, "-") + "\n$$"]
    if block.kind == "table":
        rule = "|" + "---|" * (texts[0].count("|") - 1)
        return ["\n".join([texts[0], rule, *texts[1:]]).replace(_SOFT_HYPHEN, "-")]
    text = _joined(texts, words)
    if block.kind == "heading":
        return [f"## {text}"]
    named = _ABSTRACT.match(text)
    return [f"## {named[1].title()}", text[named.end() :]] if named else [text]


def _joined(texts: Sequence[str], words: Counter[str]) -> str:
    """One paragraph; a word that a line's end broke is whole again, a compound keeps its hyphen."""
    joined = ""
    for text in texts:
        if joined.endswith(_SOFT_HYPHEN):
            joined = _mended(joined[:-1] + "-", text, words)
        elif text[:1].islower() and _BROKEN.search(joined, joined.rfind(" ") + 1):  # of thousands of lines, the end
            joined = _mended(joined, text, words)
        else:
            joined = f"{joined} {text}" if joined else text
    return joined.replace(_SOFT_HYPHEN, "")


def _mended(before: str, after: str, words: Counter[str]) -> str:
    broken, rest = _BROKEN.search(before, before.rfind(" ") + 1), _WORD.match(after)
    if broken is None or rest is None:
        return before + after
    first, second = broken[1].lower(), rest.group().lower()
    is_compound = words[f"{first}-{second}"] > words[f"{first}{second}"]
    return before + after if is_compound else before[:-1] + after


# Lines in the order in which people read them, without what stands on every page


EDGE = 0.12  # of the page's height, above and below, where running heads stand
_MIN_COLUMN_LINES = 4
_MIN_ROWS, _MAX_ROWS = 3, 200  # of a table
_MAX_CELL_CHARS = 60
_MIN_FIGURES = 0.5  # of the entries behind the first column that hold a figure; names and places of authors hold none
_SLACK = 3.0  # points by which a line may reach over the middle
_DIGITS = re.compile(r"\d+")
_LABEL = re.compile(
    r"(?:page\s+|p\.\s*|[-–—]\s*)?(\d{1,5}|[ivxlc]{1,7})(?:\s*[-–—]|\s*(?:of|/)\s*\d{1,5})?", re.IGNORECASE
)


@dataclass(frozen=True)
class PageLines:
    """A page's lines in reading order. `label` is the number printed on it, "" where none is."""

    lines: tuple[Line, ...]
    label: str = ""


@dataclass
class _Edges:
    """How often a line stands at the edge of a page, whatever number it carries."""

    counts: Counter[str] = field(default_factory=Counter)

    def is_running(self, line: Line, pages: int) -> bool:
        return self.counts[_key(line)] >= max(2, pages // 4)


def lay_out(pages: Sequence[ReadPage]) -> list[PageLines]:
    """Each page as read; running heads, feet and page numbers are dropped."""
    edges = _Edges()
    for page in pages:
        edges.counts.update({_key(line) for line in page.lines if _is_at_edge(line, page.height)})
    laid: list[PageLines] = []
    for page in pages:
        kept = [line for line in page.lines if not _is_dropped(line, page.height, edges, len(pages))]
        laid.append(PageLines(tuple(_in_reading_order(kept, page.width)), _label(page.lines, page.height)))
    return laid


def _is_dropped(line: Line, height: float, edges: _Edges, pages: int) -> bool:
    return _is_at_edge(line, height) and (
        edges.is_running(line, pages) or (_LABEL.fullmatch(line.text) is not None and _is_outermost(line, height))
    )


def _is_at_edge(line: Line, height: float) -> bool:
    return line.bottom < EDGE * height or line.bottom > (1 - EDGE) * height


def _is_outermost(line: Line, height: float) -> bool:
    return line.bottom < EDGE * height * 0.7 or line.bottom > (1 - EDGE * 0.7) * height


def _key(line: Line) -> str:
    return f"{_DIGITS.sub('#', line.text)}@{round(line.bottom / 4)}"


def _label(lines: Sequence[Line], height: float) -> str:
    """A number that stands alone at the page's edge; of several the lowest."""
    found = [
        (line.bottom, match[1])
        for line in lines
        if _is_outermost(line, height) and (match := _LABEL.fullmatch(line.text))
    ]
    return min(found)[1] if found else ""


def _in_reading_order(lines: Sequence[Line], width: float) -> list[Line]:
    middle = _gutter(lines, width)
    if middle is None:
        return _joined_rows(lines)
    ordered: list[Line] = []
    band: list[Line] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        if line.left < middle - _SLACK and line.right > middle + _SLACK:
            ordered += _columns(band, middle)
            band = []
            ordered.append(line)
        else:
            band.append(line)
    return ordered + _columns(band, middle)


def _gutter(lines: Sequence[Line], width: float) -> float | None:
    """Where two columns part; None on a page of one."""
    for share in (0.5, 0.48, 0.52, 0.45, 0.55):
        middle = share * width
        left = [line for line in lines if line.right <= middle + _SLACK]
        right = [line for line in lines if line.left >= middle - _SLACK]
        crossing = len(lines) - len(left) - len(right)
        is_balanced = min(_length(left), _length(right)) >= 0.15 * _length(lines)
        reaches = any(line.right > middle - 0.12 * width for line in left)  # else the right side is a set-in list
        is_parted = min(len(left), len(right)) >= _MIN_COLUMN_LINES and crossing <= 0.4 * len(lines)
        if is_parted and is_balanced and reaches:
            return middle
    return None


def _length(lines: Sequence[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _columns(band: Sequence[Line], middle: float) -> list[Line]:
    """The left column, then the right one."""
    left = [line for line in band if line.left < middle - _SLACK]
    right = [line for line in band if line.left >= middle - _SLACK]
    return _joined_rows(left) + _joined_rows(right)


def _joined_rows(lines: Sequence[Line]) -> list[Line]:
    """From top to bottom; what stands beside another on one line, from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        if rows and abs(rows[-1][0].bottom - line.bottom) < 0.35 * min(rows[-1][0].size, line.size):
            rows[-1].append(line)
        else:
            rows.append([line])
    return _with_tables([sorted(row, key=lambda line: line.left) for row in rows])


def _with_tables(rows: Sequence[list[Line]]) -> list[Line]:
    """Rows whose entries stand below each other, and are numbers as often as not, as rows of a table."""
    laid: list[Line] = []
    at = 0
    while at < len(rows):
        cells = [
            [cell for line in row for cell in (line.cells or (Cell(line.text, line.left, line.right),))]
            for row in rows[at : at + _MAX_ROWS]
        ]
        length = next((n for n in range(1, len(cells)) if not _stand_below(cells[n - 1], cells[n])), len(cells))
        if length >= _MIN_ROWS and _are_figures(cells[:length]):
            widest = max(len(row) for row in cells[:length])
            laid += [_as_row(row, entries, widest) for row, entries in zip(rows[at:], cells[:length], strict=False)]
            at += length
        else:
            laid += rows[at]
            at += 1
    return laid


def _stand_below(upper: Sequence[Cell], lower: Sequence[Cell]) -> bool:
    """Whether both are rows of one table: two entries or more, at least two of them in the same columns."""
    if min(len(upper), len(lower)) < 2 or max(len(cell.text) for cell in (*upper, *lower)) > _MAX_CELL_CHARS:
        return False
    shared = sum(any(one.left < other.right and other.left < one.right for other in upper) for one in lower)
    return shared >= max(2, min(len(upper), len(lower)) - 1)


def _are_figures(rows: Sequence[Sequence[Cell]]) -> bool:
    entries = [cell.text for row in rows[1:] for cell in row[1:]]
    return sum(any(char.isdigit() for char in text) for text in entries) >= _MIN_FIGURES * len(entries)


def _as_row(row: Sequence[Line], cells: Sequence[Cell], widest: int) -> Line:
    entries = [" ".join(cell.text.replace("|", "/").split()) for cell in cells] + [""] * (widest - len(cells))
    first, last = row[0], row[-1]
    return replace(first, text=f"| {' | '.join(entries)} |", right=last.right, is_row=True, is_mono=False)


# The authors that a paper's first page names under its title: lines of nothing but names, in one type. Pure


MAX_FRONT_LINES = 40  # below the title; long lists of authors take thirty
MAX_AUTHORS = 100
_RARE = 0.5  # of `rarity`; names of journals and headings are made of commoner words
_BELOW = re.compile(
    r"\W*(?:abstract|a b s t r a c t|summary|keywords|index terms|(?:\d\.? )?introduction)\b", re.IGNORECASE
)
_MARKS = re.compile(r"[*†‡§¶∗∥⋆✉#^⁰¹²³⁴-⁹]+|\b\d{1,2}\b|(?<=[^\W\d_])\d{1,2}(?:,\d{1,2})*|(?<![^\W_])[a-h](?![\w.'’])")
_PARTS = re.compile(r"\s*(?:[,;·•|&]|\band\b|\bund\b|\bet\b|\by\b)\s*", re.IGNORECASE)
_TITLES = re.compile(
    r"(?:(?:(?:student|senior|life) )?(?:member|fellow)|ieee|acm|ph\.?\s?d|m\.?d|[mb]\.?sc|dr|prof|[js]r|iii?)\.?",
    re.IGNORECASE,
)
_GIVEN = r"(?:[A-ZÀ-ÖØ-Þ]\.?(?:-?[A-Z]\.)*|[A-ZÀ-ÖØ-Þ][\w'’]*[^\W\d_](?:[-‐][A-ZÀ-ÖØ-Þ]?[\w'’]+)*)"
_PARTICLE = r"(?:de|da|di|del|della|der|den|dos|du|el|la|le|ten|ter|van|von|zu|bin|al)"
_FAMILY = r"(?:[dDlLO]['’])?[A-ZÀ-ÖØ-Þ][\w'’]*[^\W\d_](?:[-‐][A-ZÀ-ÖØ-Þ]?[\w'’]+)*"
_NAME = re.compile(
    rf"{_GIVEN}(?: {_GIVEN}){{0,3}}(?: {_PARTICLE}){{0,2}} {_FAMILY}"
    rf"|(?:{_PARTICLE} ){{0,2}}{_FAMILY}(?: {_FAMILY})? [A-Z]{{1,3}}"
)
_NO_PERSON = frozenset(
    "university universität université universidad college school institute institut department faculty laboratory lab "
    "labs hospital clinic centre center academy research group company inc ltd press journal proceedings transactions "
    "letters reports review article original open access available contents volume issue received accepted published "
    "street road norway germany france italy spain usa china japan united kingdom states january february march april "
    "may june july august september october november december".split()
)


def authors_under(title: Sequence[Line], lines: Sequence[Line]) -> list[str]:
    """In their order, () where no line below the title holds names alone. `lines` are the page's, in reading order."""
    below = [line for line in lines if not title or line.bottom < min(part.bottom for part in title) + 1.0]
    found: list[tuple[Line, list[str]]] = []
    for line in below[:MAX_FRONT_LINES]:
        if _BELOW.match(line.text):
            break
        if not any(line is part for part in title) and (names := _names_in(line)):
            found.append((line, names))
    several = [line for line, names in found if len(names) > 1]
    lead = (
        several[0]
        if several
        else next((line for line, names in found if any(rarity(term, "en") >= _RARE for term in terms(names[0]))), None)
    )
    if lead is None:
        return []
    alike = [names for line, names in found if abs(line.size - lead.size) < 0.3 and line.is_bold == lead.is_bold]
    return list(dict.fromkeys(name for names in alike for name in names))[:MAX_AUTHORS]


def _names_in(line: Line) -> list[str]:
    """The names of a line that holds nothing else, else nothing."""
    pieces = [cell.text for cell in line.cells] or [line.text]
    parts = [part.strip(" .,") for piece in pieces for part in _PARTS.split(_MARKS.sub(" ", piece))]
    names = [" ".join(part.split()) for part in parts if part and not _TITLES.fullmatch(part)]
    names = [name.title() if name.isupper() else name for name in names]
    are_names = all(_NAME.fullmatch(one) and _NO_PERSON.isdisjoint(one.casefold().split()) for one in names)
    return names if are_names else []
