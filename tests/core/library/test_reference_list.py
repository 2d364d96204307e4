"""From citations to the list of papers at an answer's end."""

from __future__ import annotations

from dataclasses import replace

from core.library.paper import HEADING, format_reference, format_research_result
from tests.core.library.samples import TIDES, YEAST


def test_an_answer_gets_the_list_of_what_it_cites() -> None:
    """S000-20, S000-21, S000-23, S000-24, S000-25, S000-27, S000-46.

    Each paper once, by arXiv id, with what is known of it, at the end.
    """
    answer = f"Yeast ferments [{YEAST.id}, page 2]. Tides rise [{TIDES.id}, page 1] and fall [{TIDES.id}, page 3]."

    text, cited = format_research_result(answer, [YEAST, replace(TIDES, id="2301.00009v1"), TIDES])

    assert cited == [TIDES.id, YEAST.id]
    listed = f"{format_reference(1, TIDES)}\n\n{format_reference(2, YEAST)}"
    assert text == f"{answer}\n\n{HEADING}\n\n{listed}\n"


def test_markers_of_unknown_papers_leave_no_reference() -> None:
    """S000-22: metadata is loaded, never made up."""
    answer = "Nothing [2999.99999v1, page 1]."

    assert format_research_result(answer, [TIDES]) == (answer, [])
