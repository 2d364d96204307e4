"""Figures beside their goals, as tables; and running the parts that measure them, of speed and of quality alike.

What a run found is kept as `gorkd eval` keeps its own: one report for all (core/evaluation/report.py).
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from adapters.cli.evaluating import page_of
from core.evaluation.cases import Met
from core.evaluation.report import Run, changes_since, junit_xml
from core.evaluation.running import Outcome
from core.model.codec import decode, encode
from core.model.errors import StoreError
from tests.shared_data import DataAbsent

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


# Running parts by name


Part = Callable[[], str | None]  # returns its tables, or prints what it finds
_MARKED = re.compile(r"(?P<value>[\d,.]+) (?P<mark>ok|over)\b")
_GOAL = re.compile(r"[≤≥] \S+$")


def run_parts(arguments: Sequence[str], parts: Mapping[str, Part], *, name: str, usual: Sequence[str] = ()) -> int:
    """Those that are named, else the `usual` ones, else all. Exit code 2 for a name that is no part.

    With `--keep DIR` the run is kept there, and what changed since the last one is told. Figures over their goal are
    marked and no failure.
    """
    options = argparse.ArgumentParser(prog=f"python -m tests.{name}")
    options.add_argument("parts", nargs="*")
    options.add_argument("--keep", type=Path, help="a folder for run.json, junit.xml and index.html")
    chosen = options.parse_args(arguments)
    unknown = [one for one in chosen.parts if one not in parts]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}", file=sys.stderr)
        return 2
    began_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    outcomes = tuple(_outcome(one, parts[one]) for one in chosen.parts or usual or parts)
    if chosen.keep:
        _keep(chosen.keep, Run(name, began_at, {}, outcomes))
    return 0


def _outcome(name: str, part: Part) -> Outcome:
    print(f"== {name} ==", flush=True)
    heard, began = _Tee(sys.stdout), perf_counter()
    with redirect_stdout(heard):
        try:
            print(part() or "", flush=True)
        except DataAbsent as exc:
            print(f"skipped: no data at {exc} (set GORKD_TEST_DATA)\n")
    text = heard.getvalue()
    return Outcome(name, name, "", text, seconds=perf_counter() - began, met=tuple(goals_in(text)))


def goals_in(text: str) -> list[Met]:
    """Whether each figure of a table met the goal in its line."""
    found = []
    for line in text.splitlines():
        goal = _GOAL.search(line)
        for figure in _MARKED.finditer(line) if goal else ():
            label = line[: _MARKED.search(line).start()].strip()  # type: ignore[union-attr]  # there is one
            found.append(Met(f"{label} {goal.group()}", figure["mark"] == "ok", figure["value"]))
    return found


def _keep(folder: Path, run: Run) -> None:
    """Beside the run before it, with what changed."""
    before = None
    with suppress(OSError, StoreError):
        before = decode((folder / "run.json").read_text("utf-8"), Run)
    folder.mkdir(parents=True, exist_ok=True)
    changes = changes_since(before, run) if before else []
    (folder / "run.json").write_text(encode(run), "utf-8")
    (folder / "junit.xml").write_text(junit_xml([run]), "utf-8")
    (folder / "index.html").write_text(page_of(run, before, changes), "utf-8")
    for change in changes:
        print(f"since {before.began_at if before else ''}: {change.case_id}: {change.says}")


class _Tee(io.StringIO):
    """Keeps what is printed, and prints it."""

    def __init__(self, stream: io.TextIOBase) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text)
        self._stream.flush()
        return super().write(text)
