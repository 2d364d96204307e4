"""BibTeX keys: the same in every section and on every day, and entries that BibTeX reads."""

from __future__ import annotations

from dataclasses import replace

import bibtexparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.section.prose import assign_keys, author_years, bibliography, with_labels
from tests.core.section.samples import PAPERS, paper

OWN = "@article{Vaswani:2017,\n  title = {Attention},\n  author = {Vaswani, A.},\n  year = {2017}\n}"
TEXT = st.text(max_size=60)


SMITH = {"authors": ("Smith, J.",), "published": "2024-03-01", "title": "The Quantum Limit"}
BERG = {"authors": ("Jane van der Berg",), "published": "2019", "title": "On Ice"}
NOBODY = {"authors": (), "published": "", "title": "Of the"}


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        pytest.param(SMITH, "smith2024quantum", id="made"),
        pytest.param(BERG, "berg2019ice", id="particles"),
        pytest.param(NOBODY, "source", id="nothing known"),
        pytest.param({"bibtex": OWN}, "Vaswani:2017", id="its own"),
        pytest.param({"bibtex": "@article{a key; with blanks,"}, "author12020study", id="its own cannot be cited"),
    ],
)
def test_a_key_is_the_papers_own_or_made(fields: dict[str, object], key: str) -> None:
    """S001-24: first author, year, first telling word of the title."""
    entry = paper(1, **fields)

    assert assign_keys([entry]) == {entry.id: key}


def test_papers_with_one_key_get_letters_in_the_order_of_their_coming() -> None:
    """S001-33: a paper that is added later renames none, whatever order the papers are listed in."""
    same = [paper(at, authors=("Smith, J.",), title="Quantum") for at in (1, 2, 3)]

    before = assign_keys(same[:2])
    after = assign_keys(same[::-1])

    assert [after[entry.id] for entry in same] == ["smith2020quantum", "smith2020quantuma", "smith2020quantumb"]
    assert before.items() <= after.items()


def test_a_paper_is_labelled_by_author_and_year() -> None:
    """D3: the other style of S001; a letter tells apart what would be the same, and a title stands for no author."""
    papers = [
        paper(1, authors=("Smith, J.", "Doe, A."), published="2024-03-01", title="Quantum"),
        paper(2, authors=("Smith, J.", "Roe, B."), published="2024", title="Wave"),
        paper(3, authors=("Jane van der Berg",), published="2019"),
        paper(4, authors=(), published="", title="Of the Tides"),
    ]

    labels = author_years(papers, assign_keys(papers))

    assert list(labels.values()) == [
        "van der Berg, 2019", "Smith et al., 2024a", "Smith et al., 2024b", "Of the Tides, n.d.",
    ]  # fmt: skip
    text = "It rose (smith2024quantum; berg2019study). It fell (smith2024wave), they say (unknown2020key)."
    assert with_labels(text, labels) == (
        "It rose [Smith et al., 2024a; van der Berg, 2019]. It fell [Smith et al., 2024b], they say (unknown2020key)."
    )


def test_entries_are_read_by_a_bibtex_library() -> None:
    """The paper's own entry under its key, and one made of what is known, without a month that nobody gave."""
    papers = [replace(PAPERS[0], bibtex=OWN), replace(PAPERS[1], doi="10.1000/x_1", title="Waves & {Wind} 100%")]
    keys = assign_keys(papers)

    parsed = bibtexparser.parse_string(bibliography(papers, keys))

    assert parsed.failed_blocks == []
    assert {entry.key for entry in parsed.entries} == set(keys.values())
    made = next(entry for entry in parsed.entries if entry.key != "Vaswani:2017")
    assert made["year"] == "2020"
    assert "month" not in made


@given(st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=4))
def test_any_papers_have_keys_of_their_own_and_a_bibliography(rows: list[tuple[str, str, str, str]]) -> None:
    """Whatever stands in title, authors, date and entry."""
    papers = [
        paper(at, title=title, authors=(author,), published=published, bibtex=bibtex)
        for at, (title, author, published, bibtex) in enumerate(rows)
    ]
    keys = assign_keys(papers)

    parsed = bibtexparser.parse_string(bibliography(papers, keys))

    assert len({key.casefold() for key in keys.values()}) == len(papers)
    assert {entry.key for entry in parsed.entries} == set(keys.values())
