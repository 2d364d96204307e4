"""Figures beside their goals, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

_WIDTH = 16


@dataclass(frozen=True)
class Goal:
    """A bound that includes its limit."""

    limit: float
    is_floor: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.is_floor else value <= self.limit


@dataclass(frozen=True)
class Row:
    """One figure in every column; None where there is none."""

    name: str
    values: Sequence[float | None]
    unit: str = ""
    digits: int = 2
    goal: Goal | None = None

    def only(self, places: Sequence[int]) -> Row:
        """Without the figures of the other columns."""
        return replace(self, values=[value if at in places else None for at, value in enumerate(self.values)])


def format_table(title: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Goals stand in the last column, ok or over after each figure that has one."""
    width = max(_WIDTH, *(len(column) + 2 for column in columns))
    name_width = max(len(_label(row)) for row in rows) + 2
    head = " " * name_width + "".join(f"{column:>{width}}" for column in columns) + "   goal"
    return "\n".join([f"== {title} ==", head.rstrip(), *(_line(row, name_width, width) for row in rows), ""])


def _line(row: Row, name_width: int, width: int) -> str:
    cells = "".join(f"{_cell(row, place):>{width}}" for place in range(len(row.values)))
    goal = "" if row.goal is None else f"   {'≥' if row.goal.is_floor else '≤'} {row.goal.limit:g}"
    return f"{_label(row):<{name_width}}{cells}{goal}".rstrip()


def _cell(row: Row, place: int) -> str:
    value = row.values[place]
    if value is None:
        return "–     "
    mark = "     " if row.goal is None else " ok  " if row.goal.is_met(value) else " over"
    return f"{value:,.{row.digits}f}{mark}"


def _label(row: Row) -> str:
    return f"{row.name} ({row.unit})" if row.unit else row.name
