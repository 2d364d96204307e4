"""Deep research as people see it: the plan and progress in a message that waits, and the trace in lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.deep.state import Coverage
from core.model.answer import Claim, JobResult
from core.model.events import Json, rows
from core.pipeline.trace import ToolTrace
from core.presentation.render import iso_utc, one_line
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
class ChecklistCard:
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


def read_card(data: Json) -> ChecklistCard | None:
    """The card in a status event's data; None where there is none."""
    card = data.get("card") if isinstance(data, dict) else None
    if not isinstance(card, dict):
        return None
    return ChecklistCard(
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


@dataclass(frozen=True)
class CoveredItem:
    """An item of the checklist when the research has ended; `line` is a sentence of the answer with its citations, ""
    where none is about it.
    """

    description: str
    coverage: Coverage
    line: str

    @property
    def stand(self) -> str:
        return {Coverage.SATISFIED: "✓", Coverage.PARTIAL: "◐ partly", Coverage.UNSATISFIED: "○ not found"}[
            self.coverage
        ]

    @property
    def text(self) -> str:
        """`✓ Who was studied: 4,000 adults took part [1].`"""
        return f"{self.stand} {one_line(self.description)}" + (f": {self.line}" if self.line else "")


def covered_items(result: JobResult) -> tuple[CoveredItem, ...]:
    """What became of each item, those that were found first; none where nothing was researched in rounds.

    An item's line is the sentence that shares most words with it, so that it can be read beside its item.
    """
    told, claims = result.details.get("checklist_coverage"), result.answer.claims if result.answer else ()
    if not isinstance(told, dict):
        return ()
    found = [(text, Coverage.SATISFIED) for text in _texts(told, "satisfied")]
    for gap in _texts(told, "gaps"):
        text, _, kind = gap.rpartition(" - ")
        found.append((text, Coverage.PARTIAL if kind.startswith("partial") else Coverage.UNSATISFIED))
    return tuple(
        CoveredItem(text, coverage, "" if coverage is Coverage.UNSATISFIED else _line_on(text, claims))
        for text, coverage in found
    )


def _line_on(item: str, claims: Sequence[Claim]) -> str:
    wanted = _long_words(item)
    cited = [claim for claim in claims if claim.evidence]
    best = max(cited, key=lambda claim: len(wanted & _long_words(claim.text)), default=None)
    if best is None or not wanted & _long_words(best.text):
        return ""
    numbers = "".join(f"[{entry.source_id.removeprefix('src_')}]" for entry in best.evidence)
    return f"{one_line(best.text).rstrip('.')} {numbers}."


def _long_words(text: str) -> set[str]:
    """The beginnings of the words that carry its meaning, so that forms of a word are one."""
    return {word[:6] for word in re.findall(r"\w{4,}", text.casefold())}


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


def trace_lines(trace: ToolTrace) -> list[str]:
    """Headline, refined question, checklist with marks, rounds, facts; everything on one line each."""
    lines = [_headline(trace)]
    if trace.error_message:
        lines.append(one_line(trace.error_message))
    if question := trace.state.get("refined_question"):
        lines.append(f"Question: {one_line(str(question))}")
    lines += [_item_line(row) for row in rows(trace.state.get("checklist"))]
    lines += [_round_line(row) for row in rows(trace.state.get("iterations"))]
    knowledge = trace.state.get("knowledge_base")
    evidence = rows(knowledge.get("evidence")) if isinstance(knowledge, dict) else []
    return [*lines, *(_fact_line(row) for row in evidence)]


def tool_trace_json(trace: ToolTrace) -> dict[str, Json]:
    """The stored row, as S002-16 names its columns."""
    return {
        "id": trace.id,
        "tool_name": trace.tool_name,
        "status": trace.status.value,
        "progress": trace.progress,
        "current_stage": trace.current_stage,
        "input_params": dict(trace.input_params),
        "state": dict(trace.state),
        "result": dict(trace.result) if trace.result is not None else None,
        "metrics": dict(trace.metrics),
        "error_message": trace.error_message,
        "created_at": iso_utc(trace.created_at),
        "started_at": iso_utc(trace.started_at),
        "completed_at": iso_utc(trace.completed_at),
    }


def _headline(trace: ToolTrace) -> str:
    figures = trace.metrics
    parts = [trace.tool_name, trace.status.value]
    if trace.current_stage and not trace.has_ended:
        parts.append(one_line(trace.current_stage))
    if figures:
        parts += [
            _counted(figures, "total_iterations", "iteration"),
            f"{figures.get('pubmed_queries', 0)} PubMed and {figures.get('web_queries', 0)} web queries",
            _counted(figures, "sources_processed", "source"),
            _counted(figures, "llm_calls", "model call"),
        ]
    return " · ".join(parts)


def _counted(figures: Mapping[str, Json], name: str, noun: str) -> str:
    value = figures.get(name)
    return counted(value if isinstance(value, int) else 0, noun)


def _item_line(row: Mapping[str, Json]) -> str:
    missing = f" (missing: {one_line(str(row['missing']))})" if row.get("missing") else ""
    return f"  {MARKS[coverage_of(row)]} {row.get('id')}. {one_line(str(row.get('description')))}{missing}"


def _round_line(row: Mapping[str, Json]) -> str:
    queries = row.get("queries")
    asked = "; ".join(one_line(str(query)) for query in queries) if isinstance(queries, list) else ""
    found = f"{_counted(row, 'results_count', 'result')}, {_counted(row, 'new_facts', 'new fact')}"
    return f"  Iteration {row.get('iteration')}: {row.get('checklist_progress')} satisfied, {found}: {asked}"


def _fact_line(row: Mapping[str, Json]) -> str:
    source = str(row.get("source_id")).removeprefix("src_")
    learned = f", read on {row['learned_on']}" if row.get("learned_on") else ""
    return f"  Fact: {one_line(str(row.get('fact')))} [{source}]{learned}"
