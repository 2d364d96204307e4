"""The evidence of a written section, ready for the template: which query found what, its scores, where it is cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.answer import JobResult
from core.events import Json
from core.render import cut, one_line

QUERY_ROOM = 200  # characters; a default query is made of the whole context


@dataclass(frozen=True)
class EvidenceRow:
    """What one chunk says. `page` is "" where there is none; `cited_in` are sentences of the section."""

    key: str
    page: str
    summary: str
    scores: tuple[str, str, str]
    cited_in: tuple[str, ...]


@dataclass(frozen=True)
class EvidenceSearch:
    """One search for a section, and what it found, best first."""

    section: str
    query: str
    is_custom: bool
    rows: tuple[EvidenceRow, ...]


def evidence_searches(result: JobResult | None) -> tuple[EvidenceSearch, ...]:
    """In the order in which they were made; none for a job that wrote no section."""
    found = result.details.get("evidence") if result else None
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    searches: dict[tuple[str, str], list[Mapping[str, Json]]] = {}
    for row in rows:
        searches.setdefault((_text(row, "section"), _text(row, "query")), []).append(row)
    return tuple(_search(*named, of_search) for named, of_search in searches.items())


def _search(section: str, query: str, rows: Sequence[Mapping[str, Json]]) -> EvidenceSearch:
    return EvidenceSearch(section, cut(query, QUERY_ROOM), bool(rows[0].get("is_custom")), tuple(map(_row, rows)))


def _row(row: Mapping[str, Json]) -> EvidenceRow:
    cited = row.get("cited_in")
    return EvidenceRow(
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
