"""Numbered lists and tables of a text: steps come whole, and a row says nothing without its table's head."""

from __future__ import annotations

import regex

_HOW_TO = regex.compile(
    r"\W*(?:how\s+(?:do|does|can|should|must|would)\s+(?:i|you|we|one)\b|how\s+to\b|what\s+are\s+the\s+steps"
    r"|wie\s+(?:\w+\s+)?(?:ich|man|wir)\b|comment\s|cómo\s|come\s|como\s|hoe\s)",
    regex.IGNORECASE,
)
_MARK = r"[ \t]*\d{1,2}[.)][ \t]+(?=\S)"
_LIST = regex.compile(  # items with their indented lines; blank lines between them
    rf"(?:^{_MARK}.*+(?:\n|\Z)(?:(?:[ \t]*\n)?[ \t]+(?!\d{{1,2}}[.)])\S.*+(?:\n|\Z))*+(?:[ \t]*\n)?){{2,}}+",
    regex.MULTILINE,
)
_ITEM = regex.compile(f"^{_MARK}", regex.MULTILINE)


def asks_how_to(question: str) -> bool:
    return _HOW_TO.match(question) is not None


def find_steps(content: str, start: int, end: int) -> list[tuple[int, int]]:
    """Half-open spans of the items, without their numbers, of the list within or right behind `content[start:end]`."""
    for found in _LIST.finditer(content):
        is_within = found.start() < end and start < found.end()
        if is_within or (end <= found.start() and not content[end : found.start()].strip()):
            begins = [item.end() for item in _ITEM.finditer(content, found.start(), found.end())]
            marks = [item.start() for item in _ITEM.finditer(content, found.start(), found.end())]
            ends = [*marks[1:], found.end()]
            return [
                (first, first + len(content[first:last].rstrip())) for first, last in zip(begins, ends, strict=True)
            ]
    return []


def head_of_row(content: str, start: int) -> tuple[int, int]:
    """The half-open span of the head of the table whose row begins at `start`, without outer bars; empty if none."""
    at = content.rfind("\n\n", 0, start) + 1
    for line in content[at:start].splitlines(keepends=True):
        if line.lstrip().startswith("|"):
            begin = at + len(line) - len(line.lstrip(" \t|"))
            return begin, at + len(line.rstrip(" \t|\n"))
        at += len(line)
    return start, start


def cells(row: str) -> list[str]:
    """The cells of a Markdown table's row."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def find_row(head: str, row: str, content: str) -> tuple[int, int] | None:
    """Where a row of a table in `content` has the cells of `row` below the heads that they have in `head`, or more."""
    wanted = dict(zip(_folded(head), _folded(row), strict=False))
    columns: list[str] = []
    at = 0
    for line in content.splitlines(keepends=True):
        if not line.lstrip().startswith("|"):
            columns = []
        elif not columns:
            columns = _folded(line)
        elif wanted and wanted.items() <= dict(zip(columns, _folded(line), strict=False)).items():
            return at + len(line) - len(line.lstrip()), at + len(line.rstrip())
        at += len(line)
    return None


def _folded(row: str) -> list[str]:
    return [" ".join(cell.casefold().split()).strip("*_` ") for cell in cells(row)]
