"""Lines in the order in which people read them, without what stands on every page. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adapters.pages.pdf.lines import Cell, Line, ReadPage

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
        if _crosses(line, middle):
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


def _crosses(line: Line, middle: float) -> bool:
    return line.left < middle - _SLACK and line.right > middle + _SLACK


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
        cells = [_cells(row) for row in rows[at : at + _MAX_ROWS]]
        length = next((n for n in range(1, len(cells)) if not _stand_below(cells[n - 1], cells[n])), len(cells))
        if length >= _MIN_ROWS and _are_figures(cells[:length]):
            widest = max(len(row) for row in cells[:length])
            laid += [_as_row(row, entries, widest) for row, entries in zip(rows[at:], cells[:length], strict=False)]
            at += length
        else:
            laid += rows[at]
            at += 1
    return laid


def _cells(row: Sequence[Line]) -> list[Cell]:
    return [cell for line in row for cell in (line.cells or (Cell(line.text, line.left, line.right),))]


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
