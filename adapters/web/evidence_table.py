"""The evidence of a written section, ready for the template: which query found what, its scores, where it is cited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.answer import JobResult
from core.events import Json
from core.render import one_line


@dataclass(frozen=True)
class EvidenceRow:
    """`page` is "" where there is none; `cited_in` are sentences."""

    section: str
    query: str
    key: str
    page: str
    summary: str
    scores: tuple[str, str, str]
    cited_in: tuple[str, ...]


def evidence_rows(result: JobResult | None) -> tuple[EvidenceRow, ...]:
    """In the order of the searches; none for a job that wrote no section."""
    rows = result.details.get("evidence") if result else None
    return tuple(_row(row) for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def _row(row: Mapping[str, Json]) -> EvidenceRow:
    cited = row.get("cited_in")
    return EvidenceRow(
        section=_text(row, "section"),
        query=_text(row, "query")[:300],
        key=_text(row, "key") or _text(row, "paper_id"),
        page=_text(row, "page"),
        summary=_text(row, "summary"),
        scores=(_score(row, "vector_score"), _score(row, "llm_score"), _score(row, "combined_score")),
        cited_in=tuple(one_line(str(sentence)) for sentence in cited) if isinstance(cited, list) else (),
    )


def _text(row: Mapping[str, Json], name: str) -> str:
    value = row.get(name)
    return "" if value is None else one_line(str(value))


def _score(row: Mapping[str, Json], name: str) -> str:
    value = row.get(name)
    return f"{value:.2f}" if isinstance(value, int | float) else ""
