"""Chunks: spans of the text as read, long enough to mean something and short enough to be weighed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.prices import estimate_tokens
from core.text.chunking import MAX_TOKENS, MIN_TOKENS, OVERLAP_TOKENS, SectionType, chunk_text, section_of

SENTENCE = "The measured rate of the reaction rose with the temperature of the bath in all of the trials."
CODE = "```\n" + "\n\n".join(f"value_{number} = measure(sample, {number})" for number in range(40)) + "\n```"
EQUATION = "$$\n" + "\n".join(f"x_{number} = y_{number} + z" for number in range(30)) + "\n$$"


def prose(sentences: int) -> str:
    return " ".join(f"{number}. trial: {SENTENCE}" for number in range(sentences))


PIECES = st.sampled_from(
    [prose(3), prose(12), prose(40), CODE, EQUATION, "## Results", "# 2.1 Set-up", "word " * 600, "\f"]
)


@given(st.lists(PIECES, max_size=8))
def test_chunks_are_spans_in_order_that_lose_no_word(pieces: list[str]) -> None:
    """S001-04: whatever the text, every word but a heading's stands in a chunk, at the offsets it names."""
    content = "\n\n".join(pieces)

    chunks = chunk_text(content)

    assert all(chunk.text == content[chunk.start : chunk.end] for chunk in chunks)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(one.start < other.start and one.end < other.end for one, other in pairwise(chunks))
    covered = {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    headings = {at for line in ("## Results", "# 2.1 Set-up") for at in _places(content, line)}
    assert all(content[at].isspace() or at in covered or at in headings for at in range(len(content)))


def _places(content: str, part: str) -> set[int]:
    return {at + offset for at in range(len(content)) if content.startswith(part, at) for offset in range(len(part))}


def test_chunks_of_a_long_section_have_300_to_500_tokens_and_share_about_100() -> None:
    """S001-04: the last one reaches back rather than being a scrap."""
    chunks = chunk_text(prose(120))

    assert len(chunks) > 5
    assert all(MIN_TOKENS <= estimate_tokens(chunk.text) <= MAX_TOKENS for chunk in chunks)
    shared = [estimate_tokens(one.text[other.start - one.start :]) for one, other in pairwise(chunks[:-1])]
    assert all(0.5 * OVERLAP_TOKENS <= tokens <= OVERLAP_TOKENS + 5 for tokens in shared)


def test_no_chunk_reaches_over_a_heading() -> None:
    """S001-05: a section ends at the next heading, however short it is."""
    content = f"# Paper\n\n## Abstract\n\n{prose(2)}\n\n## 1 Introduction\n\n{prose(40)}\n\n### Aims\n\n{prose(2)}"

    chunks = chunk_text(content)

    assert not any("#" in chunk.text for chunk in chunks)
    assert [chunk.heading for chunk in chunks if chunk.section is SectionType.ABSTRACT] == ["Abstract"]
    assert chunks[-1].heading == "Aims"
    assert chunks[-1].section is SectionType.INTRODUCTION


ROWS = "\n".join(f"x_{row} &= a_{row} + b_{row}. Let c_{row} = d. \\\\[2pt]" for row in range(12))
WHOLES = {
    "code": CODE,
    "equation": EQUATION,
    "code that holds a fence": "````md\n```\nx = 1. Foo. Bar.\n```\nmore. Text.\n````",
    "code in a list": "  ~~~python\n  x = 1. Foo.\n\n  y = 2. Then Z.\n  ~~~",
    "indented code": "    x = 1. Foo.\n    # First. Second. Third.\n\n    y = 2. Then Z.",
    "equation in its lines": f"$$ a = b. Let\n{ROWS}\n c = d $$",
    "equation of one line": r"$$E = mc^2. \text{Where E is energy. Then m is mass.}$$",
    "brackets of LaTeX": f"\\[\n{ROWS}\n\\]",
    "environment of LaTeX": f"\\begin{{align*}}\n{ROWS}\n\\end{{align*}}",
}


@pytest.mark.parametrize("whole", WHOLES.values(), ids=WHOLES.keys())
def test_code_and_equations_are_never_cut(whole: str) -> None:
    """S001-06: wherever it falls, a block stands in a chunk as a whole, even one longer than a chunk may be.

    A chunk takes 19 sentences: with so many before it and more, the block falls into each place of one.
    """
    for before in range(1, 24):
        content = f"{prose(before)}\n\n{whole}\n\n{prose(20)}"
        start, chunks = content.index(whole), chunk_text(content)

        edges = {edge for chunk in chunks for edge in (chunk.start, chunk.end)}
        assert any(whole in chunk.text for chunk in chunks)
        assert not edges.intersection(range(start + 5, start + len(whole)))  # blanks of the first line aside


@pytest.mark.parametrize("opened", ["$$\nE = mc^2 $$", "$$", r"\[", r"\begin{equation}"])
def test_an_equation_that_nobody_closes_takes_nothing_along(opened: str) -> None:
    chunks = chunk_text(f"{opened}\n\n{prose(120)}")

    assert all(estimate_tokens(chunk.text) <= MAX_TOKENS for chunk in chunks)


def test_a_chunk_knows_its_page() -> None:
    """S001-08, S000-13: pages are parted by form feeds and count from 1."""
    chunks = chunk_text("\f".join(prose(60) for _ in range(3)))

    assert chunks[0].page == 1
    assert chunks[-1].page == 3


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Abstract", SectionType.ABSTRACT),
        ("1. Introduction", SectionType.INTRODUCTION),
        ("II. MATERIALS AND METHODS", SectionType.METHODS),
        ("Results and Discussion", SectionType.RESULTS),
        ("5 Discussion", SectionType.DISCUSSION),
        ("Conclusions and future work", SectionType.CONCLUSION),
        ("References", SectionType.REFERENCES),
        ("Of mice and men", None),
    ],
)
def test_sections_are_known_by_their_usual_names(heading: str, section: SectionType | None) -> None:
    """S001-03."""
    assert section_of(heading) is section


def test_a_pages_end_ends_lines_too() -> None:
    """S001-03, S001-06: headings, code and equations are known as the first and the last thing of a page."""
    content = (
        "## Abstract\fShort.\f```\nx = 1\n```\f## Methods\n\nWe measured.\n\n$$\na = b\n$$\f## Results\n\nIt rose."
    )

    chunks = chunk_text(content)

    assert [(chunk.heading, chunk.section, chunk.page) for chunk in chunks] == [
        ("Abstract", SectionType.ABSTRACT, 2),
        ("Methods", SectionType.METHODS, 4),
        ("Results", SectionType.RESULTS, 5),
    ]
    assert chunks[0].text.split() == ["Short.", "```", "x", "=", "1", "```"]
    assert chunks[1].text.endswith("$$\na = b\n$$")
