"""The plan and progress of a deep research job as a message shows it while it waits; read from the job's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.deep.state import Coverage
from core.events import Json, rows
from core.presentation.render import one_line
from core.presentation.wording import counted

MARKS = {Coverage.SATISFIED: "✓", Coverage.PARTIAL: "◐", Coverage.UNSATISFIED: "○"}


@dataclass(frozen=True)
class CardItem:
    """One item of the checklist; `id` is what `drop_item` names."""

    id: str
    description: str
    coverage: Coverage

    @property
    def line(self) -> str:
        return f"{MARKS[self.coverage]} {self.id}. {self.description}"


@dataclass(frozen=True)
class Card:
    """All text is on one line and safe to print; nothing of it may ping or link."""

    question: str
    items: tuple[CardItem, ...]
    iteration: int
    max_iterations: int
    facts: int
    duration: str
    constraints: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()

    @property
    def satisfied(self) -> int:
        return sum(item.coverage is Coverage.SATISFIED for item in self.items)

    @property
    def headline(self) -> str:
        """`Round 2 of 10 · 3 of 5 items · 14 facts`; before the first round how long it takes."""
        if not self.iteration:
            return self.duration
        items, facts = f"{self.satisfied} of {len(self.items)} items", counted(self.facts, "fact")
        return f"Round {self.iteration} of {self.max_iterations} · {items} · {facts}"


def read_card(data: Json) -> Card | None:
    """The card in a status event's data; None where there is none."""
    card = data.get("card") if isinstance(data, dict) else None
    if not isinstance(card, dict):
        return None
    return Card(
        question=_text(card, "question"),
        items=tuple(
            CardItem(_text(row, "id"), _text(row, "description"), coverage_of(row))
            for row in rows(card.get("checklist"))
        ),
        iteration=_number(card, "iteration"),
        max_iterations=_number(card, "max_iterations"),
        facts=_number(card, "facts"),
        duration=_text(card, "duration"),
        constraints=_texts(card, "constraints"),
        out_of_scope=_texts(card, "out_of_scope"),
    )


def coverage_of(row: Mapping[str, Json]) -> Coverage:
    """Of an item of a checklist as it is told or kept; what is not known is not covered."""
    value = row.get("coverage")
    return Coverage(value) if value in list(Coverage) else Coverage.UNSATISFIED


def _text(row: Mapping[str, Json], key: str) -> str:
    return one_line(str(row.get(key) or ""))


def _texts(row: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = row.get(key)
    return tuple(one_line(str(text)) for text in value) if isinstance(value, list) else ()


def _number(row: Mapping[str, Json], key: str) -> int:
    value = row.get(key)
    return value if isinstance(value, int) else 0
