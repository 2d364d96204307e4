"""From an answer's citations to the list of papers at its end (S000-20 … S000-27)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from core.answer import JobResult
from core.evidence.citations import parse_markers
from core.library.paper import Paper
from core.markers import Grammar, PageRef

HEADING = "## References"
_SEVERAL = re.compile(r"(\d{4})\.(\d{4,5})(?:v(\d+))?")


def cited_papers(text: str) -> list[str]:
    """The ids that `[PAPER_ID, page N]` markers name, each once, in arXiv's order; also those with ranges and lists."""
    found = {mark.target.paper_id for mark in parse_markers(text, Grammar.PAGE) if isinstance(mark.target, PageRef)}
    return sorted(found, key=arxiv_order)


def arxiv_order(paper_id: str) -> tuple[int, str]:
    """Old ids (`hep-th/9901001`) come before new ones, as they did; other names come last, by alphabet."""
    return (0 if "/" in paper_id else 1 if _SEVERAL.fullmatch(paper_id) else 2, paper_id)


def in_order(papers: Iterable[Paper]) -> list[Paper]:
    return sorted(papers, key=lambda paper: arxiv_order(paper.id))


def format_reference(number: int, paper: Paper) -> str:
    """A paper in every list that people see (S000-24, S000-27)."""
    lines = [f"{number}. {paper.id} - {paper.title}"]
    indent = " " * (len(str(number)) + 2)
    lines.append(f"{indent}Authors: {', '.join(paper.authors) or 'unknown'}")
    lines.append(f"{indent}Published: {paper.published or 'unknown'}")
    return "\n".join(lines)


def format_references(papers: Sequence[Paper]) -> str:
    """`papers` in the given order, under its heading."""
    return "\n\n".join([HEADING, *(format_reference(number, paper) for number, paper in enumerate(papers, start=1))])


def content_of(result: JobResult) -> str:
    """The answer of a library with its `[PAPER_ID, page N]` and its references; "" for any other answer."""
    view = result.details.get("query_result")
    return str(view.get("content") or "") if isinstance(view, dict) else ""


def names_no_page(answer: str, paper: Paper) -> bool:
    """Whether the answer cites the paper somewhere by its id alone."""
    return f"[{paper.id}]" in answer


def format_research_result(answer: str, papers: Sequence[Paper]) -> tuple[str, list[str]]:
    """The answer with its references, and the cited ids in their order (S000-46). `papers` are those one may see.

    A marker that names no such paper leaves no reference; a paper may be cited by its id alone.
    """
    cited = set(cited_papers(answer))
    known = in_order(paper for paper in papers if paper.id in cited or names_no_page(answer, paper))
    if not known:
        return answer, []
    return f"{answer.rstrip()}\n\n{format_references(known)}\n", [paper.id for paper in known]
