"""From citations to the list at an answer's end, and the numbers that the searches begin with."""

from __future__ import annotations

import inspect

from core.library.funnel import search_content_index_filtered, search_summary_index
from core.library.paper import format_research_result
from tests.core.library.samples import TIDES, YEAST

ANSWER = "Yeast ferments [2402.00002v1, page 2]. Tides rise [2401.00001v1, page 1] and fall [2401.00001v1, page 3]."


def test_each_cited_paper_stands_once_in_arxivs_order_with_what_is_known_of_it() -> None:
    """S000-21, S000-22, S000-23, S000-25, S000-27, S000-46: whatever order the answer cites them in."""
    text, ids = format_research_result(ANSWER, [YEAST, TIDES])

    assert ids == [TIDES.id, YEAST.id]
    assert text == (
        f"{ANSWER}\n\n## References\n\n"
        "1. 2401.00001v1 - Tides and the Moon\n   Authors: Smith, J., Doe, A.\n   Published: 2024-01-02\n\n"
        "2. 2402.00002v1 - Fermentation by Yeast\n   Authors: Brown, T.\n   Published: 2024-02-01\n"
    )


def test_a_paper_without_pages_is_cited_by_its_id_and_listed() -> None:
    """S000-25: Markdown has no pages to name."""
    answer = "Yeast ferments [2402.00002v1]. Tides rise [2401.00001v1, page 1]."

    text, ids = format_research_result(answer, [YEAST, TIDES])

    assert ids == [TIDES.id, YEAST.id]
    assert "2. 2402.00002v1 - Fermentation by Yeast\n" in text


def test_the_searches_begin_with_the_numbers_that_were_asked_for() -> None:
    """S000-04, S000-09, S000-43, S000-44: for summaries, then for full texts."""
    defaults = [
        {name: one.default for name, one in inspect.signature(search).parameters.items() if name not in ("papers",)}
        for search in (search_summary_index, search_content_index_filtered)
    ]

    summary, content = (
        (given["k"], given["use_mmr"], given["similarity_cutoff"], given["mmr_alpha"]) for given in defaults
    )
    assert summary == (8, True, 0.5, 0.5)
    assert content == (15, True, 0.6, 0.6)
