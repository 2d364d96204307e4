"""PDF pages as Markdown: in the order in which people read them, whole words, without what stands on every page."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.pages.pdf import PAGE_BREAK, extract_pdf
from adapters.pages.pdf.lines import Line, ReadPage
from adapters.pages.pdf.markdown import lay_out, to_markdown
from tests.shared_data import shared_data

WIDTH, HEIGHT = 600.0, 800.0
LEADING = 12.0


def column(texts: list[str], *, left: float = 50, right: float = 280, top: float = 650) -> list[Line]:
    return [Line(text, left, right, top - at * LEADING, 10.0) for at, text in enumerate(texts)]


def pages_of(*pages: list[Line]) -> tuple[str, ...]:
    return to_markdown(lay_out([ReadPage(tuple(lines), WIDTH, HEIGHT) for lines in pages])).pages


def letters_of(text: str) -> Counter[str]:
    return Counter(char for char in text.casefold() if char.isalpha())


LEFT = [f"left column line {word}" for word in ("one", "two", "three", "four", "five")]
RIGHT = [f"right column line {word}" for word in ("six", "seven", "eight", "nine", "ten")]


def test_two_columns_are_read_one_after_the_other() -> None:
    """Also where the file draws them row by row."""
    left, right = column(LEFT), column(RIGHT, left=320, right=550)
    rows = [line for pair in zip(left, right, strict=True) for line in pair]

    (page,) = pages_of(rows)

    assert page.split() == " ".join(LEFT + RIGHT).split()


def test_a_line_over_both_columns_parts_what_is_above_from_what_is_below() -> None:
    """What stands above it is read first, in both columns."""
    upper = column(LEFT) + column(RIGHT, left=320, right=550)
    wide = Line("a caption that runs over the whole page", 50, 550, 560, 10.0)
    lower = column(["below left"] * 4, top=530) + column(["below right"] * 4, left=320, right=550, top=530)

    (page,) = pages_of([*upper, wide, *lower])

    at = [page.index(text) for text in (LEFT[0], RIGHT[0], wide.text, "below left", "below right")]
    assert at == sorted(at)


def test_heads_feet_and_page_numbers_are_dropped_and_the_printed_number_kept() -> None:
    """A journal's first page may be its 131st; both numbers are known."""
    laid = lay_out(
        [
            ReadPage(
                (
                    Line("Journal of Examples, vol. 7", 50, 200, 780, 8.0),
                    *column([f"What page {number} says."]),
                    Line(str(130 + number), 300, 310, 20, 8.0),
                ),
                WIDTH,
                HEIGHT,
            )
            for number in range(1, 5)
        ]
    )

    assert [page.label for page in laid] == ["131", "132", "133", "134"]
    assert to_markdown(laid).pages == tuple(f"What page {number} says." for number in range(1, 5))


@pytest.mark.parametrize(
    ("lines", "paragraph"),
    [
        pytest.param(["a classifi-", "cation of stars"], "a classification of stars", id="a word"),
        pytest.param(["a classifi\ufffe", "cation of stars"], "a classification of stars", id="pdfium's own mark"),
        pytest.param(
            ["off-label and off-label", "use, or off-", "label use"],
            "off-label and off-label use, or off-label use",
            id="a compound the paper knows",
        ),
        pytest.param(["from 2010-", "2012 on"], "from 2010- 2012 on", id="no word"),
    ],
)
def test_what_a_lines_end_broke_is_mended(lines: list[str], paragraph: str) -> None:
    assert pages_of(column(lines)) == (paragraph,)


def test_headings_are_known_by_type_by_name_and_by_number() -> None:
    """S001-03, S001-05: sections are found however a paper marks them."""
    body = column(["Plain text of the paper fills most of the page and ends here."] * 6, right=550)
    larger = Line("A larger line", 50, 200, 750 - 60, 13.0)
    named = Line("Discussion", 50, 120, body[-1].bottom - 30, 10.0)
    bold = replace(named, text="2.1 Data sets", bottom=named.bottom - 30, is_bold=True)

    (page,) = pages_of([larger, *body, named, bold])

    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# A larger line",
        "## Discussion",
        "## 2.1 Data sets",
    ]


def test_code_and_displayed_equations_stay_whole() -> None:
    """S001-06: their lines are kept apart from the prose around them."""
    text = column(["Some prose before."] * 3)
    code = [
        Line("for x in xs:", 50, 150, 600, 10.0, is_mono=True),
        Line("print(x)", 74, 150, 588, 10.0, is_mono=True),
    ]
    equation = Line("E = m c ^ 2 (1)", 150, 250, 560, 10.0)
    after = column(["Some prose after."] * 3, top=530)

    (page,) = pages_of([*text, *code, equation, *after])

    assert "```\nfor x in xs:\n    print(x)\n```" in page
    assert "$$\nE = m c ^ 2 (1)\n$$" in page


def test_a_line_that_repeats_the_title_stays() -> None:
    """Only the title itself becomes the heading; the same words of the same size below it are text."""
    title = [Line("Tides", 50, 200, 700, 20.0) for _ in range(7)]

    (page,) = pages_of([*title, *column(["The moon pulls at the water of the oceans all day long."] * 9, top=500)])

    assert page.count("Tides") == 7


@given(
    st.lists(
        st.builds(
            Line,
            st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30),
            st.floats(0, 500),
            st.floats(501, 600),
            st.floats(100, 700),
            st.floats(1, 40),
        ),
        max_size=30,
    )
)
def test_no_character_of_the_text_is_lost(lines: list[Line]) -> None:
    """Whatever stands wherever on a page: every letter of it is in the Markdown, but mended hyphens."""
    (page,) = pages_of(lines)

    assert letters_of(page) == letters_of("".join(line.text for line in lines))


@pytest.mark.parametrize(("columns", "goal"), [(1, 0.99), (2, 0.97)])
def test_sentences_stand_on_the_page_where_people_find_them(columns: int, goal: float) -> None:
    """S000-13: of real papers' sentences nearly all are on their page; those with formulas are found by their words."""
    papers = json.loads(shared_data("papers", "papers.json").read_text("utf-8"))
    gold = [json.loads(line) for line in shared_data("papers", "page_gold.jsonl").read_text("utf-8").splitlines()]
    wanted = {paper["id"] for paper in papers if paper["columns"] == columns}
    words = {
        name: [
            set(page.split())
            for page in extract_pdf(shared_data("papers", f"{name}.pdf").read_bytes()).text.split(PAGE_BREAK)
        ]
        for name in wanted
    }
    asked = [entry for entry in gold if entry["paper"] in wanted]

    right = 0
    for entry in asked:
        found = [len(page & set(entry["sentence"].split())) for page in words[entry["paper"]]]
        right += entry["first_page"] <= found.index(max(found)) + 1 <= entry["last_page"]

    assert right / len(asked) >= goal


def table(*rows: tuple[str, ...], left: float = 60, top: float = 600) -> list[Line]:
    """Entries as lines of their own, 80 points from column to column."""
    return [
        Line(entry, left + 80 * at, left + 80 * at + 5 * len(entry), top - row * LEADING, 10.0)
        for row, entries in enumerate(rows)
        for at, entry in enumerate(entries)
    ]


@pytest.mark.parametrize(
    ("lines", "is_table"),
    [
        pytest.param(table(("Harbour", "Height"), ("Brest", "6.1"), ("Fundy", "16.3")), True, id="figures"),
        pytest.param(table(("Harbour", "Height"), ("Brest", "6.1")), False, id="too short"),
        pytest.param(
            table(("A. Doe", "B. Roe"), ("Brest", "Kiel"), ("France", "Germany")), False, id="names of authors"
        ),
        pytest.param(column(LEFT), False, id="prose"),
        pytest.param(column(LEFT) + column(RIGHT, left=320, right=550), False, id="two columns of prose"),
    ],
)
def test_a_table_is_told_from_what_merely_stands_in_columns(lines: list[Line], *, is_table: bool) -> None:
    (page,) = pages_of(lines)

    assert page.startswith("| ") is is_table


@given(st.lists(st.lists(st.sampled_from(["a|b", "12", "3.4 %", "words of it"]), min_size=1, max_size=5), max_size=8))
def test_no_entry_of_a_table_is_lost(rows: list[list[str]]) -> None:
    """However ragged it is."""
    lines = table(*map(tuple, rows))

    (page,) = pages_of(lines)

    assert letters_of(page) == letters_of(" ".join(line.text for line in lines))
